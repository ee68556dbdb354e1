"""A survey as a scenario: every step puts the next item of each person's questionnaire to everybody at once.

So a survey is recorded, resumed, replayed and opened like any other run.
"""

from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.engine.scenario import Field, ReportTable, Scenario, metric
from populace.people import People
from populace.people.profiles import profile_texts
from populace.runs.reader import RunReader
from populace.surveys.asking import ItemAnswers, ItemInquiry, question_line
from populace.surveys.column_checks import check_columns
from populace.surveys.conditions import condition_expression
from populace.surveys.items import END, Item
from populace.surveys.questionnaire import Block, Questionnaire
from populace.surveys.respondents import Respondents
from populace.surveys.results import OPEN_NOTE, SurveyResults
from populace.surveys.variables import PROFILE_TEXT, STATE

_NO_ANSWER = "(no answer)"
_NOWHERE = -1


class SurveyScenario(Scenario):
    """Respondents answer a questionnaire."""

    questionnaire: Questionnaire = Field(description="The questionnaire: a YAML or CSV file.")
    respondents: Respondents = Field(description="The table of respondents.")

    chart: ClassVar[tuple[str, ...]] = ("answered", "screened_out")

    @classmethod
    def title(cls) -> str:
        """The name in run names."""
        return "survey"

    def setup(self) -> People:
        """Read the respondents, and draw the order of the items for each."""
        frame = self.respondents.read()
        variables = self.questionnaire.variables
        check_columns(self.questionnaire, frame)
        count = frame.height
        self.placed: list[tuple[Block, Item]] = [(b, item) for b in self.questionnaire.blocks for item in b.items]
        self.place_of = {item.id: place for place, (_, item) in enumerate(self.placed)}
        self.sequences = self.questionnaire.sequences(count, self.rng)
        self.open = np.ones(count, np.bool_)
        self.skip_target = np.full(count, _NOWHERE)
        self.history = pl.Series("earlier", [""]).new_from_index(0, count)
        self.answered_count = 0
        blank = [variable.empty(count) for variable in variables]
        state = pl.Series(STATE, ["open"]).new_from_index(0, count)
        return People(frame.with_columns(*blank, state, profile_texts(frame, self.respondents.about, PROFILE_TEXT)))

    def profile(self) -> str:
        """The questionnaire's own profile, or a list of what is known of the respondent."""
        return self.questionnaire.profile or f"{{{PROFILE_TEXT}}}"

    def length(self) -> int:
        """As many steps as there are items."""
        return len(self.questionnaire.items)

    def stop(self) -> str | None:
        """The run ends early once nobody has a question left."""
        return (
            None
            if self.open.any() or self.t >= self.length()
            else "every respondent was screened out or skipped to the end"
        )

    async def step(self) -> None:
        """Put the next item of each person's order to them; everybody is asked side by side."""
        current = self.sequences[:, self.t - 1]
        groups = [(int(place), rows) for place in np.unique(current) if len(rows := self._rows(int(place), current))]
        inquiries = [self._inquiry(place, rows) for place, rows in groups]
        results: list[ItemAnswers] = await self.each(inquiries, lambda inquiry: inquiry.answers())
        for (place, rows), inquiry, answers in zip(groups, inquiries, results, strict=True):
            self._record(place, rows, inquiry, answers)
        if self.t == self.length():
            self._end(np.flatnonzero(self.open), "complete")

    def _rows(self, place: int, current: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Who meets this item now and is shown it."""
        here = (current == place) & self.open
        self.skip_target[here & (self.skip_target == place)] = _NOWHERE
        here &= self.skip_target == _NOWHERE
        block, item = self.placed[place]
        for condition in (block.show_if, item.show_if):
            if condition:
                frame = self.people.frame
                here &= frame.select(condition_expression(condition, frame.schema).alias("met"))["met"].to_numpy()
        return np.flatnonzero(here)

    def _inquiry(self, place: int, rows: npt.NDArray[np.int64]) -> ItemInquiry:
        item = self.placed[place][1]
        people = self.people.rows(rows)
        fields = {name: _as_text(people[name]) for name in item.fields()}
        carry = self.questionnaire.carry
        introduction = self.questionnaire.introduction
        return ItemInquiry(self, item, people, introduction, self.history[rows], fields, carry=carry)

    def _record(self, place: int, rows: npt.NDArray[np.int64], inquiry: ItemInquiry, answers: ItemAnswers) -> None:
        item = self.placed[place][1]
        for column in answers.columns:
            whole = self.people[column.name].clone()
            self.people[column.name] = whole.scatter(rows, column)
        self.answered_count += len(rows) - answers.words.null_count()
        if self.questionnaire.carry:
            lines = question_line(item, len(rows), inquiry.fields, answers.words)
            self.history = self.history.clone().scatter(rows, self.history[rows] + lines)
        for answer, target in item.skip.items():
            mine = rows[(answers.columns[0] == answer).fill_null(False).to_numpy()]
            if target == END:
                self._end(mine, "complete")
            else:
                self.skip_target[mine] = self.place_of[target]
        if item.screen_out_if:
            frame = self.people.frame
            met = frame.select(condition_expression(item.screen_out_if, frame.schema).alias("met"))["met"].to_numpy()
            self._end(rows[met[rows] & self.open[rows]], "screened out")

    def _end(self, rows: npt.NDArray[np.int64], state: str) -> None:
        """End the questionnaire for some people."""
        self.open[rows] = False
        self.people[STATE] = self.people[STATE].clone().scatter(rows, [state] * len(rows))

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """The shares of all answers, and what was invalid."""
        results = SurveyResults(run)
        invalid = results.statuses.filter(pl.col("invalid") > 0)
        closed = results.marginals_text()
        tables = [ReportTable("Answers", closed, results.marginals_note)] if closed.height else []
        for item in results.open_items:
            groups = results.open_answers(item)
            tables += [ReportTable(f"Answers in own words: {item}", groups, OPEN_NOTE)] if groups.height else []
        return tables + ([ReportTable("Invalid answers by item", invalid)] if invalid.height else [])

    @metric
    def answered(self) -> int:
        """How many items were answered validly, over all people."""
        return self.answered_count

    @metric
    def screened_out(self) -> int:
        """How many people were screened out."""
        return self.people.count(**{STATE: "screened out"})


def _as_text(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Boolean:
        column = column.replace_strict({True: "yes", False: "no"}, return_dtype=pl.String)
    return column.cast(pl.String).fill_null(_NO_ANSWER)
