"""How many replicates a study needs."""

import math
from collections.abc import Callable

from populace.base.errors import UsageError
from populace.statistics.intervals import t_quantile
from populace.statistics.values import check_level, library

_MAX_REPLICATES = 100_000_000


def power(n: int, sd: float, effect: float, *, alpha: float = 0.05, paired: bool = False) -> float:
    """The probability that a t test finds an effect of this size.

    Assumes normal outcomes with one standard deviation in both arms, and a two-sided test.

    Args:
        n: Replicates in each arm, or pairs.
        sd: Standard deviation of the outcome between runs; with `paired`, of the differences.
        effect: The difference of means to be found.
        alpha: The level of the test.
        paired: Whether runs are compared in pairs.

    Example:
        >>> round(power(64, sd=1.0, effect=0.5), 3)
        0.801
    """
    _check(sd, alpha)
    _check_effect(effect)
    if n < 2:
        raise UsageError(f"a t test needs at least 2 replicates, and this is {n}.")
    return _t_test_power(n, abs(effect) / sd, alpha, paired)


def replicates_for_effect(
    sd: float, effect: float, power: float = 0.8, alpha: float = 0.05, paired: bool = False
) -> int:
    """Replicates in each arm (or pairs) that a t test needs to find an effect of this size.

    Assumes normal outcomes with one standard deviation in both arms, and a two-sided test.

    Args:
        sd: Standard deviation of the outcome between runs; with `paired`, of the differences.
        effect: The smallest difference of means that should be found.
        power: The probability with which it should be found.
        alpha: The level of the test.
        paired: Whether runs are compared in pairs.

    Example:
        >>> replicates_for_effect(sd=1.0, effect=0.5)
        64
    """
    _check(sd, alpha)
    _check_effect(effect)
    if not alpha < power < 1:
        raise UsageError(f"the power lies between alpha and 1, and this is {power:g}.")
    if effect == 0:
        raise UsageError("no number of replicates finds an effect of 0.", "Give the smallest one that matters.")
    return _smallest_n(lambda n: _t_test_power(n, abs(effect) / sd, alpha, paired) >= power, f"an effect of {effect:g}")


def replicates_for_width(sd: float, width: float, level: float = 0.95, paired: bool = False) -> int:
    """Replicates in each arm (or pairs) after which the interval of the difference is expected to be this narrow.

    Assumes normal outcomes with one standard deviation in both arms, known beforehand (from a pilot).

    Args:
        sd: Standard deviation of the outcome between runs; with `paired`, of the differences.
        width: From the lower to the upper end of the interval.
        level: The confidence level.
        paired: Whether runs are compared in pairs.

    Example:
        >>> replicates_for_width(sd=1.0, width=0.5, paired=True)
        64
    """
    _check(sd, 1 - check_level(level))
    if not (width > 0 and math.isfinite(width)):
        raise UsageError(f"the width of an interval is above 0, and this is {width:g}.")

    def narrow(n: int) -> bool:
        freedom, error = (n - 1, sd / math.sqrt(n)) if paired else (2 * n - 2, sd * math.sqrt(2 / n))
        return 2 * t_quantile(level, freedom) * error <= width

    return _smallest_n(narrow, f"a width of {width:g}")


def _t_test_power(n: int, size: float, alpha: float, paired: bool) -> float:
    """The power of a two-sided t test, by statsmodels; `size` is the effect in standard deviations."""
    tests = library("statsmodels.stats.power")
    test = (tests.TTestPower if paired else tests.TTestIndPower)()
    right, wrong = (float(test.power(size, n, alpha / 2, alternative=tail)) for tail in ("larger", "smaller"))
    # scipy gives NaN for tails that are too thin to compute: the wrong tail is empty, and a right tail is then full.
    return min(1.0, (1.0 if math.isnan(right) else right) + (0.0 if math.isnan(wrong) else wrong))


def _smallest_n(holds: Callable[[int], bool], what: str) -> int:
    """The smallest n of at least 2 for which a condition holds; it must hold for every larger n too."""
    high = 2
    while not holds(high):
        high *= 2
        if high > _MAX_REPLICATES:
            raise UsageError(f"{what} would take more than {_MAX_REPLICATES:,} replicates.", "Ask for less.")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _check(sd: float, alpha: float) -> None:
    if not (sd > 0 and math.isfinite(sd)):
        raise UsageError(f"a standard deviation is a number above 0, and this is {sd:g}.")
    if not 0 < alpha < 1:
        raise UsageError(f"alpha lies between 0 and 1, and this is {alpha:g}.")


def _check_effect(effect: float) -> None:
    if not math.isfinite(effect):
        raise UsageError(f"an effect is a number, and this is {effect:g}.")
