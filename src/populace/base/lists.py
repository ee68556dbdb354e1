"""Columns of lists, made of all their items at once: polars takes long over one list after the other."""

import numpy as np
import numpy.typing as npt
import polars as pl


def list_column(items: pl.Series, lengths: npt.NDArray[np.int64]) -> pl.Series:
    """A column of lists.

    Args:
        items: The items of all lists, one list after the other.
        lengths: The length of each list.

    Example:
        >>> list_column(pl.Series("ids", [7, 8, 9]), np.array([2, 0, 1])).to_list()
        [[7, 8], [], [9]]
    """
    dtype = pl.List(items.dtype)
    if not items.len():
        return pl.Series(items.name, [[]], dtype=dtype).new_from_index(0, len(lengths))
    if (lengths == lengths[0]).all():
        return items.reshape((-1, int(lengths[0]))).cast(dtype)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    table = pl.DataFrame({"row": rows, "items": items}).group_by("row", maintain_order=True).agg("items")
    if table.height < len(lengths):
        table = pl.DataFrame({"row": np.arange(len(lengths))}).join(table, on="row", how="left", maintain_order="left")
        table = table.with_columns(pl.col("items").fill_null(pl.lit(pl.Series([[]], dtype=dtype))))
    return table["items"].alias(items.name)
