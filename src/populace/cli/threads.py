"""Threads of a community: shown in the terminal, and the options of commands that continue one."""

from __future__ import annotations

from typing import Any

import click
import polars as pl
from rich.text import Text

from populace.cli.options import CommandT, model_option
from populace.cli.output import emit, out
from populace.cli.progress import RunDisplay, fetch_missing_model
from populace.community.community import Community
from populace.community.terminal import thread_lines
from populace.community.what_if import find_post
from populace.engine.run import Run
from populace.runs.reader import RunReader


def show_thread(run: RunReader, post: int, as_json: bool) -> None:
    """Print the thread that holds a post."""
    community = Community(run)
    thread = community.thread(post)
    if as_json:
        emit({"run": run.name, "thread": thread.number, "title": thread.title, "posts": thread.posts.drop("place")})
        return
    width = min(out.width, 100)
    for line in thread_lines(community, thread, width=width, focus=None if post == thread.number else post):
        out.print(line)


def reply_options(command: CommandT) -> CommandT:
    """The options of a command that continues a thread: which post is answered, by whom and with what."""
    for option in (
        click.option("--temperature", type=click.FloatRange(min=0), help="Another temperature from there on."),
        model_option(None),
        click.option("--say", "line", metavar="TEXT", help="The answer, word for word; otherwise the model writes it."),
        click.option("--person", metavar="NAME|ID", help="Who answers: somebody of the community."),
        click.option("--as", "as_", metavar="WORDS", help='Who answers, in words, such as "a troll".'),
        click.option("--post", type=click.IntRange(min=1), help="The number of the post that is answered."),
    ):
        command = option(command)
    return command


def fork_settings(run: Run, options: dict[str, Any]) -> dict[str, Any]:
    """The options as settings of a fork, once the model that it needs is there."""
    regime = run.manifest.regime
    fetch_missing_model((options["model"] or regime.model) if regime.decider == "model" else "")
    return options | {"observer": RunDisplay()}


def thread_posts(run: RunReader, post: int) -> pl.DataFrame:
    """The posts of the thread that holds a post, with the names of their authors."""
    posts = run.history("posts").filter(pl.col("thread") == find_post(run, post)["thread"])
    names = run.people().frame.select(author="id", name="name")
    return posts.join(names, on="author", how="left", maintain_order="left")


def show_changed_thread(run: RunReader, post: int) -> None:
    """Print the thread of a post, with a mark at the posts that its parent run does not have."""
    out.print(f"[bold]{run.name}[/bold]")
    at = run.manifest.parent.at if run.manifest.parent else 0
    for row in thread_posts(run, post).iter_rows(named=True):
        new = row["step"] >= at
        text = f"{row['title']} — {row['text']}" if row["title"] else row["text"]
        mark = "▸" if new else " "
        line = Text(f" {mark} {row['post']:>4}  {row['name']}: {' '.join(text.split())}", style="" if new else "dim")
        out.print(line)
