"""Tables with memory of their own, whatever their columns were made from."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from populace.base.own_memory import with_own_memory


def test_a_table_shares_no_memory_with_arrays() -> None:
    for rows in (0, 1, 2, 3, 50):
        arrays = {name: np.arange(rows).astype(name) for name in ("i1", "i4", "i8", "u2", "f4", "f8")}
        arrays |= {"pairs": np.zeros((rows, 2))}
        table = pl.DataFrame(arrays) if rows else pl.DataFrame({"none": pl.Series([], dtype=pl.Int8)})
        table = table.with_columns(text=pl.lit("x"), missing=pl.lit(None, pl.Float64), many=pl.lit([1.5, None]))
        own = with_own_memory(table)
        assert isinstance(own, pl.DataFrame)
        before = own.to_dicts()
        for array in arrays.values():
            array += 1
        assert own.to_dicts() == before
        assert own.schema == table.schema


def test_a_table_is_divided_as_it_was() -> None:
    parts = pl.concat([pl.DataFrame({"number": np.arange(rows)}) for rows in (1, 5, 7)], rechunk=False)
    own = with_own_memory(parts)
    assert isinstance(own, pl.DataFrame)
    assert own["number"].chunk_lengths() == parts["number"].chunk_lengths() == [1, 5, 7]
    assert own.equals(parts)


LEVELS = pl.Enum(["low", "high"])


@pytest.mark.parametrize(
    ("array", "cast"),
    [
        (np.zeros(40, np.int64), lambda array: pl.Series(array).cast(pl.Datetime("ms"))),
        (np.zeros(40, np.int64), lambda array: pl.Series(array).cast(pl.Datetime("us", "UTC"))),
        (np.zeros(40, np.int64), lambda array: pl.Series(array).cast(pl.Duration("us"))),
        (np.zeros(40, np.int32), lambda array: pl.Series(array).cast(pl.Date)),
        (np.zeros(40, np.int64), lambda array: pl.from_epoch(pl.Series(array), "us")),
        (np.zeros(40, np.uint8), lambda array: pl.Series(array).cat.to(LEVELS)),
        (np.zeros(5, np.uint8), lambda array: pl.Series(pa.Array.from_buffers(pa.bool_(), 40, [None, pa.py_buffer(array)]))),
    ],
    ids=["datetime", "with a zone", "duration", "date", "from epoch", "enum", "boolean"],
)  # fmt: skip
def test_so_do_columns_of_times_levels_and_truth(array: np.ndarray, cast: Any) -> None:
    table = pl.DataFrame({"column": cast(array)})
    own = with_own_memory(table)
    assert isinstance(own, pl.DataFrame)
    before = own["column"].to_list()
    array += 1
    assert table["column"].to_list() != before, "the column shares its memory with the array"
    assert own["column"].to_list() == before
    assert own.schema == table.schema
