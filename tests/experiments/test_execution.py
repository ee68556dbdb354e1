from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from populace import Run
from populace.base.errors import InterruptedRunError, RunBusyError, RunNotFoundError
from populace.engine.workspace import Workspace
from populace.experiments import Experiment, ExperimentObserver, Results
from populace.experiments.folder import ExperimentFolder
from support.scenarios import Fragile, Shirts

TESTS = str(Path(__file__).parent.parent)
SHIRTS: dict[str, Any] = {
    "name": "shirts",
    "scenario": Shirts,
    "factors": {"wording": ["Yesterday {blue} wore blue.", "It rains, and {blue} wore blue."]},
    "parameters": {"people_count": 3, "days": 2},
    "model": "scripted:support.models:varied",
    "replicates": 3,
    "outcomes": ["share_blue", "answers(blue)"],
}


def experiment(**changes: Any) -> Experiment:
    return Experiment(**(SHIRTS | changes))


def fragile(*moods: str, **changes: Any) -> Experiment:
    return experiment(scenario=Fragile, factors={"mood": list(moods)}, **changes)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in (folder / "rows").glob("*.jsonl") for line in file.read_text().splitlines()]


def test_every_run_is_a_row_with_levels_seed_status_outcomes_and_cost() -> None:
    made = experiment()
    runs = made.run(workers=1).runs
    assert runs.height == 6
    assert runs["status"].to_list() == ["complete"] * 6
    assert runs["seed"].to_list() == [made.seed_of(r, arm) for arm in made.arms() for r in range(3)]
    assert runs["answers_ok"].to_list() == [6] * 6
    assert runs["calls"].min() > 0  # type: ignore[operator]
    assert runs["share_blue"].null_count() == 0


@pytest.mark.parametrize("linked", [False, True])
def test_runs_that_an_experiment_keeps_share_the_call_store_of_the_workspace(tmp_path: Path, linked: bool) -> None:
    made = experiment(keep="run", replicates=2).run(workers=1, workspace=tmp_path)
    folder = made.folder.path
    assert not (folder / "calls.sqlite").exists()
    if linked:  # as earlier versions left it
        (folder / "calls.sqlite").symlink_to(tmp_path / "calls.sqlite")
    run = Run.open(folder / "runs" / made.runs["run"][0])
    assert Workspace.of(run.journal).calls_file == tmp_path / "calls.sqlite"
    fork = run.fork(2)
    assert (fork.usage().calls, fork.folder.parent) == (0, folder / "runs")
    assert fork.answers().equals(run.answers())


@pytest.mark.slow
def test_two_processes_make_the_same_table_as_one_and_share_one_call_store(tmp_path: Path) -> None:
    one = experiment(keep="calls", replicates=6).run(workers=1, workspace=tmp_path / "one")
    two = experiment(keep="calls", replicates=6, stop={"max_calls": 500}).run(workers=2)
    assert two.failures.height == 0
    assert two.runs.drop("calls", "reused", "tokens").equals(one.runs.drop("calls", "reused", "tokens"))
    assert two.digest == one.digest
    assert len(Workspace(tmp_path).store()) == one.runs["calls"].sum() <= two.runs["calls"].sum()
    again = experiment(keep="calls", replicates=6, outcomes=["share_blue"]).run(workers=1)
    assert again.runs["calls"].sum() == 0


def test_the_same_command_repeats_no_run_and_a_longer_one_goes_on() -> None:
    first = experiment().run(workers=1)
    before = lines(first.folder.path)
    assert experiment().run(workers=1).digest == first.digest
    assert len(lines(first.folder.path)) == len(before)
    longer = experiment(replicates=5).run(workers=1)
    assert longer.folder.path == first.folder.path
    assert longer.runs.filter(pl.col("replicate") < 3).equals(first.runs)
    assert len(lines(first.folder.path)) == 10
    assert experiment().run(workers=1).runs.equals(first.runs)


def test_failed_runs_are_rows_and_stop_no_other() -> None:
    made = fragile("calm", "nervous", "broken", replicates=8).run(workers=1, check=False)
    assert made.state == "complete"
    assert made.runs.height == 24
    counts = dict(made.failures.group_by("arm").len().iter_rows())
    assert counts["mood=broken"] == 8
    assert 0 < counts["mood=nervous"] < 8
    assert "mood=calm" not in counts
    assert "ZeroDivisionError: planned" in made.failures["failure"][0]
    assert made.runs.filter(pl.col("status") == "failed")["share_blue"].null_count() == made.failures.height
    assert made.failure_rate == pytest.approx(made.failures.height / 24)


def test_failed_runs_are_made_again_only_when_asked() -> None:
    first = fragile("calm", "broken").run(workers=1, check=False)
    fragile("calm", "broken").run(workers=1)
    assert len(lines(first.folder.path)) == 6
    fragile("calm", "broken").run(workers=1, retry=True)
    assert len(lines(first.folder.path)) == 9


@pytest.mark.slow
def test_a_run_that_takes_its_process_with_it_is_a_row_that_failed() -> None:
    made = fragile("calm", "deadly", replicates=2).run(workers=2, check=False)
    assert made.runs.height == 4
    assert made.failures["arm"].to_list() == ["mood=deadly"] * 2
    assert "process that ran it died" in made.failures["failure"][0]


class StopAfter(ExperimentObserver):
    """Presses Ctrl-C once so many runs have ended."""

    def __init__(self, runs: int) -> None:
        self.left = runs

    def on_progress(self, rows: Sequence[dict[str, Any]], total: int) -> None:
        self.left -= len(rows)
        if self.left <= 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_leaves_an_experiment_that_goes_on(workers: int, tmp_path: Path) -> None:
    with pytest.raises(InterruptedRunError, match="start it again in the same way"):
        experiment(replicates=10).run(workers=workers, observer=StopAfter(4))
    stopped = Results.open("shirts")
    assert stopped.state == "stopped"
    assert 4 <= stopped.runs.height < 20
    resumed = experiment(replicates=10).run(workers=workers)
    assert resumed.digest == experiment(replicates=10).run(workers=1, workspace=tmp_path / "whole").digest
    assert len(lines(resumed.folder.path)) == 20


def test_a_line_that_was_cut_short_is_run_again() -> None:
    first = experiment().run(workers=1)
    (file,) = (first.folder.path / "rows").glob("*.jsonl")
    file.write_text(file.read_text()[:-20])
    assert experiment().run(workers=1).digest == first.digest


def test_an_experiment_is_run_by_one_process_at_a_time() -> None:
    folder = experiment().run(workers=1).folder
    with folder.locked(), pytest.raises(RunBusyError, match="another process"):
        experiment().run(workers=1)


def test_results_are_found_by_name_and_by_path() -> None:
    made = experiment().run(workers=1)
    for name in ("shirts", made.name, made.folder.path):
        assert Results.open(name).digest == made.digest
    with pytest.raises(RunNotFoundError, match="Did you mean 'shirts-"):
        Results.open("shrits")


def test_the_manifest_holds_the_experiment_its_arms_and_versions() -> None:
    made = experiment().run(workers=1)
    opened = ExperimentFolder.open(made.folder.path)
    assert opened.experiment.data() == experiment().data()
    assert opened.arms == experiment().arms()
    assert {"python", "polars", "numpy"} <= set(opened.manifest.environment)


def test_a_budget_of_calls_stops_an_experiment_that_goes_on_with_more(tmp_path: Path) -> None:
    whole = experiment(replicates=6).run(workers=1, workspace=tmp_path / "whole")
    spent = int(whole.runs["calls"].sum())
    stopped = experiment(replicates=6, stop={"max_calls": spent // 2}).run(workers=1)
    assert stopped.state == "stopped"
    assert "budget" in stopped.reason
    assert 0 < stopped.runs.height < 12
    assert stopped.runs["calls"].sum() <= spent // 2
    assert experiment(replicates=6).run(workers=1).runs.equals(whole.runs)


def test_precision_adds_replicates_until_the_interval_is_narrow() -> None:
    wide = experiment(replicates=4, stop={"width": 10.0}).run(workers=1)
    assert wide.runs["replicate"].n_unique() == 20
    narrow = experiment(replicates=4, stop={"width": 0.2, "batch": 6, "most": 60}).run(workers=1)
    effects = narrow.effects()
    assert 20 < narrow.runs["replicate"].n_unique() < 60
    assert (effects["high"] - effects["low"]).max() <= 0.2  # type: ignore[operator]
    assert narrow.looks["replicates"].to_list()[:2] == [20, 26]
    assert not effects["warning"].str.contains("looked at").any()
    capped = experiment(replicates=4, stop={"width": 0.001, "batch": 20, "most": 30}).run(workers=1)
    assert capped.runs["replicate"].n_unique() == 30
    assert "still" in capped.reason


def test_running_again_with_more_replicates_is_recorded_and_said() -> None:
    once = experiment(replicates=3).run(workers=1)
    assert once.looks["replicates"].to_list() == [3]
    assert not once.effects()["warning"].str.contains("looked at").any()
    again = experiment(replicates=3).run(workers=1)
    assert again.looks.height == 1
    longer = experiment(replicates=5).run(workers=1)
    assert longer.looks["replicates"].to_list() == [3, 5]
    assert longer.effects()["looks"][0] == 2
    assert "looked at 2 times" in longer.effects()["warning"][0]


ANNOUNCED = [{"kind": "announce", "at": 11, "text": f"Notice {number}."} for number in range(7)]


def test_forks_pay() -> None:
    levels = {"none": []} | {f"notice {number}": each for number, each in enumerate(ANNOUNCED)}
    options: dict[str, Any] = {
        "scenario": "norms",
        "factors": {"interventions": levels},
        "parameters": {"workers": 20, "days": 12},
        "replicates": 2,
    }
    forked = experiment(fork_at=11, **options).run(workers=1)
    apart = experiment(**options).run(workers=1)
    assert forked.failures.height == apart.failures.height == 0
    same = ["arm", "replicate", "seed", "share_blue", "answers(blue)"]
    assert forked.runs.select(same).equals(apart.runs.select(same))
    assert forked.runs["calls"].sum() <= apart.runs["calls"].sum() / 3
    assert not list(forked.folder.path.glob("scratch/*"))


def test_forks_keep_their_runs_where_asked() -> None:
    levels = {"none": [], "notice": {"kind": "announce", "at": 2, "text": "Notice."}}
    made = experiment(factors={"interventions": levels}, fork_at=2, replicates=2, keep="run").run(workers=1)
    kept = {folder.name for folder in (made.folder.path / "runs").iterdir()}
    assert set(made.runs["run"]) <= kept
    assert len(kept) == 2 + 4


EXPERIMENT = {
    "name": "many",
    "scenario": "support.scenarios:Shirts",
    "factors": {"wording": ["Yesterday {blue} wore blue.", "It rains, and {blue} wore blue."]},
    "parameters": {"people_count": 3, "days": 2},
    "model": "scripted:support.models:varied",
    "replicates": 60,
    "outcomes": ["share_blue"],
}


@pytest.mark.slow
def test_an_experiment_that_is_killed_ends_with_the_same_table_and_repeats_no_finished_run(tmp_path: Path) -> None:
    (tmp_path / "many.yaml").write_text(yaml.safe_dump(EXPERIMENT))
    command = [sys.executable, "-m", "populace", "experiment", "many.yaml", "--workers", "2", "--trust"]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, TESTS])}
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen(command, env=variables, **quiet) as process:
        deadline = time.monotonic() + 120
        while len(list(tmp_path.glob("experiments/*/rows/*"))) == 0 or len(_rows(tmp_path)) < 20:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # The workers end by themselves once their parent is gone.
        while True:
            os.killpg(process.pid, 0)
            assert time.monotonic() < deadline, "a worker went on after its parent was killed"
            time.sleep(0.02)
    finished = _rows(tmp_path)
    assert 20 <= len(finished) < 120, "the workers did not go on to the end"
    resumed = Experiment(**EXPERIMENT).run(workers=1)
    assert resumed.state == "complete"
    rows = _rows(tmp_path)
    # A row holds the seconds that its run took, so a run that is repeated has another row.
    assert all(rows.count(row) == 1 for row in finished)
    assert len({(row["arm"], row["replicate"]) for row in rows}) == len(rows) == 120
    whole = Experiment(**EXPERIMENT).run(workers=1, workspace=tmp_path / "whole")
    assert resumed.runs.equals(whole.runs)


def _rows(workspace: Path) -> list[dict[str, Any]]:
    """The rows of every whole line."""
    files = sorted(workspace.glob("experiments/*/rows/*.jsonl"))
    lines = [line for file in files for line in file.read_text().splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith("\n")]
