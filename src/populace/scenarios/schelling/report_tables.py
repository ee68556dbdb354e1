"""The report tables of a run: who lives among whom, and at which share of like neighbours people left."""

from __future__ import annotations

import polars as pl

from populace.engine.scenario import ReportTable
from populace.runs.reader import RunReader


def similarity(people: pl.DataFrame) -> float | None:
    """The mean share of like neighbours, over all who have neighbours."""
    mean = people.filter(pl.col("neighbours") > 0).select((pl.col("like") / pl.col("neighbours")).mean()).item()
    return None if mean is None else float(mean)


def mixed_similarity(people: pl.DataFrame) -> float:
    """The expected similarity if people of these groups are placed at random."""
    sizes = people["group"].value_counts()["count"].to_numpy()
    total = sizes.sum()
    return float((sizes * (sizes - 1)).sum() / (total * (total - 1))) if total > 1 else 1.0


def before_and_after(run: RunReader) -> ReportTable:
    """Similarity at the beginning and at the end, beside that of a random mix."""
    rows = []
    for when, at in (("beginning", 0), ("end", run.steps[-1])):
        people = run.people(at).frame
        rows.append(
            {
                "when": when,
                "step": at,
                "people": people.height,
                "similarity": similarity(people),
                "of a random mix": mixed_similarity(people),
                "alone": people.filter(pl.col("neighbours") == 0).height,
            }
        )
    note = "Similarity is the mean share of like neighbours. One run; other seeds differ by a few hundredths."
    return ReportTable("Who lives among whom", pl.DataFrame(rows), note)


def thresholds(run: RunReader) -> ReportTable:
    """How many people named which threshold."""
    counts = run.people(0)["threshold"].value_counts(name="people").sort("threshold")
    return ReportTable("The thresholds that people said", counts, "Who gave no readable answer has the parameter's.")


def leaving_by_likeness(run: RunReader) -> ReportTable:
    """How often people chose to leave, by the share of like neighbours that they were told."""
    parts = []
    for step in run.steps[1:]:
        before = run.people(step - 1).frame.select(pl.col("id").alias("person"), "like", "neighbours")
        parts.append(run.answers(step).select("person", "value").join(before, on="person"))
    share = (pl.col("like") / pl.col("neighbours") * 5).floor().clip(0, 4)
    table = (
        pl.concat(parts)
        .filter(pl.col("neighbours") > 0, pl.col("value").is_not_null())
        .group_by(share.cast(pl.Int64).alias("fifth"))
        .agg(pl.len().alias("answers"), (pl.col("value") == "move").mean().alias("left"))
        .sort("fifth")
        .select(
            pl.format("{} to {} %", pl.col("fifth") * 20, pl.col("fifth") * 20 + 20).alias("like neighbours"),
            "answers",
            "left",
        )
    )
    note = "A threshold shows as a step; a line that is flat says that the neighbourhood does not matter."
    return ReportTable("Leaving, by the share of like neighbours", table, note)
