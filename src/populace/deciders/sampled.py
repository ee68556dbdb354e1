"""Deciding by generated text: the model writes a reply, and the reply is parsed.

A reply that cannot be read is put back to the same model, at most twice, with a fixed reminder;
nothing of an error enters a prompt. A refusal is respected and recorded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from populace.broker import Broker
from populace.deciders.decision import InquiryResult, final_status, prompt_table, status_column
from populace.deciders.reasoning import think_aloud
from populace.models import ChatMessage, Failure, Model, ReplyOrFailure, Request
from populace.prompting import Conversations, Inquiry, conversations, rows_for_sampling, scoring_mode
from populace.questions import STATUSES, Answer, Answers, Finite, Question

REPAIRS = 2
"""How often a reply that cannot be read is put back to the model."""
RESAMPLES = 3
"""How often an invalid answer is drawn anew where the scenario says `invalid="resample"`."""

_OK = STATUSES.index("ok")
_REPAIRED = STATUSES.index("repaired")
_UNPARSEABLE = STATUSES.index("unparseable")
_SEED_SPACE = 0x7FFFFFFF


@dataclass
class _Row:
    """The state of one conversation."""

    messages: tuple[ChatMessage, ...]
    seed: int
    status: int = _UNPARSEABLE
    value: object = None
    replies: list[str] = field(default_factory=list)
    call: str | None = None
    tokens: tuple[int, int] = (0, 0)


async def decide_sampled(inquiry: Inquiry, model: Model, broker: Broker) -> InquiryResult:
    """Let the model write a reply for each person, and parse it."""
    question = inquiry.question
    opening = conversations(inquiry, mode=scoring_mode(question, model), scored=False)
    opening = (
        await think_aloud(inquiry, opening, model, broker) if question.reason else rows_for_sampling(inquiry, opening)
    )
    rows = [_Row(messages, seed) for messages, seed in zip(opening.messages(), opening.seeds or [], strict=True)]
    open_rows = list(range(len(rows)))
    if opening.failures:
        for index in [i for i, early in enumerate(opening.failures) if early is not None]:
            rows[index].status = opening.failures[index] or 0
        open_rows = [i for i, early in enumerate(opening.failures) if early is None]
    for attempt in range(REPAIRS + 1):
        open_rows = await _turn(inquiry, opening, rows, open_rows, attempt, model, broker)
    if inquiry.invalid == "resample" and inquiry.temperature > 0:
        await _resample(inquiry, opening, rows, model, broker)
    return _result(inquiry, opening, rows, model)


async def _turn(
    inquiry: Inquiry,
    opening: Conversations,
    rows: list[_Row],
    which: list[int],
    attempt: int,
    model: Model,
    broker: Broker,
) -> list[int]:
    """Ask these rows once more; returns those whose reply still cannot be read."""
    if not which:
        return []
    question = inquiry.question
    schema = question.schema()
    schema_text = json.dumps(schema, sort_keys=True) if schema and model.capabilities.schema else None
    reminder = ("user", question.reminder())
    requests = []
    for index in which:
        row = rows[index]
        if attempt:
            row.messages = (*row.messages, ("assistant", row.replies[-1]), reminder)
        seed = (row.seed + attempt) & _SEED_SPACE
        requests.append(
            Request(
                row.messages,
                max_tokens=question.max_tokens,
                temperature=inquiry.temperature,
                seed=seed,
                schema=schema_text,
                options=question.words if isinstance(question, Finite) else (),
            )
        )
    purpose = f"{inquiry.purpose}: repair" if attempt else inquiry.purpose
    calls, outcomes = await broker.fetch(model, requests, purpose)
    for index, call, outcome in zip(which, calls, outcomes, strict=True):
        _read_reply(rows[index], question, opening, index, call, outcome, attempt)
    return [index for index in which if rows[index].status == _UNPARSEABLE]


def _read_reply(
    row: _Row, question: Question, opening: Conversations, index: int, call: str, outcome: ReplyOrFailure, attempt: int
) -> None:
    """Read one reply into its row."""
    early = final_status(outcome)
    if isinstance(outcome, Failure):
        row.status = early or 0
        return
    row.replies.append(outcome.text)
    row.call = call
    row.tokens = (row.tokens[0] + outcome.prompt_tokens, row.tokens[1] + outcome.completion_tokens)
    if early is not None:
        row.status = early
        return
    answer = _parse(question, opening, index, outcome.text)
    row.value = answer.value
    row.status = STATUSES.index(answer.status)
    if row.status == _OK and attempt:
        row.status = _REPAIRED


def _parse(question: Question, opening: Conversations, index: int, text: str) -> Answer:
    if isinstance(question, Finite):
        return question.parse(text, opening.arrangements[index], opening.mode == "labels")
    return question.read(text, f"{opening.system[index]}\n{opening.user[index]}")


async def _resample(inquiry: Inquiry, opening: Conversations, rows: list[_Row], model: Model, broker: Broker) -> None:
    """Draw invalid answers anew, from the opening of their conversation."""
    for attempt in range(1, RESAMPLES + 1):
        which = [i for i, row in enumerate(rows) if row.status not in (_OK, _REPAIRED)]
        for index in which:
            seed = (rows[index].seed + attempt * 7919) & _SEED_SPACE
            messages = opening.messages(index, 1)[0]
            rows[index] = _Row(messages, seed, replies=rows[index].replies, tokens=rows[index].tokens)
        invalid_rows = await _turn(inquiry, opening, rows, which, 0, model, broker)
        if not invalid_rows:
            return


def _result(inquiry: Inquiry, opening: Conversations, rows: list[_Row], model: Model) -> InquiryResult:
    question = inquiry.question
    status = np.array([row.status for row in rows], np.uint8)
    texts = [question.encode(row.value) if row.value is not None else None for row in rows]
    values = question.decode(pl.Series("value", texts, dtype=pl.String))[opening.of_person]
    columns: dict[str, Any] = {
        "replies": _replies(rows),
        "status": [STATUSES[row.status] for row in rows],
        "call": [row.call for row in rows],
        "prompt_tokens": [row.tokens[0] for row in rows],
        "completion_tokens": [row.tokens[1] for row in rows],
    }
    table = prompt_table(opening, model, "sampled", "", columns)
    answers = Answers(question, inquiry.people.ids, values, status_column(status[opening.of_person]), opening.of_person)
    return InquiryResult(answers, table)


def _replies(rows: list[_Row]) -> pl.Series:
    """The replies of each row as a column of lists, made of all of them at once."""
    counts = [len(row.replies) for row in rows]
    texts = pl.Series("text", [text for row in rows for text in row.replies], dtype=pl.String)
    if set(counts) == {1}:
        return texts.reshape((-1, 1)).cast(pl.List(pl.String))
    several = pl.DataFrame({"row": np.repeat(np.arange(len(rows)), counts), "text": texts})
    several = several.group_by("row", maintain_order=True).agg("text")
    table = pl.DataFrame({"row": np.arange(len(rows))}).join(several, on="row", how="left", maintain_order="left")
    return table["text"].fill_null(pl.Series([[]], dtype=pl.List(pl.String)))
