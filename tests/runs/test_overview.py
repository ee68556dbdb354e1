"""A run in a few facts, what was set, and its metrics."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from populace import Run, simulate
from populace.base.errors import BudgetError
from populace.models import Scripted
from populace.runs.overview import overview
from populace.runs.reader import RunReader
from populace.runs.settings_text import settings_rows
from support.models import leaning, varied
from support.scenarios import Shirts


@pytest.fixture
def shirts() -> Run:
    return simulate(Shirts(people_count=40, days=5), model=Scripted(varied, spec="scripted:varied"), seed=2)


def test_an_overview_tells_how_a_run_stands(shirts: Run) -> None:
    seen = overview(shirts)
    assert (seen.state, seen.last, seen.planned, seen.progress) == ("complete", 5, 5, 1.0)
    assert seen.people == 40
    assert seen.invalid is not None and seen.invalid.n == 200
    assert seen.invalid.value == 0 and 0 < seen.invalid.high < 0.05
    assert seen.digest == shirts.digest
    assert ("people count", "40") in settings_rows(shirts)


def test_a_stop_by_budget_names_its_limit() -> None:
    with pytest.raises(BudgetError):
        simulate(Shirts(), model=Scripted(varied, spec="scripted:varied"), max_calls=4)
    seen = overview(Run.open(next(Path("runs").iterdir())))
    assert (seen.state, seen.limit) == ("stopped", "calls")


def test_a_run_without_a_step_has_an_overview(shirts: Run) -> None:
    shutil.rmtree(shirts.folder / "steps")
    seen = overview(Run.open(shirts.folder))
    assert (seen.last, seen.people, seen.invalid, seen.digest) == (None, 0, None, "")
    assert Run.open(shirts.folder).metrics.height == 0


def test_a_fork_names_its_parent_and_the_step_from_which_settings_differ(shirts: Run) -> None:
    fork = shirts.fork(3, seed=9, model=leaning(0.5))
    seen = overview(fork)
    assert seen.parent is not None and (seen.parent.run, seen.parent.at) == (shirts.name, 3)
    assert ("seed (from step 3)", "9") in settings_rows(fork)


def test_a_run_that_the_rule_decides_says_so() -> None:
    assert overview(simulate(Shirts(), decider="rule")).decided_by == "the rule"


def test_only_new_steps_of_metrics_are_read(shirts: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = RunReader.open(shirts.folder)
    first = reader.metrics
    read: list[int] = []
    scan = reader.record.scan
    monkeypatch.setattr(reader.record, "scan", lambda step, name: read.append(step) or scan(step, name))
    assert reader.metrics.equals(first) and read == []
    tables = [shirts.record.table(step, "metrics") for step in shirts.steps]
    assert first.equals(pl.concat([table for table in tables if table is not None]))


def test_metrics_of_a_run_that_was_written_anew_are_not_the_old_ones(shirts: Run) -> None:
    reader = RunReader.open(shirts.folder)
    old = reader.metrics
    shutil.rmtree(shirts.folder)
    other = simulate(Shirts(people_count=40, days=5), model=leaning(0.9), seed=5)
    shutil.move(other.folder, shirts.folder)
    reader.record = RunReader.open(shirts.folder).record
    assert not reader.metrics.equals(old)
    assert reader.metrics.equals(RunReader.open(shirts.folder).metrics)
