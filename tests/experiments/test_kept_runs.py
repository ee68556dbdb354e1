"""Runs that an experiment keeps can be listed, opened and repeated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from populace import Run
from populace.base.errors import RunNotFoundError
from populace.engine.workspace import Workspace
from populace.experiments import Experiment, Results
from populace.journal.binding import check_end
from support.commands import populace

PLAN: dict[str, Any] = {
    "scenario": "norms",
    "factors": {"initial_share": [0.2, 0.8]},
    "parameters": {"workers": 4, "days": 2},
    "model": "scripted:uniform",
    "replicates": 2,
    "outcomes": ["share_blue"],
}


@pytest.fixture(autouse=True)
def _file(tmp_path: Path) -> None:
    (tmp_path / "start.yaml").write_text(yaml.safe_dump(PLAN))


def test_a_kept_run_is_found_by_the_command_that_is_printed() -> None:
    done = populace("experiment", "start.yaml", "--workers", "1", "--keep", "run")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "open a run:" in line]
    command = line.partition("open a run:")[2].split()
    assert command[:2] == ["populace", "show"]
    shown = populace(*command[1:])
    assert shown.returncode == 0, shown.stderr
    assert "norms" in shown.stdout


def test_runs_are_listed_with_their_outcomes_and_names() -> None:
    populace("experiment", "start.yaml", "--workers", "1", "--keep", "run")
    rows = json.loads(populace("experiment", "--runs", "start", "--json").stdout)["data"]
    assert len(rows) == 4
    for row in rows:
        run = Run(Workspace().open(row["run"]))
        assert check_end(run.journal), "the manifest says where the journal ends"
        assert run.manifest.regime.seed == row["seed"]
        assert run.metrics["share_blue"][-1] == row["share_blue"]
        assert run.journal.name == run.folder.name


def test_an_experiment_without_folders_says_how_to_get_them_and_they_cost_nothing(tmp_path: Path) -> None:
    first = populace("experiment", "start.yaml", "--workers", "1", "--keep", "calls")
    assert "no folders were kept" in first.stdout
    before = Results.open("start")
    with pytest.raises(RunNotFoundError, match="Run it again with --keep run"):
        Workspace().open("start/arm0-replicate0")
    calls = len(Workspace().store())
    assert populace("experiment", "start.yaml", "--workers", "1", "--keep", "run").returncode == 0
    after = Results.open("start")
    assert len(Workspace().store()) == calls
    assert after.digest == before.digest
    assert after.runs.drop("run").equals(before.runs.drop("run"))
    assert after.runs["run"].to_list() == [f"arm{arm}-replicate{number}" for arm in (0, 1) for number in (0, 1)]
    assert Workspace().open("start/arm1-replicate1").name == "arm1-replicate1"


def test_an_unknown_run_of_an_experiment_is_named_with_the_nearest() -> None:
    Experiment(name="start", keep="run", **PLAN).run(workers=1, check=False)
    with pytest.raises(RunNotFoundError, match="Did you mean 'arm1-replicate0'"):
        Workspace().open("start/arm1-replicat0")
    with pytest.raises(RunNotFoundError):
        Workspace().open("start/../../..")


def test_what_an_experiment_costs_is_estimated_for_each_of_its_models(tmp_path: Path) -> None:
    models = ["http://127.0.0.1:9/v1#cheap", "http://127.0.0.1:9/v1#dear"]
    (tmp_path / "two.yaml").write_text(yaml.safe_dump(PLAN | {"factors": {"model": models}}))
    prices = tmp_path / "prices.toml"
    text = '["{}"]\nprompt = {}\ncompletion = {}\n'
    tables = [text.format(model, price, price) for model, price in zip(models, (1.0, 100.0), strict=True)]
    prices.write_text('currency = "EUR"\n' + "".join(tables))

    def cost(file: str) -> tuple[float, float]:
        done = populace("experiment", file, "--dry-run", "--json", POPULACE_PRICES=str(prices))
        design = json.loads(done.stdout)["data"]
        assert design["currency"] == "EUR"
        assert design["calls"][0] < design["calls"][1]
        return tuple(design["cost"])

    (tmp_path / "cheap.yaml").write_text(yaml.safe_dump(PLAN | {"model": models[0]}))
    cheap, both = cost("cheap.yaml"), cost("two.yaml")
    assert 0 < cheap[0] < cheap[1]
    assert both[1] > 40 * cheap[1], "the dear model is in the estimate too"
    shown = populace("experiment", "two.yaml", "--dry-run", POPULACE_PRICES=str(prices))
    assert "EUR" in shown.stdout
