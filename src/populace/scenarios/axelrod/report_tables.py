"""The report tables of a tournament."""

from __future__ import annotations

import polars as pl

from populace.engine.scenario import ReportTable


def standings(people: pl.DataFrame, rounds: int) -> pl.DataFrame:
    """Points a round and the share of cooperation of every player, the best first."""
    return _means(people, "player", rounds).sort("score", descending=True, maintain_order=True)


def conduct(people: pl.DataFrame, rounds: pl.DataFrame) -> ReportTable:
    """How often the model cooperated after each outcome of the round before."""
    seats = people.filter("model_seat")["id"]
    model_rounds = rounds.filter(pl.col("seat").is_in(seats.implode())).sort("seat", "step")
    after = model_rounds.with_columns(
        before=pl.format(
            "{} {}",
            pl.when(pl.col("own")).then(pl.lit("C")).otherwise(pl.lit("D")),
            pl.when(pl.col("other")).then(pl.lit("C")).otherwise(pl.lit("D")),
        )
        .shift(1)
        .over("seat")
    )
    table = (
        after.with_columns(pl.col("before").fill_null("first round"))
        .group_by("before")
        .agg(pl.len().alias("rounds"), pl.col("own").mean().alias("cooperated"))
        .sort("before")
    )
    note = "C C: both cooperated; C D: the model did and the other did not. Tit for tat is 1, 0, 1, 0."
    return ReportTable("How the model played, by the round before", table, note)


def opponents(people: pl.DataFrame, rounds: int) -> ReportTable:
    """What the model earned and did against each opponent."""
    table = _means(people.filter("model_seat"), "opponent", rounds)
    return ReportTable("The model against each opponent", table)


def _means(people: pl.DataFrame, by: str, rounds: int) -> pl.DataFrame:
    return people.group_by(by, maintain_order=True).agg(
        score=pl.col("score").mean() / rounds, cooperation=pl.col("cooperated").mean() / rounds
    )
