"""whatif: somebody answers a post, and its thread goes on."""

from __future__ import annotations

from typing import Any

import click

from populace.base.errors import UsageError
from populace.cli.options import call_options, command, common_options
from populace.cli.output import emit, out
from populace.cli.threads import fork_settings, reply_options, show_changed_thread, thread_posts
from populace.community.what_if import find_post, what_if
from populace.engine.run import Run
from populace.engine.workspace import Workspace


@command("whatif")
@click.argument("name", metavar="RUN")
@reply_options
@click.option("--seed", type=int, help="Another seed from there on; other threads then change as well.")
@call_options
@common_options
def whatif_command(name: str, post: int | None, as_json: bool, **options: Any) -> None:
    run = Run(Workspace(options.pop("workspace")).open(name))
    if post is None:
        raise UsageError(
            "--post needs the number of the post that is answered.",
            f"`populace export {name} page.html --format html` shows the posts with their numbers.",
        )
    if not any(options[name] is not None for name in ("as_", "person", "line")):
        raise UsageError("nobody is named who answers.", 'Give --as "a troll", --person NAME or --say "an answer".')
    changed = what_if(run, post, **fork_settings(run, options))
    thread = find_post(changed, post)["thread"]
    if as_json:
        emit({"run": changed.name, "parent": run.name, "thread": thread, "posts": thread_posts(changed, post)})
        return
    show_changed_thread(changed, post)
    out.print(f"\n  [dim]the thread before:[/dim]  populace show {run.name} --thread {thread}")
    out.print(f"  [dim]the thread now:[/dim]     populace show {changed.name} --thread {thread}")
