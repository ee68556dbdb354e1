"""The tables that a run of a forum shows at its end."""

import polars as pl

from populace.base.foreign import for_shell
from populace.engine.scenario import ReportTable
from populace.runs.reader import RunReader


def forum_report(run: RunReader) -> list[ReportTable]:
    """Warnings about the rules, the threads with most replies, the most active writers, and the acts of moderators."""
    posts = run.history("posts")
    tables = _warnings(run)
    if not posts.height:
        return tables
    people = run.people().frame.select(author="id", name="name", role="role")
    posts = posts.join(people, on="author", how="left", maintain_order="left")
    start = pl.coalesce("title", "text").str.slice(0, 60)
    threads = (
        posts.group_by("thread", maintain_order=True)
        .agg(
            pl.col("name").first().alias("by"),
            start.first().alias("opens with"),
            (pl.len() - 1).alias("replies"),
            pl.col("author").n_unique().alias("people"),
        )
        .sort("replies", descending=True, maintain_order=True)
    )
    tables.append(
        ReportTable("The liveliest threads", threads.head(8), f"`populace show {for_shell(run.name)} --thread NUMBER`")
    )
    writers = posts.group_by("name", "role", maintain_order=True).len("wrote")
    tables.append(ReportTable("Who wrote most", writers.sort("wrote", descending=True, maintain_order=True).head(5)))
    acts = run.history("moderation")
    if acts.height:
        by_power = acts.group_by("power", "rule", maintain_order=True).len("posts").sort("posts", descending=True)
        tables.append(ReportTable("What moderators did", by_power))
    return tables


def _warnings(run: RunReader) -> list[ReportTable]:
    events = run.events
    warnings = events.filter(pl.col("kind") == "warning") if events.height else events
    if not warnings.height:
        return []
    texts = warnings["data"].str.json_path_match("$.text")
    return [ReportTable("Rules that may contradict each other", pl.DataFrame({"warning": texts}))]
