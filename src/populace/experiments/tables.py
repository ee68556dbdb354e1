"""Tables of runs, arms and comparisons between them."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from populace.base.errors import UsageError
from populace.experiments.arms import Arm
from populace.experiments.folder import RunRow
from populace.experiments.plan import ExperimentPlan
from populace.statistics import adjust, difference, mean, mean_share, replicates_for_effect, replicates_for_width

_RUN_COLUMNS: dict[str, Any] = dict.fromkeys(("steps", "decisions", "calls", "reused", "tokens"), pl.Int64)
_RUN_COLUMNS["cost"] = pl.Float64
_EFFECT_COLUMNS = ("mean", "baseline_mean", "effect", "low", "high", "p", "p_adjusted", "standardised", "n", "paired")


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


def arm_means(runs: pl.DataFrame, outcome: str, arms: Sequence[str], level: float, share: bool) -> pl.DataFrame:
    """Mean, interval and spread of an outcome in every arm; the interval of a share lies between 0 and 1."""
    rows = []
    by_arm = runs.partition_by("arm", as_dict=True)
    for arm in arms:
        mine = by_arm.get((arm,), runs.clear())
        values = mine[outcome].drop_nulls()
        row: dict[str, Any] = {"arm": arm, "mean": values.mean(), "low": None, "high": None, "sd": values.std()}
        method = None
        if values.len() > 1:
            estimate = (mean_share if share else mean)(values, level)
            row, method = row | {"low": estimate.low, "high": estimate.high}, estimate.method
        rows.append(row | {"n": values.len(), "method": method} | sample_description(mine))
    schema: Any = dict.fromkeys(("mean", "low", "high", "sd"), pl.Float64) | {"method": pl.String}
    return _finite(pl.DataFrame(rows, schema_overrides=schema))


def effects_table(
    runs: pl.DataFrame,
    outcome: str,
    by: str,
    order: Sequence[str],
    baseline: str,
    *,
    paired: bool,
    correction: str,
    method: str,
    level: float,
) -> pl.DataFrame:
    """The difference of every other arm or level from the baseline.

    Args:
        runs: A row for each run.
        outcome: The column of the outcome.
        by: `arm`, or a factor, whose levels are averaged over their arms within each replicate.
        order: The arms or levels.
        baseline: The arm or level to compare with.
        paired: Whether to compare replicate by replicate.
        correction: For the number of comparisons.
        method: `t` or `bootstrap`.
        level: The confidence level.
    """
    others = [each for each in order if each != baseline]
    if not others:
        raise UsageError("there is only one arm, so there is nothing to compare it with.")
    values = runs
    if by != "arm":
        complete = runs.filter(pl.col(outcome).is_not_null().all().over(by, "replicate"))
        values = complete.group_by(by, "replicate").agg(pl.col(outcome).mean())
    wide = _wide(values, outcome, by)
    missing = next((name for name in (baseline, *others) if name not in wide.columns), None)
    if missing is not None:
        raise UsageError(f"{by} {missing!r} has no run yet.")
    compare = partial(difference, paired=paired, method=method, level=level)
    effects = pl.concat([compare(wide[each], wide[baseline]).table() for each in others])
    effects = effects.rename({"mean_a": "mean", "mean_b": "baseline_mean", "difference": "effect"})
    effects = effects.with_columns(p_adjusted=pl.Series(adjust(effects["p"], correction)))
    samples = [sample_description(runs.filter(pl.col(by).is_in([each, baseline]))) for each in others]
    names = pl.DataFrame({by: others, "baseline": baseline})
    columns = _finite(effects.select(*_EFFECT_COLUMNS, "method"))
    return pl.concat([names, columns, pl.DataFrame(samples)], how="horizontal")


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
    wide = _wide(runs, outcome, "arm")
    rows = []
    for arm in (each for each in arms if each != baseline):
        one, two = (wide[name] if name in wide else pl.Series(name, [], dtype=pl.Float64) for name in (arm, baseline))
        gaps = (one - two).drop_nulls() if paired else one.drop_nulls()
        spread = gaps.std() if paired else ((one.var() + two.var()) / 2) ** 0.5  # type: ignore[operator]
        observed = float((one.mean() or 0.0) - (two.mean() or 0.0))  # type: ignore[operator, arg-type]
        size = abs(observed if effect is None else effect)
        needed = None
        if isinstance(spread, float) and spread > 0 and width is not None:
            needed = replicates_for_width(spread, width, paired=paired)
        elif isinstance(spread, float) and spread > 0 and size:
            needed = replicates_for_effect(spread, size, power, paired=paired)
        row = {"arm": arm, "baseline": baseline, "seen": observed, "sd": spread, "n": gaps.len(), "needed": needed}
        rows.append(row | sample_description(runs.filter(pl.col("arm").is_in([arm, baseline]))))
    return pl.DataFrame(rows, schema_overrides={"sd": pl.Float64, "needed": pl.Int64})


def _finite(table: pl.DataFrame) -> pl.DataFrame:
    """A table with nothing in the place of figures that do not exist, such as the p of an effect without variation."""
    floats = [name for name, dtype in table.schema.items() if dtype.is_float()]
    return table.with_columns(pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in floats)


def _wide(runs: pl.DataFrame, outcome: str, by: str) -> pl.DataFrame:
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
