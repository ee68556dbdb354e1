"""Intervals for figures about people and items: both are samples, so both are drawn anew.

A figure is a ratio of sums over person × item cells. Drawing people anew says how it would differ for other people;
drawing items anew as well says how it would differ for other items too.
"""

import math
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from populace.base.errors import UsageError
from populace.base.randomness import stream
from populace.statistics import cautions
from populace.statistics.intervals import Estimate, t_quantile, wilson
from populace.statistics.proportions import mid_p
from populace.statistics.values import ROUNDING, check_level

Matrix = npt.NDArray[np.float64]
Clusters = Literal["people", "items", "both"]
Statistic = Callable[[Mapping[str, Matrix]], Matrix]
"""A figure from the weighted means of some cell values, for all draws at once."""

DRAWS = 2_000


def cell_means(cells: Matrix, people: Matrix, items: Matrix) -> Matrix:
    """The mean over the cells that are not missing, for each pair of weights.

    Args:
        cells: The values, a row for each person and a column for each item; NaN where there is none.
        people: The weight of each person, a row for each draw.
        items: The weight of each item, a row for each draw.
    """
    known = ~np.isnan(cells)
    totals = ((people @ np.where(known, cells, 0.0)) * items).sum(1)
    counts = ((people @ known.astype(np.float64)) * items).sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Matrix = totals / counts
    return means


def cluster_estimate(
    cells: Mapping[str, Matrix],
    statistic: Statistic,
    *,
    clusters: Clusters = "people",
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
    share: bool = False,
) -> Estimate:
    """A figure with the interval of a bootstrap over whole people, whole items, or both.

    The interval is the figure plus and minus Student's quantile times the spread of the draws. For both, the variance
    is that over people plus that over items, less that of single cells, which is in each of them. Drawing both at once
    holds the cells three times, which tells how much they are.

    The interval of a share lies between 0 and 1: it is Wilson's with as many trials as would give the share this
    spread. Where nothing varies, it is the exact one (mid-P) with people, or items, as trials; figures that are no
    shares have none then, because equal values show no precision. `warning` says where an interval may be too short.

    Args:
        cells: Values by name, each a row for each person and a column for each item; NaN where there is none.
        statistic: The figure from the means of these values.
        clusters: What is drawn anew.
        level: The confidence level.
        draws: How often.
        seed: The seed of the draws.
        share: Whether the figure lies between 0 and 1.

    Example:
        >>> values = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, np.nan]])
        >>> estimate = cluster_estimate({"correct": values}, lambda means: means["correct"])
        >>> round(estimate.value, 3), estimate.low < estimate.value < estimate.high
        (0.714, True)
    """
    shapes = {values.shape for values in cells.values()}
    if len(shapes) != 1:
        raise UsageError(f"the tables of cells have different shapes: {sorted(shapes)}.")
    ((count, width),) = shapes
    known = np.any([~np.isnan(values) for values in cells.values()], axis=0)
    people, items = int(known.any(axis=1).sum()), int(known.any(axis=0).sum())
    n = people if clusters == "people" else items if clusters == "items" else min(people, items)
    if n < 2:
        raise UsageError(f"an interval over {_WORDS[clusters]} needs at least two of them, not {n}.")
    value = float(_figure(cells, statistic, np.ones((1, count)), np.ones((1, width)))[0])
    method = f"bootstrap over {_WORDS[clusters]}"
    if not math.isfinite(value):
        return Estimate(math.nan, math.nan, math.nan, n, level, method)
    variance, skewness = _spread_of_draws(cells, statistic, clusters, draws, seed)
    if variance <= (ROUNDING * max(1.0, abs(value))) ** 2:
        low, high = mid_p(min(1.0, max(0.0, value)), n, check_level(level)) if share else (math.nan, math.nan)
        return Estimate(value, low, high, n, level, method, 0, "" if share and value in (0.0, 1.0) else _SAME)
    quantile = t_quantile(level, n - 1)
    low, high = value - quantile * variance**0.5, value + quantile * variance**0.5
    if share:
        # A figure of 0 or 1 that varies, such as a distance, is no share of trials.
        trials = value * (1 - value) / variance
        low, high = wilson(value, trials, z=quantile) if trials > 0 else (max(low, 0.0), min(high, 1.0))
    warning = "" if share else _skewed(skewness)
    if n < cautions.ENOUGH:
        warning = f"{n} {_WORDS[clusters]} are too few to tell how far others would differ"
    return Estimate(value, low, high, n, level, method, 0, warning)


_WORDS = {"people": "people", "items": "items", "both": "people and items"}
_SAME = "the figure is the same for everybody, which says nothing about how far others would differ"


def _skewed(skewness: float) -> str:
    """A caution where the draws are so skewed that an interval with equal halves is too short on one side."""
    return "a few cases decide the figure, and the interval is too short" if abs(skewness) > cautions.SKEWED else ""


def _spread_of_draws(
    cells: Mapping[str, Matrix], statistic: Statistic, clusters: Clusters, draws: int, seed: int
) -> tuple[float, float]:
    """The variance of a figure over draws, and the larger skewness of drawing people and drawing items."""
    ((count, width),) = {values.shape for values in cells.values()}
    everybody, everything = np.ones((draws, count)), np.ones((draws, width))
    rng = stream(seed, f"evaluation/{clusters}")
    people = items = skewness = 0.0
    if clusters != "items":
        figures = _figure(cells, statistic, _counts(rng, draws, count), everything)
        people, skewness = _spread(figures) * count / max(count - 1, 1), _skewness(figures)
    if clusters != "people":
        figures = _figure(cells, statistic, everybody, _counts(rng, draws, width))
        items, skewness = _spread(figures) * width / max(width - 1, 1), max(skewness, _skewness(figures), key=abs)
    if clusters != "both":
        return people + items, skewness
    crossed = _spread(_figure(cells, statistic, _counts(rng, draws, count), _counts(rng, draws, width)))
    single = max(crossed - people - items, 0.0)
    return max(people + items - single, people, items), skewness


def _counts(rng: np.random.Generator, draws: int, count: int) -> Matrix:
    return rng.multinomial(count, np.full(count, 1 / count), draws).astype(np.float64)


def _figure(cells: Mapping[str, Matrix], statistic: Statistic, people: Matrix, items: Matrix) -> Matrix:
    return statistic({name: cell_means(values, people, items) for name, values in cells.items()})


def _spread(figures: Matrix) -> float:
    finite = figures[np.isfinite(figures)]
    return float(finite.var(ddof=1)) if len(finite) > 1 else float("nan")


def _skewness(figures: Matrix) -> float:
    finite = figures[np.isfinite(figures)]
    spread = float(finite.std()) if len(finite) else 0.0
    return float(((finite - finite.mean()) ** 3).mean()) / spread**3 if spread > 0 else 0.0


def figure_text(estimate: Estimate | None) -> str:
    """An estimate with its interval to three digits; a dash where there is none.

    Example:
        >>> figure_text(Estimate(0.5, 0.4, 0.6, 20)), figure_text(Estimate(1.0, math.nan, math.nan, 3))
        ('0.500 [0.400, 0.600]', '1.000 (no interval)')
    """
    if estimate is None or not math.isfinite(estimate.value):
        return "–"
    known = math.isfinite(estimate.low) and math.isfinite(estimate.high)
    return f"{estimate.value:.3f} " + (f"[{estimate.low:.3f}, {estimate.high:.3f}]" if known else "(no interval)")
