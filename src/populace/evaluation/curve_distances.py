"""How far a simulated demand curve lies from a human one, beside how far two halves of the people lie apart.

People are split into two random halves many times. Each half in turn is the target: the simulation, the other half and
the baselines are compared with it, so all distances are to the same people. A baseline may use the other half only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import HumanDataError
from populace.evaluation.human_curves import HumanCurve
from populace.scenarios.demand.products import elasticity_of

Numbers = npt.NDArray[np.float64]

SPLITS = 400
"""How many random splits into halves there are."""
HALVES, FLAT, ELASTICITY, LOGISTIC = (
    "the other half of the people",
    "flat demand",
    "average elasticity",
    "logistic on price",
)
_STEPS = 25
_RIDGE = 1e-3


@dataclass(frozen=True)
class HumanDistance:
    """The distance of one curve to random halves of the people.

    Attributes:
        name: What is compared with people.
        value: The mean absolute difference of the shares of purchases, over all levels and items, averaged over splits.
        low: The lower end of the range that holds 95 % of the splits.
        high: The upper end.
        excess: How much larger it is than the distance of the other half of the people, averaged over splits.
        excess_low: The lower end of the range that holds 95 % of these differences.
        excess_high: The upper end.

    Example:
        >>> HumanDistance("flat demand", 0.2, 0.15, 0.25, 0.1, 0.05, 0.15).beyond_people
        True
    """

    name: str
    value: float
    low: float
    high: float
    excess: float
    excess_low: float
    excess_high: float

    @property
    def beyond_people(self) -> bool:
        """Whether it lies farther from people than other people do, in at least 97.5 % of the splits."""
        return self.excess_low > 0


def curve_distances(
    human: HumanCurve, simulated: Mapping[str, Numbers], *, categories: Mapping[str, str] | None = None, seed: int = 0
) -> list[HumanDistance]:
    """The distances of simulated curves, of the other half of the people and of three baselines.

    Args:
        human: The human curve.
        simulated: The shares of purchases of each simulated curve at the cells of the human one; see
            `HumanCurve.shares_of`.
        categories: The category of each item, whose average elasticity is the baseline; goods of all kinds otherwise.
        seed: The seed of the splits.

    Example:
        >>> table = pl.DataFrame({"level": [1, 2] * 200, "buy": [1, 0] * 200})
        >>> distances = curve_distances(HumanCurve.of(table), {"a step": np.array([1.0, 0.0])})
        >>> [(d.name, round(d.value, 2)) for d in distances[:2]]
        [('a step', 0.0), ('the other half of the people', 0.0)]
    """
    if human.people < 4:
        raise HumanDataError(f"{human.people} people cannot be split into halves.", "A curve needs at least 4.")
    target, other = _halves(human, np.random.default_rng(seed))
    curves: dict[str, Numbers] = {name: np.asarray(shares)[None, :] for name, shares in simulated.items()}
    curves[HALVES] = other
    curves |= baselines(human, other, categories or {})
    gaps = {name: np.nanmean(np.abs(curve - target), axis=1) for name, curve in curves.items()}
    return [_summary(name, gap, gaps[HALVES]) for name, gap in gaps.items()]


def baselines(human: HumanCurve, half: Numbers, categories: Mapping[str, str]) -> dict[str, Numbers]:
    """The baselines, computed from halves of the people: a row for each half and a column for each cell."""
    filled = np.where(np.isnan(half), np.nanmean(half, axis=1, keepdims=True), half)
    items = human.cells["item"].to_numpy()
    elastic = np.empty_like(filled)
    relative = human.relative
    for item in human.items:
        rows = np.flatnonzero(items == item)
        usual = rows[np.abs(relative[rows] - 1).argmin()]
        # Anchored at the level next to the regular one, which need not be the regular one itself.
        ratio = np.maximum(relative[rows], 1e-9) / max(relative[usual], 1e-9)
        with np.errstate(over="ignore"):
            elastic[:, rows] = np.minimum(filled[:, [usual]] * ratio ** elasticity_of(categories.get(item, "")), 1.0)
    return {
        FLAT: np.broadcast_to(filled.mean(axis=1, keepdims=True), filled.shape),
        ELASTICITY: elastic,
        LOGISTIC: _logistic(relative, filled),
    }


def _logistic(x: Numbers, shares: Numbers) -> Numbers:
    """The fitted shares of one logistic regression on the relative level for each row of shares."""
    design = np.column_stack([np.ones_like(x), x - x.mean()])
    beta = np.zeros((len(shares), 2))
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-np.clip(beta @ design.T, -30, 30)))
        weight = p * (1 - p)
        gradient = (shares - p) @ design - _RIDGE * beta
        hessian = np.einsum("rc,ci,cj->rij", weight, design, design) + _RIDGE * np.eye(2)
        beta = beta + np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
    return np.asarray(1 / (1 + np.exp(-np.clip(beta @ design.T, -30, 30))))


def _halves(human: HumanCurve, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """The shares of random halves as targets, and those of the other halves."""
    order = rng.random((SPLITS // 2, human.people)).argsort(axis=1)
    first = (order < human.people // 2).astype(np.float64)
    one = _shares(first @ human.buys, first @ human.counts)
    two = _shares((1 - first) @ human.buys, (1 - first) @ human.counts)
    return np.vstack([one, two]), np.vstack([two, one])


def _shares(buys: Numbers, counts: Numbers) -> Numbers:
    return np.divide(buys, counts, out=np.full_like(buys, np.nan), where=counts > 0)


def _summary(name: str, gap: Numbers, people: Numbers) -> HumanDistance:
    low, high = np.quantile(gap, [0.025, 0.975])
    excess = gap - people
    below, above = np.quantile(excess, [0.025, 0.975])
    return HumanDistance(
        name, float(gap.mean()), float(low), float(high), float(excess.mean()), float(below), float(above)
    )


def distance_table(distances: list[HumanDistance]) -> pl.DataFrame:
    """The distances as a table, one row each."""
    return pl.DataFrame(
        {
            "curve": [d.name for d in distances],
            "distance": [d.value for d in distances],
            "low": [d.low for d in distances],
            "high": [d.high for d in distances],
            "excess": [d.excess for d in distances],
            "excess_low": [d.excess_low for d in distances],
            "excess_high": [d.excess_high for d in distances],
        }
    )
