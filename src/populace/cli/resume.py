"""resume: go on with a run that stopped or waits."""

from __future__ import annotations

from typing import Any

import click

from populace.base.errors import StoppedError
from populace.cli import COMMANDS
from populace.cli.options import budget, call_options, chart_option, json_option, workspace_option
from populace.cli.output import emit, err
from populace.cli.progress import RunDisplay, fetch_missing_model
from populace.cli.summary import show_finished_run, with_resume_command
from populace.engine.run import Run
from populace.engine.run_control import go_on
from populace.engine.workspace import Workspace


@click.command("resume", help=COMMANDS["resume"])
@click.argument("run")
@call_options
@chart_option
@workspace_option
@json_option
def resume_command(run: str, workspace: str | None, as_json: bool, chart: bool, **options: Any) -> None:
    found = Run(Workspace(workspace).open(run))
    if found.manifest.status.state == "complete":
        err.print(f"{found.name} is complete already: {found.manifest.status.reason}.")
    elif found.journal.busy() and found.journal.paused():
        go_on(found.journal)
        err.print(f"{found.name} goes on in its own process.")
        if as_json:
            emit({"run": found.name, "asked": "go on"})
        return
    else:
        regime = found.manifest.regime
        fetch_missing_model(regime.model if regime.decider == "model" else "")
        try:
            found.resume(budget=budget(options), observer=RunDisplay(), **options)
        except StoppedError as stop:
            raise with_resume_command(stop, found.name) from stop
    show_finished_run(found, as_json, chart)
