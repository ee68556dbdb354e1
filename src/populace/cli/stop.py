"""stop: a run that is under way stops as after Ctrl-C."""

from __future__ import annotations

import click

from populace.cli.options import command, common_options
from populace.cli.output import emit, out
from populace.engine.run_control import stop
from populace.engine.workspace import Workspace


@command("stop")
@click.argument("run")
@common_options
def stop_command(run: str, workspace: str | None, as_json: bool) -> None:
    journal = Workspace(workspace).open(run)
    stop(journal)
    if as_json:
        emit({"run": journal.name, "asked": "stop"})
        return
    out.print(f"{journal.name} stops after the calls under way. Continue with: populace resume {journal.name}")
