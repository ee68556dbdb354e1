"""Intervals as a chart: a row for each, a diamond for the estimate, a bar for its interval, dots for single runs."""

from collections.abc import Mapping
from typing import Any

import polars as pl

_COLOUR, _DOT_COLOUR = "#0072B2", "#999999"
# Lines that are visible in light and in dark mode.
_LINE = {"axisLine": {"lineStyle": {"color": "#8a929b"}}}
_GRID = {"splitLine": {"lineStyle": {"color": "#8a929b", "opacity": 0.2}}}


def forest(
    table: pl.DataFrame,
    value: str,
    *,
    labels: Mapping[str, str],
    unit: str = "",
    zero: bool = False,
    dots: pl.DataFrame | None = None,
) -> dict[str, Any]:
    """Options of an ECharts chart.

    Args:
        table: A row for each arm, with columns `arm`, `low` and `high`.
        value: The column of the estimate.
        labels: What stands beside the row of an arm.
        unit: The name of the axis.
        zero: Whether a line marks zero, where there is no effect.
        dots: Single values behind the rows, in columns `arm` and `value`.
    """
    table = table.with_columns(pl.col("arm").replace(labels))
    dots = None if dots is None else dots.with_columns(pl.col("arm").replace(labels))
    # One line through all intervals, broken between them by an empty point.
    bars: list[Any] = []
    for arm, low, high in table.select("arm", "low", "high").drop_nulls().iter_rows():
        bars += [[low, arm], [high, arm], [None, None]]
    line = {"showSymbol": False, "lineStyle": {"width": 4, "color": _COLOUR}, "connectNulls": False}
    diamond = {"symbol": "diamond", "symbolSize": 13, "itemStyle": {"color": _COLOUR}}
    mark = {"silent": True, "symbol": "none", "label": {"show": False}, "data": [{"xAxis": 0}]} if zero else {}
    series = [
        {"type": "line", "name": "95 % interval", "data": bars, **line},
        {"type": "scatter", "name": "estimate", "data": _points(table, value), **diamond, "markLine": mark},
    ]
    if dots is not None:
        dot = {"symbolSize": 6, "symbolOffset": [0, 10], "itemStyle": {"color": _DOT_COLOUR, "opacity": 0.5}}
        series.insert(0, {"type": "scatter", "name": "runs", "data": _points(dots, "value"), **dot})
    axis_label = {"width": 260, "overflow": "truncate"}
    name = {"name": unit, "nameLocation": "middle", "nameGap": 28}
    return {
        "grid": {"left": 8, "right": 24, "top": 16, "bottom": 40, "containLabel": True},
        "tooltip": {"trigger": "item", "renderMode": "richText"},
        "xAxis": {"type": "value", **name, "scale": not zero, **_LINE, **_GRID},
        "yAxis": {
            "type": "category",
            "data": table["arm"].to_list(),
            "inverse": True,
            "axisLabel": axis_label,
            **_LINE,
        },
        "series": series,
    }


def _points(table: pl.DataFrame, value: str) -> list[list[Any]]:
    return [list(point) for point in table.select(value, "arm").drop_nulls().iter_rows()]
