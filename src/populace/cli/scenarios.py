"""scenarios: what can be run, and with which parameters."""

from __future__ import annotations

import json
from typing import Any

import click
import polars as pl

from populace.base.errors import PopulaceError
from populace.cli.options import command, common_options
from populace.cli.output import emit, facts, out, table
from populace.engine.discovery import find_scenario, known_scenarios, scenario_files
from populace.engine.workspace import Workspace
from populace.tools.describe import Parameter, describe_scenario, parameters_of


@command("scenarios")
@click.argument("scenario", required=False, metavar="[NAME|FILE.py]")
@common_options
def scenarios_command(scenario: str | None, workspace: str | None, as_json: bool) -> None:
    if scenario is not None:
        scenario_class = find_scenario(scenario)
        document = describe_scenario(scenario_class)
        emit(document) if as_json else _show(scenario, document, parameters_of(scenario_class))
        return
    rows, unusable = [], []
    for name in known_scenarios():
        # One package that does not load must not hide the others.
        try:
            rows.append((name, find_scenario(name).summary()))
        except PopulaceError as error:
            unusable.append(f"{name}: {error}")
    # Files are listed but not loaded: loading one runs it.
    files = [str(path) for path in scenario_files(Workspace(workspace).folder)]
    if as_json:
        emit([{"name": n, "summary": text} for n, text in [*rows, *((file, "") for file in files)]], unusable)
        return
    facts([*rows, *((file, "a file of the workspace") for file in files)], style="bold")
    for text in unusable:
        out.print(f"  [yellow]not usable[/yellow]  {text}")
    out.print("\n  [dim]the parameters of one:[/dim]  populace scenarios NAME   [dim]or of a file:[/dim] FILE.py")


def _show(name: str, document: dict[str, Any], parameters: list[Parameter]) -> None:
    out.print(f"[bold]{document['title']}[/bold]  {document['summary']}")
    facts([("metrics", ", ".join(document["chart"])), ("card", document["card"] or "none")])
    rows = [(each.name, _form(each), _default(each), each.help) for each in parameters]
    out.print()
    table(pl.DataFrame(rows, schema=["parameter", "form", "default", "meaning"], orient="row"), limit=200)
    out.print(f"\n  [dim]run it:[/dim]  populace run {name}")


def _form(parameter: Parameter) -> str:
    if parameter.kind == "choice":
        return " | ".join(str(choice) for choice in parameter.choices)
    return " ".join([parameter.kind, ", ".join(parameter.bounds)]).strip()


def _default(parameter: Parameter) -> str:
    if parameter.required:
        return "required"
    default = parameter.default
    return default if isinstance(default, str) else json.dumps(default, ensure_ascii=False)
