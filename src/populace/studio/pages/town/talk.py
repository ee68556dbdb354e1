"""What people of a town say and do, and how a piece of news spreads."""

from dataclasses import dataclass

import polars as pl

from populace.base.errors import UnknownNameError, UsageError
from populace.people import Id
from populace.scenarios.party.attendance import read_occasions
from populace.scenarios.party.party import Party
from populace.scenarios.party.report import diffusion_of
from populace.studio.pages.town.data import TownRun, time_label


def speech(town: TownRun, first: int, last: int) -> pl.DataFrame:
    """What was said in these steps: step, time, shown, until, row and name of the speaker, rows of the hearers, text.

    The utterances of a conversation are recorded in order, all at the time of their step. `shown` and `until` spread
    them over the step, so that they can be read one after another.
    """
    talk = (pl.col("kind") == "talked").cum_sum()
    events = town.events(first, last).with_columns(talk=talk).filter(pl.col("kind") == "said")
    ids = pl.Series("id", town.ids)
    rows = pl.Series("row", range(len(town.ids)), dtype=pl.Int64)
    shape = pl.Struct({"to": pl.List(ids.dtype), "text": pl.String, "at": pl.Int64})
    turn = pl.int_range(pl.len()).over("step", "talk")
    duration = town.tick / pl.len().over("step", "talk")
    return (
        events.with_columns(pl.col("data").str.json_decode(shape))
        .unnest("data")
        .select(
            "step",
            pl.col("at").alias("time"),
            (pl.col("at") + turn * duration).cast(pl.Float64).alias("shown"),
            (pl.col("at") + (turn + 1) * duration).cast(pl.Float64).alias("until"),
            pl.col("person").replace_strict(ids, rows).alias("row"),
            pl.col("person").replace_strict(ids, pl.Series(town.names)).alias("name"),
            pl.col("to").list.eval(pl.element().replace_strict(ids, rows, return_dtype=pl.Int64)),
            pl.col("text"),
        )
        .sort("shown", maintain_order=True)
    )


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

    Attributes:
        about: Age and occupation, where the run has them.
        plan: The lines of the last plan; empty before the first.
        present: Whether the person is in the town.
        utterance: The last utterance with its time; empty where there is none yet.
    """

    id: Id
    name: str
    present: bool
    about: str
    place: str
    doing: str
    plan: list[str]
    utterance: str


def resident(town: TownRun, row: int, time: float) -> Resident:
    """One person at a time: place, activity, last plan and last utterance."""
    step = town.step_at(time)
    people = town.run.people(step)
    person = dict(people.person(town.ids[row])) if town.ids[row] in people.ids else {}
    events = town.events(0, step).filter(pl.col("person") == town.ids[row])

    def last(kind: str, field: str) -> tuple[int, str]:
        texts = events.filter(pl.col("kind") == kind).select("step", pl.col("data").str.json_path_match(f"$.{field}"))
        return texts.row(-1) if texts.height else (0, "")

    at, words = last("said", "text")
    about = [str(person[column]) for column in ("age", "occupation") if person.get(column) is not None]
    return Resident(
        town.ids[row],
        town.names[row],
        bool(person),
        ", ".join(about),
        str(person.get("place") or "unknown"),
        str(person.get("doing") or "unknown"),
        [line for line in (last("planned", "plan")[1] or "").split("; ") if line],
        f"{time_label(town.time_of(at))}: {words}" if at else "",
    )


def follows_news(town: TownRun) -> bool:
    """Whether the scenario has a piece of news whose way through the town is measured."""
    return issubclass(town.scenario, Party)


def news_events(town: TownRun) -> dict[str, str]:
    """The events whose news is followed: the name of each, and what it is."""
    if not issubclass(town.scenario, Party):
        return {}
    return {occasion.name: occasion.event.what for occasion in read_occasions(town.run, town.scenario)[1]}


def news(town: TownRun, event: str | None = None) -> pl.DataFrame:
    """Who knows the news of an event, a row each, branch by branch.

    The columns are row, id, name, time, step, from_row, from, depth and text.

    Args:
        town: The town.
        event: The name of the event; by default the first.
    """
    if not issubclass(town.scenario, Party):
        raise UsageError(f"{town.run.name} follows no piece of news.", "A run of party does: populace run party")
    events = town.events()
    names = dict(zip(town.ids, town.names, strict=True))
    occasions = {occasion.name: occasion for occasion in read_occasions(town.run, town.scenario)[1]}
    if event is not None and event not in occasions:
        raise UnknownNameError(f"event in {town.run.name}", event, occasions)
    spread = diffusion_of(events, occasions[event or next(iter(occasions))], names)
    knows, parents = spread.knows, spread.parents()
    texts = events.filter(pl.col("kind") == "said")["data"].str.json_path_match("$.text")
    rows = []
    for who in spread.by_branch():
        arrival, parent = knows[who], parents[who]
        row, source = town.row[who], None if parent is None else town.row[parent]
        rows.append(
            {
                "row": row,
                "id": who,
                "name": town.names[row],
                "time": arrival.time,
                "step": town.step_at(arrival.time),
                "from_row": source,
                "from": None if source is None else town.names[source],
                "depth": len(spread.chain(who)) - 1,
                "text": "" if arrival.utterance is None else texts[arrival.utterance],
            }
        )
    columns = ("row", "id", "name", "time", "step", "from_row", "from", "depth", "text")
    schema = {name: pl.String if name in ("name", "from", "text") else pl.Int64 for name in columns}
    return pl.DataFrame(rows, schema=schema | {"id": pl.Series(town.ids).dtype})


def all_news(town: TownRun) -> pl.DataFrame:
    """Who knows the news of which event: the rows of `news` with the name of the event in front."""
    return pl.concat([news(town, name).select(pl.lit(name).alias("event"), pl.all()) for name in news_events(town)])


def latest_speech(town: TownRun, time: float, most: int) -> pl.DataFrame:
    """The latest utterances up to a time, as `speech` returns them, the newest at the end."""
    last, reach = town.step_at(time), 3
    while True:
        first = max(last - reach, 0)
        lines = speech(town, first, last).filter(pl.col("shown") <= time)
        if lines.height >= most or first == 0:
            return lines.tail(most)
        reach *= 6
