"""resume: go on with a run that stopped or waits."""

from __future__ import annotations

from typing import Any

import click

from populace.base.errors import StoppedError
from populace.cli.options import call_options, chart_option, command, common_options
from populace.cli.output import emit, err
from populace.cli.progress import RunDisplay, fetch_missing_model
from populace.cli.summary import show_finished_run, with_resume_command
from populace.engine.run import Run
from populace.engine.run_control import go_on
from populace.engine.workspace import Workspace


@command("resume")
@click.argument("name", metavar="RUN")
@call_options
@chart_option
@common_options
def resume_command(name: str, workspace: str | None, as_json: bool, chart: bool, **options: Any) -> None:
    run = Run(Workspace(workspace).open(name))
    if run.manifest.status.state == "complete":
        err.print(f"{run.name} is complete already: {run.manifest.status.reason}.")
    elif run.journal.busy() and run.journal.paused():
        go_on(run.journal)
        err.print(f"{run.name} goes on in its own process.")
        if as_json:
            emit({"run": run.name, "asked": "go on"})
        return
    else:
        regime = run.manifest.regime
        fetch_missing_model(regime.model if regime.decider == "model" else "")
        try:
            run.resume(observer=RunDisplay(), **options)
        except StoppedError as stop:
            raise with_resume_command(stop, run.name) from stop
    show_finished_run(run, as_json, chart)
