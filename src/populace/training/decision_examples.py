"""Human decisions as training examples, in parts that can be rendered apart from each other."""

from __future__ import annotations

import copy
import functools
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.documents import parse_json_object
from populace.base.errors import QuestionError, TrainingError
from populace.base.randomness import stream
from populace.evaluation.decision_tasks import DecisionTask, read_decision_tasks, write_decision_tasks
from populace.evaluation.human_decisions import HumanDecisions, seen_field
from populace.minds import Mind
from populace.people import People
from populace.prompting import Inquiry, Situation, Variation
from populace.questions import Choice, Number, Question
from populace.training.examples import SCHEMA, TrainingExamples
from populace.training.profile_styles import write_profile
from populace.training.rendering import render_shares, render_texts
from populace.training.sequences import ModelVocabulary

_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z\"{])")
_FORMS = 4
"""How many ways of asking each task are drawn for a pass."""
_MOST_WEIGHT = 12.0
"""The most that one situation counts, however many people were in it."""
_ORDERS = ("", "", "", "reversed", "reversed", "random")
_WORDINGS = ("", "", "", "", "", "", "polite", "headed", "asked first")


@dataclass(frozen=True)
class Form:
    """A way of asking a task.

    Attributes:
        variation: How the prompt is changed.
        labels: Whether options are shown by letters.
        divided: Whether what stands before the question is told as a situation.
    """

    variation: Variation
    labels: bool = False
    divided: bool = False


PLAIN = Form(Variation())
"""A task asked as its card words it."""


@dataclass(frozen=True)
class _Tables:
    """Situations with their part and with numbers in place of their texts, and the texts in the order of their numbers.

    The tasks are those of the situations.
    """

    rows: pl.DataFrame
    texts: dict[str, pl.Series]
    tasks: Mapping[str, DecisionTask]


@dataclass(frozen=True)
class _StoredTables:
    """The same in files, read when they are needed."""

    folder: Path
    names: tuple[str, ...]

    @classmethod
    def write(cls, tables: _Tables | _StoredTables, folder: Path) -> _StoredTables:
        """Write tables to a folder."""
        folder.mkdir(parents=True)
        tables.rows.write_ipc(folder / "rows.arrow")
        for name, texts in tables.texts.items():
            texts.alias(name).to_frame().write_ipc(folder / f"{name}.arrow")
        write_decision_tasks(tables.tasks.values(), folder / "tasks.jsonl")
        return cls(folder, tuple(tables.texts))

    @functools.cached_property
    def rows(self) -> pl.DataFrame:
        """The situations."""
        return pl.read_ipc(self.folder / "rows.arrow")

    @functools.cached_property
    def texts(self) -> dict[str, pl.Series]:
        """The texts."""
        return {name: pl.read_ipc(self.folder / f"{name}.arrow")[name] for name in self.names}

    @functools.cached_property
    def tasks(self) -> Mapping[str, DecisionTask]:
        """The tasks."""
        return read_decision_tasks(self.folder / "tasks.jsonl")


class DecisionSource:
    """Training examples from human decisions.

    People who saw the same and of whom the same is known become one example, whose shares are what they chose. All
    examples of one profile are in the same part, so that they can share the computation of the profile.

    Args:
        decisions: The decisions that may be learned from.
        vocabulary: The tokens of the model that is trained.
        size: How many examples a part has, about.
        seed: The seed of forms and styles.
        varied: Whether forms of questions and styles of profiles are drawn anew for each pass; otherwise each task is
            asked as its card words it, and a profile is a list.
        expected: What `expected_answers` gives.
        expected_share: How much of a target is what is expected; the rest is what was chosen.
        smoothing: How much of a target is spread evenly over all options.
        least: Tasks with fewer situations are repeated a whole number of times, so that they have about so many.

    Attributes:
        parts: How many parts there are.
        skipped: The tasks that cannot be asked, with the reason.
    """

    origin = "human decisions"

    def __init__(
        self,
        decisions: HumanDecisions,
        vocabulary: ModelVocabulary,
        *,
        size: int = 4_000,
        seed: int = 0,
        varied: bool = True,
        expected: pl.DataFrame | None = None,
        expected_share: float = 0.0,
        smoothing: float = 0.0,
        least: int = 0,
    ) -> None:
        self._expected_share = expected_share if expected is not None else 0.0
        self._smoothing = smoothing
        self.vocabulary, self._seed, self._varied = vocabulary, seed, varied
        self.skipped = {task.id: text for task in decisions.tasks.values() if (text := asking_problem(task))}
        table = decisions.table.filter(~pl.col("task").is_in(list(self.skipped)))
        if not table.height:
            raise TrainingError("none of the decisions can be learned from.", "; ".join(self.skipped.values())[:300])
        rows = _situations(table)
        if expected is not None and self._expected_share:
            rows = rows.join(expected, on=["task", "profile", "seen"], how="left", maintain_order="left")
        rows = _repeated(rows, least)
        self.parts = max(1, round(rows.height / size))
        key = pl.when(pl.col("profile") == "{}").then(pl.col("seen")).otherwise(pl.col("profile"))
        part = _part_numbers(rows.select(key.alias("key"))["key"], self.parts, seed)
        # Each profile and each situation is held once, which makes a source small to send to other processes.
        texts = {name: rows[name].unique().sort() for name in ("task", "profile", "seen")}
        codes = [pl.col(name).replace_strict(words, _codes(words)) for name, words in texts.items()]
        self._tables: _Tables | _StoredTables = _Tables(rows.with_columns(codes, part=part), texts, decisions.tasks)
        self._forms: dict[tuple[str, int, int], tuple[int, str, str, list[str]]] = {}

    def __len__(self) -> int:
        return self._tables.rows.height

    @property
    def tasks(self) -> Mapping[str, DecisionTask]:
        """The tasks that are asked."""
        return self._tables.tasks

    def stored_in(self, folder: Path) -> DecisionSource:
        """The same source with all that is large in files, so that it is quickly sent to other processes.

        Args:
            folder: Where the files are written; they have to stay as long as the source is used.
        """
        stored = copy.copy(self)
        stored._tables = _StoredTables.write(self._tables, folder)
        return stored

    def examples(self, part: int, pass_number: int = 0) -> TrainingExamples:
        """The examples of a part, in the forms of one pass."""
        rows = self._part_rows(part)
        rng = stream(self._seed, f"forms/{pass_number}/{part}")
        systems = self._systems(rows, rng)
        rows = rows.with_columns(
            system=systems,
            form=pl.Series(rng.integers(_FORMS, size=rows.height) if self._varied else [0] * rows.height),
        )
        tables = [
            self._task_examples(self.tasks[task], rows_of_task, pass_number) for task, rows_of_task in _by_task(rows)
        ]
        table = pl.concat(tables).select(*SCHEMA)
        return TrainingExamples(table[rng.permutation(table.height)])

    def plain_examples(self, part: int) -> tuple[TrainingExamples, pl.DataFrame]:
        """The examples of a part, unshuffled, and for each the task, the profile and what was seen."""
        rows = self._part_rows(part)
        rows = rows.with_columns(system=self._systems(rows, stream(self._seed, "plain")), form=pl.lit(0))
        tables = [self._task_examples(self.tasks[task], mine, 0) for task, mine in _by_task(rows)]
        return TrainingExamples(pl.concat(tables)), rows.select("task", "profile", "seen")

    def _part_rows(self, part: int) -> pl.DataFrame:
        tables = self._tables
        rows = tables.rows.filter(pl.col("part") == part).drop("part").sort("task", "profile", "seen")
        return rows.with_columns(texts[rows[name]].alias(name) for name, texts in tables.texts.items())

    def _systems(self, rows: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        """The profile of each row as text; rows of one task without profiles share one."""
        key = pl.when(pl.col("profile") == "{}").then(pl.col("task")).otherwise(pl.col("profile"))
        keys = rows.select(key).to_series()
        texts: dict[str, str] = {}
        for key in keys.unique(maintain_order=True):
            facts = {} if not key.startswith("{") else {k: str(v) for k, v in parse_json_object(key).items()}
            texts[key] = write_profile(facts, rng) if self._varied else plain_profile(facts)
        return keys.replace_strict(texts, return_dtype=pl.String).alias("system")

    def _task_examples(self, task: DecisionTask, rows: pl.DataFrame, pass_number: int) -> pl.DataFrame:
        """The examples of one task, in columns."""
        if task.fields or task.bounds:
            tables = [
                self._with_fields(task, group, self._form(task.id, int(number), pass_number))
                for (number,), group in rows.group_by("form", maintain_order=True)
            ]
            table = pl.concat(tables)
        else:
            forms = pl.DataFrame(
                [self._rendered_form(task.id, number, pass_number) for number in range(_FORMS)],
                schema={"form": pl.Int64, "user": pl.String, "lead": pl.String, "answers": pl.List(pl.String)},
                orient="row",
            )
            shares = pl.Series(self._targets(task, rows).tolist(), dtype=pl.List(pl.Float64))
            table = rows.with_columns(pl.col("form").cast(pl.Int64), shares=shares).join(
                forms, "form", maintain_order="left"
            )
        return table.with_columns(origin=pl.lit(self.origin), licence=pl.lit(task.licence)).select(*SCHEMA)

    def _with_fields(self, task: DecisionTask, rows: pl.DataFrame, form: Form) -> pl.DataFrame:
        columns = [seen_field(pl.col("seen"), name).alias(f"field_{place}") for place, name in enumerate(task.fields)]
        fields = rows.select(columns).to_dict()
        inquiry = inquiry_of(task, form, rows["system"], fields, self._seed)
        if task.bounds:
            answers = rows["choices"].list.first().to_list()
            return rows.hstack(render_texts(inquiry, answers).drop("row", "system"))
        rendered = render_shares(inquiry, self._targets(task, rows), self.vocabulary)
        return rows.hstack(rendered.drop("row", "system"))

    def _targets(self, task: DecisionTask, rows: pl.DataFrame) -> Any:
        """The share that each option should have: what was chosen, and what is expected of such people; smoothed."""
        shares = _shares(task, rows)
        if self._expected_share:
            known = rows["expected"].is_not_null().to_numpy()
            if known.any():
                expected = np.array(rows["expected"].drop_nulls().to_list())
                shares[known] += self._expected_share * (expected - shares[known])
        return shares + self._smoothing * (1 / len(task.options) - shares)

    def _form(self, task: str, number: int, pass_number: int) -> Form:
        if not self._varied:
            return PLAIN
        rng = stream(self._seed, f"form/{task}/{number}/{pass_number}")
        variation = Variation(wording=str(rng.choice(_WORDINGS)), order=str(rng.choice(_ORDERS)))
        return Form(variation, labels=bool(rng.random() < 0.25), divided=bool(rng.random() < 0.5))

    def _rendered_form(self, task_id: str, number: int, pass_number: int) -> tuple[int, str, str, list[str]]:
        """What is said about a task in which everybody saw the same."""
        key = task_id, number, pass_number
        if key in self._forms:
            return self._forms[key]
        task = self.tasks[task_id]
        form = self._form(task_id, number, pass_number)
        inquiry = inquiry_of(task, form, pl.Series([""]), {}, self._seed + number)
        shares = np.eye(1, len(task.options))
        row = render_shares(inquiry, shares, self.vocabulary).row(0, named=True)
        self._forms[key] = number, row["user"], row["lead"], row["answers"]
        return self._forms[key]


def plain_profile(facts: dict[str, str]) -> str:
    """A profile as a list, as a survey writes the respondents of a file; nothing where nothing is known."""
    return (
        "About you:" + "".join(f"\n- {name.replace('_', ' ')}: {value}" for name, value in facts.items())
        if facts
        else ""
    )


def question_of(task: DecisionTask, form: Form) -> tuple[Question, str]:
    """The question of a task in a form, and what is told before it."""
    given, text = _divide(task.template) if form.divided else ("", task.template)
    if task.bounds is not None:
        low, high = task.bounds
        whole = low.is_integer() and high.is_integer()
        return Number(text, low=low, high=high, whole=whole), given
    return Choice(text, options=task.options, scoring="labels" if form.labels else "auto"), given


def asking_problem(task: DecisionTask) -> str:
    """Why a task cannot be asked; empty where it can."""
    try:
        question_of(task, PLAIN)
    except QuestionError as error:
        return str(error)
    return ""


def inquiry_of(task: DecisionTask, form: Form, systems: pl.Series, fields: dict[str, pl.Series], seed: int) -> Inquiry:
    """The inquiry that puts a task to people whose profiles are written already."""
    question, given = question_of(task, form)
    people = People(pl.DataFrame({"name": [f"p{row}" for row in range(len(systems))], "profile_text": systems}))
    values: dict[str, Any] = dict(fields)
    situation = Situation.from_fields(question, given, values, people.ids)
    return form.variation.apply(Inquiry("training", people, Mind("{profile_text}"), situation, seed))


def _divide(text: str) -> tuple[str, str]:
    """What stands before and after the last question of a text, and that question."""
    sentences = _SENTENCE.split(text.strip())
    questions = [place for place, sentence in enumerate(sentences) if sentence.endswith("?")]
    if len(sentences) == 1 or not questions:
        return "", text
    place = questions[-1]
    return " ".join(sentences[:place] + sentences[place + 1 :]), sentences[place]


def _situations(table: pl.DataFrame) -> pl.DataFrame:
    """A row for each task, profile and situation, with what was chosen how often."""
    filled = table.with_columns(pl.col("profile", "seen").fill_null("{}"))
    counted = filled.group_by("task", "profile", "seen", "answer", maintain_order=True).agg(
        pl.len().alias("count"), pl.col("person").first()
    )
    return (
        counted.group_by("task", "profile", "seen", maintain_order=True)
        .agg(pl.col("answer").alias("choices"), pl.col("count").alias("counts"), pl.col("person").first())
        .with_columns(weight=pl.col("counts").list.sum().cast(pl.Float64).clip(upper_bound=_MOST_WEIGHT))
    )


def _repeated(rows: pl.DataFrame, least: int) -> pl.DataFrame:
    """The rows, those of small tasks several times, so that each task has about so many at least."""
    sizes = rows.select(pl.len().over("task")).to_series().to_numpy()
    times = np.maximum(1, np.rint(least / sizes)).astype(np.int64)
    return rows if (times == 1).all() else rows[np.repeat(np.arange(rows.height), times)]


def _part_numbers(keys: pl.Series, parts: int, seed: int) -> npt.NDArray[np.uint32]:
    """The part of each row, by its key alone, the same in every version of every library."""
    texts = keys.unique().sort()
    numbers = pl.Series([zlib.crc32(f"{seed}/{text}".encode()) % parts for text in texts], dtype=pl.UInt32)
    return keys.replace_strict(texts, numbers, return_dtype=pl.UInt32).to_numpy()


def _codes(texts: pl.Series) -> pl.Series:
    return pl.Series(np.arange(len(texts), dtype=np.uint32))


def _shares(task: DecisionTask, rows: pl.DataFrame) -> Any:
    codes = {option: place for place, option in enumerate(task.options)}
    shares = np.zeros((rows.height, len(task.options)))
    flat = rows.select("choices", "counts").with_row_index("at").explode("choices", "counts")
    places = flat["choices"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()
    np.add.at(shares, (flat["at"].to_numpy(), places), flat["counts"].to_numpy())
    return shares / shares.sum(1, keepdims=True)


def _by_task(rows: pl.DataFrame) -> Iterator[tuple[Any, pl.DataFrame]]:
    return ((task, group) for (task,), group in rows.group_by("task", maintain_order=True))
