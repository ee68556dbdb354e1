"""The mean of a metric over several runs, step by step, with its interval."""

from __future__ import annotations

import numpy as np
import polars as pl

from populace.statistics.intervals import t_quantile


def mean_band(paths: list[list[list[float | None]]]) -> pl.DataFrame:
    """Step, mean and interval over several runs of an arm; no interval where fewer than two have a value."""
    steps = [step for path in paths for step in path[0]]
    values = [value for path in paths for value in path[1]]
    schema = {"step": pl.Int64, "value": pl.Float64}
    table = pl.DataFrame({"step": steps, "value": values}, schema=schema, strict=False)
    mean, sd, n = pl.col("value").mean(), pl.col("value").std(), pl.col("value").count()
    bands = table.drop_nulls().group_by("step").agg(mean=mean, sd=sd, n=n).sort("step")
    if not bands.height:
        return bands.with_columns(low=None, high=None)
    factors = {count: t_quantile(0.95, count - 1) / float(np.sqrt(count)) for count in bands["n"].unique() if count > 1}
    half = pl.col("sd") * pl.col("n").replace_strict(factors, default=None, return_dtype=pl.Float64)
    return bands.with_columns(low=pl.col("mean") - half, high=pl.col("mean") + half)
