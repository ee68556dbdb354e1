"""Intervals and tests of proportions and of their differences that hold for few runs and near 0 and 1.

The interval of one proportion inverts the exact binomial test with half of the probability of what was observed
(mid-P). That of a difference combines the intervals of the two proportions (MOVER, Newcombe's method 10, with mid-P
in place of Wilson's intervals, which are too short near 0 and 1); pairs count by their correlation.
"""

import functools
import math
from collections.abc import Callable

from populace.statistics.values import Numbers

Interval = tuple[float, float]

_STEPS = 200
_CLOSE = 1e-11
_TINY = 1e-300


@functools.lru_cache(maxsize=4096)
def mid_p(share: float, n: float, level: float = 0.95) -> Interval:
    """The mid-P interval of a share of n trials; n need not be whole, as with weights.

    Example:
        >>> [round(end, 3) for end in mid_p(0.0, 10)]
        [0.0, 0.259]
        >>> [round(end, 3) for end in mid_p(0.5, 10)]
        [0.212, 0.788]
    """
    tail, count = 0.5 - level / 2, share * n
    # The root is sought where the normal approximation expects it.
    reach = 8 * math.sqrt(share * (1 - share) / n) + 4 / n
    low, high = 0.0, 1.0
    if count > 0:
        low = _root_between(lambda p: _upper_tail(count, n, p) - tail, max(0.0, share - reach), share)
    if count < n:
        high = _root_between(lambda p: tail - _upper_tail(n - count, n, 1 - p), share, min(1.0, share + reach))
    return low, high


def proportions_gap(first: Interval, shares: Interval, second: Interval, correlation: float = 0.0) -> Interval:
    """The interval of the difference of two shares, from their own intervals and their correlation.

    Args:
        first: The interval of the first share.
        shares: The two shares.
        second: The interval of the second share.
        correlation: Between the two, where their trials are pairs.

    Example:
        >>> [round(end, 2) for end in proportions_gap((0.4, 0.8), (0.6, 0.3), (0.1, 0.5))]
        [0.02, 0.58]
    """
    one, two = shares
    down, up = _root(one - first[0], second[1] - two, correlation), _root(first[1] - one, two - second[0], correlation)
    return max(-1.0, one - two - down), min(1.0, one - two + up)


def pair_correlation(a: Numbers, b: Numbers) -> float:
    """The correlation of two columns of 0 and 1, reduced towards 0 as Newcombe does for few pairs."""
    n = float(len(a))
    both, neither = float((a * b).sum()), float(((1 - a) * (1 - b)).sum())
    only_a, only_b = float((a * (1 - b)).sum()), float((b * (1 - a)).sum())
    below = math.sqrt((both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither))
    product = both * neither - only_a * only_b
    product = product - n / 2 if product > n / 2 else min(product, 0.0)
    return product / below if below else 0.0


def fisher_mid_p(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """Two-sided p of two independent proportions: Fisher's test with half of the weight on what was observed.

    Example:
        >>> round(fisher_mid_p(9, 10, 2, 10), 4)
        0.0028
    """
    total = successes_a + successes_b
    weights = [_choose(n_a, k) + _choose(n_b, total - k) for k in range(max(0, total - n_b), min(n_a, total) + 1)]
    seen = weights[successes_a - max(0, total - n_b)]
    top = max(weights)
    masses = [math.exp(weight - top) for weight in weights]
    observed = math.exp(seen - top)
    less = sum(mass for mass in masses if mass < observed * (1 - 1e-9))
    equal = sum(mass for mass in masses if abs(mass - observed) <= observed * 1e-9)
    return min(1.0, (less + equal / 2) / sum(masses)) if len(masses) > 1 else 1.0


def mcnemar_mid_p(only_a: int, only_b: int) -> float:
    """Two-sided p of paired proportions, from the pairs that differ, with half of the weight on what was observed.

    Example:
        >>> round(mcnemar_mid_p(9, 1), 4)
        0.0117
    """
    n, fewer = only_a + only_b, min(only_a, only_b)
    if n == 0:
        return 1.0
    below = sum(math.exp(_choose(n, k) - n * math.log(2)) for k in range(fewer))
    return min(1.0, 2 * below + math.exp(_choose(n, fewer) - n * math.log(2)))


def _root(one: float, two: float, correlation: float) -> float:
    return math.sqrt(max(0.0, one**2 - 2 * correlation * one * two + two**2))


def _choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _root_between(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function is 0 that is below 0 at one end and above 0 at the other (regula falsi, Illinois rule)."""
    at_low, at_high = rising(low), rising(high)
    for _ in range(_STEPS):
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        value = rising(middle)
        if value > 0:
            # Half of the weight of an end that stays keeps both ends moving.
            high, at_high, at_low = middle, value, at_low / 2
        else:
            low, at_low, at_high = middle, value, at_high / 2
        if abs(value) < _CLOSE or high - low < _CLOSE:
            return middle
    return (low + high) / 2


def _upper_tail(count: float, n: float, p: float) -> float:
    """The probability of more than the count, and half of that of the count itself."""
    at_least = _incomplete_beta(count, n - count + 1, p)
    return (at_least + (_incomplete_beta(count + 1, n - count, p) if count < n else 0.0)) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz); scipy may not be installed."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x) - math.log(a)
    )
    c, d = 1.0, 1 / _off_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 10_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / _off_zero(1 + step * d), _off_zero(1 + step / c)
            fraction *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return front * fraction


def _off_zero(x: float) -> float:
    return x if abs(x) > _TINY else _TINY
