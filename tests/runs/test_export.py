from __future__ import annotations

import csv
import io
import sqlite3
from pathlib import Path
from unittest import mock

import duckdb
import polars as pl
import pytest

from populace import Run, simulate
from populace.base.errors import StorageError, UnknownNameError, UsageError
from populace.runs.export import export
from support.models import Counting
from support.scenarios import Talk


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_an_export_is_read_by_duckdb_as_it_is(shirts_run: Run, tmp_path: Path, form: str) -> None:
    export(shirts_run, tmp_path / "out", form)  # type: ignore[arg-type]
    with duckdb.connect() as database:
        query = f"SELECT step, count(*) FROM '{tmp_path}/out/answers.{form}' GROUP BY step ORDER BY step"
        assert database.execute(query).fetchall() == [(1, 12), (2, 12), (3, 12), (4, 12)]
        people = database.execute(f"SELECT count(*) FROM '{tmp_path}/out/people.{form}'").fetchone()
    assert people == (60,)


def test_an_export_to_sqlite_is_one_file_with_every_table(tmp_path: Path) -> None:
    run = simulate(Talk(people_count=2, days=1), model=Counting())
    (path,) = export(run, tmp_path / "out.sqlite", "sqlite")
    with sqlite3.connect(path) as database:
        names = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
        said = database.execute("SELECT count(*) FROM events WHERE kind = 'said'").fetchone()[0]
    assert names == {"answers", "prompts", "people", "events", "metrics", "note"}
    assert said == 2


def test_an_export_does_not_write_over_anything(shirts_run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exists already"):
        export(shirts_run, tmp_path)
    with pytest.raises(UnknownNameError):
        export(shirts_run, tmp_path / "x", "excel")  # type: ignore[arg-type]


def test_an_export_to_a_place_that_cannot_be_written_says_so(shirts_run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        export(shirts_run, tmp_path / "file" / "out")


@pytest.mark.parametrize("form", ["csv", "parquet", "sqlite"])
def test_a_place_that_cannot_be_written_is_named(shirts_run: Run, form: str) -> None:
    with pytest.raises(StorageError, match=r"/proc/none cannot be written.*where you may write"):
        export(shirts_run, "/proc/none", form)  # type: ignore[arg-type]


def test_nested_columns_and_columns_of_any_name_can_be_exported(tmp_path: Path) -> None:
    columns = {
        'a "b"; DROP TABLE people': [[1, 2], []],
        "A": [{"x": 1}, None],
        "a": [2**63, 1],
        "=1+1": ["=2", "-3"],
        "": [b"\x00", b"x"],
    }
    tables = {"sqlite_x": pl.DataFrame(columns), 'q"': pl.DataFrame(columns), "../up": pl.DataFrame(columns)}
    with mock.patch("populace.runs.export.export_tables", return_value=tables):
        (path,) = export(None, tmp_path / "out.sqlite", "sqlite")  # type: ignore[arg-type]
        files = export(None, tmp_path / "out", "csv")  # type: ignore[arg-type]
    assert [file.name for file in files] == ["sqlite_x.csv", "q.csv", "up.csv"]
    with sqlite3.connect(path) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master")]
        assert names == ["table sqlite_x", 'q"', "../up"]
        assert database.execute('SELECT "a 2", "=1+1" FROM "../up"').fetchone() == (str(2**63), "=2")
    rows = list(csv.reader(io.StringIO((tmp_path / "out" / "up.csv").read_text(encoding="utf-8"))))
    assert rows[0][3] == "'=1+1" and [row[3] for row in rows[1:]] == ["'=2", "-3"]
