"""How friendly a text sounds, by a small list of words.

It counts words and does not understand irony, negation or context. Use it to compare runs of one
community, not to rate a single post.
"""

from __future__ import annotations

import polars as pl

FRIENDLY = frozenset(
    "thanks thank please welcome glad great good nice lovely wonderful helpful kind happy love like enjoy "
    "appreciate agree congratulations congrats brilliant excellent beautiful awesome fantastic perfect best "
    "better hope sorry friend friends together share sharing support gentle patient cheers bravo well sweet fun "
    "clever proud grateful warm respect fair excited delighted pleased".split()
)
HOSTILE = frozenset(
    "stupid idiot idiots dumb moron fool hate hated awful terrible worst worse bad useless pathetic nonsense "
    "ridiculous garbage trash rubbish loser losers shut liar lies lying ugly disgusting annoying wrong waste "
    "boring lazy ignorant clueless joke scam fraud cheat shame angry furious sick kill die attack threat insult "
    "whining cry crap damn hell ruin ruined fail failed failure never nobody".split()
)
_WORD = r"[\p{L}']+"


def tone(texts: pl.Series) -> pl.Series:
    """For each text, friendly minus hostile words per hundred words; null where there are no words.

    Example:
        >>> tone(pl.Series(["Thanks, that is kind.", "What a stupid waste."])).to_list()
        [50.0, -50.0]
    """
    words = texts.str.to_lowercase().str.extract_all(_WORD)
    frame = pl.DataFrame({"words": words})
    friendly = pl.col("words").list.eval(pl.element().is_in(sorted(FRIENDLY))).list.sum()
    hostile = pl.col("words").list.eval(pl.element().is_in(sorted(HOSTILE))).list.sum()
    count = pl.col("words").list.len()
    score = (friendly.cast(pl.Int64) - hostile.cast(pl.Int64)) * 100 / count
    return frame.select(pl.when(count > 0).then(score).otherwise(None).alias("tone")).to_series()
