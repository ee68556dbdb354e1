"""Questions answered with a number."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any, ClassVar

import polars as pl

from populace.errors import QuestionError
from populace.questions.base import REFUSED, UNPARSEABLE, Answer, Question
from populace.questions.wording import is_refusal, marked

_GROUP = "[,'’   ]"
_NUMBER = re.compile(
    rf"""(?<![\w.])
    (?P<sign>[-+])?\s?
    (?P<currency>[$€£¥])?\s?
    (?P<sign2>[-+])?
    (?P<digits>\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)|\d+)
    (?P<fraction>\.\d+)?
    (?P<exponent>e[-+]?\d+)?
    (?P<rest>\s?%|[\w/]*)""",
    re.VERBOSE | re.IGNORECASE,
)
_MAGNITUDE = re.compile(r"\s*(?:hundred|thousand|million|billion|dozen)\b", re.IGNORECASE)
_CURRENCY = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen"}


@dataclass(frozen=True)
class Number(Question):
    """A number within bounds.

    A reply counts when it holds exactly one number, with the unit or without. Thousands separators,
    signs and Unicode digits are read; a range, two numbers, another unit or a word of magnitude
    ("5 thousand") is unparseable, and so is a number out of bounds.

    Attributes:
        low: The smallest number allowed.
        high: The largest number allowed.
        unit: What is counted, such as "dollars" or "%"; it is named in the question.
        whole: Whether only whole numbers count.

    Example:
        >>> Number("What do you pay?", unit="dollars").parse("About 1,250 dollars.")
        Answer(value=1250.0, status='ok')
        >>> Number("What do you pay?").parse("between 5 and 10").status
        'unparseable'
    """

    low: float = field(default=-math.inf, kw_only=True)
    high: float = field(default=math.inf, kw_only=True)
    unit: str = field(default="", kw_only=True)
    whole: bool = field(default=False, kw_only=True)
    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            raise QuestionError(
                f"{self.text!r}: the bounds run from {self.low} to {self.high}.", "low must be below high."
            )

    @property
    def dtype(self) -> pl.DataType:
        """A column of numbers."""
        return pl.Int64() if self.whole else pl.Float64()

    @property
    def max_tokens(self) -> int:
        """A number and a few words."""
        return 24

    def instruction(self) -> str:
        """How to answer."""
        what = "a whole number" if self.whole else "a number"
        if self.low > -math.inf and self.high < math.inf:
            what += f" from {self.low:g} to {self.high:g}"
        elif self.low > -math.inf:
            what += f" of at least {self.low:g}"
        elif self.high < math.inf:
            what += f" of at most {self.high:g}"
        return f"Answer with {what}{f' ({self.unit})' if self.unit else ''}, nothing else."

    def parse(self, reply: str) -> Answer:
        """Read the one number of a reply."""
        for part in (marked(reply), reply):
            value = self._read(part) if part is not None else None
            if value is not None:
                return Answer(value, "ok")
        return REFUSED if is_refusal(reply) else UNPARSEABLE

    def _read(self, reply: str) -> float | int | None:
        text = _western(reply)
        found = list(_NUMBER.finditer(text))
        if len(found) != 1:
            return None
        match = found[0]
        if not self._unit_fits(match.group("rest").strip(), match.group("currency")) or _MAGNITUDE.match(
            text, match.end()
        ):
            return None
        digits = re.sub(_GROUP, "", match.group("digits"))
        value = float(digits + (match.group("fraction") or "") + (match.group("exponent") or ""))
        if "-" in ((match.group("sign") or "") + (match.group("sign2") or "")):
            value = -value
        if not math.isfinite(value) or not self.low <= value <= self.high:
            return None
        if self.whole:
            return int(value) if value == int(value) else None
        return value

    def _unit_fits(self, rest: str, currency: str | None) -> bool:
        unit = self.unit.casefold()
        if currency and _CURRENCY[currency] not in unit and currency not in unit:
            return False
        return not rest or (bool(unit) and (unit.startswith(rest.casefold()) or rest.casefold().startswith(unit)))

    def encode(self, value: Any) -> str:
        """The shortest digits that give the same number back."""
        return repr(int(value) if self.whole else float(value))

    def describe(self) -> dict[str, Any]:
        """Everything that makes the question what it is."""
        bounds = {
            "low": None if self.low == -math.inf else self.low,
            "high": None if self.high == math.inf else self.high,
        }
        return super().describe() | bounds | {"unit": self.unit, "whole": self.whole}


def _western(text: str) -> str:
    """Digits of any script as 0–9, and every kind of minus as a hyphen where it is a sign."""
    normal = unicodedata.normalize("NFKC", text)
    digits = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in normal)
    return digits.replace("−", "-").replace("﹣", "-")
