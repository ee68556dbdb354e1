"""Answers that were recorded, as training examples: of a model in runs, and of raters in their feedback."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.documents import DocumentError, parse_json, read_text
from populace.base.errors import TrainingError
from populace.base.randomness import stream
from populace.deciders.scored import LEAD
from populace.journal import Journal
from populace.questions import LABELS, VALID
from populace.runs.reader import RunReader
from populace.training.examples import TrainingExamples
from populace.training.plan import DataPart
from populace.training.sequences import ModelVocabulary

_PART = 4_000
"""How many examples a part has, about."""
_MOST_WEIGHT = 12.0
"""The most that one prompt counts, however many people were asked it."""
_GOOD_SCORE = 4
"""From which score of 1 to 5 an answer is learned."""


@dataclass(frozen=True)
class RecordedDivision:
    """Recorded answers: to learn from, and a tenth of the people to look at on the way.

    Attributes:
        name: What they are.
        licence: What may be done with them.
        examples: All of them; simulated people have their run before their name.
    """

    name: str
    licence: str
    examples: TrainingExamples

    @classmethod
    def read(cls, part: DataPart, licences: tuple[str, ...]) -> RecordedDivision:
        """The runs or the feedback that a part of a plan names.

        Args:
            part: The part.
            licences: The licences that the plan names.
        """
        path = part.runs or part.feedback
        if path is None or part.licence not in licences:
            raise TrainingError(
                f"{path} is under a licence that the plan does not name: {part.licence!r}.",
                "Add the licence under `licences:` if it allows this use, or leave it out.",
            )
        rows = list(_run_rows(path) if part.runs else _feedback_rows(path))
        kind = "runs" if part.runs else "feedback"
        if not rows:
            raise TrainingError(
                f"there is nothing to learn from in {path}.",
                "Runs need answers of a model." if part.runs else "Raters rewrite answers, or score them 4 or 5.",
            )
        examples = TrainingExamples.of([row | {"licence": part.licence} for row in rows])
        division = cls(f"{kind}: {path.name}", part.licence, examples)
        if not division._rows(development=False).height:
            raise TrainingError(f"{path} has answers of too few people to hold a tenth of them out.")
        return division

    @property
    def people(self) -> pl.Series:
        """The people who are learned from; they are simulated."""
        return self._rows(development=False)["person"]

    def _rows(self, *, development: bool) -> pl.DataFrame:
        names = self.examples.table["person"].unique()
        looked_at = [name for name in names.to_list() if zlib.crc32(name.encode()) % 10 == 1]
        there = pl.col("person").is_in(looked_at)
        return self.examples.table.filter(there if development else ~there)

    def source(self, part: DataPart, vocabulary: ModelVocabulary, seed: int) -> RecordedSource:
        """The examples that a part of a plan learns from."""
        return RecordedSource(self._rows(development=False), seed)

    def unseen(self, vocabulary: ModelVocabulary, seed: int) -> list[TrainingExamples]:
        """Examples of people who are not in training."""
        rows = self._rows(development=True)
        return [TrainingExamples(rows.sample(min(2_000, rows.height), seed=seed))] if rows.height else []

    def manifest(self) -> dict[str, Any]:
        """What an adapter says of this data."""
        table = self._rows(development=False)
        return {
            "name": self.name,
            "sha256": self.digest(),
            "licence": self.licence,
            "examples": table.height,
            "origins": sorted(set(table["origin"].to_list())),
        }

    def digest(self) -> str:
        """A digest of the examples."""
        return hashlib.sha256(self.examples.table.write_ndjson().encode()).hexdigest()


class RecordedSource:
    """A table of examples as a source, in parts that are shuffled anew for each pass.

    Args:
        table: The examples.
        seed: The seed of the order.
    """

    def __init__(self, table: pl.DataFrame, seed: int) -> None:
        self.parts = max(1, round(table.height / _PART))
        self._seed = seed
        self._parts = [table.gather_every(self.parts, part) for part in range(self.parts)]

    def examples(self, part: int, pass_number: int = 0) -> TrainingExamples:
        """The examples of a part, in the order of a pass."""
        table = self._parts[part]
        order = stream(self._seed, f"recorded/{pass_number}/{part}").permutation(table.height)
        return TrainingExamples(table[pl.Series(order)])


def _run_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The prompts of a run, or of all runs in a folder, with the distribution or the text that was answered."""
    if not path.is_dir():
        raise TrainingError(f"there is no folder {path}.", "Name the folder of a run, or the folder `runs`.")
    folders = [path] if Journal.is_run(path) else sorted(each for each in path.iterdir() if Journal.is_run(each))
    for folder in folders:
        run = RunReader.open(folder)
        for step in run.steps:
            yield from _step_rows(run, step)


def _step_rows(run: RunReader, step: int) -> Iterator[dict[str, Any]]:
    asks, prompts, answers = (run.record.table(step, name) for name in ("asks", "prompts", "answers"))
    if asks is None or prompts is None or answers is None or not prompts.height:
        return
    valid = answers.filter(pl.col("status").cast(pl.String).is_in(list(VALID)))
    people = valid.group_by("ask", "prompt", maintain_order=True).agg(
        pl.len().alias("people"), pl.col("person").cast(pl.String).first()
    )
    rows = prompts.join(people, on=["ask", "prompt"], maintain_order="left").join(
        asks.select("ask", "question"), on="ask", maintain_order="left"
    )
    for row in rows.iter_rows(named=True):
        target = _scored_target(row) if row["method"] == "scored" else _written_target(row)
        if target is not None:
            yield target | {
                "system": row["system"] or "", "user": row["user"], "weight": min(_MOST_WEIGHT, float(row["people"])),
                "person": f"{run.name}/{row['person']}", "task": run.manifest.scenario,
                "origin": f"answers of {row['model']}",
            }  # fmt: skip


def _scored_target(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The distribution over the options, in the words that follow the lead."""
    words = json.loads(row["question"]).get("words")
    shares = np.array(row["probabilities"] or [], np.float64)
    if not words or len(shares) != len(words) or not np.isfinite(shares).all() or shares.sum() <= 0:
        return None
    lead = row["lead"] or LEAD
    if row["labels"]:
        places = [int(place) for place in row["arrangement"].split()]
        replies = [f" {LABELS[places.index(option)]}" for option in range(len(words))]
    else:
        replies = [word if lead.endswith(" ") else f" {word}" for word in words]
    return {"lead": lead, "answers": replies, "shares": (shares / shares.sum()).tolist()}


def _written_target(row: Mapping[str, Any]) -> dict[str, Any] | None:
    reply = (row["replies"] or [""])[-1]
    if not reply or not reply.strip():
        return None
    lead = row["lead"] or ""
    return {"lead": lead, "answers": [reply.removeprefix(lead)], "shares": [1.0]}


def _feedback_rows(folder: Path) -> Iterator[dict[str, Any]]:
    """Rewritten answers, and answers with a high score."""
    for line in read_feedback_lines(folder):
        if line.get("verdict") == "rewritten" and line.get("rewrite"):
            text, weight = str(line["rewrite"]), 1.0
        elif isinstance(line.get("score"), int) and line["score"] >= _GOOD_SCORE:
            text, weight = str(line["reply"]), (line["score"] - 3) / 2
        else:
            continue
        messages = {each["role"]: each["content"] for each in line["messages"]}
        lead = str(line.get("lead") or "")
        text = f" {text.lstrip()}" if lead.startswith(LEAD) and not lead.endswith(" ") else text.removeprefix(lead)
        yield {
            "system": messages.get("system", ""), "user": messages["user"], "lead": lead, "answers": [text],
            "shares": [1.0], "weight": weight, "person": f"{line.get('run', '')}/{line.get('person', '')}",
            "task": "feedback", "origin": f"feedback of {line.get('rater', 'raters')}",
        }  # fmt: skip


def read_feedback_lines(folder: Path) -> list[dict[str, Any]]:
    """The last feedback of every rater on every answer, without what was withdrawn.

    Args:
        folder: The folder `feedback` of a workspace, with a file for each rater.

    Raises:
        TrainingError: If a file holds something else.
    """
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
        try:
            lines = read_text(path).splitlines()
        except (OSError, DocumentError) as error:
            raise TrainingError(f"{path} could not be read: {error}.", "Move it elsewhere.") from error
        for number, text in enumerate(lines, 1):
            if not text.strip():
                continue
            try:
                line = parse_json(text)
            except DocumentError:
                continue  # A power failure cuts the last line short; `populace feedback` counts such lines.
            messages = line.get("messages") if isinstance(line, dict) else None
            if not isinstance(messages, list) or not all(
                isinstance(each, dict) and {"role", "content"} <= set(each) for each in messages
            ):
                raise TrainingError(f"{path}, line {number}: this is no feedback.", "Move the file elsewhere.")
            last[path.stem, str(line.get("item", f"line {number}"))] = line
    return [line for line in last.values() if line.get("verdict") != "withdrawn"]
