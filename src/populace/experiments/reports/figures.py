"""The figures of a report, as SVG text.

Every figure is drawn once, with placeholder colours for ink and lines. In a page they follow its light or dark theme;
in a file of its own they are fixed. Equal data give equal text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.base.foreign import for_file_name, for_line
from populace.runs.charts import PALETTE, available, without_glyph_warnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, LINE, PAPER = "#0a0b0c", "#0d0e0f", "#f7f8f9"
_WIDTH = 6.2
_ROW = 0.56
_CHARACTERS = 76
"""How many stand side by side in a picture."""
_STYLES = ("-", "--", "-.", ":")
_SIGNS = ("o", "s", "^", "D", "v", "P", "X")
MOST_LINES = 7


@dataclass(frozen=True)
class IntervalRow:
    """One row of a figure of intervals.

    Attributes:
        label: Its name.
        value: The estimate.
        low: Lower end of its interval, if it has one.
        high: Upper end of its interval.
        note: Text at its right.
        dots: Values of single runs.
    """

    label: str
    value: float | None
    low: float | None
    high: float | None
    note: str = ""
    dots: Sequence[float] = ()


def intervals(rows: Sequence[IntervalRow], axis: str, *, name: str, zero: bool = False) -> str:
    """Estimates with their intervals, one below the other, and single runs as dots.

    Args:
        rows: The lines.
        axis: What the axis measures.
        name: A name that is unique on the page.
        zero: Whether to mark 0, as for differences.
    """

    def draw(axes: Axes) -> None:
        values = [x for row in rows for x in (*row.dots, row.value, row.low, row.high) if x is not None]
        _limits(axes, values, zero)
        if zero:
            axes.axvline(0, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
        for place, row in enumerate(rows):
            colour = PALETTE[place % (len(PALETTE) - 1)] if not zero else PALETTE[0]
            at: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "fontsize": 9, "color": INK, "va": "bottom"}
            at["bbox"] = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0}
            axes.text(0.0, place - 0.24, _shorten(for_line(row.label), _CHARACTERS - len(row.note)), ha="left", **at)
            axes.text(1.0, place - 0.24, for_line(row.note), ha="right", **at)
            if row.dots:
                spread = (np.arange(len(row.dots)) * 0.618034 % 1 - 0.5) * 0.38
                axes.scatter(row.dots, place + 0.1 + spread, s=15, color=colour, alpha=0.55, linewidths=0)
            if row.low is not None and row.high is not None:
                axes.plot([row.low, row.high], [place + 0.1] * 2, color=INK, linewidth=1.8, solid_capstyle="butt")
            if row.value is not None:
                diamond: Any = {"marker": "D", "markersize": 6.5, "markeredgecolor": INK}
                axes.plot(row.value, place + 0.1, color=colour, zorder=5, **diamond)
        axes.set(ylim=(len(rows) - 0.55, -0.6), yticks=[], xlabel=for_line(axis))
        axes.grid(axis="x", color=LINE, linewidth=0.7)

    return _svg(draw, 0.75 + _ROW * len(rows), name)


def paths(lines: Mapping[str, pl.DataFrame], axis: str, *, name: str, along: str = "step") -> str:
    """A metric over the steps, or over something else: a line for each arm, with a band where there is one.

    Args:
        lines: For each arm a table of step, mean, low and high.
        axis: What the metric is.
        name: A name that is unique on the page.
        along: What the values in the column `step` are.
    """

    def draw(axes: Axes) -> None:
        shade = 0.2 if len(lines) <= 3 else 0.1
        for place, (label, table) in enumerate(list(lines.items())[:MOST_LINES]):
            colour, style = PALETTE[place % len(PALETTE)], _STYLES[place % len(_STYLES)]
            colour = INK if colour == "#000000" else colour
            step = table["step"].to_numpy()
            band = table.drop_nulls(["low", "high"])
            if band.height:
                axes.fill_between(band["step"], band["low"], band["high"], color=colour, alpha=shade, linewidth=0)
            marks: Any = {"marker": _SIGNS[place], "markersize": 4, "markevery": max(1, len(step) // 12)}
            axes.plot(step, table["mean"], color=colour, linestyle=style, label=for_line(label), **marks)
        ends = [x for table in lines.values() for n in ("mean", "low", "high") for x in table[n].drop_nulls()]
        if ends and min(ends) >= 0 and max(ends) <= 1:
            axes.set_ylim(-0.03, 1.03)
        axes.set(xlabel=for_line(along), ylabel=for_line(axis))
        axes.grid(color=LINE, linewidth=0.7)
        if len(lines) > 1:
            columns = 2 if len(lines) > 2 else 1
            axes.figure.legend(loc="outside upper left", ncols=columns, frameon=False, labelcolor=INK)

    return _svg(draw, 3.1 + 0.11 * min(len(lines), MOST_LINES), name)


def scatter(runs: pl.DataFrame, factor: str, outcome: str, axis: str, *, name: str) -> str:
    """An outcome against a factor that was drawn from a range: a dot for each run."""

    def draw(axes: Axes) -> None:
        known = runs.select(factor, outcome).drop_nulls()
        axes.scatter(known[factor], known[outcome], s=14, color=PALETTE[0], alpha=0.5, linewidths=0)
        axes.set(xlabel=for_line(factor.replace("_", " ")), ylabel=for_line(axis))
        axes.grid(color=LINE, linewidth=0.7)

    return _svg(draw, 2.6, name)


def standalone_svg(svg: str) -> str:
    """A figure for a file of its own: dark on white."""
    fixed = svg.replace("currentColor", "#1b1f24").replace("var(--line)", "#d8dde3").replace("var(--paper)", "#ffffff")
    head, _, rest = fixed.partition(">")
    return f'{head}>\n<rect width="100%" height="100%" fill="#ffffff"/>{rest}'


def _shorten(text: str, room: int) -> str:
    """A text without its middle if it is too long."""
    room = max(room, 16)
    return text if len(text) <= room else f"{text[: room // 2 - 1]}…{text[len(text) - (room - room // 2) :]}"


def _limits(axes: Axes, values: Sequence[float], zero: bool) -> None:
    if not values:
        return
    low, high = min(values), max(values)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    elif low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    room = 0.04 * (high - low or abs(high) or 1.0)
    axes.set_xlim(low - room, high + room)


def _svg(draw: Any, height: float, name: str) -> str:
    if not available():
        raise UsageError("pictures need matplotlib.", "Install it with: pip install 'populace[analysis]'")
    import matplotlib
    from matplotlib.figure import Figure

    settings: Any = {
        "svg.hashsalt": name,
        "svg.fonttype": "none",
        "text.parse_math": False,
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.edgecolor": LINE,
        "axes.labelcolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "xtick.color": INK,
        "ytick.color": INK,
        "legend.fontsize": 9,
    }
    with matplotlib.rc_context(settings), without_glyph_warnings():
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        draw(figure.subplots())
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _embeddable_svg(buffer.getvalue(), re.sub(r"[^\w-]", "-", for_file_name(name)))


def _embeddable_svg(svg: str, name: str) -> str:
    """The figure for a page: without metadata and size, with unique ids and colours that follow the theme."""
    body = svg[svg.index("<svg") :].strip()
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    referenced_ids = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', body))
    body = re.sub(r'\s*\bid="([^"]+)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in referenced_ids else "", body)
    body = re.sub(r'(url\(#|href="#)([^)"]+)', rf"\g<1>{name}-\2", body)
    for size in ("width", "height"):
        body = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", body, count=1)
    body = body.replace("'DejaVu Sans'", "system-ui, sans-serif").replace("DejaVu Sans", "system-ui, sans-serif")
    return body.replace(INK, "currentColor").replace(LINE, "var(--line)").replace(PAPER, "var(--paper)")
