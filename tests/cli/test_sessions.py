"""The commands `sessions` and `next-action`: from made-up or logged sessions to a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from support.commands import populace


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def made(*options: str) -> None:
    done = populace("sessions", "--people", "40", "--shops", "3", "--seed", "1", "--to", "made.parquet", *options)
    assert done.returncode == 0, done.stderr


def data(*arguments: str) -> dict[str, Any]:
    done = populace(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)["data"]
    return value


def test_from_made_up_sessions_to_a_report() -> None:
    made()
    populace("sessions", "--people", "8", "--visits", "1", "--reason", "scripted:cast", "--to", "traces.jsonl")
    assert data("sessions", "traces.jsonl")["with_reasoning"] > 0
    done = populace("next-action", "made.parquet", "--model", "scripted:cast", "--thinking", "none", "--thinking", "own",
                    "--thinking", "shuffled", "--most", "20", "--to", "report", "--name", "trial")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "majority by page" in done.stdout and "known preferences" in done.stdout
    figures = json.loads(Path("report/next-action-trial.json").read_text())
    assert set(figures["predictors"]) == {
        "majority", "majority by page", "scripted:cast", "scripted:cast, own reasoning",
        "scripted:cast, shuffled reasoning", "known preferences",
    }  # fmt: skip
    assert "scripted:cast, own reasoning - scripted:cast, shuffled reasoning" in figures["differences"]
    assert figures["cases"] <= 20


def test_a_log_with_a_wrong_row_is_refused_by_line_or_its_session_left_out() -> None:
    made()
    table = pl.read_parquet("made.parquet")
    wrong = table.with_columns(element=pl.when(pl.int_range(pl.len()) == 4).then(pl.lit("gone")).otherwise("element"))
    wrong.write_parquet("wrong.parquet")
    refused = populace("sessions", "wrong.parquet")
    assert refused.returncode == 2 and "wrong.parquet, line 5: the page has no element 'gone'" in refused.stderr
    dropped = populace("sessions", "wrong.parquet", "--drop-bad")
    assert dropped.returncode == 0 and "1 session left out; line 5" in dropped.stdout + dropped.stderr
    assert data("sessions", "wrong.parquet", "--drop-bad")["left_out"] == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["sessions"], "name a log"),
        (["sessions", "--people", "3", "--judge", "scripted:cast"], "--judge needs --reason"),
        (["sessions", "--people", "3", "--to", "x.txt"], "cannot be written"),
        (["sessions", "--people", "3", "--shops", "1", "--visits", "2"], "at most as many visits"),
        (["next-action", "none.csv"], "none.csv"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], problem: str) -> None:
    done = populace(*arguments)
    assert done.returncode == 2 and problem in done.stderr


def test_a_part_without_sessions_is_named() -> None:
    populace("sessions", "--people", "4", "--shops", "1", "--visits", "1", "--to", "few.csv")
    done = populace("next-action", "few.csv", "--part", "unseen_shops")
    assert done.returncode == 2 and "no session falls into the part unseen_shops" in done.stderr


def test_a_run_is_compared_with_a_log() -> None:
    made()
    run = json.loads(populace("run", "shop", "--shoppers", "12", "--decider", "rule", "--seed", "1", "--json").stdout)
    name = next(value for key, value in run["data"].items() if key in ("run", "name"))
    rows = {row["figure"]: row for row in data("sessions", "made.parquet", "--against", str(name))["against"]}
    assert rows["length of the first"]["value"] > 2
    assert "difference of length" in populace("sessions", "made.parquet", "--against", "made.parquet").stdout
