"""Deciding from a recording: the answers that a journal holds, once it is sure that the questions are the same.

The first difference between what is asked now and what was asked then stops the replay, with the
step, the person and the texts where they part.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import ReplayMismatchError
from populace.base.randomness import uniforms
from populace.deciders.decision import PROMPT_SCHEMA, Decisions, status_column
from populace.deciders.draws import apply_temperature, draw_options
from populace.deciders.scored import option_values
from populace.prompting import Conversations, Inquiry, conversations, rows_for_sampling
from populace.questions import STATUS_DTYPE, STATUSES, Answers, Finite, Question

_OK = STATUSES.index("ok")


@dataclass(frozen=True)
class RecordedAsk:
    """One question of a recorded step.

    Attributes:
        row: Its row in the table of questions.
        prompts: The distinct prompts behind it.
        answers: Person, prompt, value and status, in the order asked.
    """

    row: dict[str, Any]
    prompts: pl.DataFrame
    answers: pl.DataFrame

    def restore(self, question: Question) -> Answers:
        """The answers, in the types that they had."""
        values = question.decode(self.answers["value"])
        status = self.answers["status"].cast(STATUS_DTYPE)
        prompt = self.answers["prompt"].to_numpy().astype(np.int32)
        probabilities, mass = _distributions(self.prompts)
        return Answers(question, self.answers["person"].alias("id"), values, status, prompt, probabilities, mass)


class RecordedStep:
    """The questions of one step by their path."""

    def __init__(
        self, step: int, asks: pl.DataFrame | None, prompts: pl.DataFrame | None, answers: pl.DataFrame | None
    ) -> None:
        self.step = step
        self._asks = {row["path"]: row for row in asks.iter_rows(named=True)} if asks is not None else {}
        self._prompts = _by_ask(_complete(prompts))
        self._answers = _by_ask(answers)

    @property
    def paths(self) -> list[str]:
        """The paths of the questions, in the order asked."""
        return list(self._asks)

    def get(self, path: str) -> RecordedAsk | None:
        """The question at a path."""
        row = self._asks.get(path)
        if row is None:
            return None
        prompts = self._prompts.get(row["ask"], pl.DataFrame(schema=PROMPT_SCHEMA))
        return RecordedAsk(row, prompts, self._answers[row["ask"]])


def replay(inquiry: Inquiry, recorded: RecordedStep, run: str, *, redraw: bool = False) -> Decisions:
    """The recorded answers to an inquiry, or ReplayMismatchError where it is another inquiry.

    Args:
        inquiry: What is asked now.
        recorded: The step as the journal holds it.
        run: The name of the run, for the message.
        redraw: Draw again from the recorded distributions and compare.
    """
    where = f"run {run}, step {recorded.step}"
    found = recorded.get(inquiry.path)
    if found is None:
        raise ReplayMismatchError(
            f"{where}, {inquiry.path}: the scenario asks {inquiry.question.text!r}, the journal holds nothing there.",
            _hint(run, recorded.step),
            step=recorded.step,
        )
    if found.row["question"] != inquiry.question.canonical():
        was = json.loads(found.row["question"])["text"]
        raise ReplayMismatchError(
            f"{where}, {inquiry.path}: the journal holds {was!r}, the scenario asks {inquiry.question.text!r}"
            + ("." if was != inquiry.question.text else " with other options or settings."),
            _hint(run, recorded.step),
            step=recorded.step,
            person=inquiry.people.ids[0],
        )
    _same_people(inquiry, found, where, run, recorded.step)
    for rows, spec, part in inquiry.by_model():
        _same_prompts(part, rows, spec, found, where, run, recorded.step)
    answers = found.restore(inquiry.question)
    if redraw:
        _same_draws(inquiry, answers, where, run, recorded.step)
    prompts = found.prompts.select(PROMPT_SCHEMA.keys()) if found.prompts.height else found.prompts
    return Decisions(answers, prompts)


def decide_recorded(inquiry: Inquiry, recorded: RecordedStep | None) -> Decisions:
    """For people whose decider is a recording of another run: what they answered there, at the same path."""
    found = recorded.get(inquiry.path) if recorded else None
    count = len(inquiry.people)
    none = np.full(count, -1, np.int32)
    if found is None or found.row["question"] != inquiry.question.canonical():
        empty = pl.Series("value", [None] * count, dtype=inquiry.question.dtype)
        codes = np.full(count, STATUSES.index("unanswered"), np.uint8)
        return Decisions(Answers(inquiry.question, inquiry.people.ids, empty, status_column(codes), none))
    theirs = found.answers.select(pl.col("person").alias("id"), "value", "status")
    mine = inquiry.people.ids.to_frame().join(theirs, on="id", how="left", maintain_order="left")
    status = mine["status"].fill_null("unanswered").cast(STATUS_DTYPE)
    values = inquiry.question.decode(mine["value"])
    return Decisions(Answers(inquiry.question, inquiry.people.ids, values, status, none))


def _complete(prompts: pl.DataFrame | None) -> pl.DataFrame | None:
    """The prompts with every column of today; run folders written before a column existed have none of it."""
    if prompts is None:
        return None
    missing = {name: dtype for name, dtype in PROMPT_SCHEMA.items() if name not in prompts.columns}
    return prompts.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in missing.items())


def _by_ask(table: pl.DataFrame | None) -> dict[int, pl.DataFrame]:
    if table is None:
        return {}
    parts = table.partition_by("ask", as_dict=True, maintain_order=True)
    return {int(key[0]): part for key, part in parts.items()}


def _distributions(prompts: pl.DataFrame) -> tuple[npt.NDArray[np.float64] | None, npt.NDArray[np.float64] | None]:
    """For each distinct prompt, its distribution averaged over orders, and the mass that it rests on."""
    listed = prompts["probabilities"]
    if not prompts.height or listed.null_count() == prompts.height:
        return None, None
    width = int(listed.list.len().max() or 0)  # type: ignore[arg-type]
    blank = [0.0] * width
    table = np.array([row if row is not None else blank for row in listed.to_list()])
    masses = prompts["mass"].fill_null(0.0).to_numpy()
    numbers = prompts["prompt"].to_numpy()
    count = int(numbers.max()) + 1
    shown = np.bincount(numbers, minlength=count)
    averaged = np.zeros((count, width))
    np.add.at(averaged, numbers, table)
    return averaged / shown[:, None], np.bincount(numbers, masses, minlength=count) / shown


def _same_people(inquiry: Inquiry, found: RecordedAsk, where: str, run: str, step: int) -> None:
    then, now = found.answers["person"], inquiry.people.ids
    if then.len() == now.len() and then.dtype == now.dtype and then.equals(now):
        return
    pairs = zip(then.to_list(), now.to_list(), strict=False)
    first = next((pair for pair in pairs if pair[0] != pair[1]), (None, None))
    raise ReplayMismatchError(
        f"{where}, {inquiry.path}: {then.len()} people were asked, now {now.len()}"
        + (f"; they part at person {first[0]!r}, now {first[1]!r}." if first[0] is not None else "."),
        _hint(run, step),
        step=step,
        person=first[1],
    )


def _same_prompts(
    part: Inquiry, rows: npt.NDArray[np.int64], spec: str, found: RecordedAsk, where: str, run: str, step: int
) -> None:
    """Compare the texts put now with those put then, once for each pair that occurs."""
    was = found.prompts
    then = found.answers["prompt"].to_numpy()[rows]
    mine = was.filter(pl.col("model") == spec) if was.height else was
    if not mine.height or (then < 0).any():
        raise ReplayMismatchError(
            f"{where}, {part.path}: the journal holds no prompt to {spec} there.", _hint(run, step), step=step
        )
    first = mine.row(0, named=True)
    opening = conversations(part, mode="labels" if first["labels"] else "words", scored=first["method"] == "scored")
    if first["method"] == "sampled" or part.question.reason:
        opening = rows_for_sampling(part, opening)
    texts = _texts(opening)
    recorded = was.group_by("prompt", maintain_order=True).agg(pl.first("system"), pl.first("user")).sort("prompt")
    _, where_first = np.unique(opening.of_person.astype(np.int64) * (int(then.max()) + 1) + then, return_index=True)
    held = dict(zip(recorded["prompt"], zip(recorded["system"], recorded["user"], strict=True), strict=True))
    for person in sorted(where_first):
        asked_now, asked_then = texts[opening.of_person[person]], held[then[person]]
        if asked_now != asked_then:
            who = part.people.ids[int(person)]
            name = f" ({part.people['name'][int(person)]})" if "name" in part.people else ""
            raise ReplayMismatchError(
                f"{where}, person {who!r}{name}: {_difference(asked_then, asked_now)}",
                _hint(run, step),
                step=step,
                person=who,
            )


def _texts(opening: Conversations) -> list[tuple[str, str]]:
    """System and first user text of each prompt; where orders are averaged, of the first order shown."""
    systems, users = (column.gather_every(opening.orders).to_list() for column in (opening.system, opening.user))
    return list(zip(systems, users, strict=True))


def _difference(then: tuple[str, str], now: tuple[str, str]) -> str:
    """The first words that differ, with a little of what surrounds them."""
    part = 0 if then[0] != now[0] else 1
    was, asks = then[part].split(), now[part].split()
    for tag, a, b, c, d in difflib.SequenceMatcher(None, was, asks, autojunk=False).get_opcodes():
        if tag != "equal":
            old = " ".join(was[max(0, a - 3) : b + 3])
            new = " ".join(asks[max(0, c - 3) : d + 3])
            return f"the journal holds “…{old}…”, the scenario asks “…{new}…”."
    return "the white space of the prompt differs."


def _same_draws(inquiry: Inquiry, answers: Answers, where: str, run: str, step: int) -> None:
    """Draw again where a distribution is recorded, and compare."""
    question = inquiry.question
    if not isinstance(question, Finite) or answers.probabilities is None:
        return
    rows = np.flatnonzero((answers.prompt >= 0) & (answers.status.to_physical().to_numpy() == _OK))
    usable = rows[~np.isnan(answers.probabilities[answers.prompt[rows]]).any(axis=1)]
    numbers = uniforms(inquiry.key, inquiry.person_keys())[usable]
    table = apply_temperature(answers.probabilities, inquiry.temperature)
    again = option_values(question, draw_options(table, answers.prompt[usable], numbers))
    was = answers.values.gather(usable)
    differ = (again != was).to_numpy()
    if differ.any():
        who = answers.ids[int(usable[int(differ.argmax())])]
        raise ReplayMismatchError(
            f"{where}, person {who!r}: the recorded answer {was[int(differ.argmax())]!r} is not what the recorded "
            f"distribution and seed give, {again[int(differ.argmax())]!r}.",
            _hint(run, step),
            step=step,
            person=who,
        )


def _hint(run: str, step: int) -> str:
    return (
        f"Likely cause: the scenario or Populace changed after the recording.\n"
        f"  Keep the old result: populace show {run}.   Go on with the new code: populace fork {run} --at {step}"
    )
