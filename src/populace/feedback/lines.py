"""Lines of feedback as files hold them: what each key may hold, and which lines of a file are feedback."""

import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import Field

from populace.base.documents import DocumentError, parse_json, read_bytes
from populace.base.errors import UsageError
from populace.base.foreign import for_line
from populace.base.formatting import shortened
from populace.base.plain_data import plain_message

SCHEMA = 1
"""The version of the lines."""
JudgementKind = Literal["scored", "rewritten", "skipped", "withdrawn"]

_Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
_MOST_TEXT = 120


class _Message(pydantic.BaseModel):
    role: str
    content: str


class _Line(pydantic.BaseModel):
    """What must hold for the values of a line; keys that are not here may hold anything."""

    model_config = pydantic.ConfigDict(strict=True, extra="allow", protected_namespaces=())

    version: _Whole = Field(alias="schema")
    item: str
    rater: str
    verdict: JudgementKind
    person: str | _Whole
    score: Annotated[int, Field(ge=1, le=5)] | None = None
    step: _Whole | None = None
    seed: _Whole | None = None
    rewrite: str | None = None
    run: str | None = None
    experiment: str | None = None
    arm: str | None = None
    model: str | None = None
    path: str | None = None
    kind: str | None = None
    purpose: str | None = None
    messages: list[_Message] | None = None
    lead: str | None = None
    reply: str | None = None
    value: str | None = None
    queue: str | None = None
    held: str | None = None


@dataclass
class FeedbackFile:
    """What the file of a rater holds.

    Attributes:
        lines: The lines of feedback, in their order; a key that is missing is None.
        incomplete: How many lines are no JSON, as a killed process leaves them.
        problems: What is wrong with other lines, each with the file and the line.
    """

    lines: list[dict[str, Any]] = field(default_factory=list)
    incomplete: int = 0
    problems: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Self:
        """What a file holds; nothing where there is no plain file.

        Raises:
            UsageError: If a newer Populace wrote a line.
        """
        found = cls()
        try:
            content = read_bytes(path) if path.is_file() else b""
        except (OSError, DocumentError) as error:
            found.problems.append(f"{path.name}: it cannot be read: {error}.")
            return found
        for number, text in enumerate(content.decode("utf-8", errors="replace").split("\n"), 1):
            if text.strip():
                found._add(text, path, number)
        return found

    def _add(self, text: str, path: Path, number: int) -> None:
        try:
            line = parse_json(text, nan=True)
        except DocumentError:
            self.incomplete += 1
            return
        version = line.get("schema") if isinstance(line, dict) else None
        if isinstance(version, int) and version > SCHEMA:
            raise UsageError(f"{path}, line {number} was written by a newer Populace.", "Upgrade Populace.")
        try:
            _Line.model_validate(line)
        except pydantic.ValidationError as error:
            what = shortened(for_line(_problem(error)), _MOST_TEXT)
            self.problems.append(f"{path.name}, line {number}: this is not feedback: {what}.")
            return
        # A copy of a file under another name would else count the same rater twice; some disks ignore case.
        if _plain(line["rater"]) != _plain(path.stem):
            self.problems.append(f"{path.name}, line {number}: this is feedback of another rater than the file's.")
            return
        self.lines.append({name: None for name in _Line.model_fields if name != "version"} | line)


def _plain(rater: str) -> str:
    return unicodedata.normalize("NFC", rater).strip().casefold()


def _problem(error: pydantic.ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"][:1]))
    return f"{place}: {plain_message(first)}" if place else plain_message(first)
