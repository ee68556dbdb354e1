"""pause: a run that is under way waits after its step."""

from __future__ import annotations

import click

from populace.cli.options import command, common_options
from populace.cli.output import emit, out
from populace.engine.run_control import pause
from populace.engine.workspace import Workspace


@command("pause")
@click.argument("run")
@common_options
def pause_command(run: str, workspace: str | None, as_json: bool) -> None:
    journal = Workspace(workspace).open(run)
    pause(journal)
    if as_json:
        emit({"run": journal.name, "asked": "pause"})
        return
    out.print(f"{journal.name} waits after the step under way. Continue with: populace resume {journal.name}")
