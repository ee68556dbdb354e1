"""A small table is written as a Parquet file that every reader reads as it reads one of polars."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.plain_tables import PlainTable, TableTypes
from populace.base.small_tables import MAX_BYTES, MAX_VALUES, encode_small
from populace.journal.segments import write_segment
from support.audit import size

COLOURS = pl.Enum(["blue", "green", "ré\0d", ""])
VALUES: dict[pl.DataType, st.SearchStrategy[object]] = {
    pl.Int8(): st.integers(-(2**7), 2**7 - 1),
    pl.Int16(): st.integers(-(2**15), 2**15 - 1),
    pl.Int32(): st.integers(-(2**31), 2**31 - 1),
    pl.Int64(): st.integers(-(2**63), 2**63 - 1),
    pl.UInt8(): st.integers(0, 2**8 - 1),
    pl.UInt16(): st.integers(0, 2**16 - 1),
    pl.UInt32(): st.integers(0, 2**32 - 1),
    pl.UInt64(): st.integers(0, 2**64 - 1),
    pl.Float64(): st.floats(),
    pl.Boolean(): st.booleans(),
    pl.String(): st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(["", "a", "bb"]),
    COLOURS: st.sampled_from(COLOURS.categories.to_list()),
}
TYPES = [*VALUES, *(pl.List(dtype) for dtype in VALUES)]


@st.composite
def columns(draw: st.DrawFn, height: int, number: int) -> pl.Series:
    dtype = draw(st.sampled_from(TYPES))
    inner = dtype.inner if isinstance(dtype, pl.List) else dtype
    value = VALUES[inner]  # type: ignore[index]
    if isinstance(dtype, pl.List):
        value = st.lists(value | st.none() if draw(st.booleans()) else value, max_size=3)
    values = draw(st.lists(value | st.none() if draw(st.booleans()) else value, min_size=height, max_size=height))
    if draw(st.booleans()):
        values = (values[:2] * height)[:height]
    return pl.Series(f"{draw(st.sampled_from(['a', 'é', 'list', '%b']))}{number}", values, dtype)


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    height = draw(st.integers(1, 40))
    return pl.DataFrame([draw(columns(height, number)) for number in range(draw(st.integers(1, 16)))])


@settings(max_examples=size(25, 1000), deadline=None)
@given(tables())
def test_whatever_a_small_table_holds_polars_and_pyarrow_read_it_back(table: pl.DataFrame) -> None:
    content = encode_small(table)
    assert content is not None
    assert encode_small(table) == content
    assert pl.read_parquet(io.BytesIO(content)).equals(table, null_equal=True)
    assert pl.scan_parquet(io.BytesIO(content)).collect_schema() == table.schema
    by_polars = io.BytesIO()
    table.write_parquet(by_polars)
    one, other = pq.read_table(io.BytesIO(content)), pq.read_table(by_polars)
    assert one.schema == other.schema
    assert pl.DataFrame(one).equals(pl.DataFrame(other), null_equal=True)
    plain = PlainTable(TableTypes.of(table.schema), [column.to_list() for column in table])
    assert encode_small(plain) == content
    assert plain.frame.schema == table.schema
    assert plain.frame.equals(table, null_equal=True)


def test_a_text_that_repeats_itself_is_written_once() -> None:
    line = "This is a line that everybody reads."
    table = pl.DataFrame(
        {"all": [line] * 40, "two": [line + "!", None, line + "?", line + "!"] * 10, "lists": [[line, line], []] * 20}
    )
    content = encode_small(table)
    assert content is not None
    assert content.count(line.encode()) == 4
    assert pl.read_parquet(io.BytesIO(content)).equals(table)


def test_a_table_of_the_journal_is_read_by_duckdb_with_a_pattern_over_steps(tmp_path: Path) -> None:
    steps = tmp_path / "steps"
    small = pl.DataFrame({"person": [1, 2], "value": ["a", None], "parts": [[0.5, 0.5], []]})
    large = pl.concat([small] * 2000)
    facts = {"people": {}}
    write_segment(steps, 0, {"answers": small}, "start", facts)
    write_segment(steps, 1, {"answers": large}, "start", facts)
    pattern = f"{steps}/*/answers.parquet"
    assert duckdb.sql(f"SELECT count(*), sum(person), count(value) FROM '{pattern}'").fetchall() == [(4002, 6003, 2001)]
    assert duckdb.sql(f"SELECT sum(len(parts)) FROM '{pattern}'").fetchall() == [(4002,)]
    assert pl.scan_parquet(pattern).collect().equals(pl.concat([small, large]))
    assert pl.scan_parquet(pattern).filter(pl.col("value") == "a").select("person").collect().height == 2001


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"a": range(MAX_VALUES + 1)}),
        pl.DataFrame({"a": ["x" * MAX_BYTES]}),
        pl.DataFrame({"a": [date(2026, 1, 1)]}),
        pl.DataFrame({"a": [{"b": 1}]}),
        pl.DataFrame({"a": [[[1]]]}),
        pl.DataFrame({"a": [None]}),
        pl.DataFrame({"a": []}),
        pl.DataFrame(),
    ],
    ids=["many values", "much text", "dates", "structures", "nested lists", "nulls", "no rows", "no columns"],
)
def test_what_is_large_or_rare_is_left_to_polars(table: pl.DataFrame) -> None:
    assert encode_small(table) is None
