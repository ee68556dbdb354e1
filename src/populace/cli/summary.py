"""What a command says about a run: when it is over, and when it is shown again."""

from pathlib import Path
from typing import Any

from populace.base.errors import PopulaceError, StorageError, UntrustedCodeError, UsageError
from populace.base.formatting import duration, percent, plural
from populace.broker import cost_text
from populace.cli.output import as_json, bold, dim, facts, out, report_json, table, warn
from populace.engine.replay import scenario_class
from populace.engine.run import Run
from populace.engine.scenario import ReportTable, Scenario
from populace.engine.workspace import Workspace, command_text
from populace.runs import charts
from populace.runs.caveats import caveats
from populace.runs.hours import hourly
from populace.runs.overview import RunOverview, overview
from populace.runs.purposes import invalid_by_purpose, invalid_text
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
        "invalid_by_purpose": invalid_by_purpose(run),
        "warnings": summary.caveats,
    }


def show_run(run: RunReader, most_rows: int = 40) -> None:
    """Print a run: settings, answers, calls, caveats, metrics and the tables of its scenario.

    Args:
        run: The run.
        most_rows: The middle of a longer table of the scenario is left out.
    """
    summary = overview(run)
    out.print_line()
    reason = "its folder is not as its manifest says" if summary.damage else summary.reason
    reason = reason or f"{plural(summary.steps, 'step')} so far"
    out.print_line(bold(run.name), f"  {summary.state}: {reason}")
    facts(_rows(run, summary))
    warn(*([summary.damage] if summary.damage else []), *summary.caveats)
    if not summary.bound:
        out.print_line("  ", dim("The end of this journal is not bound: it was written before ends were recorded."))
    metrics = run.metrics
    if metrics.width > 1:
        out.print_line()
        rows = hourly(run, metrics)
        table(rows, limit=40 if rows.height == metrics.height else 60, keys=2 if "time" in rows.columns[:2] else 1)
        out.print_line()
        for name in metrics.columns[1:]:
            if metrics[name].dtype.is_numeric() and metrics[name].null_count() < metrics.height:
                out.print_line(f"  {name.replace('_', ' '):<24} {charts.sparkline(metrics[name])}")
    for report in report_tables(run):
        out.print_line()
        table(report.table, report.title, most_rows)
        if report.note:
            out.print_line(f"  {report.note}")


def _rows(run: RunReader, summary: RunOverview) -> list[tuple[str, str]]:
    usage, regime = summary.usage, summary.regime
    calls = f"{usage.calls:,} made, {usage.reused:,} reused ({percent(usage.reused_share)}), "
    calls += plural(usage.tokens, "token")
    if usage.estimated:
        calls += " (estimated)" if usage.estimated == usage.calls else f" (estimated for {usage.estimated:,} calls)"
    if usage.calls:
        calls += f", {cost_text(usage.cost, summary.price)}"
    if usage.failures:
        calls += f", {usage.failures:,} failed"
    if abandoned := run.manifest.status.abandoned_calls:
        calls += f", and {plural(abandoned, 'call')} in a step that was abandoned"
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
        *([("invalid", invalid_text(run))] if summary.invalid_share else []),
        ("calls", calls),
        ("time", duration(summary.seconds)),
    ]
    return rows + [("intervention", text) for text in summary.interventions]


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
    picture, more, problem = _pictures(run) if chart and charts.available() else (None, [], [])
    if as_json():
        files = {"chart": str(picture) if picture else None, "pictures": [str(path) for path in more]}
        report_json(run_document(run) | files, [*caveats(run), *problem])
    show_run(run)
    warn(*problem)
    out.print_line()
    out.print_line("  ", dim("run"), f"    {run.folder}   ", dim("digest"), f" {run.digest[:12]}")
    if picture:
        out.print_line("  ", dim("chart"), f"  {picture}")
    for path in more:
        out.print_line("  ", dim(path.stem), f"  {path}")
    decision = _first_decision(run)
    if decision is not None:
        step, who = decision
        example = command_text(Workspace.of(run.journal).folder, "show", run.name, "--step", str(step), "--person", who)
        out.print_line("  ", dim("open a decision:"), f"  {example}")


def _first_decision(run: RunReader) -> tuple[int, str] | None:
    """The first step after the beginning in which somebody decided, and the name of that person, or their id."""
    for step in run.steps[1:]:
        answers = run.record.table(step, "answers")
        if answers is not None and answers.height:
            people, who = run.people(step), answers["person"][0]
            name = people.person(who).name if "name" in people else who
            return step, str(name if "name" in people and (people["name"] == name).sum() == 1 else who)
    return None


def _pictures(run: Run) -> tuple[Path | None, list[Path], list[str]]:
    """The chart of a run, the pictures of its scenario, and why there are none where they cannot be made or written."""
    try:
        scenario = scenario_class(run)
    except UsageError as error:
        return None, [], [f"The tables and pictures of the scenario are not shown: {error}"]
    try:
        return _chart(run, scenario), list(scenario.pictures(run, run.folder)), []
    except StorageError as error:
        return None, [], [f"The pictures of the run were not written: {error}"]


def _chart(run: Run, scenario: type[Scenario]) -> Path | None:
    try:
        return charts.draw_run(run, run.folder / "chart.png", scenario.chart)
    except UsageError:
        return None  # A scenario without numeric metrics has no picture.
