"""Deciding by hand: somebody at a desk answers in the place of a person, and reads what the person would read."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UsageError
from populace.deciders.decision import InquiryResult, ReplyColumns, prompt_table, status_column
from populace.deciders.desk import DeskQuestion, DeskReplies, DeskReply
from populace.prompting import Conversations, Inquiry, conversations
from populace.prompting.conversations import prompts_of
from populace.questions import STATUSES, Allocation, Answer, Answers, Finite, Form, Number, Question, Speech

HUMAN = "human"
"""What stands in the place of a model's string in the prompts of people whom somebody plays."""
_ATTEMPTS = 20
"""After so many replies that cannot be used, the last one is recorded as invalid."""
_UNANSWERED = STATUSES.index("unanswered")
_FAULTS = {
    "narration": "That reports what somebody said or did.",
    "echo": "That repeats a memory or what was said before.",
    "addresses the speaker": "That speaks to the person whom you play.",
    "speaks for another": "That is what somebody else says.",
}
"""Why a line cannot be used, by the fault of `Speech`."""
_FLAT = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}

Rows = npt.NDArray[np.int64]


def by_human(inquiry: Inquiry) -> list[tuple[Rows, str, Inquiry]]:
    """The part of an inquiry that somebody at a desk decides. Nobody is asked to think aloud."""
    parts = [(rows, part) for rows, decider, part in inquiry.by_decider() if decider == HUMAN]
    situations = [replace(part.situation, question=replace(part.question, reason=False)) for _, part in parts]
    return [
        (rows, HUMAN, replace(part, situation=situation))
        for (rows, part), situation in zip(parts, situations, strict=True)
    ]


async def decide_by_hand(inquiry: Inquiry, replies: DeskReplies | None) -> list[tuple[Rows, InquiryResult]]:
    """Answer for each person whom somebody plays; the rows of the inquiry, and the result for each.

    A reply that is no valid answer is asked for again, with the reason. Where no reply comes in time, the answer is
    `unanswered`.
    """
    people = [
        (rows[[place]], part.for_rows(np.array([place])))
        for rows, _, part in by_human(inquiry)
        for place in range(len(part.people))
    ]
    if people and replies is None:
        raise UsageError(
            f"{_name(people[0][1])} is played by somebody, and nobody can be asked here.",
            "Pass desk=… in Python; on the command line use `populace run`, `resume` or `fork`.",
        )
    if not people or replies is None:
        return []
    tasks = [asyncio.ensure_future(_HandInquiry(part).result(replies)) for _, part in people]
    try:
        results = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [(rows, result) for (rows, _), result in zip(people, results, strict=True)]


@dataclass
class _HandInquiry:
    """One question to one person whom somebody plays."""

    inquiry: Inquiry

    def __post_init__(self) -> None:
        self.question = self.inquiry.question
        self.opening = conversations(self.inquiry, mode="words", scored=False)

    async def result(self, replies: DeskReplies) -> InquiryResult:
        question = desk_question(self.inquiry, self.opening)
        reply = replies.known(question)
        if reply is None:
            reply = await self._valid_reply(question, replies)
        return self._result(self.parse(reply), [] if reply.text is None else [reply.text])

    async def _valid_reply(self, shown: DeskQuestion, replies: DeskReplies) -> DeskReply:
        """The first valid reply; after many that are not, or where the time is over, the last."""
        reply, problem = DeskReply(None), ""
        for _ in range(_ATTEMPTS):
            reply = await replies.ask(replace(shown, problem=problem), lambda each: self.parse(each).value is not None)
            if reply.text is None or self.parse(reply).value is not None:
                break
            problem = self._problem(shown, reply.text)
        if self.parse(reply).value is None:
            replies.record(shown, reply)
        return reply

    def parse(self, reply: DeskReply) -> Answer:
        """A reply as an answer; for a question with options, also the number of one."""
        if reply.text is None:
            return Answer(None, "unanswered")
        question, text = self.question, reply.text.strip()
        if isinstance(question, Finite):
            order = self.opening.arrangements[0]
            answer = question.parse(text, order)
            if answer.value is None and text.isdecimal() and 1 <= int(text) <= len(order):
                return Answer(question.values[order[int(text) - 1]], "ok")
            return answer
        if (rows := _rows_as_json(question, text)) is not None:
            text = rows
        if isinstance(question, Allocation):
            text = re.sub(r'"(\d+)"', r"\1", text)
        return question.read(text, self._prompt)

    def _problem(self, shown: DeskQuestion, reply: str) -> str:
        """Why a reply is no valid answer."""
        if not reply.strip():
            return "The answer is empty."
        if shown.options:
            return f"That is none of the options: {', '.join(shown.options)}."
        fault = self.question.fault(reply, self._prompt) if isinstance(self.question, Speech) else None
        return f"{_FAULTS.get(fault or '', 'That cannot be used as an answer here.')} {shown.instruction}".strip()

    @property
    def _prompt(self) -> str:
        return f"{self.opening.system[0]}\n{self.opening.user[0]}"

    def _result(self, answer: Answer, texts: list[str]) -> InquiryResult:
        question = self.question
        codes = np.array([STATUSES.index(answer.status)], np.uint8)
        columns = ReplyColumns([texts], codes, [None], [0], [0])
        value = None if answer.value is None else question.encode(answer.value)
        values = question.decode(pl.Series("value", [value], dtype=pl.String))
        answers = Answers(question, self.inquiry.people.ids, values, status_column(codes), np.zeros(1, np.int32))
        return InquiryResult(answers, prompt_table(self.opening, HUMAN, HUMAN, "", columns))


def desk_question(inquiry: Inquiry, opening: Conversations) -> DeskQuestion:
    """The question as somebody reads it who answers for the one person of an inquiry."""
    question, parts = inquiry.question, prompts_of(inquiry)
    order, columns = opening.arrangements[0], _list_columns(question)
    instruction = "" if isinstance(question, Finite) or _fields(question) else question.instruction()
    if columns:
        instruction = f"Write a line for each: {' | '.join(columns)}"
    return DeskQuestion(
        path=inquiry.path,
        person=inquiry.people.ids[0],
        name=_name(inquiry),
        profile=opening.system[0],
        situation=parts.situation[0],
        wording=parts.wording[0],
        instruction=instruction,
        options=tuple(question.words[index] for index in order) if isinstance(question, Finite) else (),
        fields=_fields(question),
        columns=columns,
    )


def _fields(question: Question) -> tuple[tuple[str, str], ...]:
    """The fields of a form whose values are all simple, and what belongs there; none for any other question."""
    if isinstance(question, Allocation):
        return tuple((option, f"points out of {question.total}") for option in question.options)
    if not isinstance(question, Form):
        return ()
    if question.questions:
        return tuple((name, _field_text(each)) for name, each in question.questions.items())
    properties: dict[str, dict[str, Any]] = question.schema().get("properties", {})
    if not all(each.get("type") in _FLAT for each in properties.values()):
        return ()
    return tuple((name, str(each.get("description") or _FLAT[each["type"]])) for name, each in properties.items())


def _list_columns(question: Question) -> tuple[str, ...]:
    """The names of the columns of a form that is one list of simple objects; none for any other question."""
    schema = question.schema() if isinstance(question, Form) else None
    properties: list[dict[str, Any]] = list((schema or {}).get("properties", {}).values())
    if schema is None or len(properties) != 1 or properties[0].get("type") != "array":
        return ()
    item: dict[str, Any] = properties[0].get("items", {})
    item = schema.get("$defs", {}).get(str(item.get("$ref", "")).rpartition("/")[2], item)
    columns: dict[str, dict[str, Any]] = item.get("properties", {})
    return tuple(columns) if all(each.get("type") in _FLAT for each in columns.values()) else ()


def _rows_as_json(question: Question, text: str) -> str | None:
    """Lines with `|` between the columns as the JSON object of a form that is a list; None for anything else."""
    columns = _list_columns(question)
    if not columns or "{" in text:
        return None
    lines = [[part.strip() for part in line.split("|", len(columns) - 1)] for line in text.splitlines() if line.strip()]
    (name,) = (question.schema() or {}).get("properties", {})
    return json.dumps({name: [dict(zip(columns, parts, strict=False)) for parts in lines]}, ensure_ascii=False)


def _field_text(question: Question) -> str:
    if isinstance(question, Finite):
        return f"{question.text} ({' / '.join(question.words)})"
    return f"{question.text} ({question.expected_format()})" if isinstance(question, Number) else question.text


def _name(inquiry: Inquiry) -> str:
    people = inquiry.people
    return str(people["name"][0] if "name" in people else people.ids[0])
