"""From an inquiry to the conversations that open it.

A row is one conversation with the model. Where only distributions are read, a row serves
everybody who shares the prompt; where words are sampled, each person has a row of their own.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.randomness import bits, path_key, uniforms
from populace.base.templates import FEW, Piece, joined
from populace.broker import Broker
from populace.deciders.decision import PROMPT_SCHEMA, Inquiry
from populace.models import ChatMessage, Failure, Model, ReplyOrFailure, Request
from populace.questions import STATUSES, Arrangement, Finite, Mode, Question, words_or_labels

_THINK = "First think aloud about it in two or three sentences. Do not give the answer yet."
_REASONING_TOKENS = 120
_GAP = "\n\n"


@dataclass(frozen=True)
class Opening:
    """The conversations of one inquiry, before any reply.

    Attributes:
        of_person: For each person asked, the row.
        system: For each row, who one is.
        user: For each row, what one is told and asked.
        arrangements: For each row, the order in which options are shown; empty where there are none.
        mode: Whether options are worded or labelled.
        seeds: For each row, the seed of its sampling; None where nothing is sampled.
        orders: How many consecutive rows show one prompt in different orders.
        turns: For each row, what was said since.
        reasoning: For each row, what was thought aloud.
        failed: For each row, the status of a conversation that already broke off, or None.
    """

    of_person: npt.NDArray[np.int32]
    system: pl.Series
    user: pl.Series
    arrangements: list[Arrangement]
    mode: Mode = "words"
    seeds: list[int] | None = None
    orders: int = 1
    turns: list[tuple[ChatMessage, ...]] | None = None
    reasoning: list[str | None] | None = None
    failed: list[int | None] | None = None

    def __len__(self) -> int:
        return self.user.len()

    def talks(self, first: int = 0, count: int | None = None) -> list[tuple[ChatMessage, ...]]:
        """What is said to the model in each of the rows from `first` on."""
        systems, users = self.system.slice(first, count).to_list(), self.user.slice(first, count).to_list()
        talks: list[tuple[ChatMessage, ...]] = [
            (("system", system), ("user", user)) if system else (("user", user),)
            for system, user in zip(systems, users, strict=True)
        ]
        if self.turns is None:
            return talks
        return [talk + self.turns[first + row] for row, talk in enumerate(talks)]


def scoring_mode(question: Question, model: Model) -> Mode:
    """Words or labels, by the model's own tokens where it can tell them."""
    if not isinstance(question, Finite):
        return "words"
    return words_or_labels(question, model.first_tokens(question.words) if question.scoring == "auto" else None)


def opened(inquiry: Inquiry, *, mode: Mode, scored: bool) -> Opening:
    """Compose the prompts, with options in every order that is to be shown.

    Args:
        inquiry: What is asked, of whom.
        mode: Whether options are worded or labelled.
        scored: Whether distributions will be read; then orders can be averaged.
    """
    made = _composed(inquiry, mode, scored)
    if not inquiry.verbatim:
        return made
    texts = {part: pl.Series([text]).new_from_index(0, len(made)) for part, text in inquiry.verbatim.items()}
    return replace(made, system=texts.get("system", made.system), user=texts.get("user", made.user))


def _composed(inquiry: Inquiry, mode: Mode, scored: bool) -> Opening:
    question = inquiry.question
    if not isinstance(question, Finite):
        prompts = inquiry.mind.compose(inquiry.people, inquiry.situation)
        ending = "\n" + (_THINK if question.reason else question.instruction())
        user = _user(prompts.situation, prompts.wording, ending)
        return Opening(prompts.of_person, prompts.system, user, [()] * len(prompts))
    labels = mode == "labels"
    orders = question.arrangements() if question.order != "reversed" else (question.declared[::-1],)
    averaged = question.order == "rotate" and scored and not question.reason
    variant = None
    if question.order in ("random", "rotate") and not averaged:
        key = path_key(inquiry.seed, f"order/{question.canonical()}")
        variant = (uniforms(key, inquiry.person_keys()) * len(orders)).astype(np.int32)
    prompts = inquiry.mind.compose(inquiry.people, inquiry.situation, variant)
    last = _THINK if question.reason else question.instruction(labels)
    tails = pl.Series([f"\n{question.options_text(order, labels)}\n{last}" for order in orders])
    if averaged:
        rows = pl.Series(np.repeat(np.arange(len(prompts)), len(orders)))
        shown = pl.Series(np.tile(np.arange(len(orders)), len(prompts)))
        user = _user(prompts.situation[rows], prompts.wording[rows], tails[shown])
        arrangements = list(orders) * len(prompts)
        return Opening(prompts.of_person, prompts.system[rows], user, arrangements, mode, orders=len(orders))
    user = _user(prompts.situation, prompts.wording, tails[0] if variant is None else tails[prompts.variant])
    arrangements = [orders[number] for number in prompts.variant.to_list()]
    return Opening(prompts.of_person, prompts.system, user, arrangements, mode)


def sampled(inquiry: Inquiry, opening: Opening) -> Opening:
    """A row for each person, with a seed of its own; at temperature 0, one for each distinct prompt."""
    if inquiry.temperature == 0.0:
        return replace(opening, seeds=[0] * len(opening))
    seeds = (bits(inquiry.key, inquiry.person_keys()) & np.uint64(0x7FFFFFFF)).tolist()
    rows = opening.of_person.tolist()
    return replace(
        opening,
        of_person=np.arange(len(rows), dtype=np.int32),
        system=opening.system[rows],
        user=opening.user[rows],
        arrangements=[opening.arrangements[row] for row in rows],
        seeds=seeds,
    )


async def reasoned(inquiry: Inquiry, opening: Opening, model: Model, broker: Broker) -> Opening:
    """Let every row think aloud first, and ask for the answer in a second turn."""
    opening = sampled(inquiry, opening)
    requests = [
        Request(talk, max_tokens=_REASONING_TOKENS, temperature=inquiry.temperature, seed=seed)
        for talk, seed in zip(opening.talks(), opening.seeds or [], strict=True)
    ]
    _, outcomes = await broker.fetch(model, requests, f"{inquiry.purpose}: reasoning")
    question = inquiry.question
    labels = opening.mode == "labels"
    ask = question.instruction(labels) if isinstance(question, Finite) else question.instruction()
    thoughts = [None if isinstance(outcome, Failure) else outcome.text.strip() for outcome in outcomes]
    then = ("user", f"Now give your answer. {ask}")
    turns: list[tuple[ChatMessage, ...]] = [(("assistant", thought or "…"), then) for thought in thoughts]
    failed = [status_of(outcome) for outcome in outcomes]
    return replace(opening, turns=turns, reasoning=thoughts, failed=failed)


def status_of(outcome: ReplyOrFailure) -> int | None:
    """The status of an outcome that cannot be read any further, or None where it can."""
    if isinstance(outcome, Failure):
        return STATUSES.index(outcome.status)
    return STATUSES.index("refused") if outcome.finish == "refusal" else None


def prompt_table(opening: Opening, model: Model, method: str, lead: str, outcomes: dict[str, Any]) -> pl.DataFrame:
    """The journal's rows for these conversations.

    Args:
        opening: The conversations.
        model: Who answered.
        method: How: scored or sampled.
        lead: How replies were made to begin.
        outcomes: The columns that replies fill: replies, status, mass, probabilities, call, tokens.
    """
    count = len(opening)
    spelled = {order: " ".join(map(str, order)) for order in set(opening.arrangements)}
    same = {"model": model.spec, "method": method, "labels": opening.mode == "labels", "lead": lead}
    same |= dict.fromkeys(("reasoning", "mass", "probabilities"))
    columns = {
        "prompt": np.arange(count, dtype=np.int32) // opening.orders,
        "arrangement": [spelled[order] for order in opening.arrangements],
        "system": opening.system,
        "user": opening.user,
        **outcomes,
    }
    if opening.reasoning:
        columns["reasoning"] = opening.reasoning
    return pl.DataFrame(
        [
            _column(name, columns[name]) if name in columns else _once(name, same[name]).new_from_index(0, count)
            for name in PROMPT_SCHEMA
        ]
    )


def _column(name: str, values: Any) -> pl.Series:
    dtype = PROMPT_SCHEMA[name]
    if isinstance(values, pl.Series):
        return values.cast(dtype).alias(name)
    return pl.Series(name, values, dtype, strict=False)


@functools.lru_cache(maxsize=256)
def _once(name: str, value: str | bool | None) -> pl.Series:
    """A column of one row, to be repeated."""
    return pl.Series(name, [value], PROMPT_SCHEMA[name])


def _user(told: pl.Series, wording: pl.Series, ending: str | pl.Series) -> pl.Series:
    """What is told, an empty line where anything is, the question, and how to answer."""
    gap: Piece = [_GAP if text else "" for text in told.to_list()] if told.len() <= FEW else _gaps(told)
    return joined([told, gap, wording, ending], told.len())


def _gaps(told: pl.Series) -> pl.Series:
    return pl.Series(["", _GAP])[(told != "").cast(pl.UInt32)]
