from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from populace import Run, simulate
from populace.models import Scripted
from populace.scenarios.axelrod import AxelrodLattice
from populace.scenarios.axelrod.lattice import KALEIDOSCOPE
from support.models import Counting


def by_rule(seed: int = 1, **parameters: object) -> Run:
    return simulate(AxelrodLattice(**parameters), decider="rule", seed=seed, keep="nothing")


def on(model: object = None, **parameters: object) -> Run:
    small = {"width": 6, "height": 5, "rounds": 2, **parameters}
    return simulate(AxelrodLattice(**small), model=model or Counting(), seed=3, keep="nothing")  # type: ignore[arg-type]


def cooperates(run: Run, at: int, width: int) -> npt.NDArray[np.bool_]:
    return (run.people(at)["move"] == "cooperate").to_numpy().reshape(-1, width)


def naive(lattice: npt.NDArray[np.bool_], b: float) -> npt.NDArray[np.bool_]:
    """One round on a torus, cell by cell as the source describes it."""
    height, width = lattice.shape
    around = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1)]
    score, after = np.zeros(lattice.shape), lattice.copy()
    for y in range(height):
        for x in range(width):
            partners = sum(bool(lattice[(y + i) % height, (x + j) % width]) for i, j in around)
            score[y, x] = partners if lattice[y, x] else b * partners
    for y in range(height):
        for x in range(width):
            i, j = max(around, key=lambda step: score[(y + step[0]) % height, (x + step[1]) % width])
            after[y, x] = lattice[(y + i) % height, (x + j) % width]
    return after


@pytest.mark.parametrize("b", [1.15, 1.85, 2.35])
def test_the_rule_is_that_of_the_source_cell_by_cell(b: float) -> None:
    run = by_rule(width=11, height=9, temptation=b, rounds=8, cooperators=0.7)
    for step in range(8):
        assert (cooperates(run, step + 1, 11) == naive(cooperates(run, step, 11), b)).all()


def test_a_single_defector_grows_into_a_symmetric_kaleidoscope() -> None:
    run = by_rule(width=41, height=41, begin="single", rounds=24)
    defectors = [int((~cooperates(run, step, 41)).sum()) for step in run.steps]
    assert defectors[:5] == [1, 9, 25, 41, 81]
    assert any(later < earlier for earlier, later in pairwise(defectors)), "it only grew"
    for step in run.steps:
        seen = cooperates(run, step, 41)
        assert (seen == seen[::-1]).all() and (seen == seen[:, ::-1]).all() and (seen == seen.T).all()


def test_cooperation_settles_near_the_known_share() -> None:
    run = by_rule(width=60, height=60, temptation=1.85, rounds=80)
    late = run.metrics["cooperation"].tail(40)
    assert late.mean() == pytest.approx(KALEIDOSCOPE, abs=0.02)
    assert run.metrics["changed"].tail(40).min() > 0.05, "it came to rest, and should go on changing"


def test_cooperators_win_where_temptation_is_small_and_defectors_where_it_is_large() -> None:
    small, large = (by_rule(temptation=b, rounds=25).metrics["cooperation"][-1] for b in (1.05, 2.5))
    assert small > 0.95
    assert large < 0.05


def test_without_defectors_nothing_changes() -> None:
    assert set(by_rule(cooperators=1.0, rounds=3).metrics["cooperation"]) == {1.0}


def test_people_are_told_what_they_and_their_best_neighbour_got() -> None:
    run = on(begin="single", width=5, height=5, rounds=1)
    told = run.prompts()["user"].to_list()
    assert any("you chose F and got 14.80 points" in user and "chose J and got 8.00 points" in user for user in told)
    assert any("you chose J and got 8.00 points" in user and "chose F and got 14.80 points" in user for user in told)
    assert run.usage().calls == len(set(told)) < 25


def test_a_model_that_always_cooperates_ends_all_defection() -> None:
    assert on(Scripted(lambda request: {"J": 1.0, "F": 0.0})).metrics["cooperation"][-1] == 1.0
    assert on(Scripted(lambda request: {"J": 1.0, "F": 0.0}), swap=True).metrics["cooperation"][-1] == 0.0


@pytest.mark.parametrize("wording", ["plain", "short", "formal"])
def test_every_wording_is_complete(wording: str) -> None:
    users = on(wording=wording, rounds=1, order="rotate").prompts()["user"]
    assert not users.str.contains("{", literal=True).any()
    assert users.str.contains("points").all()


def test_the_lattice_is_seen_reported_and_drawn(tmp_path: Path) -> None:
    scenario = AxelrodLattice(width=8, height=6, rounds=4)
    run = simulate(scenario, decider="rule", keep="nothing")
    assert len(scenario.view()) == 2 + 6
    (found,) = AxelrodLattice.report(run)
    assert found.table["share"][-1] == pytest.approx(0.318, abs=0.001)
    assert AxelrodLattice.pictures(run, tmp_path)[0].stat().st_size > 1000
