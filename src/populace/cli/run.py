"""run: a scenario from its beginning to its end."""

from __future__ import annotations

from typing import Any

import click

from populace.base.errors import StoppedError
from populace.cli.options import (
    ScenarioCommand,
    call_options,
    chart_option,
    command,
    common_options,
    interventions_option,
    parameters,
    settings_options,
)
from populace.cli.progress import RunDisplay, fetch_missing_model
from populace.cli.summary import show_finished_run, with_resume_command
from populace.engine.discovery import find_scenario
from populace.engine.run import Run, simulate
from populace.engine.workspace import Workspace
from populace.journal import RunSettings


@command("run", cls=ScenarioCommand)
@click.argument("scenario")
@settings_options(RunSettings)
@click.option("--recording", metavar="RUN", help="The recorded run that answers for people whose decider is replay.")
@interventions_option
@call_options
@chart_option
@common_options
def run_command(scenario: str, as_json: bool, chart: bool, recording: str | None, **options: Any) -> None:
    scenario_class = find_scenario(scenario)
    settings = scenario_class(**parameters(options, scenario_class))
    display = RunDisplay()
    fetch_missing_model(options["model"] if options["decider"] == "model" else "")
    source = Run(Workspace(options["workspace"]).open(recording)) if recording else None
    try:
        run = simulate(settings, recording=source, observer=display, **options)
    except StoppedError as stop:
        raise with_resume_command(stop, display.run_name) from stop
    show_finished_run(run, as_json, chart)
