"""Intervals and tests from drawing values anew: bootstrap, bootstrap-t and permutation."""

import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UsageError
from populace.base.randomness import stream
from populace.statistics import cautions
from populace.statistics.intervals import Estimate
from populace.statistics.values import Numbers, Values, check_count, check_level, constant, library, numbers


def bootstrap(
    values: Values,
    statistic: Callable[..., Any] = np.mean,
    *,
    seed: int,
    resamples: int = 2000,
    level: float = 0.95,
    cluster: pl.Series | npt.NDArray[Any] | list[Any] | None = None,
) -> Estimate:
    """Any statistic with a bootstrap interval (bias-corrected and accelerated).

    Assumes that the values are a sample of independent ones, or the clusters are: with `cluster`, whole clusters
    are drawn, so that what happens inside one may depend on each other. Intervals from fewer than fifty values (or
    clusters) are a little too short, and say so.

    Args:
        values: The numbers; missing ones are dropped and counted.
        statistic: Numbers to a number, such as `np.median`.
        seed: Fixes the draws.
        resamples: How many draws.
        level: The confidence level.
        cluster: The cluster of each value, such as the run that a person belongs to.

    Example:
        >>> found = bootstrap([3, 1, 4, 1, 5, 9, 2, 6], np.median, seed=1)
        >>> found.value, found.contains(3.5)
        (3.5, True)
    """
    check_level(level)
    if cluster is None:
        present, dropped = numbers(values)
        blocks = None
        check_count(len(present), 2, "the sample", "a bootstrap interval")
    else:
        present, blocks, dropped = _clusters(values, cluster)
        check_count(len(blocks), 2, "the sample (in clusters)", "a bootstrap interval")
    value = float(statistic(present))
    method = "bootstrap" if blocks is None else f"bootstrap of {len(blocks)} clusters"
    if constant(present):
        same = "all values are the same, which says nothing about how far others would differ"
        return Estimate(value, math.nan, math.nan, len(present), level, method, dropped, same)
    rng = stream(seed, "statistics/bootstrap")
    if blocks is None and "axis" in inspect.signature(statistic).parameters:
        low, high, kind = bca((present,), statistic, level, resamples, rng)
    else:
        parts = list(present) if blocks is None else blocks
        places = np.arange(len(parts), dtype=np.float64)

        def statistic_of(index: Numbers) -> float:
            return float(statistic(np.hstack([parts[int(i)] for i in index])))

        low, high, kind = bca((places,), statistic_of, level, resamples, rng)
    count, what = (len(present), "values") if blocks is None else (len(blocks), "clusters")
    narrow = f"from {count} {what} a bootstrap interval is too short" if count < cautions.ENOUGH_FOR_BOOTSTRAP else ""
    shape = cautions.skewed(present) if blocks is None else ""
    return Estimate(value, low, high, len(present), level, f"{method} ({kind})", dropped, narrow or shape)


def bca(
    samples: tuple[Numbers, ...],
    statistic: Callable[..., Any],
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[float, float, str]:
    """Low, high and kind of a bootstrap interval; by plain percentiles where BCa is not defined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they would say is said by the kind
        result = library("scipy.stats").bootstrap(
            samples, statistic, n_resamples=resamples, confidence_level=level, method="BCa", rng=rng
        )
    low, high = (float(end) for end in result.confidence_interval)
    if not (math.isnan(low) or math.isnan(high)):
        return low, high, "BCa"
    low, high = np.quantile(result.bootstrap_distribution, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high), "percentile"


def draw_within_groups(group: npt.NDArray[np.int64], draws: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """For each draw and member, the place of a random member of the same group."""
    order = np.argsort(group, kind="stable")
    first, size = np.searchsorted(group[order], group), np.bincount(group)[group]
    return np.asarray(order[first + (rng.random((draws, len(group))) * size).astype(np.int64)])


def percentile(draws: Numbers, n: int, level: float, method: str, dropped: int, tail: float | None = None) -> Estimate:
    """The first of the draws, with the interval of the others; NaN where it is not defined.

    `tail` is the share of draws beyond either end of the interval, where it does not follow from the level.
    """
    value, others = float(draws[0]), draws[1:][~np.isnan(draws[1:])]
    if math.isnan(value) or not len(others):
        return Estimate(value, math.nan, math.nan, n, level, method, dropped)
    tail = 0.5 - level / 2 if tail is None else tail
    low, high = np.quantile(others, [tail, 1 - tail])
    return Estimate(value, min(float(low), value), max(float(high), value), n, level, method, dropped)


def _clusters(values: Values, cluster: Any) -> tuple[Numbers, list[Numbers], int]:
    column = pl.Series("value", values if isinstance(values, (pl.Series, np.ndarray)) else list(values))
    belongs = pl.Series("cluster", cluster)
    if len(column) != len(belongs):
        raise UsageError(f"there are {len(column)} values and {len(belongs)} clusters.", "Give one cluster for each.")
    frame = pl.DataFrame({"value": column, "cluster": belongs})
    if column.dtype.is_float():
        frame = frame.with_columns(pl.col("value").fill_nan(None))
    present = frame.drop_nulls()
    numbers_present, _ = numbers(present["value"])
    parts = present.select("cluster").with_columns(value=numbers_present).partition_by("cluster", maintain_order=True)
    return numbers_present, [part["value"].to_numpy() for part in parts], len(column) - len(numbers_present)


IntervalAndP = tuple[float, float, float]
"""Low and high end of the interval of a difference of means, and its p."""


def bootstrap_t(a: Numbers, b: Numbers | None, level: float, resamples: int, rng: np.random.Generator) -> IntervalAndP:
    """A mean, or the difference of two, by the bootstrap of its t value, which follows the skewness of the values.

    Args:
        a: The values of one arm, or the differences of pairs.
        b: The values of another arm; None for one column.
        level: The confidence level.
        resamples: The number of draws.
        rng: Draws them.
    """
    centre, error = _studentised(a[None], None if b is None else b[None])
    drawn = [x[rng.integers(len(x), size=(resamples, len(x)))] for x in (a, b) if x is not None]
    means, errors = _studentised(drawn[0], drawn[1] if len(drawn) > 1 else None)
    # A draw of equal values has no t; it stands for a t beyond all others, on the side of its mean.
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors > 0, (means - centre) / errors, np.sign(means - centre) * np.inf)
    t = t[~np.isnan(t)]
    low_t, high_t = np.quantile(t, [0.5 - level / 2, 0.5 + level / 2], method="nearest")
    below = int((t <= centre[0] / error[0]).sum())
    p = 2 * (min(below, len(t) - below) + 1) / (len(t) + 1)
    return float(centre[0] - high_t * error[0]), float(centre[0] - low_t * error[0]), min(1.0, p)


def permutation(a: Numbers, b: Numbers | None, level: float, resamples: int, rng: np.random.Generator) -> IntervalAndP:
    """A test that exchanges arms, or the signs of paired differences, with the t value as its statistic.

    The p is exact for exchangeable arms, and for differences that are symmetric around 0. The interval takes the
    quantiles of t from exchanging values around their means. With 12 pairs or fewer, all signs are tried.
    """
    centre, error = _studentised(a[None], None if b is None else b[None])
    if b is None:
        n = len(a)
        if n <= _ALL_SIGNS:
            signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        else:
            signs = np.vstack([np.ones(n), rng.integers(2, size=(resamples, n)) * 2.0 - 1])
        exchanged = [(signs * a, None), (signs * (a - a.mean()), None)]
    else:
        order = rng.permuted(np.tile(np.arange(len(a) + len(b)), (resamples, 1)), axis=1)
        order = np.vstack([np.arange(len(a) + len(b)), order])
        exchanged = []
        for pooled in (np.concatenate([a, b]), np.concatenate([a - a.mean(), b - b.mean()])):
            exchanged.append((pooled[order[:, : len(a)]], pooled[order[:, len(a) :]]))
    values = []
    for one, two in exchanged:
        means, errors = _studentised(one, two)
        with np.errstate(divide="ignore", invalid="ignore"):
            values.append(np.where(errors > 0, means / errors, np.sign(means) * np.inf))
    null, around = (np.nan_to_num(np.abs(t), nan=0.0, posinf=np.inf) for t in values)
    p = float((null >= abs(centre[0] / error[0]) * (1 - 1e-9)).mean())
    reach = float(np.quantile(around, level, method="higher")) * float(error[0])
    return float(centre[0]) - reach, float(centre[0]) + reach, p


_ALL_SIGNS = 12


def _studentised(a: Numbers, b: Numbers | None) -> tuple[Numbers, Numbers]:
    """For each row the mean, or the difference of means, and its standard error; 0 where nothing varies."""
    means, variance = a.mean(axis=1), a.var(axis=1, ddof=1) / a.shape[1]
    scale = np.abs(a).max(axis=1)
    if b is not None:
        means, variance = means - b.mean(axis=1), variance + b.var(axis=1, ddof=1) / b.shape[1]
        scale = np.maximum(scale, np.abs(b).max(axis=1))
    errors = np.sqrt(variance)
    errors[errors <= 1e-12 * scale] = 0.0
    return means, errors
