"""replay: a recorded run again, without a model."""

from __future__ import annotations

import click

from populace.cli.options import command, common_options
from populace.cli.output import emit, out
from populace.cli.progress import RunDisplay
from populace.engine.run import Run
from populace.engine.workspace import Workspace


@command("replay")
@click.argument("name", metavar="RUN")
@click.option(
    "--verify", is_flag=True, help="Compare every table of every step, and draw again from the distributions."
)
@click.option("--into", metavar="FOLDER", help="Write the replayed journal there.")
@common_options
def replay_command(name: str, verify: bool, into: str | None, workspace: str | None, as_json: bool) -> None:
    run = Run(Workspace(workspace).open(name))
    replayed = run.replay(verify=verify, into=into, observer=RunDisplay())
    steps = replayed.steps[-1]
    data = {"run": run.name, "steps": steps, "verified": verify, "digest": run.digest, "into": into}
    if as_json:
        emit(data)
        return
    how = "every table and every draw is equal" if verify else "every question and prompt is equal"
    out.print(f"{run.name}: {steps} steps replayed without a model; {how}.  Journal {run.digest[:12]}")
