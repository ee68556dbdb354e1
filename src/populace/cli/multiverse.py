"""multiverse: a community several times with other draws."""

from __future__ import annotations

from typing import Any

import click

from populace.cli.options import call_options, command, common_options
from populace.cli.output import emit, out, table
from populace.cli.threads import fork_settings, reply_options, show_changed_thread
from populace.community.community import Community
from populace.community.judges import judge_posts
from populace.community.multiverse import multiverse
from populace.engine.run import Run
from populace.engine.workspace import Workspace


@command("multiverse")
@click.argument("name", metavar="RUN")
@click.option("--n", "n", type=click.IntRange(min=1), default=5, show_default=True, help="How many runs.")
@reply_options
@click.option("--judge", "judged_by", metavar="MODEL", help="Have this model judge all of them, to compare violations.")
@call_options
@common_options
def multiverse_command(
    name: str, n: int, post: int | None, judged_by: str | None, as_json: bool, **options: Any
) -> None:
    run = Run(Workspace(options.pop("workspace")).open(name))
    runs = multiverse(run, n, post, **fork_settings(run, options))
    if judged_by is not None:
        for each in (run, *runs):
            judge_posts(Community(each), judged_by)
    comparison = runs.compare()
    calls = {each.name: each.usage().calls for each in runs}
    if as_json:
        emit({"run": run.name, "post": post, "runs": list(calls), "calls": calls, "compare": comparison})
        return
    if post is not None:
        for each in runs:
            show_changed_thread(each, post)
            out.print()
    table(comparison, f"{run.name} and what else could have happened")
    out.print(f"  [dim]calls of each:[/dim]  {', '.join(f'{name} {count:,}' for name, count in calls.items())}")
