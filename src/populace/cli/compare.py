"""compare: where two runs first differ."""

from __future__ import annotations

import difflib

import click
from rich.text import Text

from populace.cli import COMMANDS
from populace.cli.options import json_option, workspace_option
from populace.cli.output import emit, facts, out, table
from populace.engine.workspace import Workspace
from populace.runs.compare import compare
from populace.runs.reader import RunReader


@click.command("compare", help=COMMANDS["compare"])
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
