"""Profiles of people whose columns nobody has put into words."""

from collections.abc import Sequence

import polars as pl


def profile_texts(frame: pl.DataFrame, columns: Sequence[str], name: str) -> pl.Series:
    """What is known of each person, a line for each column that is not empty.

    Args:
        frame: The table of people.
        columns: The columns to list.
        name: The name of the column of texts.

    Example:
        >>> profile_texts(pl.DataFrame({"age": [41], "home_town": ["Ulm"]}), ["age", "home_town"], "text").to_list()
        ['About you:\\n- age: 41\\n- home town: Ulm']
    """
    parts = [
        pl.when(pl.col(column).is_not_null())
        .then(pl.format("\n- {}: {}", pl.lit(column.replace("_", " ")), pl.col(column).cast(pl.String)))
        .otherwise(pl.lit(""))
        for column in columns
    ]
    if not parts:
        return pl.Series(name, [""]).new_from_index(0, frame.height)
    return frame.select((pl.lit("About you:") + pl.concat_str(parts)).alias(name))[name]
