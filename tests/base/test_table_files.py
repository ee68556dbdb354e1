"""Polars panics on some damaged Parquet files, which is no Exception: every reader says that the file is damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from populace import People
from populace.base.errors import PopulaceError
from populace.base.table_files import UNREADABLE, read_plain_table, reading_problem
from populace.evaluation.human_answers import read_answer_table
from populace.evaluation.human_curves import read_human_table
from populace.evaluation.human_decisions import HumanDecisions
from populace.surveys.respondents import read_respondents
from populace.worlds.web.tables import read_web_table

TASK = {"id": "t", "family": "f", "question": "Tea?", "options": ["yes", "no"], "licence": "CC0"}


def read_decisions(path: Path) -> HumanDecisions:
    (path.parent / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    path.rename(path.parent / "decisions.parquet")
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
