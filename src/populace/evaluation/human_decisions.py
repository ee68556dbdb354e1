"""What people decided in many tasks: attitudes, games, advice, prices, in one form.

The form is a folder with two files. `tasks.jsonl` has a card for each task (see `read_decision_tasks`).
`decisions.parquet` or `decisions.csv` has a row for each decision: `task`, `person`, `answer`, and, where they are
known, `order` (when: the number of the decision among those of the person in the task), `profile` and `seen` (who the
person is and what they saw, each a JSON object), and `retest` (the same person's answer at another time).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import polars as pl

from populace.base.errors import HumanDataError, UnknownNameError
from populace.base.formatting import shortened
from populace.base.table_files import UNREADABLE, check_plain_table, reading_problem
from populace.evaluation.decision_tasks import DecisionTask, read_decision_tasks
from populace.evaluation.human_answers import HumanAnswers

MAX_DECISION_BYTES = 1_000_000_000
"""The largest file of decisions that is read."""
MAX_UNPACKED_BYTES = 4_000_000_000
"""The most bytes that a file of decisions may have once it is unpacked."""
MAX_DECISIONS = 20_000_000
"""The most decisions that are read."""

Unit = Literal["person", "item", "topic", "task"]
"""What is held out as a whole."""

_NEEDED = ("task", "person", "answer")
_OPTIONAL = {"order": pl.Int64, "profile": pl.String, "seen": pl.String, "retest": pl.String}
_PARTS = 10


@dataclass(frozen=True)
class DecisionSplit:
    """Decisions in three parts, none of which shares a unit with another.

    Attributes:
        training: To fit on.
        development: To choose among fits.
        test: To report on.
        left_out: How many decisions are in no part, because their task has topics of two parts.
    """

    training: HumanDecisions
    development: HumanDecisions
    test: HumanDecisions
    left_out: int = 0


@dataclass(frozen=True)
class HumanDecisions:
    """The decisions of people in many tasks.

    Attributes:
        tasks: The tasks by id.
        table: A row for each decision, with the columns `task`, `person`, `order`, `profile`, `seen`, `answer` and
            `retest`.

    Example:
        >>> task = DecisionTask("tea", "attitude", "Tea or coffee?", "CC0", ("tea", "coffee"))
        >>> table = pl.DataFrame({"task": ["tea"] * 2, "person": ["a", "b"], "answer": ["tea", "coffee"]})
        >>> HumanDecisions.from_table(table, {"tea": task}).answers(["tea"]).answers.tolist()
        [[0], [1]]
    """

    tasks: Mapping[str, DecisionTask]
    table: pl.DataFrame

    @classmethod
    def read(
        cls, folder: str | Path, *, tasks: Iterable[str] | None = None, families: Iterable[str] | None = None
    ) -> HumanDecisions:
        """The decisions in a folder.

        Args:
            folder: The folder, with `tasks.jsonl` and `decisions.parquet` or `decisions.csv`.
            tasks: The tasks that are read; all by default. Rows of others are not loaded from a Parquet file.
            families: The families of tasks that are read; all by default.

        Raises:
            HumanDataError: If a file cannot be read or is too large, a column is missing, a decision is about an
                unknown task, or an answer is none of the options; the text names the line and the person.
        """
        folder = Path(folder)
        cards = read_decision_tasks(folder / "tasks.jsonl")
        chosen = _chosen(cards, tasks, families)
        path = next((p for p in (folder / "decisions.parquet", folder / "decisions.csv") if p.is_file()), None)
        if path is None:
            raise HumanDataError(f"{folder} holds neither decisions.parquet nor decisions.csv.")
        if path.stat().st_size > MAX_DECISION_BYTES:
            raise HumanDataError(f"{path} has more than {MAX_DECISION_BYTES:,} bytes.", "Divide it by tasks.")
        try:
            table = _load(path, cards, chosen)
        except UNREADABLE as error:
            raise HumanDataError(f"{path} could not be read: {reading_problem(error)}.") from error
        return cls.from_table(table, chosen, where=path.name)

    @classmethod
    def from_table(
        cls, table: pl.DataFrame, tasks: Mapping[str, DecisionTask], *, where: str = "the table of decisions"
    ) -> HumanDecisions:
        """The decisions in a table with the columns that `read` takes; `line` counts rows where it is there."""
        _check_columns(table.columns, where)
        if "line" not in table.columns:
            table = table.with_row_index("line", offset=1)
        columns = [pl.col(name).cast(pl.String) for name in _NEEDED]
        for name, dtype in _OPTIONAL.items():
            columns.append(pl.col(name).cast(dtype) if name in table.columns else pl.lit(None, dtype).alias(name))
        try:
            table = table.select("line", *columns)
        except pl.exceptions.PolarsError as error:
            raise HumanDataError(f"{where}: a column has values of the wrong kind: {error}.") from error
        _check_rows(table, tasks, where)
        return cls(dict(tasks), table.select("task", "person", "order", "profile", "seen", "answer", "retest"))

    @property
    def licences(self) -> dict[str, tuple[str, ...]]:
        """The tasks under each licence."""
        return {
            licence: tuple(task.id for task in self.tasks.values() if task.licence == licence)
            for licence in sorted({task.licence for task in self.tasks.values()})
        }

    def prompts(self, task: str) -> pl.Series:
        """What was said to each person in a task: the question with what they saw; `none` where a field is missing."""
        card = self._task(task)
        parts = [
            seen_field(pl.col("seen"), piece) if place % 2 else pl.lit(piece) for place, piece in enumerate(card.pieces)
        ]
        rows = self.table.filter(pl.col("task") == task)
        return rows.with_columns(pl.concat_str(parts).alias("prompt"))["prompt"]

    def answers(self, tasks: Iterable[str], *, profile: Iterable[str] = ()) -> HumanAnswers:
        """The first decision of each person in some tasks, in the form that scores and floors take.

        Args:
            tasks: Tasks whose answer is an option and whose question has no fields, so that all saw the same.
            profile: Fields of the profile that become columns of `profiles`; the first that is known of a person.
        """
        cards = [self._task(task) for task in dict.fromkeys(tasks)]
        for card in cards:
            if card.fields:
                raise HumanDataError(f"in task {card.id!r} people saw different things.", "Take a task without fields.")
        rows = self.table.filter(pl.col("task").is_in([card.id for card in cards]))
        rows = rows.sort("order", nulls_last=True, maintain_order=True)
        rows = rows.unique(["person", "task"], keep="first", maintain_order=True)
        fields = [pl.col("profile").str.json_path_match(f'$["{name}"]').alias(name) for name in profile]
        people = rows.select("person", *fields).group_by("person", maintain_order=True)
        return HumanAnswers.from_table(
            rows.rename({"task": "item"}),
            [card.item() for card in cards],
            profiles=people.agg(pl.all().drop_nulls().first()) if fields else None,
            source="; ".join(sorted({card.source for card in cards if card.source})),
            licence="; ".join(sorted({card.licence for card in cards})),
        )

    def split(self, by: Unit = "person", *, salt: str = "") -> DecisionSplit:
        """Hold out whole people, items, topics or tasks: a tenth for the test, a tenth for development.

        The part of a unit follows from its name alone (crc32 modulo 10: 0 is test, 1 is development), so that other
        programs make the same split. Where `person` does not name a person, the whole task is held out.

        Args:
            by: What is held out. An item is a task together with what was seen in it. A task with topics of two parts
                is left out.
            salt: Put before every name; another salt makes another split.

        Raises:
            HumanDataError: If a part would be empty.
        """
        parts = self._topic_parts(salt) if by == "topic" else _hash_parts(self._units(by), salt)
        tables = [self.table.filter(parts == part) for part in ("training", "development", "test")]
        for table, part in zip(tables, ("training", "development", "test"), strict=True):
            if not table.height:
                raise HumanDataError(f"no {by} falls into the {part} part.", "Try another salt, or read more tasks.")
        training, development, test = (self._take(table) for table in tables)
        return DecisionSplit(training, development, test, self.table.height - sum(table.height for table in tables))

    def restrict(self, tasks: Iterable[str]) -> HumanDecisions:
        """The decisions in some of the tasks."""
        names = set(tasks)
        for name in sorted(names):
            self._task(name)
        return self._take(self.table.filter(pl.col("task").is_in(sorted(names))))

    def _units(self, by: Unit) -> pl.Series:
        sessions = [task.id for task in self.tasks.values() if not task.people_are_known]
        units = {
            "person": pl.when(pl.col("task").is_in(sessions)).then("task").otherwise("person"),
            "item": pl.concat_str("task", pl.lit("\n"), pl.col("seen").fill_null("{}")),
            "task": pl.col("task"),
        }
        if by not in units:
            raise UnknownNameError("unit to hold out", by, [*units, "topic"])
        return self.table.select(units[by].alias("unit"))["unit"]

    def _topic_parts(self, salt: str) -> pl.Series:
        """The part of each row by topics; a task is in no part where it shares a topic with a task of another."""
        topics = {task.id: frozenset(task.topics or (task.family,)) for task in self.tasks.values()}
        names = pl.Series(sorted({topic for mine in topics.values() for topic in mine}), dtype=pl.String)
        part_of = dict(zip(names.to_list(), _hash_parts(names, salt).to_list(), strict=True))
        parts = {}
        for task, mine in topics.items():
            found = {part_of[topic] for topic in mine}
            parts[task] = found.pop() if len(found) == 1 else None
        return self.table["task"].replace_strict(parts, return_dtype=pl.String)

    def _take(self, table: pl.DataFrame) -> HumanDecisions:
        present = set(table["task"].unique().to_list())
        return replace(self, table=table, tasks={name: task for name, task in self.tasks.items() if name in present})

    def _task(self, name: str) -> DecisionTask:
        if name not in self.tasks:
            raise UnknownNameError("task", name, self.tasks)
        return self.tasks[name]


def seen_field(seen: pl.Expr, name: str) -> pl.Expr:
    """A field of what people saw, from a column of JSON objects; `none` where it is missing."""
    return seen.str.json_path_match(f'$["{name}"]').fill_null("none")


def _hash_parts(units: pl.Series, salt: str) -> pl.Series:
    names = units.unique().to_list()
    words = {0: "test", 1: "development"}
    parts = {name: words.get(zlib.crc32((salt + name).encode()) % _PARTS, "training") for name in names}
    return units.replace_strict(parts, return_dtype=pl.String)


def _chosen(
    cards: Mapping[str, DecisionTask], tasks: Iterable[str] | None, families: Iterable[str] | None
) -> dict[str, DecisionTask]:
    names = list(cards) if tasks is None else list(tasks)
    for name in names:
        if name not in cards:
            raise UnknownNameError("task", name, cards)
    kinds = None if families is None else set(families)
    known = {card.family for card in cards.values()}
    for family in sorted(kinds or ()):
        if family not in known:
            raise UnknownNameError("family of tasks", family, known)
    return {name: cards[name] for name in names if kinds is None or cards[name].family in kinds}


def _load(path: Path, cards: Mapping[str, DecisionTask], chosen: Mapping[str, DecisionTask]) -> pl.DataFrame:
    """The rows of some tasks, with the line of each; rows of tasks without a card are kept, to be refused."""
    check_plain_table(path, most=MAX_UNPACKED_BYTES)
    if path.suffix == ".parquet":
        scan = pl.scan_parquet(path).with_row_index("line", offset=1)
    else:
        scan = pl.scan_csv(path, infer_schema_length=0, null_values=[""]).with_row_index("line", offset=2)
    _check_columns(scan.collect_schema().names(), path.name)
    count = scan.select(pl.len()).collect().item()
    if count > MAX_DECISIONS:
        raise HumanDataError(f"{path} has {count:,} decisions; at most {MAX_DECISIONS:,} are read.")
    if len(chosen) < len(cards):
        others = [name for name in cards if name not in chosen]
        scan = scan.filter(~pl.col("task").is_in(others) | pl.col("task").is_null())
    return scan.collect()


def _check_columns(columns: Iterable[str], where: str) -> None:
    missing = [name for name in _NEEDED if name not in set(columns)]
    if missing:
        raise HumanDataError(f"{where} has no column {missing[0]!r}.", f"It needs {', '.join(_NEEDED)}.")


def _check_rows(table: pl.DataFrame, tasks: Mapping[str, DecisionTask], where: str) -> None:
    """Refuse the first row with a gap, an unknown task, an answer that cannot be, or a text that is no object."""
    if not table.height:
        raise HumanDataError(f"{where} holds no decision of these tasks.")
    _refuse(table.filter(pl.any_horizontal(pl.col(*_NEEDED).is_null())), where, "task, person or answer is missing")
    _refuse(table.filter(~pl.col("task").is_in(list(tasks))), where, "the task {task!r} has no card")
    for column in ("profile", "seen"):
        text = pl.col(column).str.strip_chars()
        no_object = text.is_not_null() & ~(text.str.starts_with("{") & text.str.ends_with("}"))
        _refuse(table.filter(no_object), where, f"`{column}` is not a JSON object")
    words = {task.id: list(task.options) for task in tasks.values() if task.options}
    pairs = pl.DataFrame(
        [(task, option) for task, options in words.items() for option in options],
        schema={"task": pl.String, "option": pl.String},
        orient="row",
    )
    numbers = pl.DataFrame(
        [(task.id, *task.bounds) for task in tasks.values() if task.bounds],
        schema={"task": pl.String, "low": pl.Float64, "high": pl.Float64},
        orient="row",
    )
    for column in ("answer", "retest"):
        there = table.filter(pl.col(column).is_not_null())
        choices = there.filter(pl.col("task").is_in(list(words)))
        unknown = choices.join(pairs, left_on=["task", column], right_on=["task", "option"], how="anti")
        _refuse(unknown.sort("line"), where, f"the {column} {{{column}!r}} is not one of the options")
        value = pl.col(column).cast(pl.Float64, strict=False)
        measures = there.join(numbers, on="task", how="inner")
        outside = measures.filter(~value.is_between("low", "high").fill_null(False))
        _refuse(outside.sort("line"), where, f"the {column} {{{column}!r}} is not a number within the bounds")


def _refuse(rows: pl.DataFrame, where: str, problem: str) -> None:
    if rows.height:
        cells = rows.row(0, named=True).items()
        row = {name: shortened(value) if isinstance(value, str) else value for name, value in cells}
        raise HumanDataError(
            f"{where}, line {row['line']}: person {row['person']!r} in task {row['task']!r}: {problem.format(**row)}.",
            f"{rows.height:,} such rows." if rows.height > 1 else "",
        )
