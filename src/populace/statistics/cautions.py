"""Sentences that warn where an interval or a p value may be worse than it says.

Coverage was measured with known truths (benchmarks/coverage.py, docs/concepts/statistics.md). Where a nominal 95 %
interval covered less than 93 %, one of these conditions holds and its sentence stands beside the interval.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist

import numpy as np

from populace.statistics.values import Numbers

ENOUGH = 20
"""Values from which on a sample shows whether it is too skewed for t."""
ENOUGH_FOR_BOOTSTRAP = 50
ENOUGH_FOR_GROUPS = 30
"""The same for clusters, and for coefficients on the scale of a link (log-odds, logs), which are skewed themselves."""
SKEWED = 0.145
"""The skewness of an estimate beyond which the interval of t is too short on one side."""
SUSPECT = 0.06
"""The skewness of an estimate beyond which it is, if the values do not look normal either."""
ENOUGH_FOR_RARE = 300
"""Values from which on an end that comes about in 1 % of runs is seen with near certainty."""
NEAR_BOUND = 0.1
_ENOUGH_FOR_SHAPE = 30
_SMALL_SIDE = 0.1
"""Units that have no more than this share of all weights are no side of a comparison."""
_UNEQUAL = 0.05
UNSEEN = "may not have been seen"
"""Words of the caution that an end may be missing."""


def few(n: int, method: str = "t") -> str:
    """A caution for a sample too small to show its shape; empty where it is large enough."""
    if method == "bootstrap" and n < ENOUGH_FOR_BOOTSTRAP:
        return f"from {n} values a bootstrap interval (BCa) is a little too short"
    if n >= ENOUGH:
        return ""
    return f"{n} values are too few to tell whether the outcome is skewed, and the interval assumes that it is not"


def few_drawn(n: int, what: str) -> str:
    """A caution for the percentiles of a bootstrap that draws few of something; empty where there are enough."""
    return f"from {n} {what} a bootstrap interval is a little too short" if n < ENOUGH_FOR_BOOTSTRAP else ""


def unequal_spread(levene: float, n: int) -> str:
    """A caution where groups vary by different amounts, by the p of Levene's test, or are too small to show it."""
    if levene < _UNEQUAL:
        return "the groups vary by different amounts, and the test assumes that they do not"
    if n >= ENOUGH:
        return ""
    return f"{n} values of a group are too few to tell whether the groups vary by the same amount, as is assumed"


def skewed(*samples: Numbers, paired: bool = False) -> str:
    """A caution where a mean, or a difference of means, is too skewed for the interval of t.

    Args:
        samples: The values of one arm or of two.
        paired: Whether two arms are compared by the differences of their pairs.
    """
    parts = (samples[0] - samples[1],) if paired and len(samples) == 2 else samples
    if skewed_arms(parts, (1.0, -1.0)[: len(parts)]):
        return "the values are so skewed that the interval is too short; it gets better with many more runs"
    return ""


def skewed_arms(samples: Sequence[Numbers], weights: Sequence[float]) -> str:
    """A caution for a weighted sum of the means of independent arms.

    Args:
        samples: The values of each arm.
        weights: How much the mean of each arm counts.
    """
    third, variance = 0.0, 0.0
    for weight, values in zip(weights, samples, strict=True):
        n, centred = len(values), values - values.mean()
        if n < 3:
            return ""
        variance += weight**2 * float((centred**2).sum()) / (n - 1) / n
        third += weight**3 * float((centred**3).sum()) * n / ((n - 1) * (n - 2)) / n**2
    return skewed_estimate(abs(third) / variance**1.5 if variance > 0 else 0.0, samples)


def skewed_estimate(skewness: float, parts: Iterable[Numbers]) -> str:
    """A caution where an estimate is too skewed for the interval of t.

    Args:
        skewness: The skewness of the estimate.
        parts: The samples that it is made of.
    """
    if skewness <= SUSPECT or (skewness <= SKEWED and all(looks_normal(values) for values in parts)):
        return ""
    return "the outcome is so skewed that the interval is too short; transform it, or run more"


def skewed_sum(parts: Numbers, weights: Numbers, sides: Numbers, what: str = "values", enough: int = ENOUGH) -> str:
    """A caution for an estimate that is a weighted sum, such as a coefficient of a regression.

    Args:
        parts: What each independent unit (a row, a cluster) adds to the error of the estimate.
        weights: How much each unit counts, not below 0.
        sides: Which units are compared with which, such as 1 for those of one arm and −1 for those of the other.
        what: What the units are called.
        enough: Units on each side from which on they show whether they are skewed.
    """
    groups = [sides == side for side in np.unique(sides)]
    groups = [group for group in groups if weights[group].sum() > _SMALL_SIDE * weights.sum()]
    counts = [float(weights[group].sum() ** 2 / (weights[group] ** 2).sum()) for group in groups]
    fewest = min(counts)
    if fewest < enough - 0.5:
        whose = "" if len(groups) == 1 else " on one side of the comparison"
        return f"about {fewest:.0f} {what}{whose} are too few to tell whether the outcome is skewed"
    variance = float((parts**2).sum())
    bias = (fewest / (fewest - 1)) ** 0.5 * fewest / (fewest - 2)
    skewness = bias * abs(float((parts**3).sum())) / variance**1.5 if variance > 0 else 0.0
    counted = [group & (weights > 0) for group in groups]
    return skewed_estimate(skewness, (parts[group] / weights[group] for group in counted))


def looks_normal(values: Numbers) -> bool:
    """Whether a sample passes the test of Shapiro and Francia (Royston's approximation).

    The test is at 10 %, and for fewer than 30 values, in which skewness is easily missed, at 30 %.

    Example:
        >>> looks_normal(np.arange(20.0)), looks_normal(np.arange(20.0) ** 4)
        (True, False)
    """
    n = len(values)
    if n < 5 or float(np.ptp(values)) == 0:
        return True
    normal = NormalDist()
    scores = np.array([normal.inv_cdf((place - 0.375) / (n + 0.25)) for place in range(1, n + 1)])
    centred = np.sort(values) - values.mean()
    fit = float((scores @ centred) ** 2 / ((scores @ scores) * (centred @ centred)))
    u = math.log(n)
    v = math.log(u)
    z = (math.log(max(1 - fit, 1e-12)) + 1.2725 - 1.0521 * (v - u)) / (1.0308 - 0.26758 * (v + 2 / u))
    return z < normal.inv_cdf(0.9 if n >= _ENOUGH_FOR_SHAPE else 0.7)


def one_sided(*samples: Numbers) -> str:
    """A caution where all shares of an arm lie near one bound, so that another end may not have been seen yet."""
    for values in samples:
        n = len(values)
        near = bool((values <= NEAR_BOUND).all() or (values >= 1 - NEAR_BOUND).all())
        if near and n < ENOUGH_FOR_RARE:
            bound = 0 if values[0] <= NEAR_BOUND else 1
            return (
                f"all {n} values of an arm lie near {bound}: an end far from it, with a probability below "
                f"{100 * unseen(n):.0f} %, {UNSEEN}, and the interval leaves it out"
            )
    return ""


def unseen(n: int, level: float = 0.95) -> float:
    """The largest probability of an event that n trials may well have missed."""
    return float(1 - (1 - level) ** (1 / n))


def join_sentences(*sentences: str) -> str:
    """Cautions as one text; empty where there is none."""
    return "; ".join(dict.fromkeys(filter(None, sentences)))


def share_like(*samples: Numbers) -> bool:
    """Whether all values lie between 0 and 1."""
    return all(bool(((values >= 0) & (values <= 1)).all()) for values in samples)


def binary(*samples: Numbers) -> bool:
    """Whether all values are 0 or 1."""
    return all(bool(np.isin(values, (0.0, 1.0)).all()) for values in samples)
