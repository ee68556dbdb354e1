"""A design of a causal study as a scenario: it is recorded, resumed, replayed and opened like any other run.

Every step states one level to all participants at once; where a prompt holds all levels there is one step. The answers
are kept in the table `responses`, a row for each participant and level.
"""

import functools
from typing import Any, ClassVar

import numpy as np
import polars as pl

from populace.causal.covariate import Covariate
from populace.causal.estimates import LEVEL, design_estimate
from populace.causal.lint import require_distinct_prompts
from populace.causal.participants import (
    PROFILE_TEXT,
    Rows,
    condition_lists,
    covariate_choices,
    covariate_values,
    forecasters,
    item_numbers,
    level_lists,
    level_orders,
    participants,
    situation_lists,
    treatment_values,
)
from populace.causal.responses import RESPONSES, Responses
from populace.causal.study import CausalStudy
from populace.causal.wording import (
    CONDITIONS,
    LEVEL_LIST,
    ONE_LEVEL,
    SITUATIONS,
    CausalDesign,
    condition_field,
    design_wording,
    drift_wording,
    situation_field,
)
from populace.engine.scenario import Field, ReportTable, Scenario, metric
from populace.people import People
from populace.questions import Answers
from populace.runs.reader import RunReader
from populace.runs.settings_text import parameters_of_run


class DesignScenario(Scenario):
    """One design of a causal study, whose declaration a subclass makes from its parameters."""

    design: CausalDesign = Field("blind", description="The design: how the treatment is put to people.")
    drift: bool = Field(
        False, description="Ask for the unstated value of every covariate under each level, in place of the question."
    )

    chart: ClassVar[tuple[str, ...]] = ("mean_answer",)

    def declaration(self) -> CausalStudy:
        """The study, the same for equal parameters."""
        raise NotImplementedError

    @functools.cached_property
    def causal_study(self) -> CausalStudy:
        """The study that this run is a design of."""
        return self.declaration()

    def setup(self) -> People:
        """Everybody who takes part, and what is drawn for them: values of covariates, orders of levels."""
        study = self.causal_study
        require_distinct_prompts(study, self.design)
        people = forecasters(study) if self.design == "aggregate" else participants(study)
        self.items = item_numbers(study, people)
        self.mean = float("nan")
        if self.design == "covariates":
            choices = covariate_choices(study, len(people), self.rng)
            people = people.with_columns(**covariate_values(study, choices, self.items))
        if self.design == "within":
            self.orders = level_orders(len(people), len(study.treatment.values), self.rng)
        return people

    def profile(self) -> str:
        """The profile of the study, or a list of what is known of the persona; a forecaster has none."""
        return "" if self.design == "aggregate" else self.causal_study.profile or f"{{{PROFILE_TEXT}}}"

    @property
    def _elicited(self) -> list[Covariate]:
        return [covariate for covariate in self.causal_study.covariates if covariate.question]

    def length(self) -> int:
        """A step for each level, or one step where a prompt holds all levels."""
        levels = len(self.causal_study.treatment.values)
        if self.drift:
            return levels * len(self._elicited)
        return levels if self.design in ONE_LEVEL else 1

    async def step(self) -> None:
        """Ask everybody at one level, or once about all."""
        level = (self.t - 1) % len(self.causal_study.treatment.values)
        if self.drift:
            await self._ask_covariate(self._elicited[(self.t - 1) // len(self.causal_study.treatment.values)], level)
        elif self.design == "within":
            await self._ask_within()
        elif self.design == "aggregate":
            await self._ask_forecasters()
        else:
            await self._ask_level(level)

    async def _ask_level(self, level: int) -> None:
        study, wording = self.causal_study, design_wording(self.causal_study, self.design, level)
        fields: dict[str, Any] = {study.treatment.name: treatment_values(study, level, self.items)}
        if self.design == "unblinded":
            fields[LEVEL_LIST] = level_lists(study)[self.items]
        answers = await self.ask(self.people, wording.question, given=wording.given, purpose=self.design, **fields)
        self._record(np.full(len(answers), level), success_shares(answers, study), answers.status)

    async def _ask_covariate(self, covariate: Covariate, level: int) -> None:
        wording = drift_wording(self.causal_study, covariate, level)
        fields: dict[str, Any] = {
            self.causal_study.treatment.name: treatment_values(self.causal_study, level, self.items)
        }
        answers = await self.ask(self.people, wording.question, given=wording.given, purpose=covariate.name, **fields)
        values = covariate.elicited_values(answers.values)
        self._record(np.full(len(answers), level), values, answers.status, covariate.name)

    async def _ask_within(self) -> None:
        wording = design_wording(self.causal_study, "within")
        fields: dict[str, Any] = {SITUATIONS: situation_lists(self.causal_study, self.orders, self.items)}
        answers = await self.ask(self.people, wording.question, given=wording.given, purpose="within", **fields)
        places = self.orders.shape[1]
        replies = _form_columns(answers, [situation_field(place) for place in range(places)], pl.String())
        y = pl.concat([(reply == self.causal_study.success).cast(pl.Float64) for reply in replies])
        self._record(self.orders.T.ravel(), y, pl.concat([answers.status] * places))

    async def _ask_forecasters(self) -> None:
        wording = design_wording(self.causal_study, "aggregate")
        fields: dict[str, Any] = {CONDITIONS: condition_lists(self.causal_study)[self.items]}
        answers = await self.ask(self.people, wording.question, given=wording.given, purpose="aggregate", **fields)
        levels = len(self.causal_study.treatment.values)
        replies = _form_columns(answers, [condition_field(level) for level in range(levels)], pl.Float64())
        level_of_row = np.repeat(np.arange(levels), len(answers))
        self._record(level_of_row, pl.concat(replies) / 100.0, pl.concat([answers.status] * levels))

    def _record(self, level: Rows, y: pl.Series, status: pl.Series, covariate: str = "") -> None:
        """Keep answers; several rows of a participant come one level after the other."""
        repeats = len(level) // len(self.people)
        self.mean = float(np.nanmean(y.to_numpy())) if y.len() > y.null_count() else float("nan")
        self.tables[RESPONSES] = pl.DataFrame(
            {
                "participant": pl.concat([self.people.ids] * repeats),
                "level": pl.Series(level, dtype=pl.Int16),
                "covariate": pl.Series([covariate]).new_from_index(0, len(level)),
                "y": y.cast(pl.Float64),
                "status": status.cast(pl.String),
            }
        )

    @metric
    def mean_answer(self) -> float:
        """The mean answer of the step: the share that counts, or the mean of a covariate."""
        return self.mean


class CausalScenario(DesignScenario):
    """People answer a question in one design of a causal study.

    Example:
        >>> from populace import simulate
        >>> study = CausalStudy.read({
        ...     "treatment": {"name": "price", "levels": [1, 2], "statement": "It costs {price} dollars."},
        ...     "setting": "You see apples.", "question": "Do you buy?", "options": ["yes", "no"], "success": "yes"})
        >>> run = simulate(CausalScenario(study=study, design="blind"), model="scripted:uniform", keep="nothing")
        >>> run.history(RESPONSES).select("level", "y").rows()
        [(0, 0.5), (1, 0.5)]
    """

    study: CausalStudy = Field(description="The declaration of the study: a YAML file.")

    @classmethod
    def title(cls) -> str:
        """The name in run names."""
        return "causal"

    def declaration(self) -> CausalStudy:
        """The study as it was given."""
        return self.study

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """The curve of the design; *uninformative* comes first where the answers do not respond."""
        scenario = cls(**parameters_of_run(run))
        if scenario.drift or run.steps[-1] < scenario.length():
            return []
        estimate = design_estimate(Responses.read(scenario.causal_study, scenario.design, run))
        note = f"Design: {scenario.design}. Slope in log-odds: {estimate.slope}. Intervals are clustered by person and "
        note += "by item. `populace causal` asks all designs and looks for what biases each."
        if not estimate.informative:
            note = f"Uninformative: {estimate.response}. {note}"
        return [ReportTable("Curve", estimate.table().select(LEVEL, "value", "low", "high", "n", "dropped"), note)]


def success_shares(answers: Answers, study: CausalStudy) -> pl.Series:
    """The probability of the answer that counts for each person, or 1 and 0 where nothing but a draw is known."""
    if answers.probabilities is None:
        return (answers.values == study.success).cast(pl.Float64)
    shares = answers.probabilities[:, study.options.index(study.success)][np.maximum(answers.prompt, 0)]
    usable = answers.valid.to_numpy() & (answers.prompt >= 0)
    return pl.Series("y", np.where(usable, shares, np.nan), nan_to_null=True)


def _form_columns(answers: Answers, names: list[str], dtype: pl.DataType) -> list[pl.Series]:
    """The fields of forms as columns; null where a form is invalid."""
    forms = answers.values.str.json_decode(pl.Struct(dict.fromkeys(names, dtype)))
    return [forms.struct.field(name) for name in names]
