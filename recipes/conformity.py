"""A judge for `norms`: good is to wear what most people in the office wore the day before."""

import polars as pl

_COUNTS = r"Yesterday (\d+) of the \d+ people in the office wore (\w+) and (\d+) wore (\w+)"


def follows_majority(decisions: pl.DataFrame) -> pl.Series:
    """1 for the shirt that most wore, 0 for the other; nothing where both were worn equally often."""
    found = decisions["user"].str.extract_groups(_COUNTS).struct.unnest()
    first, second = found["1"].cast(pl.Int64), found["3"].cast(pl.Int64)
    majority = pl.select(pl.when(first > second).then(found["2"]).when(second > first).then(found["4"])).to_series()
    return (decisions["word"] == majority).cast(pl.Float64)
