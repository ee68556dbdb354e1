"""Deciding by generated text: the model writes a reply, and the reply is parsed.

A reply that cannot be read is put back to the same model, at most twice, with a fixed reminder;
nothing of an error enters a prompt. A refusal is respected and recorded.
"""

import json
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from populace.broker import Broker
from populace.deciders.decision import (
    InquiryResult,
    ReplyColumns,
    answer_codes,
    final_status,
    prompt_table,
    status_column,
)
from populace.deciders.reasoning import think_aloud
from populace.models import ChatMessage, Failure, Model, ReplyOrFailure, Request
from populace.prompting import Conversations, Inquiry, conversations, rows_for_sampling, scoring_mode, turn
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
    lead: str = ""
    """The words with which its reply begins, for a model that can be led."""
    status: int = _UNPARSEABLE
    value: object = None
    replies: list[str] = field(default_factory=list)
    call: str | None = None
    tokens: tuple[int, int] = (0, 0)

    @property
    def prompt(self) -> str:
        """The text in which the conversation begins: who one is, what one is told and asked."""
        (role, text), *others = self.messages[:2]
        return f"{text}\n{others[0][1]}" if role == "system" else f"\n{text}"


async def decide_sampled(inquiry: Inquiry, model: Model, broker: Broker) -> InquiryResult:
    """Let the model write a reply for each person, and parse it."""
    rows = conversations(inquiry, mode=scoring_mode(inquiry.question, model), scored=False)
    if inquiry.question.reason:
        rows = await think_aloud(inquiry, rows, model, broker)
    else:
        rows = rows_for_sampling(inquiry, rows)
    sampling = _Sampling(inquiry, rows, model, broker)
    await sampling.run()
    return sampling.result()


class _Sampling:
    """The conversations of one inquiry on their way to an answer each."""

    def __init__(self, inquiry: Inquiry, opening: Conversations, model: Model, broker: Broker) -> None:
        self.inquiry, self.opening, self.model, self.broker = inquiry, opening, model, broker
        starts = zip(opening.messages(), opening.seeds or [], strict=True)
        self.rows = [_Row(messages, seed) for messages, seed in starts]
        if model.capabilities.lead and type(inquiry.question).lead is not Question.lead:
            for row in self.rows:
                row.lead = inquiry.question.lead(row.prompt)

    async def run(self) -> None:
        """Ask, repair replies that cannot be read and, where the scenario says so, draw invalid answers anew."""
        failures = self.opening.failures or [None] * len(self.rows)
        for row, failure in zip(self.rows, failures, strict=True):
            row.status = _UNPARSEABLE if failure is None else failure
        open_rows = [index for index, failure in enumerate(failures) if failure is None]
        for attempt in range(REPAIRS + 1):
            open_rows = await self._turn(open_rows, attempt)
        if self.inquiry.invalid == "resample" and self.inquiry.temperature > 0:
            await self._resample()

    async def _turn(self, which: list[int], attempt: int) -> list[int]:
        """Ask these rows once more; returns those whose reply still cannot be read."""
        if not which:
            return []
        question = self.inquiry.question
        schema = question.schema()
        schema_text = json.dumps(schema, sort_keys=True) if schema and self.model.capabilities.schema else None
        reminder = turn("user", question.reminder())
        requests = []
        for index in which:
            row = self.rows[index]
            if attempt:
                row.messages = (*row.messages, turn("assistant", row.replies[-1]), reminder)
            requests.append(
                Request(
                    row.messages,
                    lead=row.lead,
                    max_tokens=question.max_tokens,
                    temperature=self.inquiry.temperature,
                    seed=(row.seed + attempt) & _SEED_SPACE,
                    schema=schema_text,
                    options=question.words if isinstance(question, Finite) else (),
                )
            )
        purpose = f"{self.inquiry.purpose}: repair" if attempt else self.inquiry.purpose
        calls, outcomes = await self.broker.fetch(self.model, requests, purpose, on_failure=self.inquiry.on_failure)
        for index, call, outcome in zip(which, calls, outcomes, strict=True):
            self._read(index, call, outcome, repaired=attempt > 0)
        return [index for index in which if self.rows[index].status == _UNPARSEABLE]

    def _read(self, index: int, call: str, outcome: ReplyOrFailure, *, repaired: bool) -> None:
        row, final = self.rows[index], final_status(outcome)
        if not isinstance(outcome, Failure):
            row.replies.append(outcome.text)
            row.call = call
            row.tokens = (row.tokens[0] + outcome.prompt_tokens, row.tokens[1] + outcome.completion_tokens)
            if final is None:
                answer = self._parse(index, outcome.text)
                row.value, final = answer.value, STATUSES.index(answer.status)
                final = _REPAIRED if final == _OK and repaired else final
        row.status = final or _OK

    def _parse(self, index: int, text: str) -> Answer:
        question, opening = self.inquiry.question, self.opening
        if isinstance(question, Finite):
            return question.parse(text, opening.arrangements[index], opening.mode == "labels")
        return question.read(text, self.rows[index].prompt)

    async def _resample(self) -> None:
        """Draw invalid answers anew, from the opening of their conversation."""
        for attempt in range(1, RESAMPLES + 1):
            which = [i for i, row in enumerate(self.rows) if row.status not in (_OK, _REPAIRED)]
            for index in which:
                row = self.rows[index]
                seed = (row.seed + attempt * 7919) & _SEED_SPACE
                messages = self.opening.messages(index, 1)[0]
                self.rows[index] = _Row(messages, seed, row.lead, replies=row.replies, tokens=row.tokens)
            if not await self._turn(which, 0):
                return

    def result(self) -> InquiryResult:
        """The answers of the people, and a row for each conversation."""
        question, opening, rows = self.inquiry.question, self.opening, self.rows
        status = np.array([row.status for row in rows], np.uint8)
        texts = [question.encode(row.value) if row.value is not None else None for row in rows]
        values = question.decode(pl.Series("value", texts, dtype=pl.String))[opening.of_person]
        columns = ReplyColumns(
            [row.replies for row in rows],
            status,
            [row.call for row in rows],
            [row.tokens[0] for row in rows],
            [row.tokens[1] for row in rows],
            lead=[row.lead for row in rows] if any(row.lead for row in rows) else None,
        )
        table = prompt_table(opening, self.model.spec, "sampled", "", columns)
        ids = self.inquiry.people.ids
        return InquiryResult(
            Answers(question, ids, values, status_column(answer_codes(status)[opening.of_person]), opening.of_person),
            table,
        )
