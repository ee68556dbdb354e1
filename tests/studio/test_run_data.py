"""What the page of a run shows, as data."""

from __future__ import annotations

from pathlib import Path

import pytest

from populace import Run, simulate
from populace.models import Scripted
from populace.studio.metrics import chart_metrics, metric_info, metrics_at
from support.models import varied
from support.scenarios import Shirts


@pytest.fixture
def shirts() -> Run:
    return simulate(Shirts(people_count=40, days=5), model=Scripted(varied, spec="scripted:varied"), seed=2)


def test_metrics_at_a_step_tell_the_change_since_the_step_before(shirts: Run) -> None:
    table = metrics_at(shirts.metrics, 2)
    before, now = shirts.metrics["share_blue"][1], shirts.metrics["share_blue"][2]
    assert table.row(0, named=True)["change"] == pytest.approx(now - before)
    assert metrics_at(shirts.metrics, 0)["change"].to_list() == [None]


def test_the_metrics_that_a_scenario_names_are_drawn_first() -> None:
    run = simulate(Shirts(), decider="rule")
    assert chart_metrics(run) == (["share_blue"], [])
    assert metric_info("norms")[0] == ("share_blue",)
    assert metric_info("norms")[1]["consensus"] == "Whether everybody wears the same."


def test_a_scenario_in_a_file_is_read_and_not_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text('raise SystemExit\nclass Mine:\n    chart = ("a", "b")\n    def a(self):\n        "First."\n')
    assert metric_info(f"{file}:Mine") == (("a", "b"), {"a": "First."})
    file.write_text("class Mine(:\n    pass  # broken, and longer than before\n")
    assert metric_info(f"{file}:Mine") == ((), {})
