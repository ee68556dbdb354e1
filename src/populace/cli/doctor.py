"""doctor: check this machine, or whether a scenario repeats."""

from __future__ import annotations

import platform
import shutil
from importlib.metadata import version
from typing import Any

import click
import polars as pl

from populace.base.errors import PopulaceError
from populace.cli.options import ScenarioCommand, command, common_options
from populace.cli.output import emit, out, table
from populace.engine.discovery import find_scenario
from populace.engine.workspace import Workspace
from populace.models import SMOLLM2, cache_folder
from populace.tools.doctor import Diagnosis, diagnose


@command("doctor", cls=ScenarioCommand)
@click.argument("scenario", required=False)
@common_options
def doctor_command(scenario: str | None, workspace: str | None, as_json: bool, **options: Any) -> int:
    if scenario is None:
        return _check_machine(Workspace(workspace), as_json)
    scenario_class = find_scenario(scenario)
    arguments = []
    for name in scenario_class.parameter_model().model_fields:
        value = options.get(f"parameter_{name}")
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            arguments.append(f"--{flag}" if value else f"--no-{flag}")
        elif value is not None:
            arguments += [f"--{flag}", str(value)]
    diagnosis = diagnose(scenario, scenario_class, arguments)
    _show_diagnosis(scenario, diagnosis, as_json)
    return 0 if diagnosis.deterministic else 6


def _show_diagnosis(name: str, diagnosis: Diagnosis, as_json: bool) -> None:
    difference = diagnosis.comparison.first_difference
    if as_json:
        emit(
            {
                "scenario": name,
                "deterministic": diagnosis.deterministic,
                "steps": diagnosis.steps,
                "digests": diagnosis.digests,
                "parting": difference.__dict__ if difference else None,
                "suspects": [s.__dict__ for s in diagnosis.suspects],
            }
        )
        return
    if diagnosis.deterministic:
        out.print(
            f"[bold green]{name} is deterministic[/bold green]: two runs in separate processes, with 1 and 64 "
            f"calls at once, other hash seeds and time zones, wrote one journal ({diagnosis.digests[0][:12]})."
        )
    else:
        out.print(f"[bold red]{name} is not deterministic[/bold red]: two runs of it differ.")
        if difference:
            whom = f", person {difference.person}" if difference.person is not None else ""
            out.print(
                f"  first at step {difference.step}{whom}, in the {difference.what}: "
                f"{difference.first!r} and {difference.second!r}"
            )
        else:
            out.print("  every decision is equal, but the people, events or metrics that they lead to are not")
    if diagnosis.suspects:
        rows = [(s.line, s.code, s.why) for s in diagnosis.suspects]
        table(pl.DataFrame(rows, schema=["line", "code", "why"], orient="row"), "Lines that may be the cause")


def _check_machine(workspace: Workspace, as_json: bool) -> int:
    """Check packages, the embedded model, the call store and the disk; returns the exit code."""
    checks: list[tuple[str, bool, str]] = []
    for package in ("populace", "polars", "xllamacpp", "openai"):
        checks.append((package, True, version(package)))
    checks.insert(0, ("python", True, platform.python_version()))
    present = SMOLLM2.present()
    checks.append(("embedded model", present, str(SMOLLM2.path) if present else "not fetched: populace models --fetch"))
    try:
        store = workspace.store()
        checks.append(("call store", True, f"{store.path}, {len(store):,} calls"))
        store.close()
    except PopulaceError as error:
        checks.append(("call store", False, str(error)))
    nearest = next(folder for folder in (cache_folder(), *cache_folder().parents) if folder.exists())
    free = min(shutil.disk_usage(place).free for place in (workspace.folder, nearest)) / 1e9
    checks.append(("disk", free > 1, f"{free:.1f} GB free"))
    if as_json:
        emit([{"check": name, "ok": ok, "found": text} for name, ok, text in checks])
    else:
        for name, ok, text in checks:
            mark = "[green]✓[/green]" if ok else "[red]✗[/red]"
            out.print(f"  {mark} {name:<15} {text}")
    return 0 if all(ok for _, ok, _ in checks) else 3
