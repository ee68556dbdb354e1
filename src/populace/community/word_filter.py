"""A filter for readers of a community; the simulation does not use it.

The words are in `hidden_words.txt`, one on a line. A text that contains one of them is not changed:
it is shown after a click.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from populace.base.documents import DocumentError, read_text
from populace.base.errors import UsageError

SHIPPED = Path(__file__).with_name("hidden_words.txt")
MAX_WORDS_BYTES = 1_000_000
"""The largest file of words that is read."""


class WordFilter:
    """Decides which texts are hidden until a click.

    Args:
        words: Words or phrases, in upper or lower case; only whole words match.

    Example:
        >>> WordFilter(["idiot"]).hides(pl.Series(["You IDIOT!", "idiotic, but fine"])).to_list()
        [True, False]
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(dict.fromkeys(word.strip().casefold() for word in words if word.strip()))

    @classmethod
    def read(cls, path: str | Path = SHIPPED) -> WordFilter:
        """A filter from a file with one word on each line; lines that begin with # are comments."""
        try:
            lines = read_text(Path(path), most=MAX_WORDS_BYTES).splitlines()
        except (OSError, DocumentError) as error:
            raise UsageError(f"the list of words {path} cannot be read: {error}.") from error
        return cls(line for line in lines if not line.lstrip().startswith("#"))

    @functools.cached_property
    def pattern(self) -> str:
        """The words as one regular expression of polars."""
        return r"(?i)\b(?:" + "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in self.words) + r")\b"

    def hides(self, texts: pl.Series) -> pl.Series:
        """True where a text is hidden."""
        if not self.words:
            return pl.repeat(False, texts.len(), eager=True).alias("hidden")
        return texts.fill_null("").str.contains(self.pattern).alias("hidden")
