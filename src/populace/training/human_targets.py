"""What people decided in the same task and condition, as targets for simulated people and as the measure of a round.

Targets come from people who may be learned from; the measure comes from others, of whom nothing is learned.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pydantic

from populace.base.errors import TrainingError, UnknownNameError
from populace.evaluation.decision_tasks import DecisionTask
from populace.evaluation.human_decisions import HumanDecisions, seen_field
from populace.training.decision_division import check_licences

Shares = npt.NDArray[np.float64]
"""The share of each option; NaN where nothing is known."""

_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_FIELD = re.compile(r"\\\{field_(\d+)\\\}")


class HumanScoring(pydantic.BaseModel):
    """Human decisions that simulated people are compared with, and learn from.

    Attributes:
        decisions: A folder with human decisions, as `HumanDecisions.read` takes it.
        licences: The licences under which data may be used here; data under others is refused.
        tasks: The tasks that are compared with; all by default.
        match: For tasks that a scenario words in its own way: a regular expression that the prompt has to contain. Its
            named groups are the fields of what people saw.
        least: Conditions in which fewer people decided are left out.

    Example:
        >>> HumanScoring(decisions="corpus", licences=["CC0-1.0"]).least
        5
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    decisions: Path
    licences: tuple[str, ...] = pydantic.Field(min_length=1)
    tasks: tuple[str, ...] = ()
    match: dict[str, str] = {}
    least: int = pydantic.Field(default=5, ge=1)


@dataclass(frozen=True)
class _Condition:
    """What people chose in a condition, of whom may be learned and of whom not: counts of options."""

    learned: npt.NDArray[np.int64]
    held_out: npt.NDArray[np.int64]


class HumanTargets:
    """The shares of options among people, for the decisions of simulated people.

    Args:
        scoring: Which decisions, and how they are found again.

    Attributes:
        decisions: The human decisions.

    Raises:
        TrainingError: If a task asks for a number, an expression is wrong, or a licence is not named.
        HumanDataError: If the folder cannot be read, or no person is held out.
    """

    def __init__(self, scoring: HumanScoring) -> None:
        self.scoring = scoring
        self.decisions = HumanDecisions.read(scoring.decisions, tasks=scoring.tasks or None)
        check_licences(self.decisions, scoring.licences)
        for name in scoring.match:
            if name not in self.decisions.tasks:
                raise UnknownNameError("task to match", name, self.decisions.tasks)
        self.tasks = {name: task for name, task in self.decisions.tasks.items() if task.options}
        numbers = [name for name in (*scoring.tasks, *scoring.match) if name not in self.tasks]
        if numbers or not self.tasks:
            which = numbers[0] if numbers else next(iter(self.decisions.tasks))
            raise TrainingError(
                f"task {which!r} asks for a number; simulated people are compared where they choose.",
                "Name tasks with options under `tasks:`.",
            )
        self._expressions = {name: _expressions(task, scoring.match.get(name)) for name, task in self.tasks.items()}
        split = self.decisions.split("person")
        held_out = pl.concat([split.development.table, split.test.table])
        self._conditions = _conditions(self.tasks, split.training.table, held_out)

    def shares(self, decisions: pl.DataFrame, *, held_out: bool = False) -> list[Shares]:
        """For each decision the share of each of its options among people in the same condition.

        Args:
            decisions: As `sample_decisions` gives them.
            held_out: Whether the shares are those of people who are not learned from.
        """
        matches = self._matches(decisions)
        return [
            self._row_shares(words, matches.get((user, _key(words))), held_out)
            for user, words in decisions.select("user", "words").iter_rows()
        ]

    def _row_shares(self, words: list[str], match: tuple[str, _Condition] | None, held_out: bool) -> Shares:
        unknown = np.full(len(words), np.nan)
        if match is None:
            return unknown
        task, condition = match
        counts = condition.held_out if held_out else condition.learned
        if counts.sum() < self.scoring.least:
            return unknown
        places = {_plain(option): place for place, option in enumerate(self.tasks[task].options)}
        mine = counts[[places[_plain(word)] for word in words]].astype(np.float64)
        shares: Shares = mine / mine.sum()
        return shares

    def overlaps(self, decisions: pl.DataFrame) -> Shares:
        """How much of the answers of each simulated person is shared with held-out people; NaN where none are known.

        The overlap of two distributions is 1 less their total variation distance: 1 where they are the same.
        """
        rows = zip(self.shares(decisions, held_out=True), decisions["probabilities"].to_list(), strict=True)
        return np.array([np.minimum(people, chances).sum() for people, chances in rows], np.float64)

    def ceiling(self, decisions: pl.DataFrame) -> float:
        """The mean overlap that the people who are learned from have with held-out people, in the same conditions."""
        pairs = zip(self.shares(decisions), self.shares(decisions, held_out=True), strict=True)
        both = [np.minimum(first, second).sum() for first, second in pairs]
        known = [each for each in both if not np.isnan(each)]
        return float(np.mean(known)) if known else float("nan")

    def _matches(self, decisions: pl.DataFrame) -> dict[tuple[str, str], tuple[str, _Condition]]:
        """The task and the condition of each distinct prompt; of several that fit, the longest question."""
        texts = decisions.select("user", key=pl.Series([_key(words) for words in decisions["words"].to_list()])).unique(
            maintain_order=True
        )
        texts = texts.with_columns(text=pl.col("user").str.replace_all(r"\s+", " "))
        matches: dict[tuple[str, str], tuple[str, _Condition]] = {}
        for name, task in sorted(self.tasks.items(), key=lambda pair: (len(pair[1].question), pair[0])):
            mine = texts.filter(pl.col("key") == _key(task.options))
            if not mine.height:
                continue
            for user, key, *values in _extracted(mine, task, self._expressions[name]).iter_rows():
                condition = self._conditions.get((name, tuple(values)))
                if condition is not None:
                    matches[user, key] = name, condition
        return matches

    def explain(self, decisions: pl.DataFrame) -> str:
        """Why none of some decisions is in the data, in a sentence."""
        row = decisions.row(0, named=True)
        same = [name for name, task in self.tasks.items() if _key(task.options) == _key(row["words"])]
        if not same:
            example = next(iter(self.tasks.values()))
            return (
                f"No task there has the options {', '.join(row['words'])}; those of {example.id!r} are "
                f"{', '.join(example.options)}."
            )
        return (
            f"Its question is {row['question']!r}. {same[0]!r} has these options but another question or condition, or "
            f"fewer than {self.scoring.least} people; say under `match:` how it is found in a prompt."
        )

    def data(self) -> dict[str, Any]:
        """What an adapter says of this data."""
        return {
            "name": f"human decisions: {self.scoring.decisions.name}",
            "licence": "; ".join(self.decisions.licences),
            "decisions": self.decisions.table.height,
            "tasks": sorted(self.tasks),
        }


def _plain(word: str) -> str:
    return word.strip().casefold()


def _key(words: Any) -> str:
    """The options without their order."""
    return json.dumps(sorted(_plain(word) for word in words))


def _expressions(task: DecisionTask, match: str | None) -> list[str]:
    """Expressions that a prompt has to contain; a named group `field_N` is the field number N of the task."""
    if match is None:
        expressions = []
        for sentence in _SENTENCE.split(re.sub(r"\s+", " ", task.template.strip())):
            escaped = _FIELD.sub(r"(?P<field_\1>.+?)", re.escape(sentence).replace(r"\ ", " "))
            expressions.append(escaped.removesuffix("?)") + ")" if escaped.endswith(".+?)") else escaped)
        return expressions
    try:
        names = set(re.compile(match).groupindex)
        pl.Series([""]).str.contains(match)
    except (re.error, pl.exceptions.PolarsError) as error:
        raise TrainingError(f"`match` of task {task.id!r} is no regular expression: {error}.") from error
    if names != set(task.fields):
        groups, fields = (", ".join(each) or "none" for each in (sorted(names), task.fields))
        raise TrainingError(
            f"`match` of task {task.id!r} has the groups {groups}; its fields are {fields}.",
            "Write (?P<name>…) once for each field of its question.",
        )
    for place, name in enumerate(task.fields):
        match = match.replace(f"(?P<{name}>", f"(?P<field_{place}>")
    return [match]


def _extracted(texts: pl.DataFrame, task: DecisionTask, expressions: list[str]) -> pl.DataFrame:
    """The prompts that contain all expressions, with the fields that are found there."""
    text, columns = pl.col("text"), []
    for place in range(len(task.fields)):
        group = f"(?P<field_{place}>"
        expression = next(each for each in expressions if group in each)
        columns.append(text.str.extract_groups(expression).struct.field(f"field_{place}").str.strip_chars())
    there = pl.all_horizontal(text.str.contains(each) for each in expressions)
    return texts.filter(there).select("user", "key", *columns)


def _conditions(
    tasks: dict[str, DecisionTask], learned: pl.DataFrame, held_out: pl.DataFrame
) -> dict[tuple[str, tuple[str, ...]], _Condition]:
    """The counts of options in each condition: a task and the values of its fields."""
    conditions: dict[tuple[str, tuple[str, ...]], _Condition] = {}
    for name, task in tasks.items():
        parts = [_counts(task, table.filter(pl.col("task") == name)) for table in (learned, held_out)]
        none = np.zeros(len(task.options), np.int64)
        for values in {**parts[0], **parts[1]}:
            conditions[name, values] = _Condition(parts[0].get(values, none), parts[1].get(values, none))
    return conditions


def _counts(task: DecisionTask, table: pl.DataFrame) -> dict[tuple[str, ...], npt.NDArray[np.int64]]:
    names = [f"field_{place}" for place in range(len(task.fields))]
    fields = [
        seen_field(pl.col("seen"), name).str.replace_all(r"\s+", " ").str.strip_chars().alias(column)
        for name, column in zip(task.fields, names, strict=True)
    ]
    counted = table.select("answer", *fields).group_by(*names, "answer", maintain_order=True).agg(pl.len())
    places = {option: place for place, option in enumerate(task.options)}
    counts: dict[tuple[str, ...], npt.NDArray[np.int64]] = {}
    for *values, answer, number in counted.iter_rows():
        counts.setdefault(tuple(values), np.zeros(len(places), np.int64))[places[answer]] += number
    return counts
