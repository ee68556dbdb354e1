"""The findings of an experiment: effects, distributions, metrics over time, replicates needed, validity."""

import polars as pl
from nicegui import ui

from populace.experiments import Results
from populace.experiments.planned import level_text
from populace.experiments.validation import ValidityCard
from populace.experiments.validation.card import MARKS
from populace.statistics import p_text
from populace.studio.jobs import command
from populace.studio.pages.experiment import data
from populace.studio.pages.experiment.forest import forest
from populace.studio.shell.frame import empty_state, section, test_id
from populace.studio.widgets.charts import bar_options, line_options
from populace.studio.widgets.elements import grid, note
from populace.studio.widgets.part_list import PartList

_MAX_ARMS = 40
_COLOURS = {
    "pass": "var(--good)",
    "fail": "var(--bad)",
    "undecided": "var(--ink)",
    "inform": "var(--ink)",
    "not measured": "var(--ink-soft)",
}


def show_effects(parts: PartList, results: Results, outcome: str, reference: str) -> None:
    """Every other arm against the reference: intervals as a chart, and as a table."""
    effects = data.effects(results, outcome, reference)
    if effects.table is None:
        parts.note(f"Effects cannot be computed: {effects.note}", classes="soft foreign")
        return
    pairing = "paired by replicate" if effects.table["paired"][0] else "independent runs"
    title = f"Effects on {outcome}: each arm minus {data.arm_names(results)[reference]}, "
    title += f"{level_text(results)} intervals, {pairing}"
    first = effects.table.head(_MAX_ARMS)
    options = forest(first, "effect", labels=data.arm_names(results), unit=outcome, zero=True)
    parts.chart(title, options, effects.table.drop("seeds"), "effects", height=_height(first.height))
    parts.note(
        "An interval that contains 0 is compatible with no effect. Each interval stands for itself; p is adjusted for "
        "the number of comparisons (Holm)."
    )
    rows = [
        {
            "arm": row["arm"],
            "mean": "–" if row["mean"] is None else f"{row['mean']:.4g}",
            "effect": "–" if row["effect"] is None else f"{row['effect']:+.4g}",
            "interval": "–" if row["low"] is None else f"[{row['low']:.4g}, {row['high']:.4g}]",
            "p adjusted": p_text(row["p_adjusted"]),
            "n": row["n"],
            **({} if row["planned"] == "no plan" else {"plan": row["planned"]}),
        }
        for row in effects.table.iter_rows(named=True)
    ]
    parts.table(rows, list(rows[0]), "effects-table")
    for text in filter(None, effects.table["warning"].unique(maintain_order=True)):
        parts.note(f"Note: {text}.")


def show_distribution(parts: PartList, results: Results, outcome: str) -> None:
    """The outcome of every run by arm, with the mean and its interval; or the share of each word."""
    summary = data.summary(results, outcome)
    if data.is_text(results, outcome):
        if summary.table is None:
            parts.note(summary.note, classes="soft foreign")
        else:
            _show_shares(parts, summary.table, outcome)
        return
    dots = data.distribution(results, outcome)
    if not dots.height:
        return
    means = summary.table
    if means is None:
        parts.note(f"No intervals: {summary.note}", classes="soft foreign")
        means = dots.group_by("arm", maintain_order=True).agg(mean=pl.col("value").mean())
        means = means.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    first = means.head(_MAX_ARMS)
    title = f"{outcome} by arm: a dot is a run, the diamond the mean, the bar its 95 % interval"
    arm_dots = dots.filter(pl.col("arm").is_in(first["arm"].implode()))
    options = forest(first, "mean", labels=data.arm_names(results), unit=outcome, dots=arm_dots)
    parts.chart(title, options, dots, "distribution", height=_height(first.height))


def _show_shares(parts: PartList, table: pl.DataFrame, outcome: str) -> None:
    shares = table.pivot(on=outcome, index="arm", values="probability").fill_null(0.0)
    words = [name for name in shares.columns if name != "arm"]
    options = bar_options(shares, "arm", words, unit="share of runs")
    parts.chart(f"How often each {outcome} occurred, by arm", options, shares, "ends")
    rows = [
        {
            "arm": row["arm"],
            outcome: row[outcome],
            "share": f"{row['probability']:.3g} [{row['low']:.3g}, {row['high']:.3g}]",
            "n": row["n"],
        }
        for row in table.iter_rows(named=True)
    ]
    parts.table(rows, ["arm", outcome, "share", "n"], "ends-table")
    parts.note("In brackets: the 95 % interval (mid-P).")


def show_precision(parts: PartList, results: Results, outcome: str, reference: str) -> None:
    """How many replicates each comparison needs."""
    precision = data.precision(results, outcome, reference).table
    if precision is None:
        return
    headings = {"arm": "arm", "seen": "effect", "sd": "spread", "n": "replicates so far", "needed": "replicates needed"}
    with parts.expansion("How many replicates are needed?", "power") as inner:
        inner.note("To detect an effect as large as the one observed with a probability of 0.8, at p < 0.05.")
        inner.table(precision, headings, "precision-table")


def show_over_time(parts: PartList, results: Results) -> None:
    """The metrics behind the outcomes over the steps, with a band for every arm."""
    overlays = data.over_time(results)
    if not overlays:
        return
    with parts.section("Over time") as inner:
        for metric, overlay in overlays.items():
            if overlay.lines:
                title = f"{metric.replace('_', ' ')} over the steps"
                options = line_options(overlay.table, "step", overlay.lines, bands=overlay.bands)
                inner.chart(title, options, overlay.table, f"over-time-{metric}")
            inner.note(overlay.note, 400)


def show_validity(parts: PartList, card: ValidityCard | None, name: str) -> None:
    """The validity card: every check with its verdict, and the command that measures the rest."""
    parts.custom("validity", card, lambda: _show_card(card, name))


def _show_card(card: ValidityCard | None, name: str) -> None:
    with section("Validity card"):
        if card is None:
            empty_state("The card is computed from the records of runs; no run has ended yet.")
            return
        test_id(note(card.verdict, classes="foreign"), "verdict")
        for text in card.warnings:
            note(f"! {text}", 400, classes="small foreign", colour="warn")
        with grid(360, "gap-x-4 gap-y-2"):
            for check in card.checks:
                with ui.column().classes("gap-0 min-w-0"):
                    with ui.row().classes("items-baseline gap-2"):
                        mark = ui.label(f"{MARKS[check.verdict]} {check.verdict}").classes("small")
                        mark.style(f"color: {_COLOURS[check.verdict]}; font-weight: 600")
                        ui.label(check.name).style("font-weight: 600")
                    threshold = f" ({check.threshold})" if check.threshold else ""
                    note(f"{check.shown}{threshold}", 200, classes="small foreign")
                    note(check.reason, 400)
        note(
            "A check that passes says that nothing was found against the result in this respect, not that people would "
            "do the same. With figures of a survey, or a few further calls, more can be measured:"
        )
        ui.label(command("report", name, "--reference", "FILE.csv", "--probe")).classes("commandline foreign")


def _height(rows: int) -> int:
    """The height of a chart with a row for each arm, in pixels."""
    return 90 + 34 * max(rows, 2)
