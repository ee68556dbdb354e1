"""show: a run, a step of it, or a person."""

from __future__ import annotations

import shlex

import click
import polars as pl

from populace.cli.decision import show_decision
from populace.cli.options import command, common_options
from populace.cli.output import emit, out, table
from populace.cli.summary import report_tables, run_document, show_run
from populace.engine.workspace import Workspace
from populace.runs.biography import Biography, biography, has_memories
from populace.runs.caveats import caveats
from populace.runs.reader import RunReader
from populace.runs.step_events import event_text


def _show_biography(run: RunReader, person: Biography) -> None:
    """Print what happened to a person, what they said and heard, and what they remember."""
    out.print(f"[bold]{person.name}[/bold] in {run.name}")
    for kind in person.events["kind"].unique(maintain_order=True):
        rows = person.events.filter(pl.col("kind") == kind)
        details = [event_text(data, person.names) for data in rows["data"]]
        table(pl.DataFrame({"step": rows["step"], "": details}), kind.capitalize(), limit=20)
    if person.talk.height:
        table(person.talk, "Conversations", limit=40)
    for kind, title in (
        ("reflection", "Conclusions"),
        ("dialogue", "Heard"),
        ("observation", "Seen"),
        ("plan", "Plans"),
    ):
        rows = person.memories.filter(pl.col("kind") == kind)
        if rows.height:
            best = rows.sort("importance", "memory", descending=[True, False], nulls_last=True)
            table(best.select("memory", "step", "importance", "text", "evidence"), f"{title}: {rows.height}", limit=8)
    step = int(person.decisions["step"][0]) if person.decisions.height else 1
    command = f"populace why {run.name} --step {step} --person {shlex.quote(person.name)}"
    out.print(f"  [dim]why did they decide so:[/dim]  {command}")


@command("show")
@click.argument("name", metavar="RUN")
@click.option("--step", type=click.IntRange(min=0), help="Show one step.")
@click.option("--person", metavar="NAME|ID", help="Open the decisions of one person.")
@click.option("--thread", type=int, metavar="POST", help="Read the thread of a community that holds this post.")
@common_options
def show_command(
    name: str, step: int | None, person: str | None, thread: int | None, workspace: str | None, as_json: bool
) -> None:
    run = RunReader(Workspace(workspace).open(name))
    if thread is not None:
        from populace.cli.threads import show_thread

        show_thread(run, thread, as_json)
    elif person is not None:
        _show_person(run, step, person, as_json)
    elif step is not None:
        _show_step(run, step, as_json)
    elif as_json:
        tables = [{"title": each.title, "table": each.table, "note": each.note} for each in report_tables(run)]
        emit(run_document(run) | {"findings": tables}, caveats(run))
    else:
        show_run(run)
        out.print(f"\n  [dim]run[/dim]  {run.folder}   [dim]journal[/dim] {run.digest[:12]}")


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
    events = run.record.table(step, "events")
    return events if events is not None else pl.DataFrame()


def _show_person(run: RunReader, step: int | None, person: str, as_json: bool) -> None:
    steps = run.steps if step is None else [step]
    decisions = [decision for number in steps for decision in run.decisions(number, person)]
    if not decisions and not as_json:
        out.print(f"{person} decided nothing in {'any step' if step is None else f'step {step}'}.")
    if as_json:
        emit([{**decision.__dict__, "distribution": decision.distribution} for decision in decisions])
    elif step is None and has_memories(run):
        _show_biography(run, biography(run, person))
    elif step is None and decisions:
        rows = [(d.step, d.question["text"], d.value, d.status) for d in decisions]
        who = decisions[0].person.get("name", person)
        table(pl.DataFrame(rows, schema=["step", "question", "answer", "status"], orient="row"), f"{who} in {run.name}")
        one = f"--step {decisions[0].step} --person {shlex.quote(person)}"
        out.print(f"  [dim]open one:[/dim]  populace show {run.name} {one}")
    else:
        for decision in decisions:
            show_decision(run, decision)
