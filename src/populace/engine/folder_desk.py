"""A desk in the folder of a run, at which another process answers, such as Studio.

The process that runs writes each open question as a file, and waits for a file with the reply. Files are renamed into
their place, so that neither side reads half of one.
"""

import asyncio
import json
import os
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from populace.base.documents import DocumentError, read_json
from populace.base.errors import UsageError
from populace.deciders import Desk, DeskQuestion
from populace.journal.segments import writing

_POLL_S = 0.1
_MOST = 100_000
"""The most characters of a reply."""
_KEY = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class OpenQuestion:
    """A question that waits for a reply.

    Attributes:
        question: The question.
        attempt: How many replies to it could not be used.
        until: When it is no longer waited for, in seconds of the wall clock; None where there is no end.
    """

    question: DeskQuestion
    attempt: int
    until: float | None


class FolderDesk(Desk):
    """A desk in the folder of a run.

    Args:
        timeout_s: How many seconds a question waits where the run sets nothing.
    """

    def __init__(self, timeout_s: float = 900.0) -> None:
        self.timeout_s: float | None = timeout_s
        self._folder: Path | None = None
        self._attempts: dict[str, int] = {}

    def open(self, folder: Path | None) -> None:
        """Begin with an empty desk; what an interrupted process left there is removed."""
        if folder is None:
            raise UsageError("a run that is not kept has no folder with a desk.", 'Write: keep="run".')
        self._folder = folder / "desk"
        with writing(self._folder):
            self._folder.mkdir(exist_ok=True)
            for file in self._folder.glob("*.json"):
                file.unlink(missing_ok=True)

    async def reply(self, question: DeskQuestion) -> str:
        """Write the question, and wait for the file with its reply."""
        assert self._folder is not None, "a desk is opened before it is asked"
        attempt = self._attempts[question.key] = self._attempts.get(question.key, -1) + 1
        file, reply_file = _files(self._folder, question.key)
        until = time.time() + self.timeout_s if self.timeout_s is not None else None
        try:
            _write(file, {"question": asdict(question), "attempt": attempt, "until": until})
            while True:
                text = _read_reply(reply_file, attempt)
                if text is not None:
                    return text
                await asyncio.sleep(_POLL_S)
        finally:
            file.unlink(missing_ok=True)
            reply_file.unlink(missing_ok=True)


def open_questions(run: Path) -> list[OpenQuestion]:
    """The questions of a run that wait for a reply, in the order of their paths."""
    questions = []
    for file in sorted((run / "desk").glob("*.json")):
        if _KEY.fullmatch(file.stem) is None:
            continue
        try:
            entry = read_json(file)
            fields = dict(entry["question"])
            fields["options"] = tuple(map(str, fields["options"]))
            fields["fields"] = tuple((str(name), str(text)) for name, text in fields["fields"])
            fields["columns"] = tuple(map(str, fields["columns"]))
            questions.append(OpenQuestion(DeskQuestion(**fields), int(entry["attempt"]), entry["until"]))
        except (OSError, DocumentError, KeyError, TypeError, ValueError):
            # It was answered a moment ago, or it is not a question of ours.
            continue
    return sorted(questions, key=lambda each: (each.question.path, str(each.question.person)))


def send_reply(run: Path, waiting: OpenQuestion, text: str) -> None:
    """Reply to an open question.

    Raises:
        UsageError: The question is no longer open, or the reply is too long.
    """
    if len(text) > _MOST:
        raise UsageError(f"the reply has {len(text):,} characters.", f"Write at most {_MOST:,}.")
    key = waiting.question.key
    now_open = {each.question.key: each.attempt for each in open_questions(run)}
    if now_open.get(key) != waiting.attempt:
        raise UsageError("this question is no longer open.", "The page shows the questions that are.")
    _write(_files(run / "desk", key)[1], {"attempt": waiting.attempt, "text": text})


def _files(folder: Path, key: str) -> tuple[Path, Path]:
    return folder / f"{key}.json", folder / f"{key}.reply.json"


def _write(file: Path, entry: dict[str, Any]) -> None:
    with writing(file):
        beside = file.with_suffix(f".{os.getpid()}.tmp")
        beside.write_text(json.dumps(entry, ensure_ascii=False), encoding="utf-8", errors="replace")
        beside.replace(file)


def _read_reply(file: Path, attempt: int) -> str | None:
    """The reply to an attempt; None where there is none yet. A file that cannot be read is removed."""
    if not file.is_file():
        return None
    try:
        entry = read_json(file)
        if entry["attempt"] == attempt and isinstance(entry["text"], str):
            return str(entry["text"])
    except (OSError, DocumentError, KeyError, TypeError):
        pass
    file.unlink(missing_ok=True)
    return None
