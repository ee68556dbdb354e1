"""What a command says about a run: when it is over, and when it is shown again."""

from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import PopulaceError, UntrustedCodeError, UsageError
from populace.base.formatting import duration, percent
from populace.cli.output import as_json, facts, out, report_json, table, warn
from populace.engine.replay import scenario_class
from populace.engine.run import Run
from populace.engine.scenario import ReportTable
from populace.engine.workspace import Workspace, command_text
from populace.runs import charts
from populace.runs.caveats import caveats
from populace.runs.overview import RunOverview, overview
from populace.runs.reader import RunReader
from populace.runs.settings_text import parameters_of_run, parameters_text


def run_document(run: RunReader) -> dict[str, Any]:
    """A run as the data of a JSON document."""
    summary = overview(run)
    own = ("scenario", "state", "reason", "steps", "planned", "statuses", "invalid_share")
    counts = ("low_mass", "scored", "sampled", "seconds")
    settings = ("seed", "model", "decider", "temperature")
    return {
        "run": run.name,
        "folder": str(run.folder),
        **{name: getattr(summary, name) for name in (*own, *counts)},
        **{name: getattr(summary.regime, name) for name in settings},
        "parameters": parameters_of_run(run),
        "fingerprint": summary.fingerprint or None,
        "parent": summary.parent.model_dump() if summary.parent else None,
        "digest": run.digest,
        "usage": summary.usage.to_json(),
        "metrics": run.metrics,
        "damage": summary.damage or None,
        "bound": summary.bound,
        "warnings": summary.caveats,
    }


def show_run(run: RunReader) -> None:
    """Print a run: settings, answers, calls, caveats, metrics and the tables of its scenario."""
    summary = overview(run)
    out.print()
    out.print(
        f"[bold]{run.name}[/bold]  {summary.state}: {summary.reason or f'{summary.steps} steps so far'}",
        highlight=False,
    )
    facts(_rows(run, summary))
    warn(*([summary.damage] if summary.damage else []), *summary.caveats)
    if not summary.bound:
        out.print("  [dim]The end of this journal is not bound: it was written before ends were recorded.[/dim]")
    metrics = run.metrics
    if metrics.width > 1:
        out.print()
        table(metrics)
        out.print()
        for name in metrics.columns[1:]:
            if metrics[name].dtype.is_numeric() and metrics[name].null_count() < metrics.height:
                out.print(f"  {name.replace('_', ' '):<24} {charts.sparkline(_thinned(metrics[name]))}")
    for report in report_tables(run):
        out.print()
        table(report.table, report.title)
        if report.note:
            out.print(f"  {report.note}")


def _rows(run: RunReader, summary: RunOverview) -> list[tuple[str, str]]:
    usage, regime = summary.usage, summary.regime
    calls = f"{usage.calls:,} made, {usage.reused:,} reused ({percent(usage.reused_share)}), {usage.tokens:,} tokens"
    if summary.price is not None:
        calls += f", cost {usage.cost:.4f}" if summary.price.prompt or summary.price.completion else ", no cost"
    if usage.failures:
        calls += f", {usage.failures:,} failed"
    who = summary.decided_by
    if summary.fingerprint and regime.decider == "model" and not regime.model.startswith("http"):
        who += f"  ({summary.fingerprint[:24]})"
    rows = [("scenario", f"{summary.scenario}: {_parameters_text(run)}")]
    if summary.parent:
        rows.append(("fork of", f"{summary.parent.run} at step {summary.parent.at}"))
    rows += [
        ("decided by", who),
        ("seed", f"{regime.seed}, temperature {regime.temperature:g}"),
        ("answers", f"{summary.answers:,}: {summary.statuses_text}" if summary.answers else "none yet"),
        ("calls", calls),
        ("time", duration(summary.seconds)),
    ]
    return rows + [("intervention", text) for text in summary.interventions]


def _thinned(values: pl.Series, room: int = 72) -> pl.Series:
    """At most so many values, evenly over all of them, the first and the last among them."""
    last = values.len() - 1
    return values if last < room else values.gather([round(place * last / (room - 1)) for place in range(room)])


def report_tables(run: RunReader) -> list[ReportTable]:
    """The tables that the scenario itself makes of a run; none where its file is gone or not trusted."""
    try:
        return scenario_class(run).report(run)
    except PopulaceError:
        return []


def untrusted_notes(run: RunReader) -> list[str]:
    """What is not shown of a run because it needs code that is not trusted, as sentences; none where it is."""
    try:
        scenario_class(run)
    except UntrustedCodeError as error:
        return [f"The tables of the scenario are not shown: {error.what}"]
    except PopulaceError:
        pass
    return []


def _parameters_text(run: RunReader) -> str:
    """Parameters that are not at their defaults, and what a fork changed."""
    first, *later = run.manifest.regimes
    changes = {name: value for regime in later for name, value in regime.parameters.items()}
    try:
        fields = scenario_class(run).parameter_model().model_fields
        special = {name: v for name, v in first.parameters.items() if name not in fields or fields[name].default != v}
    except PopulaceError:
        special = first.parameters
    text = parameters_text(special) or "default parameters"
    return f"{text}; then {parameters_text(changes)}" if changes else text


def show_finished_run(run: Run, chart: bool) -> None:
    """Print a run that came to its end, with its chart and what to do next."""
    picture = _chart(run) if chart else None
    more = scenario_class(run).pictures(run, run.folder) if chart and charts.available() else []
    if as_json():
        files = {"chart": str(picture) if picture else None, "pictures": [str(path) for path in more]}
        report_json(run_document(run) | files, caveats(run))
    show_run(run)
    out.print()
    out.print(f"  [dim]run[/dim]    {run.folder}   [dim]journal[/dim] {run.digest[:12]}")
    if picture:
        out.print(f"  [dim]chart[/dim]  {picture}")
    for path in more:
        out.print(f"  [dim]{path.stem}[/dim]  {path}")
    people = run.people()
    who = people["name"][0] if "name" in people else people.ids[0]
    if run.steps[-1]:
        decision = command_text(Workspace.of(run.journal).folder, "show", run.name, "--step", "1", "--person", str(who))
        out.print(f"  [dim]open a decision:[/dim]  {decision}")


def _chart(run: Run) -> Path | None:
    if not charts.available():
        return None
    try:
        metrics = scenario_class(run).chart
        return charts.draw_run(run, run.folder / "chart.png", metrics)
    except UsageError:
        return None  # A scenario without numeric metrics has no picture.
