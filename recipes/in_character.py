"""A judge for `norms`: good is to dress as one's trait says, with the majority or against it."""

import polars as pl

_COUNTS = r"Yesterday (\d+) of the \d+ people in the office wore (\w+) and (\d+) wore (\w+)"
_AGAINST = r", a (non-conformist|low conformist) person"


def acts_in_character(decisions: pl.DataFrame) -> pl.Series:
    """1 where a conformist wears what most wore, or a non-conformist the other; nothing where both were worn equally.

    Args:
        decisions: The decisions, with the texts that the model read.
    """
    counts = decisions["user"].str.extract_groups(_COUNTS).struct.unnest()
    first, second = counts["1"].cast(pl.Int64), counts["3"].cast(pl.Int64)
    majority = pl.select(pl.when(first > second).then(counts["2"]).when(second > first).then(counts["4"])).to_series()
    follows = decisions["word"] == majority
    against = decisions["system"].str.contains(_AGAINST)
    return (follows != against).cast(pl.Float64)
