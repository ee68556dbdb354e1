"""Whether a text repeats what its writer was told."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

RUN = 9
"""So many words in a row that also stand in the prompt are an echo of it."""
WHOLE = 4
"""A text of at least so many words that stands in the prompt as a whole is one too."""
_BLOCK = (RUN + 1) // 2
"""Any run of RUN words holds a whole block of so many, wherever the blocks begin."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class EchoDetector:
    """What a writer was told.

    Attributes:
        prompt: All of it.

    Example:
        >>> told = EchoDetector("Be kind to one another, and write only about bicycles in this place.")
        >>> told.shares("OK. Write only about bicycles in this place."), told.shares("I like bicycles in this place")
        (False, False)
        >>> told.shares("Write only about bicycles in this place.")
        True
    """

    prompt: str

    def shares(self, text: str) -> bool:
        """Whether a text has a long run of words in common with the prompt, or stands in it as a whole."""
        words = folded_words(text)
        if len(words) < WHOLE or not self.prompt:
            return False
        if len(words) < RUN:
            return f" {' '.join(words)} " in _spelled(self.prompt)
        folded = _folded(self.prompt)
        for at in range(0, len(words) - _BLOCK + 1, _BLOCK):
            # A block with a word that the prompt lacks is no echo, which is soon found for most.
            if words[at] in folded and words[at + 2] in folded and words[at + 4] in folded:
                spelled = _spelled(self.prompt)
                if f" {' '.join(words[at : at + _BLOCK])} " in spelled and _run_around(words, at, spelled):
                    return True
        return False


@functools.lru_cache(maxsize=16)
def folded_words(text: str) -> list[str]:
    """The words of a text, without regard to case; several rules look at the same text one after the other."""
    return _WORD.findall(text.casefold())


def _run_around(words: list[str], at: int, spelled: str) -> bool:
    """Whether a run that holds the block at a place is long enough."""
    first, last = max(0, at - RUN + _BLOCK), min(at, len(words) - RUN)
    return any(f" {' '.join(words[begin : begin + RUN])} " in spelled for begin in range(first, last + 1))


@functools.lru_cache(maxsize=64)
def _folded(prompt: str) -> str:
    return prompt.casefold()


@functools.lru_cache(maxsize=64)
def _spelled(prompt: str) -> str:
    return f" {' '.join(filter(None, map(_line, prompt.split(chr(10)))))} "


@functools.lru_cache(maxsize=16_384)
def _line(line: str) -> str:
    # The prompts of a thread share most of their lines.
    return " ".join(_WORD.findall(line.casefold()))
