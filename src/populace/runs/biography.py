"""What a run tells of one person: what they planned, did, said, heard and remembered, and what they had in mind.

Nothing here needs a name, a memory or a plan: what a run does not have is empty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.people import Id, Person
from populace.runs.reader import Decision, RunReader

SCORES = ("recency", "importance", "relevance", "score")
"""What a recalled memory was ranked by."""
UNRECORDED = (
    "Which memories the prompt showed is not recorded: the run is of an earlier version of Populace or scenario."
)
"""What is said in the place of the memories behind a decision where `unrecorded` holds."""
_SAID = {"step": pl.Int64, "who": pl.String, "said": pl.String}


@dataclass(frozen=True)
class Life:
    """What one person planned, did, said, heard and remembered.

    Attributes:
        person: Who.
        events: What happened to them, besides talk.
        said: What they said and what was said to them: step, who, said.
        memories: What they remember: memory, step, kind, time, importance, text, evidence.
        names: How everybody is called, by id; empty where nothing happened to the person.
    """

    person: Person
    events: pl.DataFrame
    said: pl.DataFrame
    memories: pl.DataFrame
    names: Mapping[Id, str]


def remembers(run: RunReader) -> bool:
    """Whether anybody in the run keeps memories."""
    return any("tables/memories" in run.record.table_names(step) for step in run.steps)


def life_of(run: RunReader, who: Id, *, at: int | None = None) -> Life:
    """The life of a person, by id or name, up to a step; to the end by default."""
    people = run.people(at)
    person = people.person(who)
    mine, spoken = pl.col("person") == person.id, pl.col("kind") == "said"
    memories = run.rows("tables/memories", mine, until=at)
    events = run.rows("events", mine | spoken, until=at)
    if not events.width:
        events = pl.DataFrame(
            schema={"step": pl.Int64, "kind": pl.String, "person": people.ids.dtype, "data": pl.String}
        )
    names: dict[Id, str] = {}
    if events.height:
        ids = people.ids.to_list()
        names = dict(zip(ids, people["name"].to_list() if "name" in people else map(str, ids), strict=True))
    return Life(person, events.filter(~spoken), _talk(events.filter(spoken), person.id, names), memories, names)


def _talk(spoken: pl.DataFrame, me: Id, names: Mapping[Id, str]) -> pl.DataFrame:
    """What one person said, and what was said to them."""
    rows: list[tuple[int, str, str]] = []
    for step, speaker, data in spoken.select("step", "person", "data").iter_rows():
        line = json.loads(data)
        hearers = line.get("to", []) if isinstance(line.get("to", []), list) else [line["to"]]
        if speaker == me or me in hearers:
            to = " and ".join(names.get(hearer, str(hearer)) for hearer in hearers)
            name = names.get(speaker, str(speaker))
            rows.append((step, f"{name} to {to}" if to else name, str(line.get("text", ""))))
    return pl.DataFrame(rows, schema=_SAID, orient="row")


def in_words(detail: Mapping[str, Any], names: Mapping[Id, str]) -> str:
    """The details of an event, people by their names.

    Example:
        >>> in_words({"others": [2], "lines": 4}, {2: "Bo"})
        'others: Bo, lines: 4'
    """
    told = dict(detail)
    for key in ("others", "source"):
        if key in told:
            people = told[key] if isinstance(told[key], list) else [told[key]]
            told[key] = " and ".join(names.get(who, str(who)) for who in people)
    return ", ".join(f"{name}: {value}" for name, value in told.items())


def recalled(run: RunReader, step: int, person: Id) -> pl.DataFrame:
    """Everything that came to a person's mind in a step, with its scores; empty where nobody recalls."""
    found = run.record.table(step, "tables/recalled")
    return pl.DataFrame() if found is None else found.filter(pl.col("person") == person)


def behind(mine: pl.DataFrame, decision: Decision) -> pl.DataFrame:
    """The memories that the prompt of a decision showed, with the scores by which they were recalled.

    Empty where no memories are recorded with the answer; `unrecorded` says whether there should be some.

    Args:
        mine: What came to the person's mind in the step, from `recalled`.
        decision: The decision.
    """
    if not mine.height:
        return mine
    ids = decision.memories or []
    rows = mine.filter(pl.col("purpose") == decision.purpose)
    # A person may recall several times in a step for the same purpose; the scores are those of the right time.
    batches = rows.partition_by("about", maintain_order=True)
    batch = next((batch for batch in batches if set(ids) <= set(batch["memory"])), rows)
    return batch.filter(pl.col("memory").is_in(ids)).unique("memory", keep="first", maintain_order=True)


def unrecorded(mine: pl.DataFrame, decision: Decision) -> bool:
    """Whether a person recalled memories for a decision that are not recorded with it.

    So it is in runs of earlier versions, and where a scenario shows memories without passing a `Recollection`.

    Args:
        mine: What came to the person's mind in the step, from `recalled`.
        decision: The decision.
    """
    return decision.memories is None and mine.height > 0 and decision.purpose in mine["purpose"]
