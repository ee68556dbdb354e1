"""A small town: the first residents of Sallow Ferry, who live through part of a day."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import polars as pl

from populace import People, Run, simulate
from populace.models import Request, Scripted
from populace.scenarios.townlife import TownLife
from populace.worlds.town import read_relations, read_residents, read_routines
from support.society import day_plan

ODILE, WREN = 0, 1
STOVE = "Larch Lane 4 > kitchen > stove"
NUMBERS = {str(number) for number in range(1, 11)}


class Village(TownLife):
    """Some residents of Sallow Ferry, of whom the first may be told something."""

    residents: int = 2
    until: int = 30
    told: str = ""

    def setup(self) -> People:
        town = self.make_town(self.rng)
        everybody = read_residents(town)
        ids = everybody.ids.to_list()[: self.residents]
        ties = read_relations(town).filter(pl.col("a").is_in(ids) & pl.col("b").is_in(ids))
        people = self.inhabit(
            town, People(everybody.take(ids).frame), ties, read_routines(town).filter(pl.col("person").is_in(ids))
        )
        if self.told and self.mind.memory is not None:
            self.mind.memory.store([ids[0]], [self.told], kind="thought", now=self.seconds, importance=9.0)
        return people

    def length(self) -> int:
        return self.until


def village(
    model: Any = "scripted:cast", *, seed: int = 1, concurrency: int = 16, keep: str = "nothing", **options: Any
) -> Run:
    """A run of a village; `interventions` and `workspace` go to the run, everything else to the scenario."""
    of_run = {name: options.pop(name) for name in ("interventions", "workspace") if name in options}
    scenario = options.pop("scenario", Village)
    return simulate(
        scenario(embedder="hashing", **options), model=model, seed=seed, concurrency=concurrency, keep=keep, **of_run
    )


def asked(request: Request) -> str:
    """The first thing that was asked."""
    return next(text for role, text in request.messages if role == "user")


def villager(
    *,
    alarms: tuple[str, ...] = (),
    says: Callable[[str], str] | None = None,
    plan: Callable[[str], list[dict[str, str]]] = day_plan,
) -> Scripted:
    """Somebody to whom only some words matter, who reacts to these, and talks only if there is something to say."""

    def reply(request: Request) -> dict[str, float] | str:
        text, options = asked(request), set(request.options)
        is_alarming = any(word in text.partition("Just now this happened:")[2] for word in alarms)
        if options == NUMBERS:
            return {"9" if any(word in text for word in alarms) else "2": 1.0}
        if options == {"answer", "end it"}:
            return {"end it": 1.0}
        if "start a conversation" in text:
            return {"yes": 1.0} if says else {"no": 1.0}
        if options == {"yes", "no"}:
            return {"yes": 1.0} if is_alarming else {"no": 1.0}
        if "next line that you say" in text:
            assert says is not None
            return says(f"{request.messages[0][1]}\n{text}")
        if '"plan"' in text:
            return json.dumps({"plan": plan(text)})
        if '"actions"' in text:
            return json.dumps({"actions": [{"minutes": 60, "doing": "bake bread"}, {"minutes": 90, "doing": "serve"}]})
        return "It is as it is."

    return Scripted(reply, spec="scripted:villager")


def events(run: Run, kind: str, **fields: Any) -> list[dict[str, Any]]:
    """The events of a kind, with step and person beside their data."""
    rows = run.events.filter(pl.col("kind") == kind).iter_rows(named=True)
    found = [{"step": row["step"], "person": row["person"], **json.loads(row["data"])} for row in rows]
    return [event for event in found if all(event[name] == value for name, value in fields.items())]
