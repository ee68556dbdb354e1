"""The difference between two arms, and the correction for many comparisons made at once."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.base.foreign import for_html
from populace.base.randomness import stream
from populace.statistics.intervals import Estimate, bca, t_quantile, t_tail
from populace.statistics.values import (
    ROUNDING,
    Numbers,
    Values,
    check_choice,
    check_count,
    check_level,
    complete_pairs,
    constant,
    library,
    numbers,
)

METHODS = ("t", "bootstrap")
_CORRECTIONS = {"holm": "holm", "bh": "fdr_bh", "bonferroni": "bonferroni"}


@dataclass(frozen=True)
class Effect:
    """The mean of one arm minus the mean of another.

    Assumes that runs (or pairs of runs) are independent of each other. By `t`, that the means are about normal;
    the arms may vary by different amounts (Welch). By `bootstrap`, that there are enough runs (some twenty) to
    stand for what could have happened; its p is the level at which the percentile interval would reach 0.
    Where nothing varies the interval has no width, and p is 1 for no difference and NaN for any other.

    Attributes:
        estimate: The difference with its interval; its n counts pairs, or the runs of both arms.
        p: Probability of a difference as large if there were none.
        paired: Whether runs were compared in pairs.
        method: `t` or `bootstrap`.
        mean_a: Mean of the first arm.
        mean_b: Mean of the second arm.
        n_a: Runs of the first arm.
        n_b: Runs of the second arm.
        standardised: The difference in standard deviations: Hedges' g, or for pairs of their differences.
    """

    estimate: Estimate
    p: float
    paired: bool
    method: str
    mean_a: float
    mean_b: float
    n_a: int
    n_b: int
    standardised: float

    @property
    def n(self) -> int:
        """Pairs, or the runs of both arms."""
        return self.estimate.n

    @property
    def dropped(self) -> int:
        """Pairs or runs left out because a value was missing."""
        return self.estimate.dropped

    def table(self) -> pl.DataFrame:
        """The effect as a table of one row."""
        values = vars(self) | vars(self.estimate) | {"difference": self.estimate.value}
        names = "difference low high p standardised mean_a mean_b n_a n_b n dropped paired level method"
        return pl.DataFrame({name: [values[name]] for name in names.split()})

    def __str__(self) -> str:
        p = "has no p value because nothing varies" if math.isnan(self.p) else f"p {p_text(self.p, equals='= ')}"
        return f"{self.estimate}, {p}"

    def _repr_html_(self) -> str:
        means = f"{self.mean_a:.3g} against {self.mean_b:.3g}, {self.estimate.method}"
        return f"<p><b>{for_html(str(self))}</b> <small>{for_html(means)}</small></p>"


def p_text(p: float | None, *, equals: str = "") -> str:
    """A p value in words: three digits, a bound where it is smaller, and a dash where there is none.

    Args:
        p: The p value; None or NaN where there is none.
        equals: What stands before a value that is not a bound.

    Example:
        >>> p_text(0.0312), p_text(1e-30), p_text(None)
        ('0.031', '< 0.001', '–')
    """
    if p is None or math.isnan(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"{equals}{p:.3f}"


def difference(
    a: Values,
    b: Values,
    *,
    paired: bool,
    method: str = "t",
    seed: int = 0,
    level: float = 0.95,
    resamples: int = 2000,
) -> Effect:
    """How much larger the mean of `a` is than that of `b`.

    Args:
        a: Outcomes of the first arm, one for each run.
        b: Outcomes of the second arm; with `paired`, in the same order of seeds.
        paired: Whether a run of one arm belongs to a run of the other (common random numbers, forks).
        method: `t` or `bootstrap`.
        seed: Fixes the draws of the bootstrap.
        level: The confidence level.
        resamples: Draws of the bootstrap.

    Example:
        >>> print(difference([5.0, 6.0, 7.0, 8.0], [4.0, 5.5, 6.0, 6.5], paired=True))
        1.0 [0.4, 1.6], n = 4, p = 0.016
    """
    check_choice("method", method, METHODS)
    check_level(level)
    first, second, dropped = two_arms(a, b, paired)
    gap = float((first - second).mean()) if paired else float(first.mean() - second.mean())
    n = len(first) if paired else len(first) + len(second)
    error, freedom = standard_error(first, second, paired)
    if error == 0:
        low = high = gap
        p = 1.0 if abs(gap) <= ROUNDING * _scale(first, second) else math.nan
        how = "no variation"
    elif method == "t":
        half = t_quantile(level, freedom) * error
        low, high, p = gap - half, gap + half, t_tail(gap / error, freedom)
        how = "paired t" if paired else "Welch t"
    else:
        low, high, p, kind = _bootstrap_effect(first, second, paired, level, seed, resamples)
        how = f"{'paired ' if paired else ''}bootstrap ({kind})"
    estimate = Estimate(gap, low, high, n, level, how, dropped)
    standardised = _standardised_effect(gap, first, second, paired, varies=error > 0)
    means = float(first.mean()), float(second.mean())
    return Effect(estimate, p, paired, method, *means, len(first), len(second), standardised)


def two_arms(a: Values, b: Values, paired: bool) -> tuple[Numbers, Numbers, int]:
    """The numbers of two arms, at least two in each, and how many runs (or pairs) were left out."""
    if paired:
        first, second, dropped = complete_pairs(a, b)
        check_count(len(first), 2, "the paired comparison", "an interval of a difference")
        return first, second, dropped
    (first, dropped), (second, dropped_too) = numbers(a, "the first values"), numbers(b, "the second values")
    for values, which in ((first, "the first arm"), (second, "the second arm")):
        check_count(len(values), 2, which, "an interval of a difference")
    return first, second, dropped + dropped_too


def standard_error(a: Numbers, b: Numbers, paired: bool) -> tuple[float, float]:
    """Standard error of the difference of means, and its degrees of freedom (Welch and Satterthwaite)."""
    if paired:
        gaps = a - b
        without_variance = constant(gaps, _scale(a, b))
        return 0.0 if without_variance else float(gaps.std(ddof=1)) / math.sqrt(len(gaps)), len(gaps) - 1
    parts = [0.0 if constant(values) else float(values.var(ddof=1)) / len(values) for values in (a, b)]
    total = sum(parts)
    if total == 0:
        return 0.0, len(a) + len(b) - 2
    shares = [part / total for part in parts]
    freedom = 1 / sum(share**2 / (len(values) - 1) for share, values in zip(shares, (a, b), strict=True))
    return math.sqrt(total), freedom


def _scale(a: Numbers, b: Numbers) -> float:
    return float(max(np.abs(a).max(), np.abs(b).max()))


def _standardised_effect(gap: float, a: Numbers, b: Numbers, paired: bool, varies: bool) -> float:
    if not varies:
        return 0.0 if abs(gap) <= ROUNDING * _scale(a, b) else math.nan
    if paired:
        spread, freedom = float((a - b).std(ddof=1)), len(a) - 1
    else:
        freedom = len(a) + len(b) - 2
        spread = math.sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / freedom)
    return gap / spread * (1 - 3 / (4 * freedom - 1))  # Hedges' correction for small samples


def _bootstrap_effect(
    a: Numbers, b: Numbers, paired: bool, level: float, seed: int, resamples: int
) -> tuple[float, float, float, str]:
    rng = stream(seed, "statistics/difference")
    if paired:
        low, high, kind = bca((a - b,), np.mean, level, resamples, rng)
        gaps = a - b
        draws = gaps[rng.integers(len(gaps), size=(resamples, len(gaps)))].mean(axis=1)
    else:
        low, high, kind = bca((a, b), _gap, level, resamples, rng)
        draws = a[rng.integers(len(a), size=(resamples, len(a)))].mean(axis=1)
        draws = draws - b[rng.integers(len(b), size=(resamples, len(b)))].mean(axis=1)
    beyond = min((draws <= 0).sum(), (draws >= 0).sum())
    return low, high, min(1.0, 2 * (float(beyond) + 1) / (resamples + 1)), kind


def _gap(a: Numbers, b: Numbers, axis: int = -1) -> Numbers:
    gap: Numbers = a.mean(axis=axis) - b.mean(axis=axis)
    return gap


def adjust(p_values: Values, method: str = "holm") -> Numbers:
    """P-values adjusted for the number of comparisons.

    `holm` and `bonferroni` bound the chance of any false finding and assume nothing; `bh` (Benjamini and Hochberg)
    bounds the share of false ones among the findings and assumes independent or positively dependent tests.
    A p-value that is missing (NaN, None) stays so and counts as no test.

    Args:
        p_values: The p-values of every comparison that was made, not only of those that are shown.
        method: `holm`, `bh` or `bonferroni`.

    Example:
        >>> adjust([0.01, 0.04, 0.03], "holm")
        array([0.03, 0.06, 0.06])
    """
    how = _CORRECTIONS[check_choice("correction", method, tuple(_CORRECTIONS))]
    raw = np.array([np.nan if p is None else p for p in p_values], dtype=np.float64)
    tested = ~np.isnan(raw)
    if ((raw[tested] < 0) | (raw[tested] > 1)).any():
        raise UsageError("a p-value lies between 0 and 1.")
    if tested.any():
        raw[tested] = library("statsmodels.stats.multitest").multipletests(raw[tested], method=how)[1]
    return raw
