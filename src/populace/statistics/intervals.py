"""Estimates: a value with its confidence interval and its n."""

import math
import statistics
import sys
from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.base.errors import UsageError
from populace.base.foreign import for_html
from populace.statistics import cautions
from populace.statistics.proportions import mid_p
from populace.statistics.values import Values, check_count, check_level, constant, library, numbers


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
        warning: Where the interval may be worse than it says: why; otherwise empty.

    Where nothing can be said about the precision the ends are NaN.

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
    warning: str = ""

    @property
    def width(self) -> float:
        """The width of the interval; infinite where it has no ends."""
        return math.inf if math.isnan(self.low) or math.isnan(self.high) else self.high - self.low

    def contains(self, x: float) -> bool:
        """Whether a value lies in the interval."""
        return self.low <= x <= self.high

    def table(self) -> pl.DataFrame:
        """The estimate as a table of one row."""
        return estimates_table([self])

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"not defined, n = {self.n}"
        missing = f" ({self.dropped} missing)" if self.dropped else ""
        if math.isinf(self.width):
            return f"{self.value:.3g} (no interval), n = {self.n}{missing}"
        ends = ", ".join(_rounded_text(end, self.width) for end in (self.low, self.high))
        return f"{_rounded_text(self.value, self.width)} [{ends}], n = {self.n}{missing}"

    def _repr_html_(self) -> str:
        method = for_html(self.method or "as given")
        return f"<p><b>{for_html(self)}</b> <small>{round(self.level * 100)} % interval, {method}</small></p>"


def estimates_table(estimates: list[Estimate], **leading: list[Any]) -> pl.DataFrame:
    """Estimates as rows, behind the leading columns."""
    columns: dict[str, list[Any]] = dict(leading)
    for name in ("value", "low", "high", "n", "level", "method", "dropped", "warning"):
        columns[name] = [getattr(estimate, name) for estimate in estimates]
    return pl.DataFrame(columns, schema_overrides=dict.fromkeys(("value", "low", "high", "level"), pl.Float64))


def proportion(successes: int, n: int, level: float = 0.95) -> Estimate:
    """A share with the exact mid-P interval, which stays sound near 0 and 1 and for small n.

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
    low, high = mid_p(share, n, level)
    return Estimate(share, low, high, n, level, "mid-P")


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


def mean(values: Values, level: float = 0.95, *, shares: bool = True) -> Estimate:
    """A mean with the interval of Student's t; where all values are 0 or 1, a share with the mid-P interval.

    Assumes independent values whose mean is about normal: any shape will do from some thirty values on, fewer
    values should not be far from symmetric. Where all values are equal, and not 0 or 1, their precision is not
    known and the interval has no ends.

    Args:
        values: Two or more numbers; missing ones are dropped and counted.
        level: The confidence level.
        shares: Whether values that are all 0 or 1 are shares; False for counts and amounts that happen to be 0 in
            every run, and for changes, which may be -1 as well.

    Example:
        >>> print(mean([1.0, 2.0, 3.0, None]))
        2.0 [-0.5, 4.5], n = 3 (1 missing)
        >>> print(mean([7.0, 7.0, 7.0]))
        7 (no interval), n = 3
    """
    present, dropped = numbers(values)
    n = len(present)
    check_count(n, 2, "the mean", "a t interval")
    value = float(present.mean())
    if shares and cautions.binary(present):
        low, high = mid_p(value, n, check_level(level))
        return Estimate(value, low, high, n, level, "mid-P", dropped)
    if constant(present):
        return Estimate(value, math.nan, math.nan, n, check_level(level), "no variation", dropped, _SAME)
    half = t_quantile(level, n - 1) * float(present.std(ddof=1)) / math.sqrt(n)
    warning = cautions.join_sentences(cautions.few(n) or cautions.skewed(present))
    return Estimate(value, value - half, value + half, n, level, "t", dropped, warning)


_SAME = "all values are the same, which says nothing about how far others would differ"


def mean_share(values: Values, level: float = 0.95) -> Estimate:
    """A mean of shares with an interval that stays between 0 and 1.

    For values that are 0 or 1 it is the mid-P interval. For others it is Wilson's with the effective number of
    trials: as many as would give a share of this size the standard error of these values; far from 0 and 1 it is
    nearly that of Student's t. Where all values are equal it is the mid-P interval of n trials, the widest that n
    shares of this mean can have. Assumes independent values.

    Args:
        values: Two or more numbers from 0 to 1; missing ones are dropped and counted.
        level: The confidence level.

    Example:
        >>> print(mean_share([0.0, 0.0, 0.1, 0.05, 0.0]))
        0.03 [0.01, 0.14], n = 5
    """
    present, dropped = numbers(values)
    check_count(len(present), 2, "the mean", "an interval")
    if not cautions.share_like(present):
        raise UsageError("a share lies between 0 and 1, and one of these values does not.", "Use `mean`.")
    n, value = len(present), float(present.mean())
    variance = float(present.var(ddof=1))
    if cautions.binary(present) or constant(present) or variance == 0:
        low, high = mid_p(value, n, check_level(level))
        return Estimate(value, low, high, n, level, "mid-P", dropped, "" if cautions.binary(present) else _SAME)
    effective = value * (1 - value) * n / variance
    low, high = wilson(value, effective, z=t_quantile(level, n - 1))
    warning = cautions.join_sentences(cautions.few(n) or cautions.skewed(present), cautions.one_sided(present))
    return Estimate(value, low, high, n, level, "Wilson", dropped, warning)


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
        known = pl.when(pl.col("sd") > 0).then(z * error)  # equal values say nothing about their precision
        return bands.with_columns(low=pl.col("mean") - known, high=pl.col("mean") + known)
    inside = pl.col("mean") * (1 - pl.col("mean"))
    # The effective number of trials; where all runs are equal it is the number of runs.
    effective = pl.when((inside > 0) & (error > 0)).then(inside / error**2).otherwise(pl.col("n"))
    shrink = 1 + z**2 / effective
    centre = (pl.col("mean") + z**2 / (2 * effective)) / shrink
    half = z / shrink * (inside / effective + z**2 / (4 * effective**2)).sqrt()
    low = pl.when(pl.col("mean") == 0).then(0.0).otherwise(centre - half)
    high = pl.when(pl.col("mean") == 1).then(1.0).otherwise(centre + half)
    return bands.with_columns(low=pl.when(z.is_not_null()).then(low), high=pl.when(z.is_not_null()).then(high))


def _rounded_text(x: float, width: float) -> str:
    if not (math.isfinite(width) and width > 0 and math.isfinite(x)):
        return f"{x:.3g}"
    decimals = min(6, max(0, 1 - math.floor(math.log10(width))))
    return f"{x:.{decimals}f}"
