"""Whether two arms are equivalent within a margin."""

import math
from dataclasses import dataclass

import polars as pl

from populace.base.errors import UsageError
from populace.statistics.effects import difference, standard_error, two_arms
from populace.statistics.intervals import Estimate
from populace.statistics.values import Values, library


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided t tests (TOST) of a difference against a margin.

    Assumes what `Effect` assumes by `t`, and a margin that was chosen before looking. A difference that is not
    significant does not show that there is none; this test can. The p of proportions is the smallest alpha at which
    their interval lies within the margin. Where nothing varies and the values are no shares there is no interval: p
    is NaN, and the verdict undecided.

    Attributes:
        difference: Mean of the first arm minus mean of the second, with the interval at 1 − 2 alpha.
        margin: The largest difference that does not matter.
        p: Probability of a difference as small if it were as large as the margin.
        alpha: The level of the test.
        paired: Whether runs were compared in pairs.
    """

    difference: Estimate
    margin: float
    p: float
    alpha: float
    paired: bool

    @property
    def equivalent(self) -> bool:
        """Whether the interval lies within the margin."""
        return -self.margin < self.difference.low and self.difference.high < self.margin

    @property
    def verdict(self) -> str:
        """`equivalent`, `different` (the whole interval lies beyond the margin) or `undecided`."""
        if self.equivalent:
            return "equivalent"
        beyond = self.difference.low > self.margin or self.difference.high < -self.margin
        return "different" if beyond else "undecided"

    def table(self) -> pl.DataFrame:
        """The test as a table of one row."""
        tested = {"margin": self.margin, "p": self.p, "alpha": self.alpha, "paired": self.paired}
        return self.difference.table().with_columns(
            **{name: pl.lit(value) for name, value in tested.items()}, verdict=pl.lit(self.verdict)
        )

    def __str__(self) -> str:
        return f"{self.verdict} within ±{self.margin:g}: {self.difference}"


def equivalence(a: Values, b: Values, margin: float, *, paired: bool, alpha: float = 0.05) -> Equivalence:
    """Test whether two arms differ by less than a margin.

    Args:
        a: Outcomes of the first arm, one for each run.
        b: Outcomes of the second arm; with `paired`, in the same order of seeds.
        margin: The largest difference that does not matter, in units of the outcome.
        paired: Whether a run of one arm belongs to a run of the other.
        alpha: The level of the test.

    Example:
        >>> equivalence([5.0, 5.1, 4.9, 5.0], [5.0, 5.0, 5.0, 5.1], margin=0.5, paired=False).verdict
        'equivalent'
    """
    if not (margin > 0 and math.isfinite(margin)):
        raise UsageError(f"the margin is a number above 0, and this is {margin:g}.")
    if not 0 < alpha < 0.5:
        raise UsageError(f"alpha lies between 0 and 0.5, and this is {alpha:g}.")
    effect = difference(a, b, paired=paired, level=1 - 2 * alpha)
    estimate = effect.estimate
    if not estimate.method.endswith(" t"):
        return Equivalence(estimate, margin, _p_of_levels(a, b, margin, paired), alpha, paired)
    first, second, _ = two_arms(a, b, paired)
    error, freedom = standard_error(first, second, paired)
    # Of the two one-sided tests the one at the nearer end of the margin has the larger p.
    p = float(library("scipy.special").stdtr(freedom, (abs(estimate.value) - margin) / error))
    return Equivalence(estimate, margin, p, alpha, paired)


def _p_of_levels(a: Values, b: Values, margin: float, paired: bool) -> float:
    """The smallest alpha at which the interval lies within the margin; NaN where there is no interval."""
    low, high = 0.0, 0.5
    for _ in range(30):
        alpha = (low + high) / 2
        estimate = difference(a, b, paired=paired, level=1 - 2 * alpha).estimate
        if math.isnan(estimate.low):
            return math.nan
        inside = -margin < estimate.low and estimate.high < margin
        low, high = (low, alpha) if inside else (alpha, high)
    return (low + high) / 2 if high < 0.5 else 1.0
