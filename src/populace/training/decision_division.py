"""Human decisions as a plan uses them: what may be learned from, what is looked at, and what is scored on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.documents import parse_json_object
from populace.base.errors import TrainingError, UnknownNameError
from populace.evaluation.human_decisions import HumanDecisions
from populace.models.artifacts import sha256
from populace.training.decision_examples import DecisionSource
from populace.training.examples import TrainingExamples
from populace.training.expected_answers import expected_answers
from populace.training.held_out import Rendered, gap_closed, score_decisions, task_scores
from populace.training.plan import DataPart, HeldOut
from populace.training.sequences import ModelVocabulary

_UNSEEN = 2_000
"""How many examples of unseen people are looked at on the way."""
_PROFILES = 2_000
"""Of how many people the profiles are used for questions to which their answers are not known."""


@dataclass(frozen=True)
class DecisionDivision:
    """The decisions of a folder: to learn from, to look at, and to score on.

    Attributes:
        folder: The folder.
        held_out: What is never learned from.
        everything: All decisions.
        training: What may be learned from.
        development: What is looked at on the way.
        test: What is scored on.
    """

    folder: Path
    held_out: HeldOut
    everything: HumanDecisions
    training: HumanDecisions
    development: HumanDecisions
    test: HumanDecisions

    @classmethod
    def read(cls, folder: Path, held_out: HeldOut, licences: tuple[str, ...]) -> DecisionDivision:
        """The decisions of a folder, divided.

        Args:
            folder: The folder.
            held_out: What is never learned from.
            licences: The licences that the plan names.
        """
        decisions = HumanDecisions.read(folder)
        check_licences(decisions, licences)
        for name in held_out.tasks:
            if name not in decisions.tasks:
                raise UnknownNameError("held-out task", name, decisions.tasks)
        split = decisions.split("person")
        tasks = [
            name
            for name, task in decisions.tasks.items()
            if name not in held_out.tasks and not _has(task.topics, held_out.topics)
        ]
        if not tasks:
            raise TrainingError("every task is held out, so nothing is left to learn from.", "Hold out fewer.")
        parts = [
            each.restrict([name for name in tasks if name in each.tasks])
            for each in (split.training, split.development)
        ]
        return cls(folder, held_out, decisions, parts[0], parts[1], split.test)

    @property
    def people(self) -> pl.Series:
        """The people who are learned from."""
        return self.training.table["person"]

    def known_facts(self) -> list[dict[str, str]]:
        """What is known of some of the people who are learned from."""
        profiles = self.training.table["profile"].drop_nulls().unique().sort()
        profiles = profiles.filter(profiles != "{}")
        chosen = profiles.sample(min(_PROFILES, len(profiles)), seed=0)
        return [{name: str(value) for name, value in parse_json_object(each).items()} for each in chosen]

    def source(
        self, part: DataPart, vocabulary: ModelVocabulary, seed: int, expected: pl.DataFrame | None = None
    ) -> DecisionSource:
        """The examples that a part of a plan learns from.

        Args:
            part: The part.
            vocabulary: The tokens of the model.
            seed: The seed of forms and styles.
            expected: What `expected_answers` gives, where the part learns from it.
        """
        retested = set(self.everything.table.filter(pl.col("retest").is_not_null())["task"].unique())
        names = [
            name
            for name, task in self.training.tasks.items()
            if (part.retested is None or part.retested == (name in retested))
            and (not part.families or task.family in part.families)
            and (not part.topics or _has(task.topics, part.topics))
            and not _has(task.topics, part.except_topics)
        ]
        if not names:
            raise TrainingError(f"no task of {part.decisions} is left by the families and topics of the plan.")
        decisions = self.training.restrict(names)
        return DecisionSource(
            decisions, vocabulary, seed=seed, expected=expected, expected_share=part.expected,
            smoothing=part.smoothing, least=part.least,
        )  # fmt: skip

    def expected(self, folder: Path, seed: int, watch: Callable[[str], None]) -> pl.DataFrame:
        """What `expected_answers` gives for the decisions that may be learned from; kept in a folder.

        Args:
            folder: Where it is kept: it takes minutes for a million decisions.
            seed: The seed of the fits.
            watch: Told what is fitted.
        """
        key = json.dumps([self.digest(), self.held_out.model_dump(), seed], sort_keys=True)
        path = folder / f"expected-answers-{hashlib.sha256(key.encode()).hexdigest()[:16]}.parquet"
        if not path.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            beside = path.with_suffix(".new")
            expected_answers(self.training, seed=seed, watch=watch).write_parquet(beside)
            beside.replace(path)
        return pl.read_parquet(path, glob=False, hive_partitioning=False)

    def unseen(self, vocabulary: ModelVocabulary, seed: int) -> list[TrainingExamples]:
        """Some examples of people who are not in training, asked plainly."""
        rows = self.development.table
        rows = rows.sample(min(_UNSEEN, rows.height), seed=seed)
        tasks = {name: self.development.tasks[name] for name in sorted(set(rows["task"].to_list()))}
        source = DecisionSource(HumanDecisions(tasks, rows), vocabulary, size=_UNSEEN * 2, varied=False)
        return [source.plain_examples(part)[0] for part in range(source.parts)]

    def score(
        self,
        model: Any,
        vocabulary: ModelVocabulary,
        *,
        length: int = 1024,
        batch: int = 64,
        rendered: Iterable[Rendered] | None = None,
    ) -> tuple[pl.DataFrame, dict[str, Any]]:
        """A table of tasks, and the figures of each part, for people who are not learned from.

        Args:
            model: The network.
            vocabulary: Its tokens.
            length: How many tokens a packed sequence has.
            batch: How many sequences are computed at once.
            rendered: The situations, where they are rendered already; see `score_decisions`.
        """
        scored = score_decisions(model, vocabulary, self.test, length=length, batch=batch, rendered=rendered)
        others = _without(self.everything, self.test)
        table = task_scores(scored, others).with_columns(
            part=pl.col("task").replace_strict(self._parts(), return_dtype=pl.String),
            family=pl.col("task").replace_strict({name: task.family for name, task in others.tasks.items()}),
        )
        return table, _figures(table, scored, others)

    def _parts(self) -> dict[str, str]:
        held_out = self.held_out
        parts = {}
        for name, task in self.everything.tasks.items():
            if _has(task.topics, held_out.topics):
                parts[name] = "unseen topic"
            elif name not in self.training.tasks:  # Also where `person` is no person, and a whole task is held out.
                parts[name] = "unseen task"
            else:
                parts[name] = "attitude" if task.family == "attitude" else "trained task"
        return parts

    def manifest(self) -> dict[str, Any]:
        """What an adapter says of this data."""
        return {
            "name": self.folder.name,
            "sha256": self.digest(),
            "licence": "; ".join(self.training.licences),
            "decisions": self.training.table.height,
            "people": self.training.table["person"].n_unique(),
            "tasks": sorted(self.training.tasks),
        }

    def digest(self) -> str:
        """A digest of the files."""
        digest = hashlib.sha256()
        for name in ("tasks.jsonl", "decisions.parquet", "decisions.csv"):
            if (self.folder / name).is_file():
                digest.update(bytes.fromhex(sha256(self.folder / name)))
        return digest.hexdigest()


def check_licences(decisions: HumanDecisions, allowed: tuple[str, ...]) -> None:
    """Refuse decisions under a licence that a plan does not name.

    Args:
        decisions: The decisions.
        allowed: The licences that the plan names.
    """
    others = {licence: tasks for licence, tasks in decisions.licences.items() if licence not in allowed}
    if others:
        licence, tasks = next(iter(others.items()))
        raise TrainingError(
            f"{sum(len(each) for each in others.values())} tasks are under a licence that the plan does not name: "
            f"{licence!r} (such as {tasks[0]}).",
            "Add the licence under `licences:` if it allows this use, or leave these tasks out of the folder.",
        )


def _has(topics: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return not set(topics).isdisjoint(wanted)


def _without(everything: HumanDecisions, test: HumanDecisions) -> HumanDecisions:
    """All decisions but those of the test people."""
    rest = everything.table.join(test.table.select("task", "person").unique(), on=["task", "person"], how="anti")
    return HumanDecisions(everything.tasks, rest)


def _figures(table: pl.DataFrame, scored: pl.DataFrame, others: HumanDecisions) -> dict[str, Any]:
    figures = {}
    for (part,), tasks in table.group_by("part", maintain_order=True):
        mine = scored.filter(pl.col("task").is_in(tasks["task"].implode()))
        figures[str(part)] = task_summary(tasks) | {"gap": dict(gap_closed(mine, others))}
    return figures


def task_summary(tasks: pl.DataFrame) -> dict[str, float]:
    """Means over tasks, and in how many tasks the log-loss is below that of the shares and of chance."""
    sizes = tasks["decisions"].to_numpy().astype(float)
    names = ("accuracy", "majority", "log_loss", "majority_log_loss", "uniform_log_loss", "brier", "mass")
    columns = {name: tasks[name].to_numpy() for name in names}
    return {name: float(values.mean()) for name, values in columns.items()} | {
        "tasks": float(tasks.height),
        "decisions": float(sizes.sum()),
        "below_majority_log_loss": float((columns["log_loss"] < columns["majority_log_loss"]).mean()),
        "pooled_accuracy": float(np.average(columns["accuracy"], weights=sizes)),
        "pooled_majority": float(np.average(columns["majority"], weights=sizes)),
    }
