"""Questions answered with a number."""

import math
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from populace.base.errors import QuestionError
from populace.questions.base import REFUSED, UNPARSEABLE, Answer, Question
from populace.questions.reply_parsing import is_refusal, text_after_marker

_GROUP = "[,'’\u00a0\u2009\u202f]"
_NUMBER = re.compile(
    rf"""(?<![\w.])
    (?P<sign>[-+](?P<gap>\s)?)?
    (?P<currency>[$€£¥])?\s?
    (?P<sign2>[-+])?
    (?P<digits>\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)|\d+)
    (?P<fraction>\.\d+)?
    (?P<exponent>e[-+]?\d+)?
    (?P<rest>\s?%|[\w/]*)""",
    re.VERBOSE | re.IGNORECASE,
)
_MAGNITUDE = re.compile(r"\s*(?:hundred|thousand|million|billion|dozen)\b", re.IGNORECASE)
_BEFORE = re.compile(r"(?:\b(?:minus|negative|EUR|GBP|JPY|CHF|INR|CNY)\s*|[₹₽₩₺₴₫₦])$", re.IGNORECASE)
_AFTER = re.compile(r"[\s-]?([^\W\d]+|[%$€£¥₹])")
_CURRENCY = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen"}
_NO_UNIT = frozenset(
    "or and in for a an per because is as so at on of to if but i that which would please total".split()
)
"""Words that may follow a number and are not a unit."""


@dataclass(frozen=True)
class Number(Question):
    """A number within bounds.

    A reply counts if it has exactly one number, with or without the unit. Thousands separators, signs and Unicode
    digits are read. A range, two numbers, another unit, a word of magnitude ("5 thousand") and a number out of bounds
    are unparseable.

    Attributes:
        low: The smallest number allowed.
        high: The largest number allowed.
        unit: The unit, such as "dollars" or "%"; the instruction names it.
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
        for name, end in (("low", self.low), ("high", self.high)):
            if not isinstance(end, (int, float, np.number)):
                raise QuestionError(f"{self.text!r}: {name} is {end!r}, not a number.", f"Write {name}=0, for example.")
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
        """Enough tokens for a number and a few words."""
        return 24

    def expected_format(self) -> str:
        """The kind of number that is expected, with bounds and unit, in words."""
        text = "a whole number" if self.whole else "a number"
        if self.low > -math.inf and self.high < math.inf:
            text += f" from {self.low:g} to {self.high:g}"
        elif self.low > -math.inf:
            text += f" of at least {self.low:g}"
        elif self.high < math.inf:
            text += f" of at most {self.high:g}"
        return f"{text}{f' ({self.unit})' if self.unit else ''}"

    def instruction(self) -> str:
        """How to answer; it follows the wording in the prompt."""
        return f"Answer with {self.expected_format()}, nothing else."

    def parse(self, reply: str) -> Answer:
        """Read the only number of a reply."""
        marked_text = text_after_marker(reply)
        value = self._parse_number(marked_text) if marked_text is not None else None
        if value is None and is_refusal(reply):
            return REFUSED
        value = self._parse_number(reply) if value is None else value
        return UNPARSEABLE if value is None else Answer(value, "ok")

    def _parse_number(self, reply: str) -> float | int | None:
        text = _western(reply)
        matches = list(_NUMBER.finditer(text))
        if len(matches) != 1 or not self._stands_alone(text, matches[0]):
            return None
        match = matches[0]
        digits = re.sub(_GROUP, "", match.group("digits"))
        sign = "-" if "-" in f"{match.group('sign')}{match.group('sign2')}" else ""
        if self.whole and not match.group("fraction") and not match.group("exponent"):
            exact = int(sign + digits)
            return exact if self.low <= exact <= self.high and abs(exact) < 2**63 else None
        value = float(sign + digits + (match.group("fraction") or "") + (match.group("exponent") or ""))
        if not math.isfinite(value) or not self.low <= value <= self.high:
            return None
        if self.whole:
            return int(value) if value == int(value) and abs(value) < 2**63 else None
        return value

    def _stands_alone(self, text: str, match: re.Match[str]) -> bool:
        """Whether nothing around the number changes its meaning: a further digit, a magnitude, another unit."""
        before, after = text[: match.start()], text[match.end() :]
        if re.search(r"\d", before + after) or _BEFORE.search(before) or match.group("gap") or _MAGNITUDE.match(after):
            return False
        if not self._unit_fits(match.group("rest").strip(), match.group("currency")):
            return False
        following = _AFTER.match(after)
        if following is None or self._unit_fits(following.group(1), None):
            return True
        word = following.group(1)
        return word.isalpha() and (not self.unit or word.casefold() in _NO_UNIT)

    def _unit_fits(self, rest: str, currency: str | None) -> bool:
        unit = self.unit.casefold()
        if currency and _CURRENCY[currency] not in unit and currency not in unit:
            return False
        return not rest or (bool(unit) and (unit.startswith(rest.casefold()) or rest.casefold().startswith(unit)))

    def encode(self, value: Any) -> str:
        """The shortest decimal text that is read back as the same number."""
        return repr(int(value) if self.whole else float(value))


def _western(text: str) -> str:
    """Text with digits of any script as 0–9 and every dash as a hyphen; superscripts and fractions stay."""
    normal = "".join(c if c.isnumeric() or c.isspace() else unicodedata.normalize("NFKC", c) for c in text)
    digits = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in normal)
    return digits.translate(dict.fromkeys(map(ord, "−﹣‑–—"), "-"))
