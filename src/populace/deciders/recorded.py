"""Deciding from a recording: the answers of a journal, after a check that the questions are the same.

The first difference between what is asked now and what was asked then stops the replay, with the
step, the person and the texts that differ.
"""

import difflib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import ReplayMismatchError
from populace.base.foreign import for_prompt, for_shell
from populace.base.randomness import uniforms
from populace.deciders.decision import PROMPT_SCHEMA, InquiryResult, apply_temperature, draw_options, status_column
from populace.deciders.human import HUMAN, by_human
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


def replay(inquiry: Inquiry, step: RecordedStep, run: str, *, redraw: bool = False) -> InquiryResult:
    """The recorded answers to an inquiry, or ReplayMismatchError where it is another inquiry.

    Args:
        inquiry: What is asked now.
        step: The step as the journal holds it.
        run: The name of the run, for the message.
        redraw: Draw again from the recorded distributions and compare.
    """
    place = _Place(run, step.step)
    question, ask = inquiry.question, step.get(inquiry.path)
    if ask is None:
        raise place.mismatch(f"{inquiry.path}: the scenario asks {question.text!r}, the journal holds nothing there.")
    if ask.row["question"] != question.canonical():
        text = json.loads(ask.row["question"])["text"]
        ending = "." if text != question.text else " with other options or settings."
        raise place.mismatch(
            f"{inquiry.path}: the journal holds {text!r}, the scenario asks {question.text!r}{ending}",
            inquiry.people.ids[0],
        )
    _compare_people(inquiry, ask, place)
    for rows, spec, part in [*inquiry.by_model(), *by_human(inquiry)]:
        _compare_prompts(part, rows, spec, ask, place)
    answers = ask.restore(question)
    if redraw:
        _compare_draws(inquiry, answers, place)
    return InquiryResult(answers, ask.prompts.select(PROMPT_SCHEMA.keys()) if ask.prompts.height else ask.prompts)


@dataclass(frozen=True)
class _Place:
    """The step of a run that is replayed, for the messages about it."""

    run: str
    step: int

    def mismatch(self, text: str, person: object = None) -> ReplayMismatchError:
        return ReplayMismatchError(
            f"run {self.run}, step {self.step}, {text}",
            "Likely cause: the scenario or Populace changed after the recording.\n"
            f"  Keep the old result: populace show {for_shell(self.run)}.   "
            f"Go on with the new code: populace fork {for_shell(self.run)} --at {self.step}",
            step=self.step,
            person=person,
        )


def decide_recorded(inquiry: Inquiry, step: RecordedStep | None) -> InquiryResult:
    """For people whose decider is a recording of another run: what they answered there, at the same path."""
    ask = step.get(inquiry.path) if step else None
    question, ids = inquiry.question, inquiry.people.ids
    no_prompts = np.full(len(ids), -1, np.int32)
    if ask is None or ask.row["question"] != question.canonical():
        values = pl.Series("value", [None] * len(ids), dtype=question.dtype)
        codes = np.full(len(ids), STATUSES.index("unanswered"), np.uint8)
        return InquiryResult(Answers(question, ids, values, status_column(codes), no_prompts))
    recording = ask.answers.select(pl.col("person").alias("id"), "value", "status")
    rows = ids.to_frame().join(recording, on="id", how="left", maintain_order="left")
    status = rows["status"].fill_null("unanswered").cast(STATUS_DTYPE)
    return InquiryResult(Answers(question, ids, question.decode(rows["value"]), status, no_prompts))


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
    lists = prompts["probabilities"]
    if not prompts.height or lists.null_count() == prompts.height:
        return None, None
    width = int(lists.list.len().max() or 0)  # type: ignore[arg-type]
    # A row that was never scored has no distribution; one that was and failed has zeros.
    blank = {method: [0.0 if method == "scored" else np.nan] * width for method in prompts["method"].unique()}
    rows = zip(lists.to_list(), prompts["method"].to_list(), strict=True)
    table = np.array([row if row is not None else blank[method] for row, method in rows])
    masses = prompts["mass"].fill_null(0.0).to_numpy()
    numbers = prompts["prompt"].to_numpy()
    count = int(numbers.max()) + 1
    orders = np.bincount(numbers, minlength=count)
    sums = np.zeros((count, width))
    np.add.at(sums, numbers, table)
    return sums / orders[:, None], np.bincount(numbers, masses, minlength=count) / orders


def _compare_people(inquiry: Inquiry, ask: RecordedAsk, place: _Place) -> None:
    then, now = ask.answers["person"], inquiry.people.ids
    if then.len() == now.len() and then.dtype == now.dtype and then.equals(now):
        return
    pairs = zip(then.to_list(), now.to_list(), strict=False)
    first = next((pair for pair in pairs if pair[0] != pair[1]), (None, None))
    difference = f"; they differ first at person {first[0]!r}, now {first[1]!r}." if first[0] is not None else "."
    raise place.mismatch(f"{inquiry.path}: {then.len()} people were asked, now {now.len()}{difference}", first[1])


def _compare_prompts(part: Inquiry, rows: npt.NDArray[np.int64], spec: str, ask: RecordedAsk, place: _Place) -> None:
    """Compare the texts put now with those put then, once for each pair that occurs."""
    then = ask.answers["prompt"].to_numpy()[rows]
    prompts = ask.prompts.filter(pl.col("model") == spec) if ask.prompts.height else ask.prompts
    if not prompts.height or (then < 0).any():
        raise place.mismatch(f"{part.path}: the journal holds no prompt to {spec} there.")
    first = prompts.row(0, named=True)
    opening = conversations(part, mode="labels" if first["labels"] else "words", scored=first["method"] == "scored")
    if spec != HUMAN and (first["method"] == "sampled" or part.question.reason):
        opening = rows_for_sampling(part, opening)
    texts_now = _texts(opening)
    texts = ask.prompts.group_by("prompt", maintain_order=True).agg(pl.first("system"), pl.first("user"))
    texts_then = {prompt: (system, user) for prompt, system, user in texts.iter_rows()}
    pairs = opening.of_person.astype(np.int64) * (int(then.max()) + 1) + then
    for row in sorted(np.unique(pairs, return_index=True)[1].tolist()):
        text_now, text_then = texts_now[opening.of_person[row]], texts_then[then[row]]
        # Runs that were recorded before control tokens were neutralised hold them as they came.
        if text_now != text_then and text_now != (for_prompt(text_then[0]), for_prompt(text_then[1])):
            person = part.people.ids[row]
            name = f" ({part.people['name'][row]})" if "name" in part.people else ""
            raise place.mismatch(f"person {person!r}{name}: {_difference(text_then, text_now)}", person)


def _texts(opening: Conversations) -> list[tuple[str, str]]:
    """System and first user text of each prompt; where orders are averaged, of the first order shown."""
    systems, users = (column.gather_every(opening.orders).to_list() for column in (opening.system, opening.user))
    return list(zip(systems, users, strict=True))


def _difference(then: tuple[str, str], now: tuple[str, str]) -> str:
    """The first words that differ, with a little of what surrounds them."""
    part = 0 if then[0] != now[0] else 1
    words_then, words_now = then[part].split(), now[part].split()
    for tag, a, b, c, d in difflib.SequenceMatcher(None, words_then, words_now, autojunk=False).get_opcodes():
        if tag != "equal":
            old = " ".join(words_then[max(0, a - 3) : b + 3])
            new = " ".join(words_now[max(0, c - 3) : d + 3])
            return f"the journal holds “…{old}…”, the scenario asks “…{new}…”."
    return "the white space of the prompt differs."


def _compare_draws(inquiry: Inquiry, answers: Answers, place: _Place) -> None:
    """Draw again where a distribution is recorded, and compare."""
    question = inquiry.question
    if not isinstance(question, Finite) or answers.probabilities is None:
        return
    rows = np.flatnonzero((answers.prompt >= 0) & (answers.status.to_physical().to_numpy() == _OK))
    usable = rows[~np.isnan(answers.probabilities[answers.prompt[rows]]).any(axis=1)]
    numbers = uniforms(inquiry.key, inquiry.person_keys())[usable]
    table = apply_temperature(answers.probabilities, inquiry.temperature)
    now = option_values(question, draw_options(table, answers.prompt[usable], numbers))
    then = answers.values.gather(usable)
    differs = (now != then).to_numpy()
    if differs.any():
        first = int(differs.argmax())
        person = answers.ids[int(usable[first])]
        raise place.mismatch(
            f"person {person!r}: the recorded answer {then[first]!r} is not what the recorded distribution and seed "
            f"give, {now[first]!r}.",
            person,
        )
