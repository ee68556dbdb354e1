"""Whether an adapter may be passed on, by the licences of what it learned from.

A licence is a text that people wrote, such as "GPL-3 (package); paper CC BY". What is known of it is found by its
words; where they say nothing that is known, nothing is claimed. This finds what was forgotten, and is no legal advice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_GPL_2, _GPL_3 = "GPL-2.0", "GPL-3.0"
_FORBIDDING = {
    r"cc[ -]?by[ -]nc|non[ -]?commercial|(research|academic|educational)[ -](use[ -])?only": "allows no commercial use",
    r"cc[ -]?by[ -]nd|no[ -]derivatives": "allows no changed copies",
    r"all rights reserved|proprietary|confidential|private|internal|(no|not for) redistribution": "allows no copies",
}
"""Words of licences under which nothing can be passed on freely, with the reason."""
_BINDING: dict[str, tuple[str, ...]] = {
    r"agpl[ -]?v?3[\w.+-]*": ("AGPL-3.0",),
    r"lgpl[\w.+-]*": ("LGPL-3.0", _GPL_2, _GPL_3),
    r"gpl[ -]?(\(>= ?2[^)]*\)|v?2(\.0)?(\+|-or-later)|2 ?\| ?3)": (_GPL_2, _GPL_3),
    r"gpl[ -]?(\(>= ?3[^)]*\)|v?3[\w.+-]*)": (_GPL_3,),
    r"gpl[ -]?v?2[\w.-]*": (_GPL_2,),
    r"\bgpl\b": (_GPL_2, _GPL_3),
    r"cc[ -]?by[ -]sa": ("CC-BY-SA-4.0", _GPL_3),
    r"odbl|open database licen[cs]e": ("ODbL-1.0",),
}
"""Words of licences that hold for what is made from the data, with the licences that may then be taken."""
_FREE = (
    r"cc[ -]?0|public domain|pddl|\bmit\b|\bbsd\b|apache|\bisc\b|unlicense|cc[ -]?by\b(?![ -](nc|nd|sa))|odc-by|"
    r"public-use|free with citation"
)
"""Words of licences that ask for a citation at most."""


@dataclass(frozen=True)
class Sharing:
    """Whether, and under which licences, something made from data may be passed on.

    Attributes:
        allowed: Whether it may; None where that is not known.
        under: The licences of which one must be taken; empty where any may be.
        reasons: Why it may not, or what is not known, each with the data.

    Example:
        >>> Sharing.of([{"name": "survey", "licence": "CC BY 4.0"}, {"name": "games", "licence": "GPL-3"}]).description
        'yes, under GPL-3.0'
    """

    allowed: bool | None
    under: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Sequence[Mapping[str, Any]]) -> Sharing:
        """What the licences of all data together allow.

        Args:
            data: Data sets with `name` and `licence`.
        """
        if not data:
            return cls(None, reasons=("it does not say what it was trained on",))
        forbidden: list[str] = []
        unknown: list[str] = []
        binding: dict[tuple[str, ...], str] = {}
        for each in data:
            name, text = str(each.get("name", "data without a name")), str(each.get("licence") or "")
            forbidden += [f"{name}: {text!r} {reason}" for reason in _matches(text, _FORBIDDING)]
            binding |= dict.fromkeys(_matches(text, _BINDING), name)
            unknown += [f"{name}: {part}" for part in _unknown_parts(text)]
        under = _common(list(binding))
        if binding and not under:
            forbidden.append(f"no licence satisfies all of {', '.join(dict.fromkeys(binding.values()))}")
        if forbidden:
            return cls(False, reasons=tuple(forbidden))
        return cls(None if unknown else True, under, tuple(unknown))

    @property
    def description(self) -> str:
        """Yes, no or not known, with the licences or the reasons."""
        under = f", under {' or '.join(self.under)}" if self.under else ""
        if self.allowed:
            return f"yes{under}"
        return f"{'not known' if self.allowed is None else 'no'}: {'; '.join(self.reasons)}{under}"

    def problem(self, licence: str) -> str | None:
        """Why it may not be passed on under a licence; None where nothing is known against it.

        Args:
            licence: The licence that it would have.

        Example:
            >>> Sharing(True, ("GPL-3.0",)).problem("MIT")
            'what it is made from asks for GPL-3.0'
        """
        if self.allowed is False:
            return "; ".join(self.reasons)
        taken = {name for licences in _matches(licence, _BINDING) for name in licences}
        if self.under and not taken.intersection(self.under):
            return f"what it is made from asks for {' or '.join(self.under)}"
        return None


def _matches(text: str, words: Mapping[str, Any]) -> list[Any]:
    """What belongs to the words that a text has; words that were found are not looked at again."""
    values = []
    for pattern, value in words.items():
        rest = re.sub(pattern, " ", text, flags=re.IGNORECASE)
        if rest != text:
            values.append(value)
            text = rest
    return values


def _unknown_parts(text: str) -> list[str]:
    """The parts of a text that have no word that is known."""
    if not text.strip():
        return ["no licence is named"]
    known = re.compile("|".join([*_FORBIDDING, *_BINDING, _FREE]), re.IGNORECASE)
    parts = [part.strip() for part in text.split(";")]
    return [f"{part!r} is no licence that is known here" for part in parts if part and not known.search(part)]


def _common(choices: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The licences that are among all choices."""
    if not choices:
        return ()
    return tuple(name for name in choices[0] if all(name in each for each in choices))
