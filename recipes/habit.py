"""A judge for `norms`: good is to wear what one wore yesterday."""

import polars as pl


def keeps_to_habit(decisions: pl.DataFrame) -> pl.Series:
    """1 where the option is what the person wore yesterday, else 0.

    Args:
        decisions: The decisions, with what was written into the texts that the model read.
    """
    return (decisions["word"] == decisions["fields"].str.json_path_match("$.worn")).cast(pl.Float64)
