"""How friendly a text sounds, by a small list of words.

It counts words and does not understand irony, negation or context. Use it to compare runs of one
community, not to rate a single post.
"""

import tomllib
from pathlib import Path

import polars as pl

_FILE = Path(__file__).with_name("tone_words.toml")
_LISTS = {tone: words.split() for tone, words in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()}
_WORD = r"[\p{L}']+"


def tone(texts: pl.Series) -> pl.Series:
    """For each text, friendly minus hostile words per hundred words; null where there are no words.

    Example:
        >>> tone(pl.Series(["Thanks, that is kind.", "What a stupid waste."])).to_list()
        [50.0, -50.0]
    """
    words = pl.col("words")
    matches = {
        tone: words.list.eval(pl.element().is_in(known)).list.sum().cast(pl.Int64) for tone, known in _LISTS.items()
    }
    score = (matches["friendly"] - matches["hostile"]) * 100 / words.list.len()
    frame = pl.DataFrame({"words": texts.str.to_lowercase().str.extract_all(_WORD)})
    return frame.select(pl.when(words.list.len() > 0).then(score).alias("tone")).to_series()
