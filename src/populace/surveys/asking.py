"""How each type of item is put to people: which questions, in which order, and what their answers fill."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.templates import Template
from populace.people import People
from populace.questions import Answers, Choice, Number, Question, Rating
from populace.surveys.items import AllocationItem, GridItem, Item, MultipleItem, RankingItem

Rows = npt.NDArray[np.int64]

GIVEN = "{introduction}{earlier}"
_EARLIER = "\nEarlier in this survey you were asked and answered:"


class Surveyor(Protocol):
    """Puts questions to people; a survey's scenario."""

    async def ask(
        self, people: People, question: Question, *, given: str = "", purpose: str = "", **fields: Any
    ) -> Answers:
        """Put a question to people."""

    async def each(self, items: Any, body: Any) -> list[Any]:
        """Run a coroutine for each item, side by side."""


@dataclass
class ItemAnswers:
    """The answers of some people to one item.

    Attributes:
        columns: The values, a column for each variable of the item.
        words: The answer in words, to remind people of it later; null where it is invalid.
    """

    columns: list[pl.Series]
    words: pl.Series


class ItemInquiry:
    """One item put to some people.

    Args:
        surveyor: Puts the questions.
        item: The item.
        people: Who is asked.
        introduction: What they are told first.
        earlier: What each of them answered before, a line for each answer; empty where nothing is carried.
        fields: The values of the names in braces in the item's texts.
        carry: Whether rows of a grid remind of the rows before.
    """

    def __init__(
        self,
        surveyor: Surveyor,
        item: Item,
        people: People,
        introduction: str,
        earlier: pl.Series,
        fields: dict[str, pl.Series],
        *,
        carry: bool,
    ) -> None:
        self.surveyor, self.item, self.people = surveyor, item, people
        self.introduction, self.earlier, self.fields, self.carry = introduction, earlier, fields, carry
        self.variables = item.variables()

    async def answers(self) -> ItemAnswers:
        """Ask, and return the answers."""
        item = self.item
        if isinstance(item, MultipleItem):
            return await (self._options(item) if item.most is None else self._chosen(item))
        if isinstance(item, GridItem):
            return await self._grid(item)
        if isinstance(item, RankingItem):
            return await self._ranking(item)
        (question,) = item.questions()
        answers = await self._put(question)
        if isinstance(item, AllocationItem):
            return self._allocation(item, answers)
        values = answers.values.cast(self.variables[0].dtype)
        return ItemAnswers([values.alias(item.id)], _in_words(values, question))

    async def _put(
        self, question: Question, rows: Rows | None = None, more: pl.Series | None = None, purpose: str = ""
    ) -> Answers:
        """Put a question to the people, or to some rows of them, with further lines about what they answered."""
        earlier = self.earlier if more is None else self.earlier + more
        fields: dict[str, Any] = dict(self.fields)
        people = self.people
        if rows is not None:
            people, earlier = people.rows(rows), earlier[rows]
            fields = {name: column[rows] for name, column in fields.items()}
        used = question.template.fields
        return await self.surveyor.ask(
            people,
            question,
            given=GIVEN,
            purpose=purpose or self.item.id,
            introduction=self.introduction,
            earlier=with_heading(earlier),
            **{name: column for name, column in fields.items() if name in used},
        )

    async def _options(self, item: MultipleItem) -> ItemAnswers:
        """Each option on its own, side by side."""

        async def ask(option: str) -> pl.Series:
            answers = await self._put(item.option_question(option))
            return answers.values.cast(pl.String) == "yes"

        chosen = await self.surveyor.each(item.options, ask)
        return self._selection(item, chosen)

    async def _chosen(self, item: MultipleItem) -> ItemAnswers:
        """Options one after the other, until the person wants no more."""
        most = min(item.most or 1, len(item.options))
        ranks, valid = await self._in_turn(
            item.options,
            most,
            lambda _, options: item.next_question(options),
            lambda place, option: f"\n- You have chosen: {option}",
        )
        flags = [pl.Series(ranks[:, place] > 0) for place in range(len(item.options))]
        known = pl.Series(valid)
        return self._selection(item, [_null_unless(known, flag) for flag in flags])

    def _selection(self, item: MultipleItem, flags: Sequence[pl.Series]) -> ItemAnswers:
        columns = [flag.alias(variable.name) for flag, variable in zip(flags, self.variables, strict=True)]
        frame = pl.DataFrame(columns)
        parts = [
            pl.when(pl.col(column.name)).then(pl.lit(option))
            for column, option in zip(columns, item.options, strict=True)
        ]
        words = frame.select(
            pl.when(pl.any_horizontal(pl.all().is_null()))
            .then(None)
            .otherwise(pl.concat_list(parts).list.drop_nulls().list.join(", "))
            .alias("words")
        )["words"]
        return ItemAnswers(columns, words.replace("", item.NONE))

    async def _grid(self, item: GridItem) -> ItemAnswers:
        rows = list(item.rows)
        columns: list[pl.Series]
        if self.carry:
            columns = []
            lines = pl.Series("lines", [""]).new_from_index(0, len(self.people))
            for row in rows:
                answers = await self._put(item.row_question(row), more=lines)
                columns.append(answers.values)
                lines = lines + _line(item.rows[row], _in_words(answers.values, item.row_question(row)))
        else:
            results = await self.surveyor.each(rows, lambda row: self._put(item.row_question(row)))
            columns = [answers.values for answers in results]
        texts = [
            _line(item.rows[row], _in_words(column, item.row_question(row)))
            for row, column in zip(rows, columns, strict=True)
        ]
        words = texts[0]
        for text in texts[1:]:
            words = words + text
        named = [c.cast(v.dtype).alias(v.name) for c, v in zip(columns, self.variables, strict=True)]
        return ItemAnswers(named, words)

    async def _ranking(self, item: RankingItem) -> ItemAnswers:
        ranks, valid = await self._in_turn(
            item.options,
            item.places,
            item.place_question,
            lambda place, option: f"\n- Place {place}: {option}",
            exhaustive=True,
        )
        known = pl.Series(valid)
        columns = [
            _null_unless(known & pl.Series(ranks[:, place] > 0), pl.Series(ranks[:, place])).alias(variable.name)
            for place, variable in enumerate(self.variables)
        ]
        order = np.argsort(np.where(ranks > 0, ranks, len(item.options) + 1), axis=1, kind="stable")
        names = np.array(item.options, dtype=object)[order[:, : item.places]]
        words = pl.Series([", then ".join(row) for row in names.tolist()], dtype=pl.String)
        return ItemAnswers(columns, _null_unless(known, words))

    async def _in_turn(
        self,
        options: tuple[str, ...],
        rounds: int,
        question: Callable[[int, tuple[str, ...]], Choice],
        line: Callable[[int, str], str],
        *,
        exhaustive: bool = False,
    ) -> tuple[Rows, npt.NDArray[np.bool_]]:
        """Let people choose one option after the other.

        Args:
            options: The options.
            rounds: How many may be chosen.
            question: The question about a place, with the options that are left.
            line: What a later question says about an option that was chosen.
            exhaustive: Whether the last option that is left needs no question.

        Returns:
            The place of each option for each person, 0 where it was not chosen; and whose answers are all valid.
        """
        count = len(self.people)
        ranks = np.zeros((count, len(options)), np.int64)
        active, valid = np.ones(count, np.bool_), np.ones(count, np.bool_)
        chosen_lines = np.full(count, "", dtype=object)
        for place in range(1, rounds + 1):
            rows = np.flatnonzero(active)
            if not len(rows):
                break
            # People who have the same options left are asked together.
            left = ranks[rows] == 0
            patterns, group_of = np.unique(left, axis=0, return_inverse=True)
            groups = [(rows[group_of.ravel() == g], np.flatnonzero(patterns[g])) for g in range(len(patterns))]
            more = pl.Series("more", chosen_lines.tolist(), pl.String)

            async def ask(group: tuple[Rows, Rows], place: int = place, more: pl.Series = more) -> None:
                who, which = group
                if len(which) == 1 and exhaustive:
                    # The last option needs no question.
                    ranks[who, which[0]] = place
                    return
                answers = await self._put(question(place, tuple(options[i] for i in which)), who, more)
                picks = answers.values.cast(pl.String)
                for index, option in [(int(i), options[i]) for i in which]:
                    mine = who[(picks == option).fill_null(False).to_numpy()]
                    ranks[mine, index] = place
                    chosen_lines[mine] = chosen_lines[mine] + line(place, option)
                active[who[(picks == MultipleItem.NONE).fill_null(False).to_numpy()]] = False
                invalid = who[picks.is_null().to_numpy()]
                active[invalid] = valid[invalid] = False

            await self.surveyor.each(groups, ask)
        return ranks, valid

    def _allocation(self, item: AllocationItem, answers: Answers) -> ItemAnswers:
        fields = pl.Struct({option: pl.Int64() for option in item.options})
        points = answers.values.cast(pl.String).str.json_decode(fields)
        columns = [
            points.struct.field(option).alias(variable.name)
            for option, variable in zip(item.options, self.variables, strict=True)
        ]
        parts = [
            pl.format("{} {}", pl.lit(option), pl.col(v.name))
            for option, v in zip(item.options, self.variables, strict=True)
        ]
        words = pl.DataFrame(columns).select(pl.concat_str(parts, separator=", ").alias("words"))["words"]
        return ItemAnswers(columns, words)


def question_line(item: Item, count: int, fields: dict[str, pl.Series], words: pl.Series) -> pl.Series:
    """A line for each person that holds the question and the answer; empty where the answer is invalid."""
    text = Template(item.text)
    columns = {name: fields[name] for name in text.fields if name in fields}
    rendered = text.render({}, columns, count)
    if isinstance(item, GridItem):
        return (pl.Series([f"\n- {item.text}"]).new_from_index(0, count) + words).fill_null("")
    return (pl.Series(["\n- "]).new_from_index(0, count) + rendered + " " + words).fill_null("")


def with_heading(earlier: pl.Series) -> pl.Series:
    """Lines about earlier answers with a heading; nothing where there is no line."""
    frame = pl.DataFrame({"earlier": earlier})
    text = pl.when(pl.col("earlier") != "").then(pl.lit(_EARLIER) + pl.col("earlier")).otherwise(pl.lit(""))
    return frame.select(text.alias("earlier"))["earlier"]


def _line(label: str, words: pl.Series) -> pl.Series:
    return (pl.Series([f"\n  - {label} "]).new_from_index(0, words.len()) + words).fill_null("")


def _in_words(values: pl.Series, question: Question) -> pl.Series:
    """Values as people would say them."""
    texts = values.cast(pl.String)
    if isinstance(question, Rating):
        return texts + f" on a scale from {question.low} to {question.high}"
    if isinstance(question, Number) and question.unit:
        return texts + f" {question.unit}"
    return texts


def _null_unless(known: pl.Series, values: pl.Series) -> pl.Series:
    frame = pl.DataFrame({"known": known, "value": values})
    return frame.select(pl.when(pl.col("known")).then(pl.col("value")))["value"]
