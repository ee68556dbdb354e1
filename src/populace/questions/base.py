"""The interface of a question: its wording, and how a reply is read as an answer.

Parsing never guesses: a reply that is not clearly an answer is `unparseable` and stays so.
"""

import functools
import json
import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Self, get_args

import polars as pl

from populace.base.errors import QuestionError, UnknownNameError
from populace.base.templates import Template
from populace.base.values import kind_of

AnswerStatus = Literal["ok", "repaired", "refused", "unparseable", "timeout", "over_budget", "unanswered"]
STATUSES: tuple[AnswerStatus, ...] = get_args(AnswerStatus)
VALID: tuple[AnswerStatus, ...] = ("ok", "repaired")
STATUS_DTYPE = pl.Enum(STATUSES)


@dataclass(frozen=True)
class Answer:
    """A reply as it was read: the value, or None and a status that says why.

    Example:
        >>> from populace.questions import Number
        >>> Number("How old are you?").parse("forty or so")
        Answer(value=None, status='unparseable')
    """

    value: Any
    status: AnswerStatus


UNPARSEABLE = Answer(None, "unparseable")
REFUSED = Answer(None, "refused")


@dataclass(frozen=True)
class Question:
    """The base of every question type.

    Attributes:
        text: The wording; it may have `{fields}` like any template.
        reason: Whether the person first reasons in words and then answers.

    Example:
        >>> from populace.questions import Text
        >>> Text("How was your {day}?").template.fields
        ('day',)
    """

    text: str
    reason: bool = False
    kind: ClassVar[str] = ""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Refuse arguments that the question does not take, before a dataclass would in words of its own."""
        kind: Any = cls
        known = _argument_names(kind)
        unknown = next((name for name in options if name not in known), None)
        if unknown is not None:
            raise UnknownNameError(f"argument of {cls.__name__}", unknown, known)
        if len(args) > 2 or (len(args) == 2 and not isinstance(args[1], bool)):
            first = next((name for name in known if name not in ("text", "reason", "order", "scoring")), "reason")
            raise QuestionError(
                f"{cls.__name__} takes its text first, and everything else by name.",
                f"Write: {cls.__name__}({args[0]!r}, {first}=…)",
            )
        if options and not args and "text" not in options:
            raise QuestionError(f"{cls.__name__} has no text.", f'Write: {cls.__name__}("…", {next(iter(options))}=…)')
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            kind = kind_of(type(self.text))
            raise QuestionError(
                f"the text of a question is an object of type {kind}.",
                "It is one text for all people; what differs between them is a field in braces, such as {name}.",
            )
        if not self.text.strip():
            raise QuestionError("a question needs a text.", f'Write: {type(self).__name__}("…")')

    @property
    def template(self) -> Template:
        """The wording, as a template."""
        return Template(self.text)

    @property
    def dtype(self) -> pl.DataType:
        """The type of a column of values."""
        return pl.String()

    @property
    def max_tokens(self) -> int:
        """The longest useful reply, in tokens."""
        return 64

    def instruction(self) -> str:
        """How to answer; it follows the wording in the prompt."""
        raise NotImplementedError

    def parse(self, reply: str) -> Answer:
        """Read a reply."""
        raise NotImplementedError

    def read(self, reply: str, prompt: str) -> Answer:
        """Read a reply, given the prompt that it answers; most questions ignore the prompt."""
        return self.parse(reply)

    def lead(self, prompt: str) -> str:
        """The words with which a reply must begin, for models that can be led; none for most questions."""
        return ""

    def schema(self) -> dict[str, Any] | None:
        """A JSON schema that the reply must satisfy, or None if replies are plain text."""
        return None

    def reminder(self) -> str:
        """What the model is told if its reply could not be read and it is asked again."""
        return f"That could not be read as an answer. {self.instruction()}"

    def encode(self, value: Any) -> str:
        """A value as the journal stores it."""
        return str(value)

    def decode(self, column: pl.Series) -> pl.Series:
        """Values from the journal, in their own type."""
        return column.cast(self.dtype)

    def describe(self) -> dict[str, Any]:
        """Everything that defines the question, as JSON: its fields, where a subclass does not say otherwise."""
        return {"kind": self.kind} | {each.name: _plain(getattr(self, each.name)) for each in fields(self)}

    def canonical(self) -> str:
        """The description as JSON text with sorted keys, to compare and to hash."""
        return json.dumps(self.describe(), ensure_ascii=False, sort_keys=True)


@functools.cache
def _argument_names(question: Any) -> tuple[str, ...]:
    return tuple([each.name for each in fields(question)])


def _plain(value: Any) -> Any:
    """A field as JSON holds it: a tuple becomes a list, and a bound that is infinite becomes null."""
    if isinstance(value, float) and math.isinf(value):
        return None
    return list(value) if isinstance(value, tuple) else value
