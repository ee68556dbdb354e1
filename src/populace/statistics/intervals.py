"""Estimates: a value with its confidence interval and its n."""

import inspect
import math
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UsageError
from populace.base.foreign import for_html
from populace.base.randomness import stream
from populace.statistics.values import Numbers, Values, check_count, check_level, constant, library, numbers


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval.

    Assumes what its method assumes, and that the values behind it are independent of each other: runs of
    different seeds are, the people inside one run are not.

    Attributes:
        value: The estimate.
        low: Lower end of the interval.
        high: Upper end of the interval.
        n: The number of values behind it.
        level: The confidence level.
        method: How the interval was made.
        dropped: How many values were missing and left out.

    Example:
        >>> str(Estimate(0.412, 0.361, 0.468, 120))
        '0.41 [0.36, 0.47], n = 120'
    """

    value: float
    low: float
    high: float
    n: int
    level: float = 0.95
    method: str = ""
    dropped: int = 0

    @property
    def width(self) -> float:
        """The width of the interval."""
        return self.high - self.low

    def contains(self, x: float) -> bool:
        """Whether a value lies in the interval."""
        return self.low <= x <= self.high

    def table(self) -> pl.DataFrame:
        """The estimate as a table of one row."""
        return estimates_table([self])

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"not defined, n = {self.n}"
        ends = ", ".join(_rounded_text(end, self.width) for end in (self.low, self.high))
        missing = f" ({self.dropped} missing)" if self.dropped else ""
        return f"{_rounded_text(self.value, self.width)} [{ends}], n = {self.n}{missing}"

    def _repr_html_(self) -> str:
        method = for_html(self.method or "as given")
        return f"<p><b>{for_html(self)}</b> <small>{round(self.level * 100)} % interval, {method}</small></p>"


def estimates_table(estimates: list[Estimate], **leading: list[Any]) -> pl.DataFrame:
    """Estimates as rows, behind the leading columns."""
    columns: dict[str, list[Any]] = dict(leading)
    for name in ("value", "low", "high", "n", "level", "method", "dropped"):
        columns[name] = [getattr(estimate, name) for estimate in estimates]
    return pl.DataFrame(columns, schema_overrides=dict.fromkeys(("value", "low", "high", "level"), pl.Float64))


def proportion(successes: int, n: int, level: float = 0.95) -> Estimate:
    """A share with Wilson's interval, which stays sound near 0 and 1 and for small n.

    Assumes that the n trials are independent and have one probability.

    Args:
        successes: How many of the trials succeeded.
        n: How many trials there were.
        level: The confidence level.

    Example:
        >>> print(proportion(49, 120))
        0.41 [0.32, 0.50], n = 120
    """
    check_level(level)
    if n < 1:
        raise UsageError("a share of no trials is not a number.", "Run at least one replicate (seed).")
    if not 0 <= successes <= n:
        raise UsageError(f"{successes} of {n} is not a share.")
    share = successes / n
    low, high = wilson(share, n, level)
    return Estimate(share, low, high, n, level, "Wilson")


def wilson(share: float, n: float, level: float = 0.95, z: float | None = None) -> tuple[float, float]:
    """Wilson's interval of a share; n need not be whole, as with weights.

    `z` is the quantile of the level, where it is another than that of the normal distribution.

    Example:
        >>> [round(end, 3) for end in wilson(0.0, 10)]
        [0.0, 0.278]
    """
    z = statistics.NormalDist().inv_cdf(0.5 + level / 2) if z is None else z
    shrink = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / shrink
    half = z / shrink * math.sqrt(max(share * (1 - share), 0.0) / n + z * z / (4 * n * n))
    return 0.0 if share <= 0 else centre - half, 1.0 if share >= 1 else centre + half


def mean(values: Values, level: float = 0.95) -> Estimate:
    """A mean with the interval of Student's t.

    Assumes independent values whose mean is about normal: any shape will do from some thirty values on, fewer
    values should not be far from symmetric. Where all values are equal the interval has no width.

    Args:
        values: Two or more numbers; missing ones are dropped and counted.
        level: The confidence level.

    Example:
        >>> print(mean([1.0, 2.0, 3.0, None]))
        2.0 [-0.5, 4.5], n = 3 (1 missing)
    """
    present, dropped = numbers(values)
    check_count(len(present), 2, "the mean", "a t interval")
    half = (
        0.0
        if constant(present)
        else t_quantile(level, len(present) - 1) * present.std(ddof=1) / math.sqrt(len(present))
    )
    value = float(present.mean())
    return Estimate(value, value - half, value + half, len(present), check_level(level), "t", dropped)


def mean_share(values: Values, level: float = 0.95) -> Estimate:
    """A mean of shares with an interval that stays between 0 and 1.

    This is Wilson's interval with the effective number of trials: as many as would give a share of this size the
    standard error of these values. For values that are 0 or 1 it is nearly Wilson's; far from 0 and 1 it is nearly
    that of Student's t. Assumes independent values. Where all are 0, or all are 1, it is Wilson's of n trials;
    where all are equal otherwise, it has no width.

    Args:
        values: Two or more numbers from 0 to 1; missing ones are dropped and counted.
        level: The confidence level.

    Example:
        >>> print(mean_share([0.0, 0.0, 0.1, 0.05, 0.0]))
        0.03 [0.01, 0.14], n = 5
    """
    present, dropped = numbers(values)
    check_count(len(present), 2, "the mean", "an interval")
    if not within_unit(present):
        raise UsageError("a share lies between 0 and 1, and one of these values does not.", "Use `mean`.")
    n, value = len(present), float(present.mean())
    if value in (0.0, 1.0):
        edge = proportion(round(value * n), n, level)
        return Estimate(value, edge.low, edge.high, n, level, edge.method, dropped)
    variance = 0.0 if constant(present) else float(present.var(ddof=1))
    if variance == 0:
        return Estimate(value, value, value, n, check_level(level), "no variation", dropped)
    effective = value * (1 - value) * n / variance
    low, high = wilson(value, effective, z=t_quantile(level, n - 1))
    return Estimate(value, low, high, n, level, "Wilson", dropped)


def within_unit(values: Numbers) -> bool:
    """Whether all values lie between 0 and 1."""
    return bool(((values >= 0) & (values <= 1)).all())


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
    are drawn, so that what happens inside one may depend on each other. Intervals from fewer than some twenty
    values (or clusters) are too narrow.

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
        return Estimate(value, value, value, len(present), level, method, dropped)
    rng = stream(seed, "statistics/bootstrap")
    if blocks is None and "axis" in inspect.signature(statistic).parameters:
        low, high, kind = bca((present,), statistic, level, resamples, rng)
    else:
        parts = list(present) if blocks is None else blocks
        places = np.arange(len(parts), dtype=np.float64)

        def statistic_of(index: Numbers) -> float:
            return float(statistic(np.hstack([parts[int(i)] for i in index])))

        low, high, kind = bca((places,), statistic_of, level, resamples, rng)
    return Estimate(value, low, high, len(present), level, f"{method} ({kind})", dropped)


def bca(
    samples: tuple[Numbers, ...],
    statistic: Callable[..., Any],
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[float, float, str]:
    """Low, high and kind of a bootstrap interval; by plain percentiles where BCa is not defined."""
    import warnings

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


def t_quantile(level: float, freedom: float) -> float:
    """The t value that bounds the middle `level` of the distribution."""
    # scipy.special loads in a quarter of the time of scipy.stats, and small tables need no more.
    return float(library("scipy.special").stdtrit(freedom, 0.5 + check_level(level) / 2))


def t_tail(t: float, freedom: float) -> float:
    """The two-sided p of a t value; the smallest number there is where it is too small to compute, never 0."""
    return max(float(2 * library("scipy.special").stdtr(freedom, -abs(t))), sys.float_info.min)


def mean_band(paths: list[list[list[float | None]]]) -> pl.DataFrame:
    """Step, mean and interval over several runs of an arm; no interval where fewer than two have a value.

    Where all values lie between 0 and 1, so do the intervals (see `mean_share`).
    """
    steps = [step for path in paths for step in path[0]]
    values = [value for path in paths for value in path[1]]
    schema = {"step": pl.Int64, "value": pl.Float64}
    table = pl.DataFrame({"step": steps, "value": values}, schema=schema, strict=False)
    mean, sd, n = pl.col("value").mean(), pl.col("value").std(), pl.col("value").count()
    bands = table.drop_nulls().group_by("step").agg(mean=mean, sd=sd, n=n).sort("step")
    if not bands.height:
        return bands.with_columns(low=None, high=None)
    quantiles = {count: t_quantile(0.95, count - 1) for count in bands["n"].unique() if count > 1}
    z = pl.col("n").replace_strict(quantiles, default=None, return_dtype=pl.Float64)
    error = pl.col("sd") / pl.col("n").sqrt()
    if not table["value"].drop_nulls().is_between(0, 1).all():
        return bands.with_columns(low=pl.col("mean") - z * error, high=pl.col("mean") + z * error)
    inside = pl.col("mean") * (1 - pl.col("mean"))
    # The effective number of trials; at 0 and 1 it is the number of runs.
    effective = pl.when(inside > 0).then(inside / error**2).otherwise(pl.col("n"))
    shrink = 1 + z**2 / effective
    centre = (pl.col("mean") + z**2 / (2 * effective)) / shrink
    half = z / shrink * (inside / effective + z**2 / (4 * effective**2)).sqrt()
    low = pl.when(pl.col("mean") == 0).then(0.0).otherwise(centre - half)
    high = pl.when(pl.col("mean") == 1).then(1.0).otherwise(centre + half)
    return bands.with_columns(low=pl.when(z.is_not_null()).then(low), high=pl.when(z.is_not_null()).then(high))


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


def _rounded_text(x: float, width: float) -> str:
    if not (math.isfinite(width) and width > 0 and math.isfinite(x)):
        return f"{x:.3g}"
    decimals = min(6, max(0, 1 - math.floor(math.log10(width))))
    return f"{x:.{decimals}f}"
