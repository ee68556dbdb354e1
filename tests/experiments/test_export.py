from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from populace.engine.workspace import Workspace
from populace.experiments import Experiment, Results, export_results
from populace.experiments.folder import ExperimentFolder
from support.commands import populace

COLUMNS = ("effect", "low", "high", "p", "low_all", "high_all", "p_adjusted")


def recorded(folder: Path, **changes: Any) -> Results:
    """Runs that were never run: a number, a share with equal runs, a 0 or 1, and some values that are missing."""
    data: dict[str, Any] = {
        "name": "exported",
        "scenario": "norms",
        "factors": {"initial_share": [0.1, 0.5, 0.9]},
        "decider": "rule",
        "replicates": 9,
        "outcomes": [
            "share_blue",
            "consensus",
            "alternation",
            {"metric": "share_blue", "name": "size", "share": False},
        ],
    }
    experiment = Experiment(**(data | changes))
    arms, rng = experiment.arms(), np.random.default_rng(4)
    made = ExperimentFolder.make(experiment, arms, Workspace(folder))
    made.write(replicates=experiment.replicates, state="complete")
    rows = []
    for replicate in range(experiment.replicates):
        luck = rng.normal()
        for arm in arms:
            ends = {
                "share_blue": 0.3 if arm.number == 0 else 0.3 + 0.05 * arm.number + 0.02 * rng.random(),
                "consensus": float(rng.random() < (0.2, 0.7, 1.0)[arm.number]),
                "alternation": 0.25 + 0.5 * (arm.number > 0),
                "size": None if replicate == arm.number else luck + arm.number + rng.normal(),
            }
            row = {"arm": arm.number, "replicate": replicate, "seed": replicate, "status": "complete", "failure": ""}
            rows.append(row | {"outcomes": ends, "steps": 3})
    (made.path / "rows" / "1-0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Results(made)


def assert_same(folder: Path) -> None:
    ours = pl.read_csv(folder / "effects.csv").sort("outcome", "arm")
    theirs = pl.read_csv(folder / "effects_again.csv").sort("outcome", "arm")
    assert ours.height == theirs.height == 8
    for name in COLUMNS:
        assert ours[name].is_null().to_list() == theirs[name].is_null().to_list()
        for one, two in zip(ours[name].fill_null(0.0), theirs[name].fill_null(0.0), strict=True):
            assert two == pytest.approx(one, abs=1e-6), name


@pytest.mark.parametrize("pairing", [True, False])
def test_the_python_script_computes_the_table_again(tmp_path: Path, pairing: bool) -> None:
    files = export_results(recorded(tmp_path, pairing=pairing), tmp_path / "out")
    assert {file.name for file in files} >= {"runs.csv", "effects.csv", "effects.py", "effects.R", "methods.md"}
    done = subprocess.run([sys.executable, "effects.py"], cwd=tmp_path / "out", check=True, capture_output=True)
    assert b"8 comparisons; the largest difference to effects.csv is" in done.stdout
    assert_same(tmp_path / "out")


def test_the_python_script_fails_where_the_table_is_not_the_one_of_the_runs(tmp_path: Path) -> None:
    export_results(recorded(tmp_path), tmp_path / "out")
    table = tmp_path / "out" / "effects.csv"
    pl.read_csv(table).with_columns(pl.col("effect") + 0.01).write_csv(table)
    done = subprocess.run([sys.executable, "effects.py"], cwd=tmp_path / "out", capture_output=True)
    assert done.returncode == 1 and b"is 1.0e-02" in done.stdout


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
@pytest.mark.parametrize("pairing", [True, False])
def test_the_r_script_computes_the_table_again(tmp_path: Path, pairing: bool) -> None:
    export_results(recorded(tmp_path, pairing=pairing), tmp_path / "out")
    done = subprocess.run(["Rscript", "effects.R"], cwd=tmp_path / "out", check=True, capture_output=True)
    assert b"8 comparisons; the largest difference to effects.csv is" in done.stdout
    assert_same(tmp_path / "out")


def test_the_command_writes_the_files(tmp_path: Path) -> None:
    recorded(tmp_path)
    done = populace("experiment", "--export", "exported")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "exported-export" / "effects.R").is_file()


def test_the_methods_paragraph_says_what_was_done_and_cites_it(tmp_path: Path) -> None:
    export_results(recorded(tmp_path), tmp_path / "out")
    text = (tmp_path / "out" / "methods.md").read_text()
    assert "3 arms" in text and "9 replicates" in text and "common random numbers" in text
    assert "exploratory" in text
    assert "* Holm (1979)" in text and "* Newcombe (1998)" in text and "Welch" not in text
    apart = export_results(recorded(tmp_path / "b", pairing=False), tmp_path / "apart")
    assert "* Welch (1947)" in next(file for file in apart if file.name == "methods.md").read_text()
