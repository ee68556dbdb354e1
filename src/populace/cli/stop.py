"""stop: a run that is under way stops as after Ctrl-C."""

from __future__ import annotations

import click

from populace.cli import COMMANDS
from populace.cli.options import json_option, workspace_option
from populace.cli.output import emit, out
from populace.engine.run_control import stop
from populace.engine.workspace import Workspace


@click.command("stop", help=COMMANDS["stop"])
@click.argument("run")
@workspace_option
@json_option
def stop_command(run: str, workspace: str | None, as_json: bool) -> None:
    journal = Workspace(workspace).open(run)
    stop(journal)
    if as_json:
        emit({"run": journal.name, "asked": "stop"})
        return
    out.print(f"{journal.name} stops after the calls under way. Continue with: populace resume {journal.name}")
