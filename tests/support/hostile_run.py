"""A run in which names, answers, posts and events try to act on the page that shows them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from populace import Choice, People, Run, Scenario, Text, simulate
from populace.models import Request, Scripted
from support.hostile import foreign_strings

ACTS = "window.acted=(window.acted||0)+1"
SCRIPT = f"<script>{ACTS}</script>"
PICTURE = f'"><img src=x onerror="{ACTS}">'
TEMPLATE = "{{constructor.constructor('" + ACTS + "')()}} ${" + ACTS + "}"
LINK = f"[here](javascript:{ACTS}) <a href='javascript:{ACTS}'>here</a> http://outside.example/x.png"
TURNED = "\u202egnihtyreve\u202c \u2066\u200f"
ZEROS = "zero\x00byte \x1b[31m \x07"
LONG = "x" * 1_000_000 + SCRIPT
ALL = (SCRIPT, PICTURE, TEMPLATE, LINK, TURNED, ZEROS, LONG, *foreign_strings(60, seed=5))


class Hostile(Scenario):
    """Everybody says what should never act."""

    def setup(self) -> People:
        people = People.named(len(ALL), seed=self.rng)
        return people.with_columns(name=[text[:200] + str(row) for row, text in enumerate(ALL)], saying=list(ALL))

    def profile(self) -> str:
        return "You are {name}."

    def length(self) -> int:
        return 2

    async def step(self) -> None:
        await self.ask(self.people, Text("What do you say?"), invalid="keep")
        await self.ask(self.people, Choice(SCRIPT, options=("yes", PICTURE)), purpose="choice")
        for person, text in zip(self.people.ids, ALL, strict=True):
            self.event(SCRIPT, person, text=text)
        count = len(ALL)
        first = (self.t - 1) * count + 1
        self.tables["posts"] = pl.DataFrame(
            {
                "post": range(first, first + count),
                "author": self.people.ids,
                "thread": [1] * count,
                "parent": [None if number == 1 else 1 for number in range(first, first + count)],
                "title": [SCRIPT if number == 1 else None for number in range(first, first + count)],
                "text": list(ALL),
                "time": [self.t * 3600] * count,
                "trimmed": [0] * count,
                "origin": ["model"] * count,
            },
            schema_overrides={"parent": pl.Int64, "title": pl.String},
        )


def hostile_run(workspace: Path) -> Run:
    """A finished run of it."""

    def reply(request: Request) -> dict[str, float] | str:
        return {"A": 0.6, "B": 0.4, "yes": 0.6} if request.top else LONG[-3000:]

    return simulate(Hostile(), model=Scripted(reply, spec="scripted:hostile"), workspace=workspace)
