"""whatif, multiverse."""

from __future__ import annotations

from typing import Any

import click
import polars as pl
from rich.text import Text

from populace.base.errors import UsageError
from populace.cli import COMMANDS
from populace.cli.options import call_options, json_option, model_option, workspace_option
from populace.cli.output import emit, out, table
from populace.cli.progress import Display
from populace.cli.running import fetch_if_needed
from populace.community.community import Community
from populace.community.judges import judge_posts
from populace.community.multiverse import multiverse
from populace.community.what_if import find_post, what_if
from populace.engine.run import Run
from populace.engine.workspace import Workspace
from populace.runs.reader import RunReader

_POST = click.option("--post", type=click.IntRange(min=1), help="The number of the utterance.")
_AS = click.option("--as", "as_", metavar="WORDS", help='Who answers, in words, such as "a troll".')
_PERSON = click.option("--person", metavar="NAME|ID", help="Who answers: somebody who is there.")
_SAY = click.option("--say", "line", metavar="TEXT", help="What is answered; the model writes it otherwise.")
_TEMPERATURE = click.option("--temperature", type=click.FloatRange(min=0), help="Another temperature from there on.")


@click.command("whatif", help=COMMANDS["whatif"][1])
@click.argument("run")
@_POST
@_AS
@_PERSON
@_SAY
@click.option("--seed", type=int, help="Another seed from there on; other threads then change as well.")
@model_option(None)
@_TEMPERATURE
@call_options
@workspace_option
@json_option
def whatif_command(run: str, post: int | None, as_json: bool, **options: Any) -> None:
    found = Run(Workspace(options.pop("workspace")).open(run))
    if post is None:
        raise UsageError(
            "which utterance is to be answered?", f"Name it with --post; `populace show {run}` lists them."
        )
    if not any(options[name] is not None for name in ("as_", "person", "line")):
        raise UsageError("who answers, or what?", 'Give --as "a troll", --person NAME or --say "a line".')
    turned = what_if(found, post, **_ready(found, options))
    thread = find_post(turned, post)["thread"]
    if as_json:
        emit({"run": turned.name, "parent": found.name, "thread": thread, "posts": _thread(turned, post)})
        return
    _show(turned, post)
    out.print(f"\n  [dim]the thread before:[/dim]  populace show {found.name} --thread {thread}")
    out.print(f"  [dim]the thread now:[/dim]     populace show {turned.name} --thread {thread}")


@click.command("multiverse", help=COMMANDS["multiverse"][1])
@click.argument("run")
@click.option("--n", "n", type=click.IntRange(min=1), default=5, show_default=True, help="How many.")
@_POST
@_AS
@_PERSON
@_SAY
@click.option("--judge", "judged_by", metavar="MODEL", help="Have this model judge all of them, to compare violations.")
@model_option(None)
@_TEMPERATURE
@call_options
@workspace_option
@json_option
def multiverse_command(
    run: str, n: int, post: int | None, judged_by: str | None, as_json: bool, **options: Any
) -> None:
    found = Run(Workspace(options.pop("workspace")).open(run))
    made = multiverse(found, n, post, **_ready(found, options))
    if judged_by is not None:
        for each in (found, *made):
            judge_posts(Community(each), judged_by)
    compared = made.compare()
    calls = {each.name: each.usage().calls for each in made}
    if as_json:
        emit({"run": found.name, "post": post, "runs": list(calls), "calls": calls, "compare": compared})
        return
    if post is not None:
        for each in made:
            _show(each, post)
            out.print()
    table(compared, f"{found.name} and what else could have happened")
    out.print(f"  [dim]calls of each:[/dim]  {', '.join(f'{name} {count:,}' for name, count in calls.items())}")


def _ready(run: Run, options: dict[str, Any]) -> dict[str, Any]:
    regime = run.manifest.regime
    fetch_if_needed((options["model"] or regime.model) if regime.decider == "model" else "")
    return options | {"observer": Display()}


def _thread(run: RunReader, post: int) -> pl.DataFrame:
    """The thread of an utterance, with the names of those who wrote."""
    posts = run.history("posts").filter(pl.col("thread") == find_post(run, post)["thread"])
    names = run.people().frame.select(author="id", name="name")
    return posts.join(names, on="author", how="left", maintain_order="left")


def _show(run: RunReader, post: int) -> None:
    """The thread of an utterance, with a mark where it goes its own way."""
    out.print(f"[bold]{run.name}[/bold]")
    at = run.manifest.parent.at if run.manifest.parent else 0
    for row in _thread(run, post).iter_rows(named=True):
        new = row["step"] >= at
        told = f"{row['title']} — {row['text']}" if row["title"] else row["text"]
        mark = "▸" if new else " "
        line = Text(f" {mark} {row['post']:>4}  {row['name']}: {' '.join(told.split())}", style="" if new else "dim")
        out.print(line)
