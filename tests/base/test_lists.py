from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from populace.base.lists import list_column


@pytest.mark.parametrize("lengths", [[], [0, 0], [2, 2], [1, 3], [0, 3, 0, 1]])
@pytest.mark.parametrize("dtype", [pl.Int64, pl.String])
def test_lists_hold_their_items_in_order(lengths: list[int], dtype: type[pl.DataType]) -> None:
    items = pl.Series("x", range(sum(lengths)), dtype=pl.Int64).cast(dtype)
    ends = np.cumsum(lengths).tolist()
    expected = [items[end - length : end].to_list() for end, length in zip(ends, lengths, strict=True)]
    column = list_column(items, np.array(lengths, np.int64))
    assert (column.name, column.dtype, column.to_list()) == ("x", pl.List(dtype), expected)
