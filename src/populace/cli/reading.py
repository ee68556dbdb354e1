"""Commands that read runs: list, show, compare and export."""

import difflib
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

import click
import polars as pl

from populace.base.errors import UsageError
from populace.base.formatting import percent, plural
from populace.cli.decisions import decision_document, show_decision
from populace.cli.options import command, command_line, current_workspace, option, run_argument
from populace.cli.output import (
    as_json,
    bold,
    dim,
    err,
    facts,
    out,
    report_json,
    report_rows,
    row_table,
    show_changes,
    table,
    warn,
    yellow,
)
from populace.cli.summary import report_tables, run_document, show_run, untrusted_notes
from populace.cli.trust import trust_command
from populace.runs import charts
from populace.runs.biography import Biography, biography, has_memories
from populace.runs.caveats import caveats
from populace.runs.compare import compare
from populace.runs.decision_details import no_decision
from populace.runs.export import FORMATS, RESPONSIBLE_USE, export
from populace.runs.overview import RunOverview, overview
from populace.runs.reader import RunReader
from populace.runs.settings_text import value_text
from populace.runs.step_events import event_text


@command("list", workspace="existing")
def list_command() -> None:
    place = current_workspace()
    empty = f"There are no runs in {place.runs}. Begin with: {command_line('run', 'norms')}"
    report_rows(place.names(), lambda name: _row(RunReader(place.open(name))), empty, newest="created")


def _steps_text(summary: RunOverview) -> str:
    """How many steps are done; of how many, while more may come."""
    more = summary.planned if summary.state != "complete" else None
    return f"{summary.steps} of {more}" if more else str(summary.steps)


def _row(run: RunReader) -> dict[str, Any]:
    summary, metrics = overview(run), run.metrics
    numeric = [n for n in metrics.columns if n != "step" and metrics[n].dtype.is_numeric()]
    return {
        "run": run.name,
        "state": summary.state,
        "steps": _steps_text(summary),
        "model": summary.decided_by,
        "seed": summary.regime.seed,
        "invalid": percent(summary.invalid_share),
        "calls": summary.usage.calls + run.manifest.status.abandoned_calls,
        "parent": f"{summary.parent.run} at {summary.parent.at}" if summary.parent else "",
        "metric": f"{numeric[0]} {charts.sparkline(metrics[numeric[0]], 24)}" if numeric else "",
        "created": summary.created,
    }


_MEMORY_TITLES = {
    "reflection": "Conclusions", "dialogue": "Heard", "observation": "Seen", "deed": "Deeds", "speech": "Said",
    "hearing": "Heard", "told": "Told", "thought": "Thoughts", "announcement": "Announced", "plan": "Plans",
}  # fmt: skip


def memory_kinds(kinds: Iterable[str], above: Container[str]) -> list[str]:
    """Each kind of memories once, without those above: the known ones in their order, then others by name."""
    places = {kind: place for place, kind in enumerate(_MEMORY_TITLES)}
    return sorted({kind for kind in kinds if kind not in above}, key=lambda kind: (places.get(kind, len(places)), kind))


def _show_biography(run: RunReader, person: Biography, who: str) -> None:
    """Print what happened to a person, what they said and heard, and what they remember."""
    out.print_line(bold(person.name), f" in {run.name}")
    for kind in person.events["kind"].unique(maintain_order=True):
        rows = person.events.filter(pl.col("kind") == kind)
        details = [event_text(data, person.names) for data in rows["data"]]
        table(pl.DataFrame({"step": rows["step"], "": details}), kind.capitalize(), limit=20)
    if person.talk.height:
        table(person.talk, "Conversations", limit=40)
    # What is in a table above is not shown as a memory once more.
    above = {"deed"} if (person.events["kind"] == "did").any() else set()
    above |= {"speech", "hearing"} if person.talk.height else set()
    kinds = person.memories["kind"].to_list() if person.memories.height else []
    for kind in memory_kinds(kinds, above):
        rows = person.memories.filter(pl.col("kind") == kind)
        best = rows.sort("importance", "memory", descending=[True, False], nulls_last=True)
        title = f"{_MEMORY_TITLES.get(kind, kind.capitalize())}: {rows.height}"
        table(best.select("memory", "step", "importance", "text", "evidence"), title, limit=8)
    if not person.events.height and person.decisions.height:
        table(person.decisions.select("step", "question", "value", "status"), "Decisions", limit=40)
    step = int(person.decisions["step"][0]) if person.decisions.height else 1
    why = command_line("why", run.name, "--step", str(step), "--person", who)
    out.print_line("  ", dim("why did they decide so:"), f"  {why}")


@command("show", workspace="existing", code="optional")
@run_argument()
@click.option("--step", type=click.IntRange(min=0), help="Show one step.")
@click.option("--person", metavar="NAME|ID", help="Open the decisions of one person.")
@click.option("--thread", type=int, metavar="POST", help="Read the thread of a community that holds this post.")
def show_command(run: RunReader, step: int | None, person: str | None, thread: int | None) -> None:
    if thread is not None:
        from populace.cli.communities import show_thread

        show_thread(run, thread)
    elif person is not None:
        _show_person(run, step, person)
    elif step is not None:
        _show_step(run, step)
    elif as_json():
        tables = [{"title": each.title, "table": each.table, "note": each.note} for each in report_tables(run)]
        report_json(run_document(run) | {"findings": tables}, [*caveats(run), *untrusted_notes(run)])
    else:
        show_run(run)
        out.print_line("\n  ", dim("run"), f"  {run.folder}   ", dim("digest"), f" {run.digest[:12]}")
        if overview(run).state in ("died", "stopped", "failed", "paused"):
            out.print_line("  ", dim("continue it:"), f"  {command_line('resume', run.name)}")
        for note in untrusted_notes(run):
            warn(note)
            out.print_line("  ", dim("show that too:"), f"  {trust_command()}")


def _show_step(run: RunReader, step: int) -> None:
    people, counts, events = run.people(step), run.answers(step), run.record.table(step, "events")
    if counts.height:
        counts = counts.group_by("question", "value", "status", maintain_order=True).len("people")
        counts = counts.sort("question", "value")
    events = pl.DataFrame() if events is None else events
    report_json({"run": run.name, "step": step, "answers": counts, "people": people.frame, "events": events})
    out.print_line(bold(run.name), f", step {step}: {plural(len(people), 'person', 'people')}")
    if counts.height:
        table(counts, "Answers")
    if events.height:
        table(events, "Events")
    table(people.frame, "People after the step", limit=20)


def _show_person(run: RunReader, step: int | None, person: str) -> None:
    steps = run.steps if step is None else [step]
    decisions = [decision for number in steps for decision in run.decisions(number, person)]
    report_json([decision_document(decision) for decision in decisions])
    if not decisions:
        nothing = f"{person} decided nothing in any step." if step is None else " ".join(no_decision(run, step, person))
        out.print_line(nothing.strip())
    if step is None and has_memories(run):
        _show_biography(run, biography(run, person), person)
    elif step is None and decisions:
        rows = [(d.step, d.question["text"], d.value, d.status) for d in decisions]
        who = decisions[0].person.get("name", person)
        row_table(["step", "question", "answer", "status"], rows, f"{who} in {run.name}")
        one = command_line("show", run.name, "--step", str(decisions[0].step), "--person", person)
        out.print_line("  ", dim("open one:"), f"  {one}")
    else:
        for decision in decisions:
            show_decision(run, decision)


@command("compare", workspace="existing")
@run_argument("first")
@run_argument("second")
def compare_command(first: RunReader, second: RunReader) -> int:
    comparison = compare(first, second)
    difference, code = comparison.first_difference, 0 if comparison.equal else 6
    document = {name: getattr(comparison, name) for name in ("equal", "settings", "metrics", "steps")}
    document |= {"first": first.name, "second": second.name, "parting": difference and difference.__dict__}
    report_json(document, code=code)
    out.print_line(bold(first.name), " and ", bold(second.name))
    rows = [(name, f"{value_text(a)}  →  {value_text(b)}") for name, (a, b) in comparison.settings.items()]
    facts(rows or [("settings", "the same")])
    if difference is None:
        out.print_line(f"  every recorded decision of {plural(min(comparison.steps) - 1, 'shared step')} is equal")
    else:
        whom = f", person {difference.person}" if difference.person is not None else ""
        out.print_line(
            f"  first difference: step {difference.step} ({difference.path}){whom}, in the {difference.what}"
        )
        if difference.what == "prompt":
            show_changes(difflib.ndiff(difference.first.splitlines(), difference.second.splitlines()))
        else:
            facts([(first.name, difference.first), (second.name, difference.second)])
    if comparison.metrics.height:
        out.print_line()
        table(comparison.metrics, "Metrics that differ")
    return code


def _write_page(run: RunReader, target: str, words: str | None, no_filter: bool) -> Path:
    """Write the page of a community, with the verdicts of judges so far."""
    from populace.community import Community
    from populace.community.judges import read_judgements
    from populace.community.page import write_page
    from populace.community.word_filter import WordFilter

    if words and no_filter:
        raise UsageError("--filter and --no-filter exclude one another.")
    word_filter = WordFilter([]) if no_filter else WordFilter.read(words) if words else None
    community = Community(run)
    return write_page(community, target, verdicts=read_judgements(community).verdicts(), word_filter=word_filter)


@command("export", workspace="existing")
@run_argument()
@click.argument("target")
@option(
    "--format",
    "--to",
    "form",
    type=click.Choice([*FORMATS, "html"]),
    default="parquet",
    help="A folder of Parquet or CSV files, one SQLite file, or the page of a community.",
)
@click.option("--filter", "words", metavar="FILE", help="For html: words that hide a post until a reader opens it.")
@click.option("--no-filter", is_flag=True, help="For html: hide nothing.")
def export_command(run: RunReader, target: str, form: Any, words: str | None, no_filter: bool) -> None:
    if not run.steps:
        raise UsageError(f"{run.name} has no committed step to export.")
    files = [_write_page(run, target, words, no_filter)] if form == "html" else export(run, target, form)
    report_json({"run": run.name, "files": [str(file) for file in files]}, [RESPONSIBLE_USE])
    for file in files:
        out.print_line(str(file))
    err.print_line(yellow("note"), f"  {RESPONSIBLE_USE}")
