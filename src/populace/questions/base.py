"""What can be asked, and what becomes of a reply.

Parsing never invents: a reply that is not clearly an answer is `unparseable` and stays so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import polars as pl

from populace.base.errors import QuestionError
from populace.base.templates import Template

Status = Literal["ok", "repaired", "refused", "unparseable", "timeout", "over_budget", "unanswered"]
STATUSES: tuple[Status, ...] = ("ok", "repaired", "refused", "unparseable", "timeout", "over_budget", "unanswered")
VALID: tuple[Status, ...] = ("ok", "repaired")
STATUS_DTYPE = pl.Enum(STATUSES)


@dataclass(frozen=True)
class Answer:
    """One reply, read: the value, or None with the status that says why there is none."""

    value: Any
    status: Status


UNPARSEABLE = Answer(None, "unparseable")
REFUSED = Answer(None, "refused")


@dataclass(frozen=True)
class Question:
    """Something to ask.

    Attributes:
        text: The wording; it may hold `{fields}` like any template.
        reason: Whether the person first reasons in words and then answers in the light of it.
    """

    text: str
    reason: bool = False
    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise QuestionError("a question needs a text.")

    @property
    def template(self) -> Template:
        """The wording as a template."""
        return Template(self.text)

    @property
    def dtype(self) -> pl.DataType:
        """The type of the column that the values make."""
        return pl.String()

    @property
    def max_tokens(self) -> int:
        """The longest reply that is of any use."""
        return 64

    def instruction(self) -> str:
        """What follows the wording: how to answer."""
        raise NotImplementedError

    def parse(self, reply: str) -> Answer:
        """Read a reply."""
        raise NotImplementedError

    def read(self, reply: str, prompt: str) -> Answer:
        """Read a reply in the light of what was put; for most questions that does not matter."""
        return self.parse(reply)

    def schema(self) -> dict[str, Any] | None:
        """A JSON schema that a constrained reply must meet, or None where replies are plain text."""
        return None

    def reminder(self) -> str:
        """What is said when a reply could not be read and the same model is asked again."""
        return f"That could not be read as an answer. {self.instruction()}"

    def encode(self, value: Any) -> str:
        """A value as the journal writes it."""
        return str(value)

    def decode(self, column: pl.Series) -> pl.Series:
        """Values as the journal wrote them, back in their own type."""
        return column.cast(self.dtype)

    def describe(self) -> dict[str, Any]:
        """Everything that makes the question what it is, as JSON."""
        return {"kind": self.kind, "text": self.text, "reason": self.reason}

    def canonical(self) -> str:
        """The description in one fixed spelling, to compare and to hash."""
        return json.dumps(self.describe(), ensure_ascii=False, sort_keys=True)
