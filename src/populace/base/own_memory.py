"""Tables with memory of their own: a column that was made from an array of numpy shares its memory with it.

Who changes the array later, in its own place, would change such a column too, although columns seem never to change.
"""

from __future__ import annotations

import polars as pl

from populace.base.plain_tables import PlainTable, Table


def with_own_memory(table: Table) -> Table:
    """The same table in memory that no array shares.

    Args:
        table: The table; its columns stay divided in memory as they are, since the bytes of a file depend on it.
    """
    if isinstance(table, PlainTable):
        return table
    return pl.DataFrame([_own_column(column) for column in table.get_columns()])


def _own_column(column: pl.Series) -> pl.Series:
    """The same column in memory of its own; text is copied when a column is made."""
    if column.dtype in (pl.String, pl.Object, pl.Null) or not len(column):
        return column
    return pl.concat([_copy(part) for part in column.get_chunks()], rechunk=False)


def _copy(part: pl.Series) -> pl.Series:
    """A copy in new memory: joining two halves makes one, and takes a tenth of the time of picking all rows."""
    half = len(part) // 2
    return pl.concat([part.head(half), part.slice(half)], rechunk=True) if half else part.gather([0] * len(part))
