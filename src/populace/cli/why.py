"""why: what led to a person's decisions."""

from __future__ import annotations

from typing import Any

import click

from populace.cli.decision import show_decision
from populace.cli.options import command, common_options
from populace.cli.output import emit, out, table
from populace.engine.workspace import Workspace
from populace.runs.decision_details import SCORES, UNRECORDED, memories_note, recalled_memories
from populace.runs.reader import RunReader


@command("why")
@click.argument("name", metavar="RUN")
@click.option("--step", type=click.IntRange(min=0), required=True, help="The step.")
@click.option("--person", metavar="NAME|ID", required=True, help="Whose decisions.")
@common_options
def why_command(name: str, step: int, person: str, workspace: str | None, as_json: bool) -> None:
    run = RunReader(Workspace(workspace).open(name))
    who: Any = int(person) if person.isdigit() and run.people().ids.dtype.is_integer() else person
    decisions = run.decisions(step, who)
    if as_json:
        emit(
            [
                {
                    **decision.__dict__,
                    "distribution": decision.distribution,
                    "recalled": recalled_memories(run, decision),
                }
                for decision in decisions
            ]
        )
        return
    if not decisions:
        out.print(f"{person} decided nothing in step {step}.")
    for decision in decisions:
        memories = recalled_memories(run, decision)
        if memories.height:
            rows = memories.select("memory", "about", *SCORES, "text")
            table(rows, f"Recalled memories ({decision.purpose})", limit=40)
        elif memories_note(run, decision) == UNRECORDED:
            out.print(f"[dim]{UNRECORDED}[/dim]")
        show_decision(run, decision)
