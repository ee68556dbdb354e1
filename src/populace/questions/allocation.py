"""Questions answered by dividing points among options."""

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar

from populace.base.errors import QuestionError
from populace.questions.base import UNPARSEABLE, Answer, Question
from populace.questions.reply_objects import object_in, object_schema


@dataclass(frozen=True)
class Allocation(Question):
    """Points to be divided among options.

    The reply must contain exactly one JSON object with a whole number for each option. Points that do not add up are
    unparseable: they are never scaled.

    Attributes:
        options: What the points are given to.
        total: How many points there are.

    Example:
        >>> budget = Allocation("Divide the budget.", options=("schools", "roads"), total=10)
        >>> budget.parse('{"schools": 7, "roads": 3}').value
        {'schools': 7, 'roads': 3}
        >>> budget.parse('{"schools": 7, "roads": 7}').status
        'unparseable'
    """

    options: tuple[str, ...] = field(default=(), kw_only=True)
    total: int = field(default=100, kw_only=True)
    kind: ClassVar[str] = "allocation"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "options", tuple(str(option) for option in self.options))
        if len(self.options) < 2 or len(set(self.options)) < len(self.options):
            raise QuestionError(f"{self.text!r}: points need at least two options, each once.")
        if self.total < 1:
            raise QuestionError(f"{self.text!r}: {self.total} points cannot be divided.")

    @property
    def max_tokens(self) -> int:
        """Enough tokens for every option and its points."""
        return 32 + sum(len(option) // 2 + 12 for option in self.options)

    def instruction(self) -> str:
        """The options and the format of the reply."""
        names = ", ".join(json.dumps(option, ensure_ascii=False) for option in self.options)
        return (
            f"Divide {self.total} points among the options. Answer with one JSON object with the keys {names}; "
            f"the values are whole numbers that add up to {self.total}. Nothing else."
        )

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the object; it cannot say that the points add up."""
        points = {"type": "integer", "minimum": 0, "maximum": self.total}
        fields = dict.fromkeys(self.options, points)
        return object_schema(fields)

    def parse(self, reply: str) -> Answer:
        """Read the only JSON object of a reply, and check that its points add up."""
        points = object_in(reply)
        if isinstance(points, Answer):
            return points
        whole = all(isinstance(value, int) and not isinstance(value, bool) and value >= 0 for value in points.values())
        if set(points) != set(self.options) or not whole or sum(points.values()) != self.total:
            return UNPARSEABLE
        return Answer({option: points[option] for option in self.options}, "ok")

    def encode(self, value: Any) -> str:
        """The points as JSON."""
        return json.dumps(value, ensure_ascii=False)
