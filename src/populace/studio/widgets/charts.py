"""Charts that can be saved: as SVG, as PNG, and their data as CSV."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

import polars as pl
from nicegui import ui

from populace.base.foreign_columns import csv_table
from populace.runs.charts import PALETTE
from populace.studio.shell.frame import test_id
from populace.studio.shell.text import display_text

COLOURS = tuple(colour for colour in PALETTE if colour != "#000000")
_AXIS: dict[str, Any] = {
    "axisLine": {"lineStyle": {"color": "#8a929b"}},
    "splitLine": {"lineStyle": {"color": "#8a929b", "opacity": 0.2}},
    "nameTextStyle": {"color": "#444"},
    "axisLabel": {"color": "#444", "hideOverlap": True},
}


class LineSettings(TypedDict, total=False):
    """What a chart of lines may have.

    Attributes:
        bands: For a column, the columns that hold its lower and upper bound.
        unit: The unit of the vertical axis.
        mark: The place of a vertical line on the horizontal axis.
        end: Where the horizontal axis ends at least; at the last point by default.
    """

    bands: Mapping[str, tuple[str, str]] | None
    unit: str
    mark: float | None
    end: float | None


class Chart:
    """A chart with a heading and a menu to save it.

    Args:
        title: The heading.
        options: Options of ECharts; tooltips are drawn as text, never as markup.
        table: The data behind it.
        name: The name of saved files; made from the title by default.
    """

    def __init__(self, title: str, options: dict[str, Any], table: pl.DataFrame, name: str = "") -> None:
        self.table = table
        self.name = name or re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-").lower() or "chart"
        with ui.column().classes("w-full gap-0 min-w-0") as self.element:
            with ui.row().classes("w-full items-center justify-between no-wrap"):
                self.heading = ui.label(display_text(title, 200)).classes("panel-title")
                self.heading.props("role=heading aria-level=3")
                button = ui.button().props('flat round dense size=sm icon=download aria-label="Save this chart"')
                with test_id(button, f"save-{self.name}"), ui.menu():
                    ui.menu_item("PNG picture", lambda: self._save("png"))
                    ui.menu_item("SVG picture", lambda: self._save("svg"))
                    ui.menu_item("CSV data", self.save_data)
            self.chart = ui.echart(_with_defaults(options), renderer="svg").classes("chart")
            self.chart.props(f'role=img aria-label="{_attribute_text(title)}"')

    def show(self, options: dict[str, Any], table: pl.DataFrame) -> None:
        """Show other data in the same place."""
        self.table = table
        full = _with_defaults(options)
        if full != self.chart.options:
            self.chart.options.clear()
            self.chart.options.update(full)
            self.chart.update()

    def _save(self, kind: str) -> None:
        ui.run_javascript(f"populaceSave({self.chart.id}, {json.dumps(kind)}, {json.dumps(self.name)})")

    def save_data(self) -> None:
        """Have the browser save the data as CSV."""
        ui.download.content(csv_table(self.table).write_csv(), f"{self.name}.csv", "text/csv")


def line_chart(
    title: str, table: pl.DataFrame, x: str, ys: Sequence[str], *, name: str = "", **more: Unpack[LineSettings]
) -> Chart:
    """A line for each column of `ys` over the column `x`, with a band where there are bounds."""
    return Chart(title, line_options(table, x, ys, **more), table, name)


def line_options(table: pl.DataFrame, x: str, ys: Sequence[str], **more: Unpack[LineSettings]) -> dict[str, Any]:
    """The options of `line_chart`, to show other data in the same chart."""
    bands, unit, mark = more.get("bands"), more.get("unit", ""), more.get("mark")
    series: list[dict[str, Any]] = []
    xs = table[x].to_list() if table.height else []
    for index, y in enumerate(ys):
        colour = COLOURS[index % len(COLOURS)]
        if bands and y in bands:
            series += _band(table, xs, *bands[y], colour, y)
        values = table[y].to_list() if table.height else []
        few = table.height <= 60
        points = list(map(list, zip(xs, values, strict=True)))
        line: dict[str, Any] = {"type": "line", "name": display_text(y, 60), "data": points}
        line |= {"showSymbol": few, "symbolSize": 5, "connectNulls": False, "animation": False}
        line |= {"lineStyle": {"color": colour, "width": 2}, "itemStyle": {"color": colour}}
        series.append(line)
    if mark is not None and series:
        series[-1]["markLine"] = mark_line(mark)
    share = table.height > 0 and all(_is_share(table[y]) for y in ys)
    top = 14 + 20 * (len(ys) > 1) + 14 * bool(unit)
    end = more.get("end")
    last = "dataMax" if end is None else max(end, *(each for each in xs if each is not None)) if xs else end
    return {
        "grid": {"left": 8, "right": 18, "top": top, "bottom": 8, "containLabel": True},
        "xAxis": {"type": "value", "name": "", "min": "dataMin", "max": last, "minInterval": 1, **_AXIS},
        "yAxis": {"type": "value", "name": unit, "scale": True, **({"min": 0, "max": 1} if share else {}), **_AXIS},
        "legend": {"show": len(ys) > 1, "top": 0, "type": "scroll", "data": [display_text(y, 60) for y in ys]},
        "tooltip": {"trigger": "axis"},
        "series": series,
    }


def mark_line(at: float) -> dict[str, Any]:
    """A dashed vertical line in a series."""
    look = {"symbol": "none", "label": {"show": False}, "lineStyle": {"color": "#8a929b", "type": "dashed"}}
    return {"silent": True, "animation": False, "data": [{"xAxis": at}], **look}


def bar_chart(title: str, table: pl.DataFrame, x: str, ys: Sequence[str], *, unit: str = "", name: str = "") -> Chart:
    """A group of bars for each row: `x` names the groups, and each column of `ys` is one bar of a group."""
    return Chart(title, bar_options(table, x, ys, unit=unit), table, name)


def bar_options(table: pl.DataFrame, x: str, ys: Sequence[str], *, unit: str = "") -> dict[str, Any]:
    """The options of `bar_chart`."""
    names = [display_text(each, 40) for each in table[x].to_list()] if table.height else []
    # Names that do not fit side by side stand at a slant; of many, ECharts shows those that fit.
    slanted = {"rotate": 40, "interval": 0, "hideOverlap": False, "width": 110, "overflow": "truncate"}
    labels: dict[str, Any] = slanted if 16 >= len(names) > 4 else {}
    series: list[dict[str, Any]] = []
    for index, y in enumerate(ys):
        look = {"itemStyle": {"color": COLOURS[index % len(COLOURS)]}, "animation": False, "barMaxWidth": 48}
        values = table[y].to_list() if table.height else []
        series.append({"type": "bar", "name": display_text(y, 60), "data": values, **look})
    return {
        "grid": {"left": 8, "right": 18, "top": 34 if len(ys) > 1 else 24, "bottom": 8, "containLabel": True},
        "xAxis": {"type": "category", "data": names, **_AXIS, "axisLabel": _AXIS["axisLabel"] | labels},
        "yAxis": {"type": "value", "name": unit, **_AXIS},
        "legend": {"show": len(ys) > 1, "top": 0, "type": "scroll"},
        "tooltip": {"trigger": "item"},
        "series": series,
    }


def sparkline_chart(values: Sequence[float | None]) -> ui.element:
    """A metric as a line without axes, for a list."""
    line: dict[str, Any] = {
        "type": "line",
        "data": list(map(list, enumerate(values))),
        "lineStyle": {"color": COLOURS[0], "width": 2},
    }
    line |= {"showSymbol": False, "animation": False, "silent": True}
    numbers = [value for value in values if value is not None]
    share = bool(numbers) and min(numbers) >= 0 and max(numbers) <= 1
    chart = ui.echart(
        {
            "grid": {"left": 2, "right": 2, "top": 3, "bottom": 3},
            "xAxis": {"show": False, "type": "value", "min": "dataMin", "max": "dataMax"},
            "yAxis": {"show": False, "type": "value", "scale": True, **({"min": 0, "max": 1} if share else {})},
            "series": [line],
        },
        renderer="svg",
    )
    return chart.classes("spark").props("aria-hidden=true")


def _band(table: pl.DataFrame, xs: list[Any], low: str, high: str, colour: str, line: str) -> list[dict[str, Any]]:
    """An area between two columns: an invisible line, and what is stacked on it."""
    lows = table[low].to_list()
    heights = (table[high] - table[low]).to_list()
    common = {"type": "line", "stack": f"band of {line}", "showSymbol": False, "silent": True, "animation": False}
    common |= {"lineStyle": {"opacity": 0}, "stackStrategy": "all", "tooltip": {"show": False}}
    area = {"areaStyle": {"color": colour, "opacity": 0.18}}
    return [
        {**common, "name": f"{line}, low", "data": list(map(list, zip(xs, lows, strict=True)))},
        {**common, "name": f"{line}, high", "data": list(map(list, zip(xs, heights, strict=True))), **area},
    ]


def _is_share(values: pl.Series) -> bool:
    low, high = values.min(), values.max()
    return isinstance(low, (int, float)) and isinstance(high, (int, float)) and low >= 0 and high <= 1


def _with_defaults(options: dict[str, Any]) -> dict[str, Any]:
    tooltip = {"renderMode": "richText", "confine": True, **options.get("tooltip", {})}
    return {"animation": False, "textStyle": {"color": "#444", "fontFamily": "inherit"}, **options, "tooltip": tooltip}


def _attribute_text(text: str) -> str:
    return re.sub(r"[^\w .,:;()%+-]", " ", display_text(text, 120))
