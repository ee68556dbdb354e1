"""Experiments that are stopped, killed or abandoned, and go on as if nothing had happened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from populace.base.errors import StoppedError
from populace.engine.workspace import Workspace
from populace.experiments import Experiment, Results
from populace.experiments.budget import ExperimentBudget
from populace.experiments.plan import StoppingRule
from populace.experiments.robustness import check_robustness
from populace.experiments.spending import Spending, SpendingWriter, abandoned_spending
from support.commands import populace
from support.outages import allow

TESTS = str(Path(__file__).parent.parent)
PLAN: dict[str, Any] = {
    "name": "shirts",
    "scenario": "support.scenarios:Shirts",
    "factors": {"wording": ["Yesterday {blue} wore blue.", "It rains, and {blue} wore blue."]},
    "parameters": {"people_count": 4, "days": 3},
    "model": "scripted:support.outages:answer",
    "replicates": 3,
    "outcomes": ["share_blue"],
    "keep": "calls",
}
FORKED = {
    "factors": {"interventions": {"none": [], "notice": {"kind": "announce", "at": 2, "text": "Notice."}}},
    "fork_at": 2,
}


def experiment(**changes: Any) -> Experiment:
    return Experiment(**(PLAN | changes))


def run(place: Path | str = ".", **changes: Any) -> Results:
    return experiment(**changes).run(workers=1, workspace=place, check=False)


@pytest.mark.parametrize("keep", ["calls", "run", "nothing"])
@pytest.mark.parametrize("changes", [{}, FORKED], ids=["apart", "forked"])
def test_when_the_service_fails_the_experiment_stops_and_goes_on_to_the_same_table(
    tmp_path: Path, changes: dict[str, Any], keep: str
) -> None:
    whole = run(tmp_path / "whole", keep=keep, **changes)
    calls = int(whole.runs["calls"].sum())
    for more, end in ((0, "outage"), (5, "failure"), (calls // 2, "outage")):
        allow(more, end)
        stopped = run(keep=keep, **changes)
        assert stopped.state == "stopped"
        assert stopped.folder.manifest.stop == "service"
        assert ("no server answers" if end == "outage" else "overloaded") in stopped.reason
        assert set(stopped.runs["status"]) <= {"complete"}
        same = whole.runs.join(stopped.runs, on=["arm", "replicate"], how="semi", maintain_order="left")
        assert stopped.runs.equals(same.select(stopped.runs.columns))
    allow(None)
    resumed = run(keep=keep, **changes)
    assert resumed.state == "complete"
    assert resumed.runs.write_json() == whole.runs.write_json()
    if keep != "nothing":
        assert len(Workspace(tmp_path).store()) == calls


def test_an_experiment_that_is_killed_again_and_again_ends_with_the_same_table(tmp_path: Path) -> None:
    code = f"""
import os, signal
from populace.experiments import Experiment
from support.outages import allow
plan = {PLAN!r}
for calls in (1, 4, 4):
    for place, changes in (("apart", {{}}), ("forked", {FORKED!r})):
        child = os.fork()
        if child == 0:
            allow(calls, "kill")
            Experiment(**(plan | changes)).run(workers=1, workspace=place, check=False)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
"""
    variables = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, TESTS])}
    subprocess.run([sys.executable, "-c", code], env=variables, check=True, timeout=300)
    allow(None)
    for place, changes in (("apart", {}), ("forked", FORKED)):
        resumed = run(place, **changes)
        whole = run(f"{place}-whole", **changes)
        assert resumed.runs.write_json() == whole.runs.write_json()
        assert resumed.digest == whole.digest
        assert len(Workspace(place).store()) == int(whole.runs["calls"].sum())


def test_the_command_ends_with_five_and_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "shirts.yaml").write_text(yaml.safe_dump(PLAN))
    allow(4)
    done = populace("experiment", "shirts.yaml", "--workers", "1", "--no-check", "--trust")
    assert done.returncode == 5
    assert "stopped: no server answers" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if "continue:" in line]
    command = line.partition("continue:")[2].split()
    assert command[:2] == ["populace", "experiment"]
    allow(None)
    again = populace(*command[1:])
    assert again.returncode == 0
    assert "0 of 6 runs" in again.stdout


def test_calls_of_abandoned_runs_count_towards_the_budget(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", keep="nothing")
    one_run = int(whole.runs["calls"][0])
    limit = {"max_calls": 2 * one_run}
    for _ in range(3):
        allow(one_run // 2)
        run(keep="nothing", stop=limit)
    allow(None)
    spent = sum(each.calls for each in abandoned_spending(Workspace().experiments / experiment().label).values())
    assert 0 < spent < 2 * one_run
    ended = run(keep="nothing", stop=limit)
    assert ended.state == "stopped"
    assert "budget of" in ended.reason
    assert spent + int(ended.runs["calls"].sum()) <= 2 * one_run


def test_leases_never_exceed_what_is_left(tmp_path: Path) -> None:
    budget = ExperimentBudget(StoppingRule(max_calls=100), tmp_path)
    first = budget.lease([(0, 0)], ())
    assert first is not None
    assert (first.whole, first.limits.max_calls) == (True, 100)
    assert budget.lease([(1, 0)], [first]) is None, "nothing is known about the size of a run yet"
    budget.count([{"arm": 0, "replicate": 0, "status": "complete", "calls": 10, "reused": 2, "tokens": 5, "cost": 0.0}])
    leases = []
    while (lease := budget.lease([(1, len(leases))], leases)) is not None:
        leases.append(lease)
    assert [lease.limits.max_calls for lease in leases] == [24, 24, 24]
    assert budget.lease([(1, 9)], leases, alone=True) is None
    alone = budget.lease([(1, 9)], (), alone=True)
    assert alone is not None
    assert (alone.whole, alone.limits.max_calls) == (True, 90)


def test_what_a_run_spent_is_known_until_its_row_says_it(tmp_path: Path) -> None:
    writer = SpendingWriter(tmp_path)
    writer.begin((0, 3))
    writer.count(Spending(2, 50, 0.1))
    writer.count(Spending(4, 90, 0.3))
    assert abandoned_spending(tmp_path) == {(0, 3): Spending(4, 90, 0.3)}
    writer.abandon()
    writer.begin((0, 3))
    writer.count(Spending(1, 10, 0.1))
    assert abandoned_spending(tmp_path) == {(0, 3): Spending(5, 100, 0.4)}
    writer.settle()
    assert abandoned_spending(tmp_path) == {(0, 3): Spending(4, 90, 0.3)}
    writer.close()


def test_rows_of_failed_runs_say_what_they_spent(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"scenario": "support.scenarios:Fragile", "factors": {"mood": ["calm", "broken"]}}
    failed = run(**changes).runs.filter(pl.col("status") == "failed")
    assert failed.height == 3
    assert failed["calls"].null_count() == 0


def test_nothing_is_concluded_about_robustness_while_the_service_is_down(tmp_path: Path) -> None:
    allow(None)
    study = run(tmp_path)
    allow(2, "outage")
    with pytest.raises(StoppedError, match="no server answers"):
        check_robustness(study, variations={"order": {"order": "reversed"}}, workspace=tmp_path, workers=1)
    allow(None)
    table = check_robustness(study, variations={"order": {"order": "reversed"}}, workspace=tmp_path, workers=1).table()
    assert table.height == 1
