"""show, list, compare, export."""

from __future__ import annotations

import difflib
import shlex
from typing import Any

import click
import polars as pl
from rich.text import Text

from populace.base.errors import PopulaceError, UsageError
from populace.base.formatting import percent
from populace.cli import COMMANDS
from populace.cli.decision import show_decision
from populace.cli.lives import show_biography
from populace.cli.options import json_option, workspace_option
from populace.cli.output import emit, err, facts, out, table
from populace.cli.summary import report_tables, run_document, show_run
from populace.engine.workspace import Workspace
from populace.runs import charts
from populace.runs.biography import biography, has_memories
from populace.runs.caveats import caveats
from populace.runs.compare import compare
from populace.runs.export import FORMATS, RESPONSIBLE_USE, export
from populace.runs.overview import overview
from populace.runs.reader import RunReader


@click.command("show", help=COMMANDS["show"][1])
@click.argument("run")
@click.option("--step", type=click.IntRange(min=0), help="Show one step.")
@click.option("--person", metavar="NAME|ID", help="Open the decisions of one person.")
@click.option("--thread", type=int, metavar="POST", help="Read the thread of a community that holds this post.")
@workspace_option
@json_option
def show_command(
    run: str, step: int | None, person: str | None, thread: int | None, workspace: str | None, as_json: bool
) -> None:
    found = RunReader(Workspace(workspace).open(run))
    if thread is not None:
        from populace.cli.communities import show_thread

        show_thread(found, thread, as_json)
    elif person is not None:
        _show_person(found, step, person, as_json)
    elif step is not None:
        _show_step(found, step, as_json)
    elif as_json:
        shown = [{"title": f.title, "table": f.table, "note": f.note} for f in report_tables(found)]
        emit(run_document(found) | {"findings": shown}, caveats(found))
    else:
        show_run(found)
        out.print(f"\n  [dim]run[/dim]  {found.folder}   [dim]journal[/dim] {found.digest[:12]}")


def _show_step(run: RunReader, step: int, as_json: bool) -> None:
    people, answers = run.people(step), run.answers(step)
    counts = pl.DataFrame()
    if answers.height:
        counts = (
            answers.group_by("question", "value", "status", maintain_order=True).len("people").sort("question", "value")
        )
    if as_json:
        emit({"run": run.name, "step": step, "answers": counts, "people": people.frame, "events": _events(run, step)})
        return
    out.print(f"[bold]{run.name}[/bold], step {step}: {len(people)} people")
    if counts.height:
        table(counts, "Answers")
    events = _events(run, step)
    if events.height:
        table(events, "Events")
    table(people.frame, "People after the step", limit=20)


def _events(run: RunReader, step: int) -> pl.DataFrame:
    found = run.record.table(step, "events")
    return found if found is not None else pl.DataFrame()


def _show_person(run: RunReader, step: int | None, person: str, as_json: bool) -> None:
    steps = run.steps if step is None else [step]
    opened = [decision for number in steps for decision in run.decisions(number, person)]
    if not opened and not as_json:
        out.print(f"{person} decided nothing in {'any step' if step is None else f'step {step}'}.")
    if as_json:
        emit([{**decision.__dict__, "distribution": decision.distribution} for decision in opened])
    elif step is None and has_memories(run):
        show_biography(run, biography(run, person))
    elif step is None and opened:
        rows = [(d.step, d.question["text"], d.value, d.status) for d in opened]
        who = opened[0].person.get("name", person)
        table(pl.DataFrame(rows, schema=["step", "question", "answer", "status"], orient="row"), f"{who} in {run.name}")
        one = f"--step {opened[0].step} --person {shlex.quote(person)}"
        out.print(f"  [dim]open one:[/dim]  populace show {run.name} {one}")
    else:
        for decision in opened:
            show_decision(run, decision)


@click.command("list", help=COMMANDS["list"][1])
@workspace_option
@json_option
def list_command(workspace: str | None, as_json: bool) -> None:
    place = Workspace(workspace)
    rows, damaged = [], []
    for name in place.names():
        try:
            run = RunReader(place.open(name))
            rows.append(_row(run))
        except PopulaceError as error:
            damaged.append(f"{name}: {error.what}")
    rows.sort(key=lambda row: row["created"], reverse=True)
    if as_json:
        emit(rows, damaged)
        return
    if not rows and not damaged:
        out.print(f"There are no runs in {place.runs}. Begin with: populace run norms")
        return
    if rows:
        table(pl.DataFrame(rows).drop("created"), limit=200)
    for text in damaged:
        out.print(f"  [yellow]not readable[/yellow]  {text}")


def _row(run: RunReader) -> dict[str, Any]:
    seen, metrics = overview(run), run.metrics
    numeric = [n for n in metrics.columns if n != "step" and metrics[n].dtype.is_numeric()]
    return {
        "run": run.name,
        "state": seen.state,
        "steps": f"{seen.steps} of {seen.planned}" if seen.planned else str(seen.steps),
        "model": seen.decided_by,
        "seed": seen.regime.seed,
        "invalid": percent(seen.invalid_share),
        "calls": seen.usage.calls,
        "parent": f"{seen.parent.run} at {seen.parent.at}" if seen.parent else "",
        "metric": f"{numeric[0]} {charts.sparkline(metrics[numeric[0]].tail(24))}" if numeric else "",
        "created": seen.created,
    }


@click.command("compare", help=COMMANDS["compare"][1])
@click.argument("first")
@click.argument("second")
@workspace_option
@json_option
def compare_command(first: str, second: str, workspace: str | None, as_json: bool) -> int:
    place = Workspace(workspace)
    one, two = RunReader(place.open(first)), RunReader(place.open(second))
    found = compare(one, two)
    parting = found.first_difference
    if as_json:
        emit(
            {
                "first": one.name,
                "second": two.name,
                "equal": found.equal,
                "settings": found.settings,
                "parting": parting.__dict__ if parting else None,
                "metrics": found.metrics,
                "steps": found.steps,
            }
        )
        return 0 if found.equal else 6
    out.print(f"[bold]{one.name}[/bold] and [bold]{two.name}[/bold]")
    rows = [(name, f"{a}  →  {b}") for name, (a, b) in found.settings.items()]
    facts(rows or [("settings", "the same")])
    if parting is None:
        out.print(f"  every recorded decision of {min(found.steps) - 1} shared steps is equal")
    else:
        whom = f", person {parting.person}" if parting.person is not None else ""
        out.print(f"  first difference: step {parting.step} ({parting.path}){whom}, in the {parting.what}")
        if parting.what == "prompt":
            _show_difference(parting.first, parting.second)
        else:
            facts([(one.name, parting.first), (two.name, parting.second)])
    if found.metrics.height:
        out.print()
        table(found.metrics, "Metrics that differ")
    return 0 if found.equal else 6


def _show_difference(first: str, second: str) -> None:
    for line in difflib.ndiff(first.splitlines(), second.splitlines()):
        if line[0] in "+-":
            out.print(Text(f"    {line}", style="green" if line[0] == "+" else "red"))


@click.command("export", help=COMMANDS["export"][1])
@click.argument("run")
@click.argument("target")
@click.option(
    "--format",
    "--to",
    "form",
    type=click.Choice([*FORMATS, "html"]),
    default="parquet",
    show_default=True,
    help="A folder of Parquet or CSV files, one SQLite file, or the page of a community.",
)
@click.option("--filter", "words", metavar="FILE", help="For html: words that hide a post until it is asked for.")
@click.option("--no-filter", is_flag=True, help="For html: hide nothing.")
@workspace_option
@json_option
def export_command(
    run: str, target: str, form: Any, words: str | None, no_filter: bool, workspace: str | None, as_json: bool
) -> None:
    found = RunReader(Workspace(workspace).open(run))
    if not found.steps:
        raise UsageError(f"{found.name} has no committed step to export.")
    if form == "html":
        from populace.cli.communities import export_page

        files = [export_page(found, target, words, no_filter)]
    else:
        files = export(found, target, form)
    if as_json:
        emit({"run": found.name, "files": [str(file) for file in files]}, [RESPONSIBLE_USE])
        return
    for file in files:
        out.print(str(file))
    err.print(f"[yellow]note[/yellow]  {RESPONSIBLE_USE}")
