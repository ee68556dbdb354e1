"""fork: a run that shares another up to a step."""

from __future__ import annotations

from typing import Any

import click

from populace.base.errors import StoppedError, UsageError
from populace.cli.options import (
    call_options,
    chart_option,
    command,
    common_options,
    interventions_option,
    parameter_value,
    settings_options,
)
from populace.cli.progress import RunDisplay, fetch_missing_model
from populace.cli.summary import show_finished_run, with_resume_command
from populace.engine.discovery import find_scenario
from populace.engine.run import Run
from populace.engine.scenario import Scenario
from populace.engine.workspace import Workspace
from populace.journal import RunSettings
from populace.tools.describe import parameters_of


@command("fork")
@click.argument("name", metavar="RUN")
@click.option("--at", type=click.IntRange(min=1), required=True, help="The first step that differs.")
@click.option("--set", "changes", multiple=True, metavar="NAME=VALUE", help="Change a parameter from that step on.")
@settings_options(RunSettings, inherit=True)
@interventions_option
@call_options
@chart_option
@common_options
def fork_command(name: str, at: int, changes: tuple[str, ...], as_json: bool, chart: bool, **options: Any) -> None:
    run = Run(Workspace(options.pop("workspace")).open(name))
    display = RunDisplay()
    regime = run.manifest.regime
    decider = options["decider"] or regime.decider
    parameters = _changes(changes, find_scenario(run.manifest.scenario))
    fetch_missing_model((options["model"] or regime.model) if decider == "model" else "")
    try:
        forked = run.fork(at, parameters=parameters, observer=display, **options)
    except StoppedError as stop:
        raise with_resume_command(stop, display.run_name) from stop
    show_finished_run(forked, as_json, chart)


def _changes(given: tuple[str, ...], scenario: type[Scenario]) -> dict[str, Any]:
    known = {each.name: each for each in parameters_of(scenario)}
    changes: dict[str, Any] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign:
            raise UsageError(f"--set takes NAME=VALUE, not {each!r}.")
        name = name.replace("-", "_")
        changes[name] = parameter_value(known[name], value) if name in known else value
    return changes
