"""Files that several processes share say what is wrong with their place."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from populace.base.errors import StorageError
from populace.base.sqlite import SharedDatabase


def open_database(path: Path) -> SharedDatabase:
    return SharedDatabase(path, "call store", timeout_s=1, if_locked="Wait.", if_damaged="Remove it.")


def test_a_folder_that_takes_no_file_is_named_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "calls.sqlite").mkdir()
    with pytest.raises(StorageError, match="cannot be written") as caught:
        open_database(tmp_path / "calls.sqlite").rows("SELECT 1")
    assert "--workspace FOLDER" in str(caught.value.hint)


def test_a_file_that_may_only_be_read_is_named_with_a_way_out(tmp_path: Path) -> None:
    database = open_database(tmp_path / "calls.sqlite")
    database.rows("CREATE TABLE kept (name TEXT PRIMARY KEY, value TEXT)")
    database.rows("PRAGMA query_only = 1")
    with pytest.raises(StorageError, match="cannot be written"):
        database.insert_new("kept", [("a", "b")])


def test_no_texts_add_no_row(tmp_path: Path) -> None:
    database = open_database(tmp_path / "calls.sqlite")
    database.rows("CREATE TABLE kept (key TEXT PRIMARY KEY, text TEXT)")
    texts = pl.LazyFrame({"key": ["a"], "text": ["é"]})
    assert database.insert_new_texts("kept", texts.head(0)) == (0, 0)
    assert database.insert_new_texts("kept", texts) == (1, 1)
    assert database.rows("SELECT * FROM kept") == [("a", "é")]
