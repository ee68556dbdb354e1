"""A person's life in a run, and why they decided as they did."""

from __future__ import annotations

import shlex
from typing import Any

import click
import polars as pl

from populace.cli import COMMANDS
from populace.cli.decision import show_decision
from populace.cli.options import json_option, workspace_option
from populace.cli.output import emit, out, table
from populace.engine.workspace import Workspace
from populace.runs.biography import Biography
from populace.runs.decision_details import SCORES, UNRECORDED, memories_note, recalled_memories
from populace.runs.reader import RunReader
from populace.runs.step_events import event_text


def show_biography(run: RunReader, person: Biography) -> None:
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


@click.command("why", help=COMMANDS["why"][1])
@click.argument("run")
@click.option("--step", type=click.IntRange(min=0), required=True, help="The step.")
@click.option("--person", metavar="NAME|ID", required=True, help="Whose decisions.")
@workspace_option
@json_option
def why_command(run: str, step: int, person: str, workspace: str | None, as_json: bool) -> None:
    found = RunReader(Workspace(workspace).open(run))
    who: Any = int(person) if person.isdigit() and found.people().ids.dtype.is_integer() else person
    decisions = found.decisions(step, who)
    if as_json:
        emit(
            [
                {
                    **decision.__dict__,
                    "distribution": decision.distribution,
                    "recalled": recalled_memories(found, decision),
                }
                for decision in decisions
            ]
        )
        return
    if not decisions:
        out.print(f"{person} decided nothing in step {step}.")
    for decision in decisions:
        memories = recalled_memories(found, decision)
        if memories.height:
            shown = memories.select("memory", "about", *SCORES, "text")
            table(shown, f"What came to mind ({decision.purpose})", limit=40)
        elif memories_note(found, decision) == UNRECORDED:
            out.print(f"[dim]{UNRECORDED}[/dim]")
        show_decision(found, decision)
