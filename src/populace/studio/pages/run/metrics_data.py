"""The metrics of a run at a step."""

from __future__ import annotations

from typing import Any

import polars as pl


def metrics_at(table: pl.DataFrame, step: int) -> pl.DataFrame:
    """The metrics at a step: `metric`, `value`, the value `before`, and the `change` of numbers since then."""
    now = table.filter(pl.col("step") == step).to_dicts() if table.width else []
    then = table.filter(pl.col("step") == step - 1).to_dicts() if table.width else []
    rows = []
    for name, value in now[0].items() if now else ():
        before = then[0].get(name) if then else None
        numbers = isinstance(value, float | int) and isinstance(before, float | int)
        if name != "step":
            rows.append((name, metric_text(value), metric_text(before), value - before if numbers else None))
    schema = {"metric": pl.String, "value": pl.String, "before": pl.String, "change": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def metric_text(value: Any) -> str:
    """A value as it is displayed.

    Example:
        >>> metric_text(0.123456), metric_text(1500.0), metric_text(None)
        ('0.1235', '1,500', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:,.4g}"
    return str(value)
