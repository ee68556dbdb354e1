"""What kind of reply a request expects, read from its instruction, so that a script can answer validly.

A request to a language model says in words how to answer. A script needs the same as data: one of some options, a
JSON object, a number within bounds, a post with or without a title, or free text.
"""

import hashlib
import math
import re
from dataclasses import dataclass, field
from typing import Any, Literal

import pydantic_core

from populace.models.base import Request

Kind = Literal["option", "object", "number", "titled post", "post", "reasoning", "text"]

_FORMAT = (
    r"a (?P<whole>whole )?number(?: from (?P<low>\S+) to (?P<high>[^\s,()]+)"
    r"| of at least (?P<least>[^\s,()]+)| of at most (?P<most>[^\s,()]+))?"
)
_NUMBER = re.compile(rf"Answer with {_FORMAT}(?: \([^)]*\))?, nothing else\.")
_FIELD = re.compile(rf'^- "(?P<name>[^"]+)": .*\({_FORMAT}(?: \([^)]*\))?\)$', re.MULTILINE)
_TOTAL = re.compile(r"whole numbers that add up to (\d+)\.")
_TITLED = "Write a short title on the first line"
_POST = "Write only your own words"
_THINK = "First think aloud about it"


@dataclass(frozen=True)
class NumberBounds:
    """The numbers that are allowed: both bounds included, and whether only whole ones count.

    Example:
        >>> NumberBounds(0, 10, whole=True).at(0.5), NumberBounds(low=5).at(0.0)
        (5, 5)
    """

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False

    def at(self, position: float) -> float | int:
        """The number at a position between 0 and 1; an open side is taken to be a hundred away from the other."""
        low = self.low if math.isfinite(self.low) else min(0.0, self.high - 100.0)
        high = self.high if math.isfinite(self.high) else low + 100.0
        if self.whole:
            first, last = math.ceil(low), math.floor(high)
            return first + min(int(position * (last - first + 1)), last - first)
        return min(high, max(low, round(low + position * (high - low), 2)))


@dataclass(frozen=True)
class ExpectedReply:
    """The kind of reply that a request expects.

    Attributes:
        kind: Which kind it is.
        bounds: The bounds of a number.
        schema: The JSON schema of an object.
        fields: The bounds of those fields of an object that are numbers with bounds.
        total: What the fields of an object must add up to, where it divides points.

    Example:
        >>> ask = "How much?\\nAnswer with a whole number from 1 to 6, nothing else."
        >>> ExpectedReply.of(Request((("user", ask),))).bounds
        NumberBounds(low=1.0, high=6.0, whole=True)
    """

    kind: Kind
    bounds: NumberBounds = NumberBounds()
    schema: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, NumberBounds] = field(default_factory=dict)
    total: int | None = None

    @classmethod
    def of(cls, request: Request) -> "ExpectedReply":
        """Read it from a request."""
        if request.options:
            return cls("option")
        texts = [text for role, text in request.messages if role == "user"]
        if request.schema:
            fields = {match["name"]: _bounds(match) for text in texts for match in _FIELD.finditer(text)}
            totals = [match[1] for text in texts for match in _TOTAL.finditer(text)]
            total = int(totals[-1]) if totals else None
            return cls("object", schema=pydantic_core.from_json(request.schema), fields=fields, total=total)
        for text in reversed(texts):
            numbers = list(_NUMBER.finditer(text))
            if numbers:
                return cls("number", _bounds(numbers[-1]))
            for sign, kind in _SIGNS:
                if sign in text:
                    return cls(kind)
        return cls("text")


_SIGNS: tuple[tuple[str, Kind], ...] = ((_THINK, "reasoning"), (_TITLED, "titled post"), (_POST, "post"))


def _bounds(match: re.Match[str]) -> NumberBounds:
    low, high = match["low"] or match["least"], match["high"] or match["most"]
    return NumberBounds(float(low) if low else -math.inf, float(high) if high else math.inf, whole=bool(match["whole"]))


def request_chance(request: Request, salt: str = "") -> float:
    """A number in [0, 1) that depends on the messages and the seed of a request alone.

    Args:
        request: The request.
        salt: Another word gives another, independent number.

    Example:
        >>> request = Request((("user", "Tea or coffee?"),))
        >>> request_chance(request) == request_chance(request) != request_chance(request, "again")
        True
    """
    return text_chance(f"{request.messages}{request.seed}", salt)


def text_chance(text: str, salt: str = "") -> float:
    """A number in [0, 1) that depends on a text alone."""
    digest = hashlib.blake2b(f"{salt}\0{text}".encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return int.from_bytes(digest, "little") / 2**48
