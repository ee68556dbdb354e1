"""Tables of runs, arms and comparisons between them."""

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from populace.experiments.arms import Arm
from populace.experiments.folder import RunRow
from populace.experiments.plan import ExperimentPlan
from populace.statistics import mean, mean_share, proportion, replicates_for_effect, replicates_for_width

_RUN_COLUMNS: dict[str, Any] = dict.fromkeys(("steps", "decisions", "calls", "reused", "tokens"), pl.Int64)
_RUN_COLUMNS["cost"] = pl.Float64


def runs_table(rows: Sequence[RunRow], arms: Sequence[Arm], experiment: ExperimentPlan) -> pl.DataFrame:
    """A row for each run: arm, levels, replicate, seed, status, outcomes, answers by status, calls, tokens, cost.

    The currency is that of the price table when a run ended; it is empty where nothing was paid.
    """
    statuses = sorted({status for row in rows for status in row.get("answers", {})})
    columns = [pl.Series("arm", [arms[row["arm"]].name for row in rows], dtype=pl.String)]
    columns += [_levels(factor, [arms[row["arm"]] for row in rows]) for factor in experiment.factors]
    columns += [pl.Series(name, [row[name] for row in rows], dtype=pl.Int64) for name in ("replicate", "seed")]
    columns += [pl.Series(name, [row[name] for row in rows], dtype=pl.String) for name in ("status", "failure")]
    columns += [_outcome(outcome.name, rows) for outcome in experiment.outcomes]
    for status in statuses:
        counts = [row.get("answers", {}).get(status, 0) for row in rows]
        columns.append(pl.Series(f"answers_{status}", counts, dtype=pl.Int64))
    for name, dtype in _RUN_COLUMNS.items():
        columns.append(pl.Series(name, [row.get(name) for row in rows], dtype=dtype))
    columns.append(pl.Series("currency", [row.get("currency", "") for row in rows], dtype=pl.String))
    columns.append(pl.Series("run", [row.get("run", "") for row in rows], dtype=pl.String))
    return pl.DataFrame(columns)


def arms_table(runs: pl.DataFrame, arms: Sequence[Arm], experiment: ExperimentPlan) -> pl.DataFrame:
    """A row for each arm: its levels, runs, failures and cost."""
    levels = pl.DataFrame(
        [pl.Series("arm", [arm.name for arm in arms]), *(_levels(f, arms) for f in experiment.factors)]
    )
    failed = (pl.col("status") == "failed").sum().alias("failed")
    spent = pl.col("decisions", "calls", "tokens", "cost").sum()
    named = pl.col("currency").filter(pl.col("currency") != "").unique(maintain_order=True).str.join(" and ")
    totals = runs.group_by("arm").agg(pl.len().alias("runs"), failed, spent, named)
    return levels.join(totals, on="arm", how="left", maintain_order="left")


def sample_description(runs: pl.DataFrame) -> dict[str, Any]:
    """Columns of every table about its runs: the share that failed, and the seeds."""
    failed = float((runs["status"] == "failed").sum()) / runs.height if runs.height else 0.0
    return {"failed": failed, "seeds": runs["seed"].unique(maintain_order=True).to_list()}


class MissingValues:
    """What the runs without a value could do to a mean: they count as the smallest or as the largest possible value.

    Args:
        runs: All runs, those that failed among them.
        outcome: The column of the outcome.
        share: Whether it lies between 0 and 1; otherwise its bounds are the smallest and largest value of any run.
    """

    def __init__(self, runs: pl.DataFrame, outcome: str, share: bool) -> None:
        known = runs[outcome].drop_nulls()
        self.outcome = outcome
        least, most = (known.min(), known.max()) if known.len() else (None, None)
        self.ends: tuple[Any, Any] = (0.0, 1.0) if share else (least, most)

    def bounds(self, values: pl.Series) -> tuple[int, float | None, float | None]:
        """How many are missing, and the mean if they were all as small, and all as large, as possible."""
        missing = int(values.null_count())
        if not values.len() or self.ends[0] is None:
            return missing, None, None
        return missing, *(float(values.fill_null(end).mean()) for end in self.ends)  # type: ignore[arg-type, return-value]

    def mean_columns(self, values: pl.Series) -> dict[str, Any]:
        """Columns of a table of means."""
        missing, low, high = self.bounds(values)
        return {"missing": missing, "bound_low": low, "bound_high": high}

    def effect_columns(self, one: pl.Series, two: pl.Series) -> dict[str, Any]:
        """Columns of a table of differences."""
        (missing, low, high), (missing_too, low_too, high_too) = self.bounds(one), self.bounds(two)
        least = None if low is None or high_too is None else low - high_too
        most = None if high is None or low_too is None else high - low_too
        return {"missing": missing + missing_too, "bound_low": least, "bound_high": most}


BOUNDS: dict[str, Any] = {"missing": pl.Int64, "bound_low": pl.Float64, "bound_high": pl.Float64}


def arm_means(runs: pl.DataFrame, outcome: str, arms: Sequence[str], level: float, share: bool) -> pl.DataFrame:
    """Mean, interval and spread of an outcome in every arm; the interval of a share lies between 0 and 1."""
    rows = []
    by_arm = runs.partition_by("arm", as_dict=True)
    lost = MissingValues(runs, outcome, share)
    for arm in arms:
        mine = by_arm.get((arm,), runs.clear())
        values = mine[outcome].drop_nulls()
        row: dict[str, Any] = {"arm": arm, "mean": values.mean(), "low": None, "high": None, "sd": values.std()}
        method, warning = None, ""
        if values.len() > 1:
            estimate = mean_share(values, level) if share else mean(values, level, shares=False)
            row, method = row | {"low": estimate.low, "high": estimate.high}, estimate.method
            warning = estimate.warning
        row |= {"n": values.len(), **lost.mean_columns(mine[outcome]), "method": method, "warning": warning}
        rows.append(row | sample_description(mine))
    schema: Any = dict.fromkeys(("mean", "low", "high", "sd"), pl.Float64) | {"method": pl.String} | BOUNDS
    return finite(pl.DataFrame(rows, schema_overrides=schema))


def probabilities_table(
    runs: pl.DataFrame, outcome: str, arms: Sequence[str], above: float | None, below: float | None, level: float
) -> pl.DataFrame:
    """How often each value of an outcome came about in every arm, or a value within bounds."""
    rows = []
    for arm in arms:
        mine = runs.filter(pl.col("arm") == arm)
        values = mine[outcome].drop_nulls()
        ends = {str(value): values == value for value in values.unique().sort()}
        if above is not None or below is not None:
            inside = values > (above if above is not None else float("-inf"))
            inside &= values < (below if below is not None else float("inf"))
            bounds = {"above": above, "below": below}
            limits = [f"{side} {bound:g}" for side, bound in bounds.items() if bound is not None]
            ends = {" and ".join(limits): inside}
        for end, reached in ends.items():
            count, missing = int(reached.sum()), mine.height - values.len()
            row: dict[str, Any] = {"arm": arm, outcome: end, "probability": None, "low": None, "high": None}
            if values.len():
                share = proportion(count, values.len(), level)
                row |= {"probability": share.value, "low": share.low, "high": share.high}
            row |= {"n": values.len(), "missing": missing}
            if mine.height:
                row |= {"bound_low": count / mine.height, "bound_high": (count + missing) / mine.height}
            rows.append(row | sample_description(mine))
    schema: Any = dict.fromkeys(("probability", "low", "high"), pl.Float64) | BOUNDS
    return pl.DataFrame(rows, schema_overrides=schema)


def precision_table(
    runs: pl.DataFrame,
    outcome: str,
    arms: Sequence[str],
    baseline: str,
    paired: bool,
    effect: float | None,
    width: float | None,
    power: float,
) -> pl.DataFrame:
    """How many replicates each comparison with the baseline needs."""
    wide = wide_table(runs, outcome, "arm")
    rows = []
    for arm in (each for each in arms if each != baseline):
        one, two = (wide[name] if name in wide else pl.Series(name, [], dtype=pl.Float64) for name in (arm, baseline))
        gaps = (one - two).drop_nulls() if paired else one.drop_nulls()
        spread = gaps.std() if paired else _pooled_sd(one, two)
        means = one.mean(), two.mean()
        observed = None if None in means else float(means[0] - means[1])  # type: ignore[operator, arg-type]
        size = abs((observed or 0.0) if effect is None else effect)
        needed = None
        if isinstance(spread, float) and spread > 0 and width is not None:
            needed = replicates_for_width(spread, width, paired=paired)
        elif isinstance(spread, float) and spread > 0 and size:
            needed = replicates_for_effect(spread, size, power, paired=paired)
        row = {"arm": arm, "baseline": baseline, "seen": observed, "sd": spread, "n": gaps.len(), "needed": needed}
        rows.append(row | sample_description(runs.filter(pl.col("arm").is_in([arm, baseline]))))
    return pl.DataFrame(rows, schema_overrides={"seen": pl.Float64, "sd": pl.Float64, "needed": pl.Int64})


def _pooled_sd(one: pl.Series, two: pl.Series) -> float | None:
    """The standard deviation of two arms of equal size; None where one of them has fewer than two values."""
    variances = one.var(), two.var()
    if not all(isinstance(each, float) for each in variances):
        return None
    return float(((variances[0] + variances[1]) / 2) ** 0.5)  # type: ignore[operator]


def finite(table: pl.DataFrame) -> pl.DataFrame:
    """A table with nothing in the place of figures that do not exist, such as the p of an effect without variation."""
    floats = [name for name, dtype in table.schema.items() if dtype.is_float()]
    return table.with_columns(pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in floats)


def wide_table(runs: pl.DataFrame, outcome: str, by: str) -> pl.DataFrame:
    """A row for each replicate and a column for each arm or level."""
    return runs.pivot(on=by, index="replicate", values=outcome).sort("replicate")


def _levels(factor: str, arms: Sequence[Arm]) -> pl.Series:
    levels = [arm.levels[factor] for arm in arms]
    if any(isinstance(level, float) for level in levels) and not any(isinstance(level, str) for level in levels):
        return pl.Series(factor, levels, dtype=pl.Float64, strict=False)
    return pl.Series(factor, levels)


def _outcome(name: str, rows: Sequence[RunRow]) -> pl.Series:
    values = [row.get("outcomes", {}).get(name) for row in rows]
    values = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    if any(isinstance(value, str) for value in values):
        texts = [value if value is None or isinstance(value, str) else f"{value:g}" for value in values]
        return pl.Series(name, texts, dtype=pl.String)
    return pl.Series(name, values, dtype=pl.Float64)
