"""Items of feedback: one answer of one simulated person, with its prompt."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from populace.base.randomness import stream
from populace.people import Id
from populace.questions import LABELS, VALID
from populace.runs.reader import RunReader

ItemKind = Literal["decision", "utterance"]
KINDS: tuple[ItemKind, ...] = ("decision", "utterance")

_SPARE = 4
"""How many candidates are looked at for each item wanted, as some are invalid, alike or decided by a rule."""


@dataclass(frozen=True)
class Item:
    """One answer, with everything needed to judge it and to train on it.

    Attributes:
        key: A hash that identifies it and does not reveal its origin.
        run: The run.
        experiment: The experiment of the run; empty if it has none.
        arm: The arm of that experiment.
        step: The step of the run.
        path: The path of the question within the step.
        person: The person who answered.
        kind: `decision`, or `utterance` if the answer is free text.
        purpose: The purpose of the question.
        model: The model that answered.
        system: The first message of the prompt.
        user: The second message of the prompt.
        lead: The beginning of the reply that was given to the model.
        reply: What the model replied, or would have replied to give the answer that was drawn.
        value: The parsed answer.
        question: The question, as recorded.
        arrangement: The order in which options were shown.
        labels: Whether options were shown with letters.
        memories: The memories in the prompt.
    """

    key: str
    run: str
    experiment: str
    arm: str
    step: int
    path: str
    person: Id
    kind: ItemKind
    purpose: str
    model: str
    system: str
    user: str
    lead: str
    reply: str
    value: str
    question: dict[str, Any] = field(repr=False)
    arrangement: tuple[int, ...] = ()
    labels: bool = False
    memories: tuple[str, ...] = ()

    @property
    def messages(self) -> list[dict[str, str]]:
        """The prompt as messages."""
        parts = [("system", self.system), ("user", self.user)]
        return [{"role": role, "content": text} for role, text in parts if text]

    @property
    def options(self) -> dict[str, str]:
        """The options as they were shown, with the reply that selects each; empty if the question has none."""
        if "values" not in self.question:
            return {}
        words = [str(word) for word in self.question["words"]]
        order = self.arrangement or tuple(range(len(words)))
        if self.labels:
            return {f"{LABELS[place]}. {words[which]}": LABELS[place] for place, which in enumerate(order)}
        return {words[which]: words[which] for which in order}

    @property
    def display_text(self) -> str:
        """The answer as text for people."""
        if self.options:
            return next((option for option, reply in self.options.items() if reply == self.reply), self.value)
        if self.question["kind"] == "utterance" and self.question.get("title"):
            parts = json.loads(self.value)
            return f"{parts['title']}\n\n{parts['text']}"
        return self.value


def draw_items(
    run: RunReader,
    kind: ItemKind,
    most: int,
    seed: int,
    *,
    until: int,
    purpose: str = "",
    origin: tuple[str, str] = ("", ""),
) -> list[Item]:
    """Answers of a run in random order, each kind of answer to a prompt at most once.

    Args:
        run: The run.
        kind: Decisions or utterances.
        most: The largest number of items.
        seed: The seed of the sample.
        until: The last step to draw from, so that a run under way gives the same ones later.
        purpose: Only answers to questions with this purpose.
        origin: The experiment and the arm that the run belongs to.
    """
    asks = _asks(run, kind, until, purpose)
    total = int(asks["people"].sum()) if asks.height else 0
    if not total:
        return []
    rng = stream(seed, f"feedback/{origin[0]}/{run.name}/{kind}")
    ranks = rng.permutation(total)[: most * _SPARE]
    ends = asks["people"].cum_sum().to_numpy()
    rows = np.searchsorted(ends, ranks, side="right")
    offsets = ranks - (ends - asks["people"].to_numpy())[rows]
    selection = asks[rows].with_columns(offset=pl.Series(offsets, dtype=pl.Int64), rank=pl.int_range(len(ranks)))
    tables = [
        _answers(run, step, selection.filter(pl.col("step") == step))
        for step in selection["step"].unique().sort().to_list()
    ]
    answers = pl.concat(tables, how="diagonal_relaxed")
    if not answers.height:
        return []
    answers = answers.sort("rank")
    distinct = answers.unique(["system", "user", "value"], keep="first", maintain_order=True).head(most)
    return [_item(run, row, kind, origin) for row in distinct.iter_rows(named=True)]


def purposes(run: RunReader, kind: ItemKind) -> list[str]:
    """The purposes of the questions of a kind."""
    asks = _asks(run, kind, run.steps[-1] if run.steps else 0, "")
    return asks["purpose"].unique().sort().to_list() if asks.height else []


def _asks(run: RunReader, kind: ItemKind, until: int, purpose: str) -> pl.DataFrame:
    form = pl.col("question").str.json_path_match("$.kind")
    # A form with one part in free words is read like an utterance.
    free = form.is_in(["text", "utterance"]) | pl.col("question").str.contains('"kind": "text"', literal=True)
    tables = []
    for step in run.steps:
        asks = run.record.table(step, "asks") if step <= until else None
        if asks is not None and asks.height:
            matching = asks.filter(free if kind == "utterance" else ~free)
            tables.append(matching.select(pl.lit(step, pl.Int64).alias("step"), "ask", "purpose", "people"))
    table = pl.concat(tables) if tables else pl.DataFrame()
    return table.filter(pl.col("purpose") == purpose) if purpose and table.height else table


def _answers(run: RunReader, step: int, selection: pl.DataFrame) -> pl.DataFrame:
    """The selected answers of a step, with question and prompt; only valid ones from a model."""
    asks, prompts, answers = (run.record.table(step, name) for name in ("asks", "prompts", "answers"))
    if asks is None or prompts is None or answers is None:
        return pl.DataFrame()
    numbered = answers.with_columns(offset=pl.int_range(pl.len()).over("ask"))
    selected = selection.join(numbered, on=["ask", "offset"], how="inner")
    valid = selected.filter(pl.col("status").cast(pl.String).is_in(list(VALID)), pl.col("value").is_not_null())
    first = prompts.unique(["ask", "prompt"], keep="first", maintain_order=True).drop("status")
    questions = asks.select("ask", "path", "question")
    return valid.drop("status").join(first, on=["ask", "prompt"], how="inner").join(questions, on="ask", how="left")


def _item(run: RunReader, row: dict[str, Any], kind: ItemKind, origin: tuple[str, str]) -> Item:
    experiment, arm = origin
    question = json.loads(row["question"])
    order = tuple(int(place) for place in (row["arrangement"] or "").split())
    reply = _reply(row, question, order)
    address = f"{experiment}/{run.name}/{row['step']}/{row['path']}/{row['person']}"
    return Item(
        key=hashlib.blake2b(address.encode(), digest_size=8).hexdigest(),
        run=run.name,
        experiment=experiment,
        arm=arm,
        kind=kind,
        system=row["system"] or "",
        user=row["user"] or "",
        lead=row["lead"] or "",
        reply=reply,
        question=question,
        arrangement=order,
        labels=bool(row["labels"]),
        memories=_memories(run, row),
        **{name: row[name] for name in ("step", "path", "person", "purpose", "model", "value")},
    )


def _reply(row: dict[str, Any], question: dict[str, Any], order: Sequence[int]) -> str:
    """The text of the model; for an answer sampled from a distribution, the text that stands for it."""
    if row["method"] != "scored":
        return str(row["replies"][-1]) if row["replies"] else str(row["value"])
    which = [str(value) for value in question["values"]].index(row["value"])
    return LABELS[list(order).index(which)] if row["labels"] else str(question["words"][which])


def _memories(run: RunReader, row: dict[str, Any]) -> tuple[str, ...]:
    """The memories that the prompt of this question showed, where they are recorded with the answer."""
    recalled = run.record.table(row["step"], "tables/recalled")
    if recalled is None or not row.get("memories"):
        return ()
    mine = recalled.filter(pl.col("person") == row["person"], pl.col("purpose") == row["purpose"])
    texts = dict(mine.select("memory", "text").iter_rows())
    return tuple(texts[memory] for memory in row["memories"] if memory in texts)
