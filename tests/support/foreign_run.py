"""A run in which every name, persona, answer, post, event, title and parameter is a hostile string."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any

import polars as pl

from populace import Choice, Field, People, ReportTable, Run, Scenario, Text, metric, simulate
from populace.models import Request, Scripted
from support.hostile import foreign_strings

STRINGS = foreign_strings(1000)
PEOPLE = 125
NAMES, PERSONAS, SAYINGS, POSTS, TITLES, REASONS, EVENTS, OTHERS = (
    STRINGS[start : start + PEOPLE] for start in range(0, 1000, PEOPLE)
)
DESIGN = {
    "name": OTHERS[0],
    "goal": OTHERS[1],
    "rules": [{"prescriptive": OTHERS[2]}, {"restrictive": OTHERS[3]}],
    "personas": OTHERS[4:10],
}


class Foreign(Scenario):
    """Everybody is hostile."""

    title_of_all: str = Field(OTHERS[10])
    design: dict[str, Any] = Field(default_factory=lambda: DESIGN)
    words: list[str] = Field(default_factory=lambda: OTHERS[11:14])
    days: int = Field(1, ge=1)

    def setup(self) -> People:
        columns = {f"{OTHERS[20]}": OTHERS, '"quoted" =1': SAYINGS, '"QUOTED" =1': SAYINGS}
        return People(pl.DataFrame({"name": NAMES, "persona": PERSONAS, **columns}))

    def profile(self) -> str:
        return "You are {name}. {persona}"

    def length(self) -> int:
        return self.days

    async def step(self) -> None:
        options = (OTHERS[30], OTHERS[31])
        await self.ask(self.people, Choice(OTHERS[32].replace("{", "("), options=options), given="{s}", s=SAYINGS)
        await self.ask(self.people, Text("What do you say to {other}?"), invalid="keep", other=POSTS)
        for person, text in zip(self.people.ids, EVENTS, strict=True):
            self.event(OTHERS[33], person, text=text, **{OTHERS[34]: text})
        first = (self.t - 1) * PEOPLE + 1
        numbers = list(range(first, first + PEOPLE))
        self.tables["posts"] = pl.DataFrame(
            {
                "post": numbers,
                "author": self.people.ids,
                "thread": [first if number % 2 else first + 1 for number in numbers],
                "parent": [None if number < first + 2 else first + (number + 1) % 2 for number in numbers],
                "title": TITLES,
                "text": POSTS,
                "time": [3600] * PEOPLE,
                "trimmed": [0] * PEOPLE,
                "origin": ["model"] * PEOPLE,
            },
            schema_overrides={"parent": pl.Int64},
        )
        self.tables["moderation"] = pl.DataFrame(
            {
                "post": numbers,
                "moderator": self.people.ids,
                "power": ["warn"] * PEOPLE,
                "rule": [1] * PEOPLE,
                "reason": REASONS,
                "about": numbers,
            }
        )

    @metric
    def share(self) -> float:
        """Half of them."""
        return 0.5

    @classmethod
    def report(cls, run: Any) -> list[ReportTable]:
        """Everything in one table."""
        return [ReportTable(OTHERS[40], pl.DataFrame({OTHERS[41]: OTHERS, "a": SAYINGS}), OTHERS[42])]


def hostile_model() -> Scripted:
    """A model that answers with one hostile string after the other."""
    texts = cycle(STRINGS)

    def reply(request: Request) -> dict[str, float] | str:
        return dict.fromkeys(request.options, 1 / len(request.options)) if request.options else next(texts)

    return Scripted(reply, spec="scripted:hostile")


def foreign_run(workspace: Path, **settings: Any) -> Run:
    """A finished run of it."""
    scenario = Foreign(**settings.pop("parameters", {}))
    return simulate(scenario, model=hostile_model(), workspace=workspace, **settings)
