"""The difference between two arms, and the correction for many comparisons made at once."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.base.foreign import for_html
from populace.base.randomness import stream
from populace.statistics import cautions
from populace.statistics.intervals import Estimate, t_quantile, t_tail
from populace.statistics.proportions import fisher_mid_p, mcnemar_mid_p, mid_p, pair_correlation, proportions_gap
from populace.statistics.resampling import bca, bootstrap_t, permutation
from populace.statistics.values import (
    ROUNDING,
    Numbers,
    Values,
    check_choice,
    check_count,
    check_level,
    complete_pairs,
    constant,
    numbers,
)

METHODS = ("t", "bootstrap", "bootstrap-t", "permutation")
_CORRECTIONS = ("holm", "bh", "bonferroni")


@dataclass(frozen=True)
class Effect:
    """The mean of one arm minus the mean of another.

    Assumes that runs (or pairs of runs) are independent of each other. By `t`, that the means are about normal;
    the arms may vary by different amounts (Welch). By `bootstrap`, that there are enough runs (some twenty) to
    stand for what could have happened; its p is the level at which the percentile interval would reach 0.
    Outcomes that are all 0 or 1 are proportions: their interval combines exact ones, and p is that of Fisher's or
    McNemar's test (mid-P). Where nothing varies, p comes from exchanging runs, and the interval is that of
    proportions for shares and has no ends (NaN) for other outcomes: equal runs show no precision.

    Attributes:
        estimate: The difference with its interval; its n counts pairs, or the runs of both arms.
        p: Probability of a difference as large if there were none.
        paired: Whether runs were compared in pairs.
        method: `t`, `bootstrap`, `bootstrap-t` or `permutation`.
        mean_a: Mean of the first arm.
        mean_b: Mean of the second arm.
        n_a: Runs of the first arm.
        n_b: Runs of the second arm.
        standardised: The difference in standard deviations, of the arms or of the differences of pairs: see
            `standardised_as`.
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

    @property
    def warning(self) -> str:
        """Why the interval may be worse than it says; empty where nothing was found."""
        return self.estimate.warning

    @property
    def standardised_as(self) -> str:
        """What the standardised difference is: Hedges' g of two arms, or d_z, which pairs make larger or smaller."""
        return "d_z (SD of paired differences)" if self.paired else "Hedges' g (pooled SD of arms)"

    def table(self) -> pl.DataFrame:
        """The effect as a table of one row."""
        values = vars(self) | vars(self.estimate) | {"difference": self.estimate.value}
        values["standardised_as"] = self.standardised_as
        names = "difference low high p standardised standardised_as mean_a mean_b n_a n_b n dropped paired level"
        names += " method warning"
        return pl.DataFrame({name: [values[name]] for name in names.split()})

    def __str__(self) -> str:
        return f"{self.estimate}, p {p_text(self.p, equals='= ')}"

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
    share: bool | None = None,
) -> Effect:
    """How much larger the mean of `a` is than that of `b`.

    Args:
        a: Outcomes of the first arm, one for each run.
        b: Outcomes of the second arm; with `paired`, in the same order of seeds.
        paired: Whether a run of one arm belongs to a run of the other (common random numbers, forks).
        method: `t`, `bootstrap` (BCa), `bootstrap-t` (for skewed outcomes) or `permutation`. Outcomes that are all
            0 or 1 are proportions, and have the intervals and tests of proportions whatever the method.
        seed: Fixes the draws of the bootstrap and the permutation.
        level: The confidence level.
        resamples: How many draws.
        share: Whether the values are shares, which lie between 0 and 1; by default if all of them do.

    Example:
        >>> print(difference([5.0, 6.0, 7.0, 8.0], [4.0, 5.5, 6.0, 6.5], paired=True))
        1.0 [0.4, 1.6], n = 4, p = 0.016
        >>> print(difference([1, 1, 1, 1, 1], [0, 0, 0, 1, 0], paired=False))
        0.80 [0.15, 0.99], n = 10, p = 0.024
    """
    check_choice("method", method, METHODS)
    check_level(level)
    first, second, dropped = two_arms(a, b, paired)
    gap = float((first - second).mean()) if paired else float(first.mean() - second.mean())
    n = len(first) if paired else len(first) + len(second)
    error, freedom = standard_error(first, second, paired)
    is_share = share is not False and cautions.share_like(first, second)
    if is_share and cautions.binary(first, second):
        (low, high), p, how, warning = _proportions(first, second, paired, level)
    elif error == 0:
        low, high = _bounded(first, second, paired, level) if is_share else (math.nan, math.nan)
        p, how = _exchange_p(gap, first, second, paired), "no variation"
        warning = "nothing varies, which says nothing about how far other runs would differ"
    else:
        low, high, p, how = _compared(first, second, gap, error, freedom, paired, method, level, seed, resamples)
        warning = cautions.join_sentences(
            cautions.few(min(len(first), len(second)), method) or cautions.skewed(first, second, paired=paired),
            cautions.one_sided(first, second) if is_share else "",
            _one_constant(first, second) if not paired else "",
        )
    estimate = Estimate(gap, low, high, n, level, how, dropped, warning)
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
    """Standard error of the difference of means, and its degrees of freedom (Welch and Satterthwaite).

    An arm in which nothing varies has the variance of the other: its own is not known to be 0.
    """
    if paired:
        gaps = a - b
        without_variance = constant(gaps, _scale(a, b))
        return 0.0 if without_variance else float(gaps.std(ddof=1)) / math.sqrt(len(gaps)), len(gaps) - 1
    variances = [0.0 if constant(values) else float(values.var(ddof=1)) for values in (a, b)]
    if not any(variances):
        return 0.0, len(a) + len(b) - 2
    known = [index for index in (0, 1) if variances[index] > 0]
    variances = [variance or max(variances) for variance in variances]
    parts = [variance / len(values) for variance, values in zip(variances, (a, b), strict=True)]
    total = sum(parts)
    if len(known) == 1:
        return math.sqrt(total), len((a, b)[known[0]]) - 1
    shares = [part / total for part in parts]
    freedom = 1 / sum(share**2 / (len(values) - 1) for share, values in zip(shares, (a, b), strict=True))
    return math.sqrt(total), freedom


def _one_constant(a: Numbers, b: Numbers) -> str:
    if constant(a) == constant(b):
        return ""
    return "nothing varies in one arm, which is taken to vary like the other"


def _compared(
    a: Numbers,
    b: Numbers,
    gap: float,
    error: float,
    freedom: float,
    paired: bool,
    method: str,
    level: float,
    seed: int,
    resamples: int,
) -> tuple[float, float, float, str]:
    """Interval, p and how they were made, of arms that vary."""
    pairs = "paired " if paired else ""
    if method == "t" or (not paired and _one_constant(a, b)):
        half = t_quantile(level, freedom) * error
        return gap - half, gap + half, t_tail(gap / error, freedom), "paired t" if paired else "Welch t"
    if method == "bootstrap":
        low, high, p, kind = _bootstrap_effect(a, b, paired, level, seed, resamples)
        return low, high, p, f"{pairs}bootstrap ({kind})"
    rng = stream(seed, "statistics/difference")
    compare = bootstrap_t if method == "bootstrap-t" else permutation
    low, high, p = compare(a - b if paired else a, None if paired else b, level, resamples, rng)
    return low, high, p, f"{pairs}{method}"


def _proportions(a: Numbers, b: Numbers, paired: bool, level: float) -> tuple[tuple[float, float], float, str, str]:
    """Interval, p, method and warning of the difference of two proportions."""
    shares = float(a.mean()), float(b.mean())
    ends = mid_p(shares[0], len(a), level), mid_p(shares[1], len(b), level)
    if not paired:
        p = fisher_mid_p(int(a.sum()), len(a), int(b.sum()), len(b))
        return proportions_gap(ends[0], shares, ends[1]), p, "proportions (mid-P, MOVER)", ""
    p = mcnemar_mid_p(int((a > b).sum()), int((b > a).sum()))
    interval = proportions_gap(ends[0], shares, ends[1], pair_correlation(a, b))
    return interval, p, "paired proportions (mid-P, MOVER)", ""


def _bounded(a: Numbers, b: Numbers, paired: bool, level: float) -> tuple[float, float]:
    """The interval of shares that do not vary.

    Pairs that all have one gap may have missed another one, up to −1 or 1, that is too rare to be seen in so many.
    Runs of arms count as trials, which gives the widest interval that shares with these means can have.
    """
    if paired:
        gap, missed = float((a - b).mean()), cautions.unseen(len(a), 0.5 + level / 2)
        return gap - missed * (1 + gap), gap + missed * (1 - gap)
    shares = float(a.mean()), float(b.mean())
    return proportions_gap(mid_p(shares[0], len(a), level), shares, mid_p(shares[1], len(b), level))


def _exchange_p(gap: float, a: Numbers, b: Numbers, paired: bool) -> float:
    """The exact p of arms that do not vary, from exchanging the signs of pairs or the runs of the arms."""
    if abs(gap) <= ROUNDING * _scale(a, b):
        return 1.0
    ways = 2.0 ** len(a) if paired else float(math.comb(len(a) + len(b), len(a)))
    return min(1.0, 2 / ways) if paired or len(a) == len(b) else 1 / ways


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
    check_choice("correction", method, _CORRECTIONS)
    raw = np.array([np.nan if p is None else p for p in p_values], dtype=np.float64)
    tested = ~np.isnan(raw)
    if ((raw[tested] < 0) | (raw[tested] > 1)).any():
        raise UsageError("a p-value lies between 0 and 1.")
    if tested.any():
        raw[tested] = _adjusted(raw[tested], method)
    return raw


def _adjusted(p: Numbers, method: str) -> Numbers:
    """P-values without missing ones, adjusted."""
    count, order = len(p), np.argsort(p, kind="stable")
    ranked = p[order]
    if method == "holm":
        ranked = np.maximum.accumulate(ranked * np.arange(count, 0, -1))
    elif method == "bh":
        ranked = np.minimum.accumulate((ranked * count / np.arange(1, count + 1))[::-1])[::-1]
    else:
        ranked = ranked * count
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(ranked, 1.0)
    return adjusted
