from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.commands import populace

SHIRTS = {
    "question": "Does it matter what others wore?",
    "scenario": "norms",
    "factors": {"counts": [True, False]},
    "parameters": {"workers": 4, "days": 2},
    "model": "scripted:uniform",
    "replicates": 4,
    "outcomes": ["share_blue", "consensus"],
}


@pytest.fixture(autouse=True)
def _shirts(tmp_path: Path) -> None:
    (tmp_path / "shirts.yaml").write_text(yaml.safe_dump(SHIRTS))


def reported(*arguments: str) -> Any:
    done = populace(*arguments, "--json")
    document = json.loads(done.stdout)
    assert document["status"] == "ok", done.stderr
    return document["data"]


def test_an_experiment_prints_its_design_its_effects_and_what_to_do_next() -> None:
    done = populace("experiment", "shirts.yaml", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "2 arms × 4 replicates = 8 runs" in done.stdout
    assert "Effects on share_blue" in done.stdout
    assert "0 of 8 runs" in done.stdout
    assert "Results.open" in done.stdout


def test_an_experiment_reports_one_json_document_and_is_listed() -> None:
    found = reported("experiment", "shirts.yaml", "--workers", "1")
    assert found["state"] == "complete"
    assert found["failure_rate"] == 0
    (effect,) = found["effects"]["share_blue"]
    assert effect["n"] == 4
    assert reported("experiment", "shirts.yaml", "--workers", "1")["digest"] == found["digest"]
    (row,) = reported("experiment", "--list")
    assert row["experiment"] == found["experiment"]
    assert row["runs"] == "8 of 8"


def test_a_dry_run_shows_the_design_and_runs_nothing(tmp_path: Path) -> None:
    assert reported("experiment", "shirts.yaml", "--dry-run")["runs"] == 8
    assert not (tmp_path / "experiments").exists()


def test_bad_input_is_one_paragraph_and_an_exit_code(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(SHIRTS | {"replicats": 3}))
    done = populace("experiment", "bad.yaml")
    assert done.returncode == 2
    assert "Did you mean 'replicates'" in done.stderr
    assert "Traceback" not in done.stderr
