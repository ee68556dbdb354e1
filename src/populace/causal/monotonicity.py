"""Whether a curve falls from level to level, as demand falls with the price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from populace.causal.responses import Array, Responses
from populace.causal.wording import CausalDesign
from populace.statistics.crossed import crossed_means

_ALPHA = 0.05
_NOISE = 1e-9
"""A step that is smaller is none: it comes from the order in which numbers were added."""


@dataclass(frozen=True)
class Monotonicity:
    """How far a curve falls from level to level.

    Attributes:
        design: The design.
        falling_steps: Steps from one level to the next at which the curve falls.
        steps: All steps.
        certain_rises: Steps at which it rises beyond chance: the interval of the step, corrected for the number of
            steps (Bonferroni), lies above 0.
        largest_rise: The largest rise from a lower to a higher level; 0 where it never rises.
        excess: The mean distance of the curve to the nearest one that never rises.
        falling_items: Items whose own curve falls over the whole range (a straight line through it has a negative
            slope).
        items: All items with a valid answer at each level.
    """

    design: CausalDesign
    falling_steps: int
    steps: int
    certain_rises: int
    largest_rise: float
    excess: float
    falling_items: int
    items: int

    @property
    def verdict(self) -> Literal["falls throughout", "rises at some step", "no certain rise"]:
        """Whether it falls and never rises, rises somewhere beyond chance, or neither."""
        if self.certain_rises:
            return "rises at some step"
        return "falls throughout" if self.falling_steps and self.largest_rise <= _NOISE else "no certain rise"


def monotonicity(responses: Responses) -> Monotonicity:
    """How far the curve of a design falls from level to level.

    Example:
        >>> from populace.causal.study import CausalStudy
        >>> study = CausalStudy.read({
        ...     "treatment": {"name": "price", "levels": [1, 2, 3], "statement": "It costs {price} dollars."},
        ...     "setting": "You see apples.", "question": "Do you buy?", "options": ["yes", "no"], "success": "yes"})
        >>> y = np.array([[[0.9, 0.5, 0.6]], [[0.8, 0.4, 0.5]]])
        >>> monotonicity(Responses(study, "blind", y)).falling_steps
        1
    """
    order = np.argsort(responses.x, kind="stable")
    x, y = responses.x[order], responses.y[:, :, order]
    fit, places = crossed_means(y), np.eye(len(x))
    curve, steps = fit.values, len(x) - 1
    certain = sum(
        bool(fit.estimate(places[step + 1] - places[step], 1 - _ALPHA / steps).low > 0) for step in range(steps)
    )
    present = ~np.isnan(y)
    totals, counts = np.where(present, y, 0.0).sum(axis=0), present.sum(axis=0)
    by_item = np.divide(totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0)
    by_item = by_item[~np.isnan(by_item).any(axis=1)]
    slopes = ((x - x.mean()) * by_item).sum(axis=1)
    return Monotonicity(
        responses.design,
        int((np.diff(curve) < -_NOISE).sum()),
        steps,
        certain,
        float(max((curve - np.minimum.accumulate(curve)).max(), 0.0)),
        float(np.abs(curve - falling_fit(curve)).mean()),
        int((slopes < -_NOISE).sum()),
        len(slopes),
    )


def falling_fit(curve: Array) -> Array:
    """The nearest curve that never rises, by least squares (pool adjacent violators).

    Example:
        >>> falling_fit(np.array([3.0, 1.0, 2.0])).tolist()
        [3.0, 1.5, 1.5]
    """
    means: list[float] = []
    sizes: list[int] = []
    for value in curve.tolist():
        means.append(value)
        sizes.append(1)
        while len(means) > 1 and means[-1] > means[-2]:
            size = sizes.pop() + sizes[-1]
            means[-2:] = [(means[-1] * (size - sizes[-1]) + means[-2] * sizes[-1]) / size]
            sizes[-1] = size
    fitted: Array = np.repeat(means, sizes).astype(np.float64)
    return fitted


def monotonicity_table(found: list[Monotonicity]) -> pl.DataFrame:
    """A row for each design."""
    return pl.DataFrame(
        {
            "design": [each.design for each in found],
            "falling_steps": [f"{each.falling_steps} of {each.steps}" for each in found],
            "certain_rises": [each.certain_rises for each in found],
            "largest_rise": [round(each.largest_rise, 3) for each in found],
            "distance_to_a_falling_curve": [round(each.excess, 3) for each in found],
            "falling_items": [f"{each.falling_items} of {each.items}" for each in found],
            "verdict": [each.verdict for each in found],
        }
    )
