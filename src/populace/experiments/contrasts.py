"""Comparisons between arms, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from populace.base.errors import UnknownNameError, UsageError
from populace.experiments.tables import sample_description
from populace.statistics import adjust, difference, mean, replicates_for_effect, replicates_for_width


def arm_means(runs: pl.DataFrame, outcome: str, arms: Sequence[str], level: float) -> pl.DataFrame:
    """Mean, interval and spread of an outcome in every arm."""
    rows = []
    for arm in arms:
        mine = runs.filter(pl.col("arm") == arm)
        values = mine[outcome].drop_nulls()
        row: dict[str, Any] = {"arm": arm, "mean": values.mean(), "low": None, "high": None, "sd": values.std()}
        if values.len() > 1:
            estimate = mean(values, level)
            row |= {"low": estimate.low, "high": estimate.high}
        rows.append(row | {"n": values.len()} | sample_description(mine))
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(("mean", "low", "high", "sd"), pl.Float64))


def arm_effects(
    runs: pl.DataFrame,
    outcome: str,
    arms: Sequence[str],
    baseline: str,
    paired: bool,
    correction: str,
    method: str,
    level: float,
) -> pl.DataFrame:
    """The difference of every other arm from the baseline."""
    wide = _wide(runs, outcome, "arm")
    pairs = [(arm, baseline) for arm in arms if arm != baseline]
    if not pairs:
        raise UsageError("there is only one arm, so there is nothing to compare it with.")
    differences = _differences(wide, pairs, "arm", paired, method, level)
    descriptions = [sample_description(runs.filter(pl.col("arm").is_in(pair))) for pair in pairs]
    return _adjusted_table(differences, descriptions, correction)


def level_effects(
    runs: pl.DataFrame,
    outcome: str,
    factor: str,
    baseline: Any,
    paired: bool,
    correction: str,
    method: str,
    level: float,
) -> pl.DataFrame:
    """The difference of every level of a factor from the baseline level, averaged over arms within a replicate."""
    runs = runs.with_columns(pl.col(factor).cast(pl.String))
    order = runs[factor].unique(maintain_order=True).to_list()
    first = order[0] if baseline is None else _as_level(baseline, order, factor)
    complete = runs.filter(pl.col(outcome).is_not_null().all().over(factor, "replicate"))
    wide = _wide(complete.group_by(factor, "replicate").agg(pl.col(outcome).mean()), outcome, factor)
    pairs = [(each, first) for each in order if each != first]
    differences = _differences(wide, pairs, factor, paired, method, level)
    descriptions = [sample_description(runs.filter(pl.col(factor).is_in(pair))) for pair in pairs]
    return _adjusted_table(differences, descriptions, correction)


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
    for arm in arms:
        if arm == baseline:
            continue
        one, two = (wide[name] if name in wide else pl.Series(name, [], dtype=pl.Float64) for name in (arm, baseline))
        gaps = (one - two).drop_nulls() if paired else one.drop_nulls()
        spread = gaps.std() if paired else ((one.var() + two.var()) / 2) ** 0.5  # type: ignore[operator]
        observed_effect = float((one.mean() or 0.0) - (two.mean() or 0.0))  # type: ignore[operator, arg-type]
        size = observed_effect if effect is None else effect
        needed = None
        if isinstance(spread, float) and spread > 0 and (width is not None or size):
            needed = (
                replicates_for_width(spread, width, paired=paired)
                if width is not None
                else replicates_for_effect(spread, abs(size), power, paired=paired)
            )
        row = {
            "arm": arm,
            "baseline": baseline,
            "seen": observed_effect,
            "sd": spread,
            "n": gaps.len(),
            "needed": needed,
        }
        rows.append(row | sample_description(runs.filter(pl.col("arm").is_in([arm, baseline]))))
    return pl.DataFrame(rows, schema_overrides={"sd": pl.Float64, "needed": pl.Int64})


def _wide(runs: pl.DataFrame, outcome: str, by: str) -> pl.DataFrame:
    """A row for each replicate and a column for each arm or level."""
    return runs.pivot(on=by, index="replicate", values=outcome).sort("replicate")


def _differences(
    wide: pl.DataFrame, pairs: Sequence[tuple[str, str]], by: str, paired: bool, method: str, level: float
) -> list[dict[str, Any]]:
    rows = []
    for one, two in pairs:
        missing = next((name for name in (one, two) if name not in wide.columns), None)
        if missing is not None:
            raise UsageError(f"{by} {missing!r} has no run yet.")
        effect = difference(wide[one], wide[two], paired=paired, method=method, level=level)
        estimate = effect.estimate
        rows.append(
            {
                by: one,
                "baseline": two,
                "mean": effect.mean_a,
                "baseline_mean": effect.mean_b,
                "effect": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "p": effect.p,
                "standardised": effect.standardised,
                "n": effect.n,
                "paired": paired,
                "method": estimate.method,
            }
        )
    return rows


def _adjusted_table(rows: list[dict[str, Any]], descriptions: list[dict[str, Any]], correction: str) -> pl.DataFrame:
    table = pl.DataFrame([row | description for row, description in zip(rows, descriptions, strict=True)])
    adjusted = pl.Series("p_adjusted", adjust([row["p"] for row in rows], correction))
    return table.insert_column(table.get_column_index("p") + 1, adjusted)


def _as_level(baseline: Any, known: Sequence[str], factor: str) -> str:
    text = str(baseline).lower() if isinstance(baseline, bool) else str(baseline)
    if text not in known:
        raise UnknownNameError(f"level of {factor}", text, known)
    return text
