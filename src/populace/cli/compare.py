"""compare: where two runs first differ."""

from __future__ import annotations

import difflib

import click
from rich.text import Text

from populace.cli.options import command, common_options
from populace.cli.output import emit, facts, out, table
from populace.engine.workspace import Workspace
from populace.runs.compare import compare
from populace.runs.reader import RunReader


@command("compare")
@click.argument("first")
@click.argument("second")
@common_options
def compare_command(first: str, second: str, workspace: str | None, as_json: bool) -> int:
    place = Workspace(workspace)
    one, two = RunReader(place.open(first)), RunReader(place.open(second))
    comparison = compare(one, two)
    difference = comparison.first_difference
    if as_json:
        emit(
            {
                "first": one.name,
                "second": two.name,
                "equal": comparison.equal,
                "settings": comparison.settings,
                "parting": difference.__dict__ if difference else None,
                "metrics": comparison.metrics,
                "steps": comparison.steps,
            }
        )
        return 0 if comparison.equal else 6
    out.print(f"[bold]{one.name}[/bold] and [bold]{two.name}[/bold]")
    rows = [(name, f"{a}  →  {b}") for name, (a, b) in comparison.settings.items()]
    facts(rows or [("settings", "the same")])
    if difference is None:
        out.print(f"  every recorded decision of {min(comparison.steps) - 1} shared steps is equal")
    else:
        whom = f", person {difference.person}" if difference.person is not None else ""
        out.print(f"  first difference: step {difference.step} ({difference.path}){whom}, in the {difference.what}")
        if difference.what == "prompt":
            _show_difference(difference.first, difference.second)
        else:
            facts([(one.name, difference.first), (two.name, difference.second)])
    if comparison.metrics.height:
        out.print()
        table(comparison.metrics, "Metrics that differ")
    return 0 if comparison.equal else 6


def _show_difference(first: str, second: str) -> None:
    for line in difflib.ndiff(first.splitlines(), second.splitlines()):
        if line[0] in "+-":
            out.print(Text(f"    {line}", style="green" if line[0] == "+" else "red"))
