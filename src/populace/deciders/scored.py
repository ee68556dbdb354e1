"""Deciding by distribution: the model is asked once for the probability of every option."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.broker import Broker
from populace.deciders.decision import Decided, Inquiry, statuses
from populace.deciders.drawing import drawn, tempered
from populace.deciders.opening import Opening, opened, prompt_table, reasoned, scoring_mode, status_of
from populace.models import Failure, Model, Reply, Request
from populace.questions import LABELS, STATUSES, Answers, Arrangement, Choice, Finite, Mode, Scores, score
from populace.randomness import uniforms

LEAD = "Answer:"
_OK = STATUSES.index("ok")
_UNPARSEABLE = STATUSES.index("unparseable")


async def decide_scored(inquiry: Inquiry, question: Finite, model: Model, broker: Broker) -> Decided:
    """Ask for distributions and draw from them."""
    opening = opened(inquiry, mode=scoring_mode(question, model), scored=True)
    if question.reason:
        opening = await reasoned(inquiry, opening, model, broker)
    lead = LEAD if model.capabilities.lead else ""
    options = {order: _shown(question, order, opening.mode) for order in set(opening.arrangements)}
    requests = [
        Request(talk, lead, 1, top=model.capabilities.top_tokens, options=options[order])
        for talk, order in zip(opening.talks, opening.arrangements, strict=True)
    ]
    calls, outcomes = await broker.fetch(model, requests, inquiry.purpose)
    codes = [status_of(outcome) for outcome in outcomes]
    if opening.failed:
        codes = [early if early is not None else code for early, code in zip(opening.failed, codes, strict=True)]
    scores = [
        None
        if code is not None or isinstance(outcome, Failure)
        else score(question, order, opening.mode, outcome.tokens)
        for outcome, order, code in zip(outcomes, opening.arrangements, codes, strict=True)
    ]
    status = np.array(
        [
            code if code is not None else _OK if found and found.answered else _UNPARSEABLE
            for found, code in zip(scores, codes, strict=True)
        ],
        np.uint8,
    )
    replies = [None if isinstance(outcome, Failure) else outcome for outcome in outcomes]
    table = prompt_table(opening, model, "scored", lead, reply_columns(replies, status, calls) | _score_columns(scores))
    return _draw(inquiry, question, opening, scores, status, table)


def _draw(
    inquiry: Inquiry,
    question: Finite,
    opening: Opening,
    scores: Sequence[Scores | None],
    status: npt.NDArray[np.uint8],
    table: pl.DataFrame,
) -> Decided:
    """Average over orders where several were shown, temper, and draw for each person."""
    none = (0.0,) * len(question.words)
    each = np.array([found.probabilities if found else none for found in scores])
    masses = np.array([found.mass if found else 0.0 for found in scores])
    if opening.orders > 1:
        each = each.reshape(-1, opening.orders, each.shape[1]).mean(axis=1)
        masses = masses.reshape(-1, opening.orders).mean(axis=1)
        status = status.reshape(-1, opening.orders).max(axis=1)
    certain = np.where((status == _OK)[:, None], each, 1.0 / each.shape[1])
    numbers = uniforms(inquiry.key, inquiry.person_keys())
    option = drawn(tempered(certain, inquiry.temperature), opening.of_person, numbers)
    values = option_values(question, option)
    of_people = status[opening.of_person]
    if (status != _OK).any():
        values = pl.select(pl.when(pl.Series(of_people == _OK)).then(values)).to_series()
    answers = Answers(
        question, inquiry.people.ids, values.alias("value"), statuses(of_people), opening.of_person, each, masses
    )
    return Decided(answers, table)


def option_values(question: Finite, option: npt.NDArray[np.uint8]) -> pl.Series:
    """Option numbers as a column of values."""
    if isinstance(question, Choice):
        return pl.Series("value", option).cat.to(question.dtype)
    return pl.Series("value", question.values, dtype=question.dtype).gather(option)


def reply_columns(
    replies: Sequence[Reply | None], status: npt.NDArray[np.uint8], calls: list[str]
) -> dict[str, list[object]]:
    """What the journal keeps of replies that were given once."""
    return {
        "replies": [[reply.text] if reply else None for reply in replies],
        "status": [STATUSES[code] for code in status],
        "call": [call if reply else None for reply, call in zip(replies, calls, strict=True)],
        "prompt_tokens": [reply.prompt_tokens if reply else 0 for reply in replies],
        "completion_tokens": [reply.completion_tokens if reply else 0 for reply in replies],
    }


def _score_columns(scores: Sequence[Scores | None]) -> dict[str, list[object]]:
    return {
        "mass": [found.mass if found else None for found in scores],
        "probabilities": [list(found.probabilities) if found else None for found in scores],
    }


def _shown(question: Finite, arrangement: Arrangement, mode: Mode) -> tuple[str, ...]:
    """What is looked for in the first token, in the order shown."""
    if mode == "labels":
        return tuple(LABELS[: len(arrangement)])
    return tuple([question.words[index] for index in arrangement])
