"""A desk: where somebody answers in the place of a person of the run, and where their replies are recorded.

A reply is written to a file of the run before it is used, so that resuming a run does not ask for it again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from populace.base.documents import DocumentError, parse_json_object, read_text
from populace.base.errors import DamagedRunError, InterruptedRunError
from populace.journal import append_line
from populace.journal.segments import writing
from populace.people import Id

_CHECK_S = 0.1
"""How often, in seconds of the wall clock, a question that waits looks whether the run stops."""


@dataclass(frozen=True)
class DeskQuestion:
    """A question to a person of the run, as somebody reads it who answers for them.

    Attributes:
        path: The place of the question in the run.
        person: The id of the person.
        name: The name of the person; the id as text where people have no names.
        profile: Who the person is.
        situation: What the person is told and what comes to their mind.
        wording: The question.
        instruction: How to answer.
        options: The options, in the order in which they are shown; empty where the answer is free.
        fields: For a form, the name of each field and what belongs there.
        columns: For a form that is a list, the names of the columns of a row; a row is a line with `|` between them.
        problem: Why the last reply could not be used; empty at first.

    Example:
        >>> question = DeskQuestion("1/0", 3, "Ann", "You are Ann.", "It rains.", "Tea?", "", ("yes", "no"))
        >>> len(question.key)
        16
    """

    path: str
    person: Id
    name: str
    profile: str
    situation: str
    wording: str
    instruction: str
    options: tuple[str, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    columns: tuple[str, ...] = ()
    problem: str = ""

    @property
    def key(self) -> str:
        """A text that is the same for the same question to the same person at the same place of the run."""
        content = json.dumps({**asdict(self), "problem": ""}, ensure_ascii=False, sort_keys=True)
        return hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=8).hexdigest()


class Desk(Protocol):
    """Where somebody answers in the place of people; a subclass says how they are reached.

    Attributes:
        timeout_s: How many seconds a question waits; None for no end. A run with `play_timeout_s` sets it.
    """

    timeout_s: float | None = None

    async def reply(self, question: DeskQuestion) -> str:
        """What somebody replies. The call is cancelled where the time is over or the run stops."""
        raise NotImplementedError

    def open(self, folder: Path | None) -> None:
        """Begin to receive questions of a run; its folder, or None for a run in memory."""
        return None


class FunctionDesk(Desk):
    """A desk at which a function answers, for tests and scripted play.

    Example:
        >>> desk = FunctionDesk(lambda question: question.options[0])
        >>> asyncio.run(desk.reply(DeskQuestion("1/0", 3, "Ann", "", "", "Tea?", "", ("yes", "no"))))
        'yes'
    """

    def __init__(self, function: Callable[[DeskQuestion], str | None]) -> None:
        self._function = function

    async def reply(self, question: DeskQuestion) -> str:
        """What the function returns; None waits until the time is over."""
        reply = self._function(question)
        if reply is None:
            await asyncio.Event().wait()
        return str(reply)


@dataclass(frozen=True)
class DeskReply:
    """What came of a question at a desk: the reply, or None where none came in time."""

    text: str | None


class DeskReplies:
    """The replies to the questions of one run, each recorded before it is used.

    Args:
        desk: Who is asked; None where nobody is there.
        folder: The folder of the run; None for a run in memory.
        timeout_s: How many seconds a question waits; as the desk says by default.
        stopping: Returns whether the run is about to stop.
    """

    def __init__(
        self, desk: Desk | None, folder: Path | None, timeout_s: float | None, stopping: Callable[[], bool]
    ) -> None:
        self.desk = desk
        self._file = None if folder is None else folder / "desk.jsonl"
        self._folder = folder
        self._timeout_s = timeout_s
        self._stopping = stopping
        self._known: dict[str, DeskReply] | None = None
        self._open = False

    def known(self, question: DeskQuestion) -> DeskReply | None:
        """The recorded reply to a question; None where it was not asked yet."""
        if self._known is None:
            self._known = _read(self._file)
        return self._known.get(question.key)

    async def ask(self, question: DeskQuestion, is_valid: Callable[[DeskReply], bool]) -> DeskReply:
        """Wait for a reply, for the time that is allowed; a valid one is recorded at once.

        Args:
            question: The question.
            is_valid: Returns whether a reply is an answer to it.

        Raises:
            InterruptedRunError: The run stops.
        """
        if self.desk is None:
            raise InterruptedRunError(f"nobody is there to answer for {question.name}.")
        if not self._open:
            self._open = True
            if self._timeout_s is not None:
                self.desk.timeout_s = self._timeout_s
            self.desk.open(self._folder)
        timeout_s = self.desk.timeout_s
        loop = asyncio.get_running_loop()
        end = None if timeout_s is None else loop.time() + timeout_s
        task = asyncio.ensure_future(self._reply(self.desk, question, is_valid))
        try:
            while True:
                left = _CHECK_S if end is None else min(_CHECK_S, max(0.0, end - loop.time()))
                done, _ = await asyncio.wait([task], timeout=left)
                if done:
                    return task.result()
                if self._stopping():
                    raise InterruptedRunError("interrupted while somebody was asked; the step under way was abandoned.")
                if end is not None and loop.time() >= end:
                    return DeskReply(None)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _reply(self, desk: Desk, question: DeskQuestion, is_valid: Callable[[DeskReply], bool]) -> DeskReply:
        reply = DeskReply(await desk.reply(question))
        if is_valid(reply):
            self.record(question, reply)
        return reply

    def record(self, question: DeskQuestion, reply: DeskReply) -> None:
        """Write a reply to the file of the run."""
        if self._known is None:
            self._known = _read(self._file)
        self._known[question.key] = reply
        if self._file is not None:
            entry = {"key": question.key, "path": question.path, "person": question.person, "reply": reply.text}
            with writing(self._file):
                append_line(self._file, json.dumps(entry, ensure_ascii=False))


def _read(file: Path | None) -> dict[str, DeskReply]:
    """The recorded replies by the key of their question; a line that a crash cut off is left out."""
    if file is None or not file.is_file():
        return {}
    try:
        lines = read_text(file, links=False).split("\n")
        entries = [parse_json_object(line) for line in lines if line.endswith("}")]
        return {str(entry["key"]): DeskReply(_text(entry["reply"])) for entry in entries}
    except (OSError, DocumentError, KeyError) as error:
        raise DamagedRunError(f"{file.parent.name}: {file.name} cannot be read: {error}.") from error


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
