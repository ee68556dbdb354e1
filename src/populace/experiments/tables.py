"""Tables of runs and arms, from the rows of an experiment folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from populace.experiments.arms import Arm
from populace.experiments.folder import RunRow
from populace.experiments.plan import ExperimentPlan


def runs_table(rows: Sequence[RunRow], arms: Sequence[Arm], experiment: ExperimentPlan) -> pl.DataFrame:
    """A row for each run: arm, levels, replicate, seed, status, outcomes, answers by status, calls, tokens, cost."""
    statuses = sorted({status for row in rows for status in row.get("answers", {})})
    columns = [pl.Series("arm", [arms[row["arm"]].name for row in rows], dtype=pl.String)]
    columns += [_levels(factor, [arms[row["arm"]] for row in rows]) for factor in experiment.factors]
    columns += [pl.Series(name, [row[name] for row in rows], dtype=pl.Int64) for name in ("replicate", "seed")]
    columns += [pl.Series(name, [row[name] for row in rows], dtype=pl.String) for name in ("status", "failure")]
    columns += [_outcome(outcome.name, rows) for outcome in experiment.outcomes]
    for status in statuses:
        counts = [row.get("answers", {}).get(status, 0) for row in rows]
        columns.append(pl.Series(f"answers_{status}", counts, dtype=pl.Int64))
    for name in ("steps", "decisions", "calls", "reused", "tokens"):
        columns.append(pl.Series(name, [row.get(name) for row in rows], dtype=pl.Int64))
    columns.append(pl.Series("cost", [row.get("cost") for row in rows], dtype=pl.Float64))
    columns.append(pl.Series("run", [row.get("run", "") for row in rows], dtype=pl.String))
    return pl.DataFrame(columns)


def arms_table(runs: pl.DataFrame, arms: Sequence[Arm], experiment: ExperimentPlan) -> pl.DataFrame:
    """A row for each arm: its levels, runs, failures and cost."""
    levels = pl.DataFrame(
        [pl.Series("arm", [arm.name for arm in arms]), *(_levels(f, arms) for f in experiment.factors)]
    )
    totals = runs.group_by("arm").agg(
        runs=pl.len(),
        failed=(pl.col("status") == "failed").sum(),
        decisions=pl.col("decisions").sum(),
        calls=pl.col("calls").sum(),
        tokens=pl.col("tokens").sum(),
        cost=pl.col("cost").sum(),
    )
    return levels.join(totals, on="arm", how="left", maintain_order="left")


def sample_description(runs: pl.DataFrame) -> dict[str, Any]:
    """Columns of every table about its runs: the share that failed, and the seeds."""
    failed = float((runs["status"] == "failed").sum()) / runs.height if runs.height else 0.0
    return {"failed": failed, "seeds": runs["seed"].unique(maintain_order=True).to_list()}


def _levels(factor: str, arms: Sequence[Arm]) -> pl.Series:
    levels = [arm.levels[factor] for arm in arms]
    if any(isinstance(level, float) for level in levels) and not any(isinstance(level, str) for level in levels):
        return pl.Series(factor, levels, dtype=pl.Float64, strict=False)
    return pl.Series(factor, levels)


def _outcome(name: str, rows: Sequence[RunRow]) -> pl.Series:
    values = [row.get("outcomes", {}).get(name) for row in rows]
    text = any(isinstance(value, str) for value in values)
    return pl.Series(name, values, dtype=pl.String if text else pl.Float64)
