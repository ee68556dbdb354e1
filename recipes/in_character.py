"""A judge for `norms`: good is to dress as one's trait says, with the majority or against it."""

import polars as pl

_FIELDS = pl.Struct(
    {"first": pl.String, "second": pl.String, "firsts": pl.Int64, "seconds": pl.Int64, "trait": pl.String}
)


def acts_in_character(decisions: pl.DataFrame) -> pl.Series:
    """1 where a conformist wears what most wore, or a non-conformist the other; nothing where both were worn equally.

    Args:
        decisions: The decisions, with what was written into the texts that the model read.
    """
    fields = decisions["fields"].str.json_decode(_FIELDS).struct.unnest()
    most = pl.when(pl.col("firsts") > pl.col("seconds")).then("first")
    most = most.when(pl.col("seconds") > pl.col("firsts")).then("second")
    majority = fields.select(most).to_series()
    against = fields["trait"].str.contains("non-conformist|low conformist")
    return ((decisions["word"] == majority) != against).cast(pl.Float64)
