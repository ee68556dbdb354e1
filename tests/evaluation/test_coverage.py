"""How often intervals hold the true value, over simulated panels; 1,200 of each kind in an audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import stats

from populace.evaluation import EvaluationItem, HumanAnswers, Predictions, cluster_estimate, parity
from support.audit import IN_FULL, size

PANELS = size(25, 1_200)
PEOPLE, ITEMS = 60, 24
BOUNDS = (0.93, 0.97) if IN_FULL else (0.8, 1.0)

Matrix = npt.NDArray[np.float64]


def _chances(people: Matrix, items: Matrix) -> Matrix:
    chances: Matrix = 1 / (1 + np.exp(-(0.4 + people[:, None] + items[None, :])))
    return chances


def _panel(rng: np.random.Generator, people: Matrix, items: Matrix) -> dict[str, Matrix]:
    """Whether an agent, the majority and the retest are right, for each person and item; a tenth is missing."""
    chances = _chances(people, items)
    cells = {
        "agent": (rng.random(chances.shape) < chances).astype(np.float64),
        "majority": (rng.random(chances.shape) < 0.85 * chances).astype(np.float64),
        "retest": (rng.random(chances.shape) < 0.5 + 0.5 * chances).astype(np.float64),
    }
    missing = rng.random(chances.shape) < 0.1
    return {name: np.where(missing, np.nan, values) for name, values in cells.items()}


def _gap(means: Mapping[str, Matrix]) -> Matrix:
    share: Matrix = (means["agent"] - means["majority"]) / (means["retest"] - means["majority"])
    return share


@pytest.mark.audit
@pytest.mark.parametrize("clusters", ["people", "items", "both"])
def test_accuracy_and_the_gap_that_is_closed_are_covered(clusters: Any) -> None:
    """What an interval is about is drawn anew for every panel; the rest stays, and is part of the true value."""
    rng = np.random.default_rng(7)
    many = 0.7 * stats.norm.ppf((np.arange(2_000) + 0.5) / 2_000)
    fixed_people, fixed_items = rng.normal(0, 0.7, PEOPLE), rng.normal(0, 0.7, ITEMS)
    true = {
        "people": _chances(many, fixed_items),
        "items": _chances(fixed_people, many),
        "both": _chances(many, many),
    }[clusters].mean()
    covered = np.zeros(2)
    for number in range(PANELS):
        people = fixed_people if clusters == "items" else rng.normal(0, 0.7, PEOPLE)
        items = fixed_items if clusters == "people" else rng.normal(0, 0.7, ITEMS)
        cells = _panel(rng, people, items)
        settings: dict[str, Any] = {"clusters": clusters, "draws": 400, "seed": number}
        accuracy = cluster_estimate({"agent": cells["agent"]}, lambda means: means["agent"], **settings)
        gap = cluster_estimate(cells, _gap, **settings)
        covered += [accuracy.contains(true), gap.contains(0.15 * true / (0.5 - 0.35 * true))]
    share = covered / PANELS
    assert BOUNDS[0] <= share.min() and share.max() <= BOUNDS[1], share


@pytest.mark.audit
def test_the_intervals_of_all_groups_hold_together() -> None:
    rng = np.random.default_rng(9)
    item = tuple(EvaluationItem(f"q{n}", "?", ("a", "b")) for n in range(12))
    covered = 0
    for _ in range(PANELS):
        groups = rng.integers(0, 4, 160)
        chances = np.clip(0.6 + rng.normal(0, 0.12, 160)[:, None] + np.array([0, 0.05, -0.1, 0])[groups][:, None], 0, 1)
        right = rng.random((160, 12)) < chances
        answers = rng.integers(0, 2, (160, 12))
        human = HumanAnswers(tuple(f"p{n}" for n in range(160)), item, answers, np.full_like(answers, -1))
        agent = Predictions.from_answers("agent", item, np.where(right, answers, 1 - answers))
        result = parity(human, agent, pl.Series("group", groups.astype(str)))
        true = np.array([0.6, 0.65, 0.5, 0.6])
        shares = np.full(4, 0.25)
        apart = true - np.array([np.delete(true, g) @ np.delete(shares, g) / 0.75 for g in range(4)])
        low, high = (result.table[name].to_numpy() for name in ("low", "high"))
        covered += bool(((low <= apart) & (apart <= high)).all())
    assert BOUNDS[0] - 0.01 * IN_FULL <= covered / PANELS <= BOUNDS[1] + 0.01 * IN_FULL, covered / PANELS
