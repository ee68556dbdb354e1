"""Intervals as a chart: a row for each, a diamond for the estimate, a bar for its interval, dots for single runs."""

from __future__ import annotations

from typing import Any

import polars as pl

_AXIS: dict[str, Any] = {
    "axisLine": {"lineStyle": {"color": "#8a929b"}},
    "splitLine": {"lineStyle": {"color": "#8a929b", "opacity": 0.2}},
}
"""Lines that are seen on light and on dark ground."""


def forest(
    table: pl.DataFrame,
    label: str,
    value: str,
    *,
    unit: str = "",
    zero: bool = False,
    dots: pl.DataFrame | None = None,
    colours: tuple[str, ...] = ("#0072B2", "#999999"),
) -> dict[str, Any]:
    """Options of an ECharts chart.

    Args:
        table: A row for each interval, with columns `low` and `high`.
        label: The column that names a row.
        value: The column of the estimate.
        unit: What is on the axis.
        zero: Whether a line marks zero, where there is no effect.
        dots: Single values behind the rows, with columns of the names of `label` and `value`.
        colours: Of intervals, and of dots.
    """
    names = table[label].to_list()
    ends = table.select(label, "low", "high").drop_nulls()
    # One line through all intervals, broken between them by an empty point.
    bars: list[Any] = []
    for name, low, high in ends.iter_rows():
        bars += [[low, name], [high, name], [None, None]]
    series: list[dict[str, Any]] = []
    if dots is not None:
        points = dots.select("value", "arm").rows()
        series.append(
            {
                "type": "scatter",
                "name": "runs",
                "data": [list(point) for point in points],
                "symbolSize": 6,
                "symbolOffset": [0, 10],
                "itemStyle": {"color": colours[1], "opacity": 0.5},
            }
        )
    series.append(
        {
            "type": "line",
            "name": "95 % interval",
            "data": bars,
            "showSymbol": False,
            "lineStyle": {"width": 4, "color": colours[0]},
            "connectNulls": False,
        }
    )
    estimates = table.select(value, label).drop_nulls().rows()
    mark = {"silent": True, "symbol": "none", "label": {"show": False}, "data": [{"xAxis": 0}]} if zero else {}
    series.append(
        {
            "type": "scatter",
            "name": "estimate",
            "data": [list(point) for point in estimates],
            "symbol": "diamond",
            "symbolSize": 13,
            "itemStyle": {"color": colours[0]},
            "markLine": mark,
        }
    )
    return {
        "grid": {"left": 8, "right": 24, "top": 16, "bottom": 40, "containLabel": True},
        "tooltip": {"trigger": "item", "renderMode": "richText"},
        "xAxis": {"type": "value", "name": unit, "nameLocation": "middle", "nameGap": 28, "scale": not zero, **_AXIS},
        "yAxis": {
            "type": "category",
            "data": names,
            "inverse": True,
            "axisLabel": {"width": 180, "overflow": "truncate"},
            "axisLine": _AXIS["axisLine"],
        },
        "series": series,
    }
