"""Times of events: runs in which an event had not happened when their steps were over are censored."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.experiments.tables import sample_description
from populace.statistics import adjust, cautions, mean
from populace.statistics.values import library

_MANY = 60
_FEW_TIMES = "times of events are skewed, and {} runs may not show it: the interval may be a little too short"


def restricted_times(runs: pl.DataFrame, outcome: str) -> pl.DataFrame:
    """Runs with the time until the event or until the last step that all runs have, whichever came first.

    Every complete run has this number, so nothing is dropped: its mean is the restricted mean.
    """
    horizon = _horizon(runs, outcome)
    complete = pl.col("status") == "complete"
    times = pl.min_horizontal(pl.col(outcome).cast(pl.Float64), pl.lit(horizon))
    return runs.with_columns(pl.when(complete).then(times.fill_null(horizon)).alias(outcome))


def _horizon(runs: pl.DataFrame, outcome: str) -> float:
    steps = runs.filter(pl.col("status") == "complete")["steps"].drop_nulls()
    if not steps.len():
        raise UsageError(f"no run ended, so that the times of {outcome} are not known.")
    return float(steps.min())  # type: ignore[arg-type]


def survival_table(
    runs: pl.DataFrame, outcome: str, arms: Sequence[str], baseline: str, correction: str, level: float
) -> pl.DataFrame:
    """Events, median, restricted mean and log-rank test of every arm, and where they may be worse than they say."""
    duration = library("statsmodels.duration.survfunc")
    horizon, restricted = _horizon(runs, outcome), restricted_times(runs, outcome)
    times = {arm: _times(runs.filter(pl.col("arm") == arm), outcome) for arm in arms}
    rows: list[dict[str, Any]] = []
    for arm in arms:
        time, event = times[arm]
        mine = runs.filter(pl.col("arm") == arm)
        row: dict[str, Any] = {"arm": arm, "n": len(time), "events": int(event.sum())}
        row |= {"censored": len(time) - int(event.sum()), "failed_runs": int((mine["status"] == "failed").sum())}
        row |= dict.fromkeys(("median", "median_low", "median_high", "restricted_mean", "low", "high", "p", "warning"))
        if event.any():
            curve = duration.SurvfuncRight(time, event)
            row["median"] = _finite(curve.quantile(0.5))
            with np.errstate(divide="ignore", invalid="ignore"):  # Where all runs had the event, nothing is left.
                ends = curve.quantile_ci(0.5, alpha=1 - level)
            row |= {"median_low": _finite(ends[0]), "median_high": _finite(ends[1])}
        values = restricted.filter(pl.col("arm") == arm)[outcome].drop_nulls()
        if values.len() > 1:
            estimate = mean(values, level, shares=False)
            row |= {"restricted_mean": estimate.value, "low": _finite(estimate.low), "high": _finite(estimate.high)}
            row["warning"] = estimate.warning or (_FEW_TIMES.format(len(values)) if len(values) < _MANY else "")
        row["without_event"] = float((~event | (time > horizon)).mean()) if len(time) else None
        row["horizon"] = horizon
        other, other_event = times[baseline]
        if arm != baseline and len(time) and len(other) and (event.any() or other_event.any()):
            row["p"] = _log_rank(duration, (other, other_event), (time, event))
            fewest = min(len(time), len(other))
            if fewest < _MANY:
                few = f"from {fewest} runs of an arm the log-rank test may find a little too much"
                row["warning"] = cautions.join_sentences(row["warning"] or "", few)
        rows.append(row | sample_description(mine))
    floats = "median median_low median_high restricted_mean low high p without_event".split()
    types = dict.fromkeys(floats, pl.Float64) | {"warning": pl.String}
    table = pl.DataFrame(rows, schema_overrides=types).with_columns(pl.col("warning").fill_null(""))
    adjusted = pl.Series("p_adjusted", adjust(table["p"], correction), dtype=pl.Float64).fill_nan(None)
    return table.insert_column(table.columns.index("p") + 1, adjusted)


def _log_rank(duration: Any, one: tuple[Any, Any], two: tuple[Any, Any]) -> float | None:
    """The p of the log-rank test; 1 where all events come at one time, None where no time has runs of both arms."""
    (time, event), (other, other_event) = one, two
    first, second = (np.sort(each[0][each[1]]) for each in (one, two))
    if event.all() and other_event.all() and len({*first, *second}) == 1:
        return 1.0
    group = np.repeat([0, 1], [len(time), len(other)])
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            p = duration.survdiff(np.concatenate([time, other]), np.concatenate([event, other_event]), group)[1]
    except np.linalg.LinAlgError:  # Nothing varies at any time of an event.
        return None
    return _finite(p)


def _times(runs: pl.DataFrame, outcome: str) -> tuple[Any, Any]:
    """For each complete run, the time of the event or its last step, and whether the event happened."""
    complete = runs.filter(pl.col("status") == "complete")
    event = complete[outcome].is_not_null().to_numpy()
    time = complete.select(pl.coalesce(pl.col(outcome).cast(pl.Float64), pl.col("steps"))).to_series().to_numpy()
    return time.astype(np.float64), event


def _finite(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None
