from __future__ import annotations

from populace import Run, simulate
from populace.runs.compare import compare
from support.models import Counting
from support.scenarios import Shirts


def test_equal_runs_compare_as_equal(shirts_run: Run) -> None:
    assert compare(shirts_run, simulate(Shirts(), model=Counting(), seed=1)).equal


def test_a_comparison_names_the_first_decision_that_differs(shirts_run: Run) -> None:
    other = shirts_run.fork(3, seed=8, model=Counting())
    found = compare(shirts_run, other)
    assert found.settings == {"seed": (1, 8)}
    assert found.first_difference is not None
    assert (found.first_difference.step, found.first_difference.what) == (3, "answer")
    assert {found.first_difference.first, found.first_difference.second} == {"blue", "green"}
    assert found.metrics["step"].min() >= 3  # type: ignore[operator]


def test_a_comparison_tells_a_changed_prompt_from_a_changed_answer(shirts_run: Run) -> None:
    other = simulate(Shirts(wording="{blue} wore blue."), model=Counting(), seed=1)
    found = compare(shirts_run, other)
    assert found.first_difference is not None
    assert (found.first_difference.step, found.first_difference.what, found.first_difference.person) == (1, "prompt", 0)
    assert "Yesterday 0 wore blue." in found.first_difference.first
