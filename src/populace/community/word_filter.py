"""A filter for whoever looks at a community; the simulation itself knows nothing of it.

The words stand in `hidden_words.txt`, one on a line. A text that holds one is not changed: it is
shown after a click.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from populace.base.errors import UsageError

SHIPPED = Path(__file__).with_name("hidden_words.txt")


class WordFilter:
    """Which texts are hidden until somebody asks for them.

    Args:
        words: Words or phrases; case does not count, and only whole words do.

    Example:
        >>> WordFilter(["idiot"]).hides(pl.Series(["You IDIOT!", "idiotic, but fine"])).to_list()
        [True, False]
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(dict.fromkeys(word.strip().casefold() for word in words if word.strip()))

    @classmethod
    def read(cls, path: str | Path = SHIPPED) -> WordFilter:
        """A list of words from a file, one on a line; lines that begin with # are remarks."""
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the list of words {path} cannot be read: {error}.") from error
        return cls(line for line in lines if not line.lstrip().startswith("#"))

    @functools.cached_property
    def pattern(self) -> str:
        """The words as one regular expression, as polars reads it."""
        return r"(?i)\b(?:" + "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in self.words) + r")\b"

    def hides(self, texts: pl.Series) -> pl.Series:
        """True where a text is hidden."""
        if not self.words:
            return pl.repeat(False, texts.len(), eager=True).alias("hidden")
        return texts.fill_null("").str.contains(self.pattern).alias("hidden")
