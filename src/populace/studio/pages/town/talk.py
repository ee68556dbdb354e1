"""What is said and done in a town, and how a piece of news gets about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.people import Id
from populace.scenarios.party.diffusion import Diffusion
from populace.scenarios.party.party import Party, diffusion_of
from populace.studio.pages.town.data import TownRun, said_time

SPEECH: dict[str, Any] = {
    "step": pl.Int64,
    "time": pl.Int64,
    "shown": pl.Float64,
    "until": pl.Float64,
    "row": pl.Int64,
    "name": pl.String,
    "to": pl.List(pl.Int64),
    "text": pl.String,
}


def speech(town: TownRun, first: int, last: int) -> pl.DataFrame:
    """What was said in these steps: step, time, shown, until, row and name of the speaker, rows of the hearers, text.

    The utterances of a conversation are recorded in order, all at the time of their step. `shown` and `until` spread
    them over the step, so that they can be read one after another.
    """
    happened = town.events_between(first, last)
    talks = (pl.col("kind") == "talked").cum_sum()
    said = happened.with_columns(talk=talks).filter(pl.col("kind") == "said")
    if not said.height:
        return pl.DataFrame(schema=SPEECH)
    ids = pl.Series("id", town.ids)
    rows = pl.Series("row", range(len(town.ids)), dtype=pl.Int64)
    shape = pl.Struct({"to": pl.List(ids.dtype), "text": pl.String, "at": pl.Int64})
    told = said.with_columns(pl.col("data").str.json_decode(shape)).unnest("data")
    turn = pl.int_range(pl.len()).over("step", "talk")
    lasts = town.tick / pl.len().over("step", "talk")
    return told.select(
        "step",
        pl.col("at").alias("time"),
        (pl.col("at") + turn * lasts).cast(pl.Float64).alias("shown"),
        (pl.col("at") + (turn + 1) * lasts).cast(pl.Float64).alias("until"),
        pl.col("person").replace_strict(ids, rows).alias("row"),
        pl.col("person").replace_strict(ids, pl.Series(town.names)).alias("name"),
        pl.col("to").list.eval(pl.element().replace_strict(ids, rows, return_dtype=pl.Int64)),
        pl.col("text"),
    ).sort("shown", maintain_order=True)


def transcript(town: TownRun, first: int, last: int) -> pl.DataFrame:
    """What was said in these steps with everybody's name: step, time, name, to, text."""
    rows, names = pl.int_range(len(town.names), eager=True), pl.Series(town.names)
    hearers = pl.element().replace_strict(rows, names, return_dtype=pl.String)
    return speech(town, first, last).select(
        "step", "time", "name", pl.col("to").list.eval(hearers).list.join("; "), "text"
    )


@dataclass(frozen=True)
class Resident:
    """One person at one time, for the panel beside the map.

    Args:
        id: Who.
        name: What they are called.
        about: Age and occupation, where the run has them.
        place: Where they are, in words.
        doing: What they are busy with.
        plan: What they planned last, a line each; empty before the first plan.
        said: What they said last, and when; empty where they said nothing yet.
    """

    id: Id
    name: str
    about: str
    place: str
    doing: str
    plan: list[str]
    said: str


def resident(town: TownRun, row: int, time: float) -> Resident:
    """What one person does at a time, has planned, and said last."""
    step = town.step_at(time)
    person = dict(town.run.people(step).person(town.ids[row]))
    happened = town.events_between(0, step).filter(pl.col("person") == town.ids[row])
    planned = happened.filter(pl.col("kind") == "planned").tail(1)["data"].str.json_path_match("$.plan").to_list()
    said = happened.filter(pl.col("kind") == "said").tail(1)
    words = [
        f"{said_time(town.time_of(at))}: {text}"
        for at, text in said.select("step", pl.col("data").str.json_path_match("$.text")).iter_rows()
    ]
    about = [str(person[column]) for column in ("age", "occupation") if person.get(column) is not None]
    return Resident(
        town.ids[row],
        town.names[row],
        ", ".join(about),
        str(person.get("place") or "unknown"),
        str(person.get("doing") or "unknown"),
        [line for line in (planned[0] or "").split("; ") if line] if planned else [],
        words[0] if words else "",
    )


def follows_news(town: TownRun) -> bool:
    """Whether the scenario has a piece of news whose way through the town is measured."""
    return issubclass(town.scenario, Party)


def diffusion(town: TownRun) -> Diffusion:
    """How the news got about, as the scenario itself measures it from what was said."""
    return diffusion_of(town.events())


def news(town: TownRun) -> pl.DataFrame:
    """Who knows the news, a row each, branch by branch: row, id, name, time, step, from_row, from, depth, text."""
    spread = diffusion(town)
    said = town.events().filter(pl.col("kind") == "said")["data"].str.json_path_match("$.text")
    rows = [
        (
            town.row[who],
            town.names[town.row[who]],
            heard.time,
            town.step_at(heard.time),
            None if heard.source is None else town.row[heard.source],
            None if heard.source is None else town.names[town.row[heard.source]],
            len(spread.chain(who)) - 1,
            "" if heard.utterance is None else said[heard.utterance],
        )
        for who in spread.by_branch()
        for heard in [spread.knows[who]]
    ]
    schema: dict[str, Any] = {
        "row": pl.Int64,
        "name": pl.String,
        "time": pl.Int64,
        "step": pl.Int64,
        "from_row": pl.Int64,
        "from": pl.String,
        "depth": pl.Int64,
        "text": pl.String,
    }
    made = pl.DataFrame(rows, schema=schema, orient="row")
    ids = pl.Series("id", [town.ids[row] for row in made["row"]], dtype=pl.Series(town.ids).dtype)
    return made.insert_column(1, ids)


def last_said(town: TownRun, time: float, most: int = 12) -> pl.DataFrame:
    """The last utterances up to a time, as `speech` gives them, the newest at the end."""
    last, reach = town.step_at(time), 3
    while True:
        first = max(last - reach, 0)
        found = speech(town, first, last).filter(pl.col("shown") <= time)
        if found.height >= most or first == 0:
            return found.tail(most)
        reach *= 6
