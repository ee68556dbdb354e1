"""What a run of a forum shows at its end."""

from __future__ import annotations

import polars as pl

from populace.engine.scenario import ReportTable
from populace.runs.reader import RunReader


def forum_report(run: RunReader) -> list[ReportTable]:
    """The liveliest threads, who wrote most, and what moderators did."""
    posts = run.history("posts")
    found = _warnings(run)
    if not posts.height:
        return found
    people = run.people().frame.select(author="id", name="name", role="role")
    posts = posts.join(people, on="author", how="left", maintain_order="left")
    said = pl.coalesce("title", "text").str.slice(0, 60)
    threads = (
        posts.group_by("thread", maintain_order=True)
        .agg(
            pl.col("name").first().alias("by"),
            said.first().alias("opens with"),
            (pl.len() - 1).alias("replies"),
            pl.col("author").n_unique().alias("people"),
        )
        .sort("replies", descending=True, maintain_order=True)
    )
    found.append(ReportTable("The liveliest threads", threads.head(8), f"`populace show {run.name} --thread NUMBER`"))
    writers = posts.group_by("name", "role", maintain_order=True).len("wrote")
    found.append(ReportTable("Who wrote most", writers.sort("wrote", descending=True, maintain_order=True).head(5)))
    acts = run.history("moderation")
    if acts.height:
        done = acts.group_by("power", "rule", maintain_order=True).len("posts").sort("posts", descending=True)
        found.append(ReportTable("What moderators did", done))
    return found


def _warnings(run: RunReader) -> list[ReportTable]:
    events = run.events
    warned = events.filter(pl.col("kind") == "warning") if events.height else events
    if not warned.height:
        return []
    texts = warned["data"].str.json_path_match("$.text")
    return [ReportTable("Rules that may contradict each other", pl.DataFrame({"warning": texts}))]
