"""Long runs hour by hour of simulated time."""

from datetime import datetime, timedelta

import polars as pl

from populace.runs.reader import RunReader

MANY_STEPS = 40
"""A run with more steps than this is shown hour by hour, where its steps are shorter than an hour."""


def hourly(run: RunReader, metrics: pl.DataFrame) -> pl.DataFrame:
    """The metrics at the end of each simulated hour, with the time, where a run has many steps within an hour.

    Args:
        run: The run.
        metrics: Its metrics, a row for each step; returned as they are for any other run.
    """
    if metrics.height <= MANY_STEPS or "time" in metrics.columns:
        return metrics
    steps = metrics["step"].to_list()
    times = [datetime.fromisoformat(run.record.facts(step)["now"]) for step in steps]
    if times[-1] - times[0] >= timedelta(hours=1) * (len(times) - 1):
        return metrics
    begin = times[0].replace(hour=0, minute=0, second=0, microsecond=0)
    hour = pl.Series([int((time - begin).total_seconds()) // 3600 for time in times])
    last_of_hour = (hour != hour.shift(-1)).fill_null(True)
    labels = [f"day {(time - begin).days + 1}, {time:%H:%M}" for time in times]
    return (
        metrics.with_columns(pl.Series("time", labels))
        .filter(last_of_hour)
        .select("step", "time", *metrics.columns[1:])
    )
