"""What an experiment found: effects, distributions, paths over time, and how many runs more are needed."""

from __future__ import annotations

import polars as pl
from nicegui import ui

from populace.experiments import Results
from populace.studio.pages.experiment import data as view
from populace.studio.pages.experiment.forest import forest
from populace.studio.shell.frame import section, test_id
from populace.studio.shell.text import display_text
from populace.studio.widgets.charts import Chart, bar_chart, line_chart

_MOST_DRAWN = 40


def show_effects(results: Results, outcome: str, reference: str) -> None:
    """Every other arm against the reference: intervals as a chart, and in figures."""
    found = view.effects(results, outcome, reference)
    if found.table is None:
        ui.label(display_text(f"No effects can be told: {found.note}", 600)).classes("soft foreign")
        return
    drawn = found.table.head(_MOST_DRAWN)
    how = "paired by replicate" if found.table["paired"][0] else "independent runs"
    title = f"Effects on {outcome}: each arm minus {reference}, 95 % t intervals, {how}"
    chart = Chart(title, forest(drawn, "arm", "effect", unit=outcome, zero=True), found.table.drop("seeds"), "effects")
    _tall(chart, drawn.height)
    ui.label(
        "Where an interval holds 0, chance alone would do. Intervals stand each for itself; p is adjusted for the "
        "number of comparisons (Holm)."
    ).classes("soft small")
    columns = ["arm", "mean", "effect", "interval", "p adjusted", "n"]
    rows = [
        {
            "arm": display_text(row["arm"], 120),
            "mean": f"{row['mean']:.4g}",
            "effect": f"{row['effect']:+.4g}",
            "interval": f"[{row['low']:.4g}, {row['high']:.4g}]",
            "p adjusted": _p(row["p_adjusted"]),
            "n": row["n"],
        }
        for row in found.table.iter_rows(named=True)
    ]
    _table(columns, rows, "effects")


def show_distribution(results: Results, outcome: str) -> None:
    """The outcome of every run by arm, with the mean and its interval; or how often each end came about."""
    summary = view.summary(results, outcome)
    if view.is_text(results, outcome):
        if summary.table is None:
            ui.label(display_text(summary.note, 600)).classes("soft foreign")
            return
        _ends(summary.table, outcome)
        return
    dots = view.distribution(results, outcome)
    if not dots.height:
        return
    means = summary.table
    if means is None:
        ui.label(display_text(f"No intervals: {summary.note}", 600)).classes("soft foreign")
        means = dots.group_by("arm", maintain_order=True).agg(mean=pl.col("value").mean())
        means = means.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    drawn = means.head(_MOST_DRAWN)
    title = f"{outcome} by arm: a dot is a run, the diamond the mean, the bar its 95 % t interval"
    behind = dots.filter(pl.col("arm").is_in(drawn["arm"].implode()))
    chart = Chart(title, forest(drawn, "arm", "mean", unit=outcome, dots=behind), dots, "distribution")
    _tall(chart, drawn.height)


def _ends(table: pl.DataFrame, outcome: str) -> None:
    shares = table.pivot(on=outcome, index="arm", values="probability").fill_null(0.0)
    ends = [name for name in shares.columns if name != "arm"]
    bar_chart(f"How often each {outcome} came about, by arm", shares, "arm", ends, unit="share of runs", name="ends")
    rows = [
        {
            "arm": display_text(row["arm"], 120),
            outcome: display_text(row[outcome], 80),
            "share": f"{row['probability']:.3g} [{row['low']:.3g}, {row['high']:.3g}]",
            "n": row["n"],
        }
        for row in table.iter_rows(named=True)
    ]
    _table(["arm", outcome, "share", "n"], rows, "ends")
    ui.label("In brackets: Wilson's 95 % interval.").classes("soft small")


def show_precision(results: Results, outcome: str, reference: str) -> None:
    """How many replicates each comparison needs."""
    found = view.precision(results, outcome, reference)
    if found.table is None:
        return
    rows = [
        {
            "arm": display_text(row["arm"], 120),
            "effect seen": f"{row['seen']:+.4g}",
            "spread": "–" if row["sd"] is None else f"{row['sd']:.4g}",
            "replicates so far": row["n"],
            "replicates needed": "–" if row["needed"] is None else f"{row['needed']:,}",
        }
        for row in found.table.iter_rows(named=True)
    ]
    with ui.expansion("How many replicates would it take?").classes("w-full") as opened:
        ui.label("To find an effect as large as the one seen with a probability of 0.8, at p < 0.05.").classes(
            "soft small"
        )
        _table(["arm", "effect seen", "spread", "replicates so far", "replicates needed"], rows, "precision")
    test_id(opened, "power")


def show_over_time(results: Results) -> None:
    """The metrics behind the outcomes over the steps, with a band for every arm."""
    found = view.over_time(results)
    if not found:
        return
    with section("Over time"):
        for metric, overlay in found.items():
            if overlay.lines:
                title = f"{metric.replace('_', ' ')} over the steps"
                line_chart(title, overlay.table, "step", overlay.lines, bands=overlay.bands, name=f"over-time-{metric}")
            ui.label(display_text(overlay.note, 400)).classes("soft small foreign")


def _tall(chart: Chart, rows: int) -> None:
    """As tall as its rows need."""
    chart.chart.style(f"height: {90 + 34 * max(rows, 2)}px")


def _p(p: float) -> str:
    if p != p:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _table(columns: list[str], rows: list[dict[str, object]], name: str) -> None:
    headings = [{"name": n, "label": display_text(n, 60), "field": n, "align": "left"} for n in columns]
    made = ui.table(columns=headings, rows=rows, row_key=columns[0], pagination=25 if len(rows) > 25 else None)
    test_id(made.props("flat dense wrap-cells").classes("w-full"), f"{name}-table")
