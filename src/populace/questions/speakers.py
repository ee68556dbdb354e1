"""Finds lines that speak for somebody, such as "Bo: I agree" in the middle of a post by Ann."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from populace.people.names import FEMALE, MALE

_UPPER = r"[^\W\d_a-zß-öø-ÿ]"
_PART = rf"(?:[dl]['’])?{_UPPER}(?:\.|[\w'’-]*)"
PARTICLE = (
    "(?:van|von|vom|de|der|den|da|di|du|del|della|dos|das|do|la|le|el|al|bin|ibn|ben|bat|af|av|zu|zum|zur|ter|ten|op"
    "|y|e|i)"
)
"""A part of a name that is written in lower case, as in "Ada van der Berg"."""
_NAME = rf"{_PART}(?:(?: {PARTICLE}){{0,2}} {_PART}){{0,3}}"
_VERB = r"(?:wrote|writes|said|says|replied|replies|posted|posts|answered|answers|commented|asked|asks|here)"
_AFTER = rf"(?:[ \t]*\([^()\n]*\))?(?:[ \t]+{_VERB})?"
_CALLS = ("You are ", "You're ", "Your name is ")
_YOU = re.compile(rf"\b(?:{'|'.join(_CALLS)})({_NAME})")
_LINE = re.compile(
    rf"[^\w\n]*(?:\d+[.)\]:]*[ \t]+)?({_NAME}|[\w.-]{{2,30}}){_AFTER}[ \t]*[:：](?!//)",
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
"""Words before a colon that are not the name of a person."""


@dataclass(frozen=True)
class PromptSpeakers:
    """The people who may appear as speakers in a text.

    Attributes:
        own: The names of the writer.
        others: The names of other speakers.

    Example:
        >>> speakers = PromptSpeakers.from_prompt("You are Ann Lee. So far:\\nBo Chen: Hello.\\nAnn Lee: Hi.")
        >>> speakers
        PromptSpeakers(own=('Ann Lee', 'Ann'), others=('Bo Chen', 'Bo'))
        >>> speakers.own_label_end("Ann: Hi Bo"), speakers.other_start("Hi Bo, welcome!\\nBo: Thanks.")
        (5, 16)
    """

    own: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @classmethod
    def from_prompt(cls, prompt: str, names: Iterable[str] = ()) -> PromptSpeakers:
        """Read the writer's name from `You are NAME` and the others' from lines such as `NAME: text`.

        Args:
            prompt: The prompt of the writer.
            names: The names of further people who may speak.
        """
        return _read_speakers(prompt, tuple(names))

    def own_label_end(self, text: str) -> int:
        """The length of a label with the writer's own name at the beginning; 0 if there is none."""
        match = _LABEL.match(text) if ":" in text or "：" in text else None
        return match.end() if match and match.group(1) in self.own else 0

    def other_start(self, text: str) -> int | None:
        """Where another person begins to speak, or None; a later label with the writer's own name counts too."""
        if ":" not in text and "：" not in text:
            return None
        for match in _LABEL.finditer(text):
            if self._is_name(match.group(1), own=match.start() > 0):
                return match.start()
        return None

    def _is_name(self, label: str, *, own: bool) -> bool:
        if label in self.others or (own and label in self.own):
            return True
        return label not in self.own and label.casefold() not in ORDINARY and label.split()[0] in _FIRST


@functools.lru_cache(maxsize=1024)
def _read_speakers(prompt: str, names: tuple[str, ...]) -> PromptSpeakers:
    lines = [_line_names(line) for line in prompt.split("\n")]
    own = dict.fromkeys(name for writers, _ in lines for full in writers for name in _short_and_full(full))
    speakers = [full for _, labels in lines for full in labels] + list(names)
    others = dict.fromkeys(
        name
        for full in speakers
        if full.casefold() not in ORDINARY
        for name in _short_and_full(full)
        if name not in own
    )
    return PromptSpeakers(tuple(own), tuple(others))


@functools.lru_cache(maxsize=16_384)
def _line_names(line: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names that a line calls "you", and those that it shows as speakers; prompts of a thread share most lines."""
    own = tuple(match.group(1) for match in _YOU.finditer(line)) if any(words in line for words in _CALLS) else ()
    label = _LINE.match(line) if ":" in line or "：" in line else None
    return own, (label.group(1),) if label else ()


def _short_and_full(name: str) -> tuple[str, ...]:
    first = name.split()[0]
    return (name,) if first == name or len(first) < 2 else (name, first)
