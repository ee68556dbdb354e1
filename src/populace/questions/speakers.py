"""Whose words a text pretends to be: "Bo: I agree" in the middle of what Ann writes."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from populace.people.names import FEMALE, MALE

_UPPER = r"[^\W\d_a-zß-öø-ÿ]"
_PART = rf"{_UPPER}(?:\.|[\w'’-]*)"
_NAME = rf"{_PART}(?: {_PART}){{0,3}}"
_VERB = r"(?:wrote|writes|said|says|replied|replies|posted|posts|answered|answers|commented|asked|asks|here)"
_AFTER = rf"(?:[ \t]*\([^()\n]*\))?(?:[ \t]+{_VERB})?"
_YOU = re.compile(rf"\b(?:You are|You're|Your name is) ({_NAME})")
_LINE = re.compile(
    rf"^[^\w\n]*(?:\d+[.)\]:]*[ \t]+)?({_NAME}|[\w.-]{{2,30}}){_AFTER}[ \t]*[:：](?!//)",
    re.MULTILINE,
)
_LABEL = re.compile(
    rf"(?:^|(?<=[.!?…\"”])[ \t])(?:[^\w\n]|_)*({_NAME}|[\w.-]{{2,30}})(?:[^\w\n:：(]|_){{0,3}}{_AFTER}"
    r"[ \t]*[:：](?!//)[*_]{0,3}[ \t]*",
    re.MULTILINE,
)
_FIRST = frozenset(FEMALE + MALE)
ORDINARY = frozenset(
    "note edit update ps tldr question answer warning tip tips fyi pro con pros cons example source sources link links "
    "step result conclusion summary ingredients title subject post text body reply comment message today yesterday "
    "tomorrow also reminder advice rule http https".split()
)
"""Words before a colon that name nobody."""


@dataclass(frozen=True)
class PromptSpeakers:
    """Who might be taken to speak.

    Attributes:
        own: The names of the writer.
        others: The names of everybody else who is known to speak.

    Example:
        >>> known = PromptSpeakers.from_prompt("You are Ann Lee. So far:\\nBo Chen: Hello.\\nAnn Lee: Hi.")
        >>> known
        PromptSpeakers(own=('Ann Lee', 'Ann'), others=('Bo Chen', 'Bo'))
        >>> known.own_prefix("Ann: Hi Bo"), known.other_from("Hi Bo, welcome!\\nBo: Thanks.")
        (5, 16)
    """

    own: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @classmethod
    def from_prompt(cls, prompt: str, names: Iterable[str] = ()) -> PromptSpeakers:
        """The writer, from `You are NAME`, and the others, from lines such as `NAME: text`.

        Args:
            prompt: What the writer was told.
            names: Further people who might speak.
        """
        return _found(prompt, tuple(names))

    def own_prefix(self, text: str) -> int:
        """How much of the beginning is the writer's own name as a label."""
        found = _LABEL.match(text) if ":" in text or "：" in text else None
        return found.end() if found and found.group(1) in self.own else 0

    def other_from(self, text: str) -> int | None:
        """Where another person begins to speak; the writer's own name, later in a text, is a sign of it too."""
        if ":" not in text and "：" not in text:
            return None
        for found in _LABEL.finditer(text):
            if self._names_somebody(found.group(1), own=found.start() > 0):
                return found.start()
        return None

    def _names_somebody(self, label: str, *, own: bool) -> bool:
        if label in self.others or (own and label in self.own):
            return True
        return label not in self.own and label.casefold() not in ORDINARY and label.split()[0] in _FIRST


@functools.lru_cache(maxsize=64)
def _found(prompt: str, names: tuple[str, ...]) -> PromptSpeakers:
    lines = [_in_line(line) for line in prompt.split("\n")]
    own = dict.fromkeys(name for named, _ in lines for full in named for name in _called(full))
    spoken = [full for _, speaks in lines for full in speaks] + list(names)
    others = dict.fromkeys(
        name for full in spoken if full.casefold() not in ORDINARY for name in _called(full) if name not in own
    )
    return PromptSpeakers(tuple(own), tuple(others))


@functools.lru_cache(maxsize=16_384)
def _in_line(line: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Whom one line calls "you", and who speaks in it; the prompts of a thread share most of their lines."""
    own = tuple(found.group(1) for found in _YOU.finditer(line)) if "You" in line else ()
    return own, tuple(found.group(1) for found in _LINE.finditer(line)) if ":" in line or "：" in line else ()


def _called(name: str) -> tuple[str, ...]:
    first = name.split()[0]
    return (name,) if first == name or len(first) < 2 else (name, first)
