"""digest: what stands out in a community."""

from __future__ import annotations

import click
import polars as pl

from populace.cli.options import command, common_options
from populace.cli.output import emit, out, table
from populace.community import Community
from populace.community.digest import Digest, digest
from populace.community.display import safe_text
from populace.community.judges import read_judgements
from populace.engine.workspace import Workspace
from populace.models import open_embedder
from populace.runs.reader import RunReader


@command("digest")
@click.argument("run")
@click.option(
    "--embedder", "embedder_name", default="hashing", show_default=True, metavar="NAME", help="hashing or minilm."
)
@click.option(
    "--most", type=click.IntRange(min=1), default=10, show_default=True, help="How many unusual posts to show."
)
@common_options
def digest_command(run: str, embedder_name: str, most: int, workspace: str | None, as_json: bool) -> None:
    community = Community(RunReader(Workspace(workspace).open(run)))
    summary = digest(community, read_judgements(community), embedder=open_embedder(embedder_name), most=most)
    if as_json:
        emit({"run": community.run.name, **summary.__dict__})
        return
    _show_digest(community, summary)


def _show_digest(community: Community, summary: Digest) -> None:
    count, threads = community.posts.height, community.posts["thread"].n_unique()
    out.print(f"[bold]{community.run.name}[/bold]  {count} posts in {threads} threads")
    table(_readable(summary.unusual), f"The most unusual posts (farthest from the centre, by {summary.embedder})")
    if summary.by_rule.height:
        table(summary.by_rule, "By rule")
    if not summary.judges:
        out.print("  [dim]no judge was asked yet:[/dim]  populace judge " + community.run.name + " --model MODEL")
    elif summary.uncovered.height:
        table(_readable(summary.uncovered), "Flagged, though no rule covers it", limit=20)
    else:
        out.print("  Nothing was flagged that no rule covers.")


def _readable(posts: pl.DataFrame) -> pl.DataFrame:
    text = [safe_text(" ".join(each.split()))[:160] for each in posts["text"]]
    return posts.with_columns(pl.Series("text", text), pl.Series("name", [safe_text(each) for each in posts["name"]]))
