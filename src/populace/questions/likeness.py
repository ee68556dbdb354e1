"""Likeness: whether two texts are the same but for details, for one text beside many others."""

import functools
from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from populace.base.words import lower_words

_LIKE = 0.8
"""Texts that share this much of their characters, in order, are the same but for details."""
_KINDS = 32
"""Characters are counted in so many kinds, by their last bits; the letters from a to z are of different kinds."""
_STRETCH = 16
"""After so many characters it is seen whether a common subsequence can still become long enough."""


class FoldedText:
    """A text as it is compared with others: its words in lower case, with one space between two of them.

    Args:
        text: The text.

    Attributes:
        text: The words.

    Example:
        >>> line = FoldedText("The mill is open,  Bo!")
        >>> line.text, line.is_like([FoldedText("The mill is closed."), FoldedText("The mill is open")])
        ('the mill is open bo', True)
    """

    __slots__ = ("__dict__", "text")

    def __init__(self, text: str) -> None:
        self.text = " ".join(lower_words(text))

    def __len__(self) -> int:
        return len(self.text)

    @functools.cached_property
    def _places(self) -> dict[str, int]:
        """For each character a number whose bits say where it stands."""
        places = dict.fromkeys(self.text, 0)
        for place, character in enumerate(self.text):
            places[character] |= 1 << place
        return places

    def is_like(self, others: Sequence["FoldedText"]) -> bool:
        """Whether one of the others is the same but for details: whether the ratio of matching characters is high.

        Lengths, kinds of characters and common subsequences are upper bounds of what matches, each closer than the one
        before it, and all are much faster.
        """
        length = len(self.text)
        similar = [
            (other, least)
            for other in others
            if min(length, len(other.text)) >= (least := _LIKE * (length + len(other.text)) / 2.0)
        ]
        if not similar:
            return False
        shared = _shared_counts(self.text, [other.text for other, _ in similar])
        return any(
            count >= least
            and self._has_common_subsequence(other.text, least)
            and SequenceMatcher(None, self.text, other.text, autojunk=False).ratio() >= _LIKE
            for (other, least), count in zip(similar, shared, strict=True)
        )

    def _has_common_subsequence(self, other: str, least: float) -> bool:
        """Whether the longest common subsequence is so long, by additions of long numbers (Hyyrö 2004)."""
        length = len(self.text)
        free = all_bits = (1 << length) - 1
        for begin in range(0, len(other), _STRETCH):
            for places in filter(None, map(self._places.get, other[begin : begin + _STRETCH])):
                matching = free & places
                free = (free + matching) | (free - matching)
            # It cannot become longer than it is now by more than what is left of the other text.
            if length - (free & all_bits).bit_count() + max(0, len(other) - begin - _STRETCH) < least:
                return False
        return True


def _shared_counts(text: str, others: Sequence[str]) -> list[int]:
    """How many characters a text shares with each of the others, in any order; kinds are counted, not characters."""
    characters = np.frombuffer("".join((text, *others)).encode("utf-32-le", "surrogatepass"), np.uint32)
    rows = np.repeat(np.arange(len(others) + 1), [len(text), *map(len, others)])
    counts = np.bincount(rows * _KINDS + (characters & (_KINDS - 1)), minlength=len(others) * _KINDS + _KINDS)
    own, *_ = counts = counts.reshape(-1, _KINDS)
    shared: list[int] = np.minimum(own, counts[1:]).sum(axis=1).tolist()
    return shared
