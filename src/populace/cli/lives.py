"""A person's life in a run, and why they decided as they did."""

from __future__ import annotations

import json
import shlex
from typing import Any

import click
import polars as pl

from populace.cli import COMMANDS
from populace.cli.decision import show_decision
from populace.cli.options import json_option, workspace_option
from populace.cli.output import emit, out, table
from populace.engine.workspace import Workspace
from populace.runs.biography import SCORES, UNRECORDED, Life, behind, in_words, recalled, unrecorded
from populace.runs.reader import RunReader


def show_life(run: RunReader, life: Life) -> None:
    """Print a life: plans and actions, conversations, memories and what was concluded from them."""
    person = life.person
    out.print(f"[bold]{person.name}[/bold] in {run.name}")
    for kind in life.events["kind"].unique(maintain_order=True):
        rows = life.events.filter(pl.col("kind") == kind)
        details = [json.loads(data) for data in rows["data"]]
        shown = pl.DataFrame({"step": rows["step"], "": [in_words(detail, life.names) for detail in details]})
        table(shown, kind.capitalize(), limit=20)
    if life.said.height:
        table(life.said, "Conversations", limit=40)
    for kind, title in (
        ("reflection", "Conclusions"),
        ("dialogue", "Heard"),
        ("observation", "Seen"),
        ("plan", "Plans"),
    ):
        rows = life.memories.filter(pl.col("kind") == kind)
        if rows.height:
            best = rows.sort("importance", "memory", descending=[True, False], nulls_last=True)
            table(best.select("memory", "step", "importance", "text", "evidence"), f"{title}: {rows.height}", limit=8)
    who = shlex.quote(str(person.name))
    out.print(
        f"  [dim]why did they decide so:[/dim]  populace why {run.name} --step {_asked(run, life)} --person {who}"
    )


def _asked(run: RunReader, life: Life) -> int:
    """A step in which the person was asked something."""
    answers = run.answers().filter(pl.col("person") == life.person.id)
    return int(answers["step"][0]) if answers.height else 1


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
    mine = recalled(found, step, decisions[0].person["id"]) if decisions else pl.DataFrame()
    if as_json:
        emit(
            [
                {**decision.__dict__, "distribution": decision.distribution, "recalled": behind(mine, decision)}
                for decision in decisions
            ]
        )
        return
    if not decisions:
        out.print(f"{person} decided nothing in step {step}.")
    for decision in decisions:
        memories = behind(mine, decision)
        if memories.height:
            shown = memories.select("memory", "about", *SCORES, "text")
            table(shown, f"What came to mind ({decision.purpose})", limit=40)
        elif unrecorded(mine, decision):
            out.print(f"[dim]{UNRECORDED}[/dim]")
        show_decision(found, decision)
