"""Intervals for figures about people and items: both are samples, so both are drawn anew.

A figure is a ratio of sums over person × item cells. Drawing people anew says how it would differ for other people;
drawing items anew as well says how it would differ for other items too.
"""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from populace.base.errors import UsageError
from populace.base.randomness import stream
from populace.statistics.intervals import Estimate, t_quantile

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
) -> Estimate:
    """A figure with the interval of a bootstrap over whole people, whole items, or both.

    The interval is the figure plus and minus Student's quantile times the spread of the draws. For both, the variance
    is that over people plus that over items, less that of single cells, which is in each of them. Drawing both at once
    holds the cells three times, which tells how much they are.

    Args:
        cells: Values by name, each a row for each person and a column for each item; NaN where there is none.
        statistic: The figure from the means of these values.
        clusters: What is drawn anew.
        level: The confidence level.
        draws: How often.
        seed: The seed of the draws.

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
    value = float(_figure(cells, statistic, np.ones((1, count)), np.ones((1, width)))[0])
    variance = _variance(cells, statistic, clusters, draws, seed)
    n = count if clusters == "people" else width if clusters == "items" else min(count, width)
    if n < 2:
        raise UsageError(f"an interval over {_WORDS[clusters]} needs at least two of them, not {n}.")
    half = t_quantile(level, n - 1) * variance**0.5
    return Estimate(value, value - half, value + half, n, level, f"bootstrap over {_WORDS[clusters]}")


_WORDS = {"people": "people", "items": "items", "both": "people and items"}


def _variance(cells: Mapping[str, Matrix], statistic: Statistic, clusters: Clusters, draws: int, seed: int) -> float:
    ((count, width),) = {values.shape for values in cells.values()}
    everybody, everything = np.ones((draws, count)), np.ones((draws, width))
    rng = stream(seed, f"evaluation/{clusters}")
    people = items = 0.0
    if clusters != "items":
        figures = _figure(cells, statistic, _counts(rng, draws, count), everything)
        people = _spread(figures) * count / max(count - 1, 1)
    if clusters != "people":
        figures = _figure(cells, statistic, everybody, _counts(rng, draws, width))
        items = _spread(figures) * width / max(width - 1, 1)
    if clusters != "both":
        return people + items
    crossed = _spread(_figure(cells, statistic, _counts(rng, draws, count), _counts(rng, draws, width)))
    single = max(crossed - people - items, 0.0)
    return max(people + items - single, people, items)


def _counts(rng: np.random.Generator, draws: int, count: int) -> Matrix:
    return rng.multinomial(count, np.full(count, 1 / count), draws).astype(np.float64)


def _figure(cells: Mapping[str, Matrix], statistic: Statistic, people: Matrix, items: Matrix) -> Matrix:
    return statistic({name: cell_means(values, people, items) for name, values in cells.items()})


def _spread(figures: Matrix) -> float:
    finite = figures[np.isfinite(figures)]
    return float(finite.var(ddof=1)) if len(finite) > 1 else float("nan")
