"""Polars panics on some damaged Parquet files, which is no Exception: every reader says that the file is damaged."""

from __future__ import annotations

import datetime
import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet
import pytest

from populace import People
from populace.base import table_files
from populace.base.documents import DocumentError
from populace.base.errors import PopulaceError
from populace.base.parquet_footer import ParquetSize
from populace.base.table_files import UNREADABLE, read_plain_table, reading_problem
from populace.evaluation.human_answers import EvaluationItem, HumanAnswers, read_answer_table
from populace.evaluation.human_curves import HumanCurve, read_human_table
from populace.evaluation.human_decisions import HumanDecisions
from populace.surveys.respondents import Respondents, read_respondents
from populace.worlds.web.tables import read_web_table

TASK = {"id": "t", "family": "f", "question": "Tea?", "options": ["yes", "no"], "licence": "CC0"}


def read_decisions(path: Path) -> HumanDecisions:
    (path.parent / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    path.rename(path.parent / f"decisions{path.suffix}")
    return HumanDecisions.read(path.parent)


READERS: dict[str, Callable[[Path], Any]] = {
    "people": People.read,
    "respondents": read_respondents,
    "answers": read_answer_table,
    "curves": read_human_table,
    "sessions": lambda path: read_web_table(path, most=10_000, rows=10),
    "decisions": read_decisions,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_file_on_which_polars_panics_is_said_to_be_damaged(
    reader: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def panic(*args: Any, **settings: Any) -> None:
        raise pl.exceptions.PanicException("called `Result::unwrap()` on an `Err` value")

    path = tmp_path / "table.parquet"
    pl.DataFrame({"id": [1, 2], "name": ["Ann", "Bo"]}).write_parquet(path)
    monkeypatch.setattr(pl, "read_parquet", panic)
    monkeypatch.setattr(pl.LazyFrame, "collect", panic)
    monkeypatch.setattr(pl.LazyFrame, "collect_schema", panic)
    with pytest.raises(PopulaceError, match="could not be read: it is damaged"):
        reader(path)


def test_a_pipe_in_place_of_a_table_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "table.parquet")
    with pytest.raises(UNREADABLE, match="not a plain file"):
        read_plain_table(tmp_path / "table.parquet")


def test_a_panic_is_no_exception() -> None:
    assert not issubclass(pl.exceptions.PanicException, Exception)
    assert pl.exceptions.PanicException in UNREADABLE
    assert reading_problem(OSError("no such file")) == "no such file"


def test_a_small_parquet_file_with_many_rows_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pl.select(id=pl.repeat(1, 5_000), name=pl.repeat("Ann", 5_000)).write_parquet(tmp_path / "table.parquet")
    monkeypatch.setattr(table_files, "MAX_ROWS", 4_999)
    monkeypatch.setattr(pl, "read_parquet", lambda *args, **settings: pytest.fail("it was read"))
    with pytest.raises(DocumentError, match="it has 5,000 rows; at most 4,999 are read"):
        read_plain_table(tmp_path / "table.parquet")


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("limit", ["MAX_ROWS", "MAX_CELLS"])
def test_every_reader_refuses_a_table_that_is_too_large(
    reader: Callable[[Path], Any], limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pl.select(id=pl.int_range(0, 500), name=pl.repeat("Ann", 500)).write_parquet(tmp_path / "table.parquet")
    monkeypatch.setattr(table_files, limit, 499)
    with pytest.raises(PopulaceError, match="could not be read: it has .* at most 499 are read: divide it"):
        reader(tmp_path / "table.parquet")


def test_a_parquet_file_that_unpacks_to_many_bytes_is_refused(tmp_path: Path) -> None:
    texts = [letter * 1_000_000 for letter in "abcdefgh"]
    pl.DataFrame({"text": texts}).write_parquet(tmp_path / "table.parquet", compression="zstd")
    assert (tmp_path / "table.parquet").stat().st_size < 100_000
    with pytest.raises(DocumentError, match="unpacked it has 8,000,[0-9]{3} bytes; at most 1,000,000 are read"):
        read_plain_table(tmp_path / "table.parquet", most=1_000_000)


def varint(number: int, length: int) -> bytes:
    """A number as Thrift writes it, with as many bytes as wanted."""
    return bytes(number >> 7 * place & 127 | 128 for place in range(length - 1)) + bytes([number >> 7 * (length - 1)])


def test_a_footer_that_names_fewer_bytes_than_the_pages_have_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pl.DataFrame({"text": ["a" * 5_000_000]}).write_parquet(path, compression="zstd", statistics=False)
    content = path.read_bytes()
    column = pyarrow.parquet.read_metadata(path).row_group(0).column(0)
    true = varint(column.total_uncompressed_size * 2, 4)
    assert content.count(true) >= 1
    path.write_bytes(content.replace(true, varint(200, 4)))
    assert pl.read_parquet(path)["text"].str.len_bytes().item() == 5_000_000
    with pytest.raises(DocumentError, match=r"unpacked it has 5,\d{3},\d{3} bytes"):
        read_plain_table(path, most=1_000_000)


def test_a_footer_that_names_fewer_values_than_the_pages_have_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pl.DataFrame({"a": [[1] * 5_000_000]}).write_parquet(path, compression="zstd", statistics=False)
    content = path.read_bytes()
    place = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[place:].replace(varint(10_000_000, 4), varint(20, 4))
    path.write_bytes(content[:place] + footer)
    assert pl.read_parquet(path)["a"].list.len().item() == 5_000_000
    assert ParquetSize.of(path.read_bytes()).cells == 5_000_000


def test_elements_of_lists_count_as_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl.DataFrame({"a": [[1] * 1000]}).write_parquet(tmp_path / "table.parquet")
    monkeypatch.setattr(table_files, "MAX_CELLS", 999)
    with pytest.raises(DocumentError, match="it has 1,000 cells"):
        read_plain_table(tmp_path / "table.parquet")


PACKED = {"gzip": gzip.compress, "zlib": zlib.compress, "gzip of gzip": lambda data: gzip.compress(gzip.compress(data))}


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_packed_bytes_under_a_plain_name_are_refused(
    reader: Callable[[Path], Any], pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(pack(b"id,name\n" + b"1,Ann\n" * 1000))
    with pytest.raises(PopulaceError, match="could not be read: it is packed by (gzip|zlib)"):
        reader(path)


def test_a_packed_table_is_unpacked_as_far_as_allowed(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"id,name\n" + b"1,Ann\n" * 1000))
    assert read_answer_table(path).height == 1000
    with pytest.raises(DocumentError, match="unpacked it has more than 6,000 bytes"):
        read_plain_table(path, most=6_000)
    path.write_bytes(PACKED["gzip of gzip"](b"id,name\n1,Ann\n"))
    with pytest.raises(DocumentError, match="packed by gzip"):
        read_plain_table(path)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(DocumentError, match="cannot be unpacked"):
        read_plain_table(path)


def test_short_rows_below_many_columns_count_with_all_their_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    path.write_text('"the\nfirst",' + ",".join(f"c{place}" for place in range(99)) + "\n" + "1\n" * 100)
    assert read_plain_table(path).width == 100
    monkeypatch.setattr(table_files, "MAX_CELLS", 9_999)
    with pytest.raises(DocumentError, match="cells; at most 9,999 are read"):
        read_plain_table(path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 3, b"PAR1\xff\xff\xff\xff\xff\xff\xff\xff\x7fPAR1", b"PAR1" + b"\x19" * 9000 + b"\x28\x23\0\0PAR1",
                                     b"PAR1" + b"\x19\xf1\xff\xff\xff\xff\x0f\0" + b"\x08\0\0\0PAR1"])  # fmt: skip
def test_a_footer_that_is_none_is_said_to_be_damaged(content: bytes) -> None:
    with pytest.raises(DocumentError, match="not a Parquet file, or is damaged"):
        ParquetSize.of(content)


def test_a_footer_says_how_much_a_file_holds(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pl.DataFrame({"a": range(1000), "b": [[True, False]] * 1000}).write_parquet(path, row_group_size=100)
    size = ParquetSize.of(path.read_bytes())
    assert (size.rows, size.cells) == (1000, 3000)
    metadata = pyarrow.parquet.read_metadata(path)
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    unpacked = sum(group.column(place).total_uncompressed_size for group in groups for place in range(2))
    assert size.unpacked_bytes == unpacked


@pytest.mark.parametrize("reader", [read_answer_table, read_human_table, read_respondents, READERS["sessions"]])
@pytest.mark.parametrize("cell", [[1], ["tea"], {"a": 1}, b"\xff", datetime.timedelta(1)])
def test_a_cell_that_is_neither_text_nor_number_is_refused(
    reader: Callable[[Path], Any], cell: Any, tmp_path: Path
) -> None:
    path = tmp_path / "table.parquet"
    pl.DataFrame({"person": ["a"], "item": ["tea"], "answer": [cell]}).write_parquet(path)
    with pytest.raises(PopulaceError, match="could not be read: its column 'answer' holds"):
        reader(path)


@pytest.mark.parametrize("kind", [pl.Categorical(), pl.Enum(["1", "x"])])
def test_categories_are_numbers_where_they_read_so(kind: pl.DataType) -> None:
    assert table_files.to_numbers(pl.Series(["1", "x"], dtype=kind)).to_list() == [1.0, None]
    levels = pl.Series(["1", "1"], dtype=kind)
    with pytest.raises(PopulaceError, match="fewer than two levels"):
        HumanCurve.of(pl.DataFrame({"level": levels, "buy": ["yes", "no"]}))


def test_bytes_that_are_text_are_read_as_text(tmp_path: Path) -> None:
    pl.DataFrame({"answer": ["café".encode()]}).write_parquet(tmp_path / "table.parquet")
    assert read_answer_table(tmp_path / "table.parquet")["answer"].to_list() == ["café"]


def test_a_message_quotes_only_the_beginning_of_a_long_cell(tmp_path: Path) -> None:
    item = EvaluationItem("tea", "Tea?", ("yes", "no"))
    cell = "y" * 1000
    pl.DataFrame({"person": ["a"], "item": ["tea"], "answer": [cell]}).write_csv(tmp_path / "table.csv")
    with pytest.raises(PopulaceError, match="the answer 'y{80}…' to item 'tea' is not one of its options"):
        HumanAnswers.read(tmp_path / "table.csv", [item])
    assert len(reading_problem(pl.exceptions.ComputeError(f"could not parse {cell}"))) < 400


def test_messages_about_rows_quote_only_the_beginning_of_a_long_cell(tmp_path: Path) -> None:
    cell = "y" * 1000
    with pytest.raises(PopulaceError, match="neither yes nor no") as bad_answer:
        HumanCurve.of(pl.DataFrame({"level": [1, 2], "buy": [cell, "no"]}))
    with pytest.raises(PopulaceError, match="not a number") as bad_level:
        HumanCurve.of(pl.DataFrame({"level": [cell, "2"], "buy": ["yes", "no"]}))
    with pytest.raises(PopulaceError, match="another respondent") as bad_id:
        read_respondents({"id": [cell, cell]})
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    pl.DataFrame({"task": ["t"], "person": [cell], "answer": [cell]}).write_csv(tmp_path / "decisions.csv")
    with pytest.raises(PopulaceError, match="is not one of the options") as bad_decision:
        HumanDecisions.read(tmp_path)
    for raised in (bad_answer, bad_level, bad_id, bad_decision):
        assert len(raised.value.what) < 400


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("rows", [0, 3000])
def test_files_of_other_writers_are_counted(codec: str, version: str, rows: int, tmp_path: Path) -> None:
    columns = {"a": range(rows), "s": [f"x{n % 7}" for n in range(rows)], "l": [[1, 2]] * rows, "n": [None] * rows}
    table = pyarrow.table({name: list(values) for name, values in columns.items()})
    path = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(
        table, path, compression=codec, data_page_version=version, row_group_size=700, data_page_size=2000
    )
    size = ParquetSize.of(path.read_bytes())
    assert (size.rows, size.cells) == (rows, rows * 5)
    assert read_plain_table(path).height == rows


def test_respondents_that_a_survey_kept_are_read_with_the_same_care(tmp_path: Path) -> None:
    path = tmp_path / "kept.parquet"
    path.write_bytes(b"no table")
    kept = Respondents(file=str(path), sha256=hashlib.sha256(b"no table").hexdigest())
    with pytest.raises(PopulaceError, match="kept.parquet could not be read: it is not a Parquet file"):
        kept.read()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(PopulaceError, match="are not at .* any more: it is not a plain file"):
        kept.read()
