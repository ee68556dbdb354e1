"""Several questions in one prompt, answered with one JSON object."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pydantic

from populace.base.errors import QuestionError
from populace.questions.base import UNPARSEABLE, Answer, Question
from populace.questions.finite import Choice, Finite, Rating
from populace.questions.number import Number
from populace.questions.reply_objects import object_in, object_schema


@dataclass(frozen=True)
class Form(Question):
    """A form to fill in: a pydantic model, or several questions by name.

    The reply must contain exactly one JSON object, and it must be valid. A form with one invalid field is unparseable
    as a whole: a part of a form is never used.

    Attributes:
        model: The pydantic model that describes the object.
        questions: In place of a model: the questions by name.
        example: A filled-in object, shown in place of the schema, which small models understand badly.
        shape: A sketch of the object with placeholders, shown in place of the schema where an example would be copied.
        room: How many tokens the JSON object of a pydantic model may have.

    Example:
        >>> age, vote = Number("Your age?", whole=True), Choice("Vote?", options=("yes", "no"))
        >>> form = Form("About you.", questions={"age": age, "vote": vote})
        >>> form.parse('{"age": 41, "vote": "Yes"}')
        Answer(value={'age': 41, 'vote': 'yes'}, status='ok')
    """

    model: type[pydantic.BaseModel] | None = field(default=None, kw_only=True)
    questions: Mapping[str, Question] = field(default_factory=dict, kw_only=True)
    example: str = field(default="", kw_only=True)
    shape: str = field(default="", kw_only=True)
    room: int = field(default=512, kw_only=True)
    kind: ClassVar[str] = "form"

    def __post_init__(self) -> None:
        super().__post_init__()
        by_name = 'Give each question a name: questions={"age": Number("…"), "vote": Choice("…", options=(…))}.'
        if not isinstance(self.questions, Mapping):
            raise QuestionError(f"{self.text!r}: the questions are a {type(self.questions).__name__}.", by_name)
        wrong = next((name for name, each in self.questions.items() if not isinstance(each, Question)), None)
        if wrong is not None:
            raise QuestionError(f"{self.text!r}: {wrong!r} is not a question.", by_name)
        if (self.model is None) == (not self.questions):
            raise QuestionError(f"{self.text!r}: a form takes either a model or questions.", by_name)
        if self.example and self.parse(self.example).status != "ok":
            raise QuestionError(f"{self.text!r}: the example {self.example!r} does not fit the form.")
        for name, question in self.questions.items():
            if question.template.fields:
                raise QuestionError(
                    f"{self.text!r}: {name!r} holds the field {{{question.template.fields[0]}}}.",
                    "Put fields into the text of the form, or into what is given.",
                )
            changes_order = isinstance(question, Finite) and question.order != "fixed"
            if isinstance(question, Form) or question.reason or changes_order:
                raise QuestionError(
                    f"{self.text!r}: {name!r} cannot be part of a form.", "Forms do not nest, reason or change orders."
                )

    @property
    def max_tokens(self) -> int:
        """Enough tokens for every field."""
        if self.questions:
            return 16 + sum(question.max_tokens + 12 for question in self.questions.values())
        return self.room

    def instruction(self) -> str:
        """The fields and the format of the reply."""
        if self.example:
            return f"Answer with one JSON object like this one, nothing else:\n{self.example}"
        if self.shape:
            return f"Answer with one JSON object of this shape, nothing else:\n{self.shape}"
        if self.model is not None:
            shape = json.dumps(self.schema(), ensure_ascii=False, sort_keys=True)
            return f"Answer with one JSON object that fits this schema, nothing else:\n{shape}"
        lines = []
        for name, question in self.questions.items():
            hint = f" ({question.expected_format()})" if isinstance(question, Number) else ""
            if isinstance(question, Finite):
                hint = " " + question.options_text(question.declared_order, labels=False)
            lines.append(f'- "{name}": {question.text}{hint}')
        names = ", ".join(f'"{name}"' for name in self.questions)
        return "\n".join([*lines, f"Answer with one JSON object with the keys {names}, nothing else."])

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the object."""
        if self.model is not None:
            return self.model.model_json_schema()
        fields = {name: _schema(question) for name, question in self.questions.items()}
        return object_schema(fields)

    def parse(self, reply: str) -> Answer:
        """Read the only JSON object of a reply and check every field."""
        values = object_in(reply)
        if isinstance(values, Answer):
            return values
        if self.model is not None:
            try:
                return Answer(self.model.model_validate(values, strict=False).model_dump(mode="json"), "ok")
            except pydantic.ValidationError:
                return UNPARSEABLE
        if set(values) != set(self.questions):
            return UNPARSEABLE
        if not all(isinstance(v, str | int | float) and not isinstance(v, bool) for v in values.values()):
            return UNPARSEABLE
        answers = {name: question.parse(str(values[name])) for name, question in self.questions.items()}
        invalid = next((answer for answer in answers.values() if answer.status != "ok"), None)
        return invalid or Answer({name: answer.value for name, answer in answers.items()}, "ok")

    def encode(self, value: Any) -> str:
        """The object as JSON."""
        return json.dumps(value, ensure_ascii=False, sort_keys=True)

    def describe(self) -> dict[str, Any]:
        """Everything that defines the question, as JSON."""
        parts = {name: question.describe() for name, question in self.questions.items()}
        options = {"example": self.example, "room": self.room} if self.example or self.room != 512 else {}
        options |= {"shape": self.shape} if self.shape else {}
        form = {"kind": self.kind, "text": self.text, "reason": self.reason, "schema": self.schema()}
        return form | {"questions": parts} | options


def _schema(question: Question) -> dict[str, Any]:
    if isinstance(question, Choice):
        return {"type": "string", "enum": list(question.words)}
    if isinstance(question, Rating):
        return {"type": "integer", "minimum": question.low, "maximum": question.high}
    if isinstance(question, Number):
        return {"type": "integer" if question.whole else "number"}
    return {"type": "string"}
