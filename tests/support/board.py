"""A small forum on a scripted model, which writes the tables that every forum run writes."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import polars as pl

from populace import Field, People, Run, Scenario, Text, simulate
from populace.models import Request, Scripted

GARDEN: dict[str, Any] = {
    "name": "Balcony gardeners",
    "goal": "a place where people who garden on balconies help one another",
    "rules": [
        {"text": "Be kind to beginners.", "kind": "prescriptive"},
        {"text": "No advertising.", "kind": "restrictive"},
    ],
    "personas": ["Ida, who grows tomatoes", "Omar, who sells soil"],
    "sorting": "top",
}


class Board(Scenario):
    """People open threads, then answer in them, one reply in each thread a step."""

    design: dict[str, Any] = Field(GARDEN)
    threads: int = Field(4, ge=1)
    replies: int = Field(3, ge=0)
    members: int = Field(8, ge=2)
    describe: bool = Field(True)
    personas: bool = Field(True)

    def setup(self) -> People:
        seeds = self.design["personas"]
        which = np.arange(self.members) % len(seeds)
        people = People.named(self.members, seed=self.rng)
        roles = ["moderator", "newcomer", *["member"] * (self.members - 2)]
        return people.with_columns(
            persona=[seeds[i] for i in which], seed=(which + 1).tolist(), role=roles, standing="ok"
        )

    def length(self) -> int:
        return self.replies + 1

    def profile(self) -> str:
        return "You are {name}: {persona}."

    async def step(self) -> None:
        first = (self.t - 1) * self.threads + 1
        rows = self.rng.integers(0, self.members, self.threads)
        rules = " ".join(rule["text"] for rule in self.design["rules"]) if self.describe else ""
        numbers = np.arange(first, first + self.threads)
        asked = People(
            self.people.frame[rows].with_columns(pl.Series("member", self.people.ids[rows]), pl.Series("id", numbers))
        )
        said = await self.ask(asked, Text("Write post {id}."), given="Rules: {rules} Seed {run}.", rules=rules,
                              run=self.stage.settings.seed)  # fmt: skip
        threads = np.arange(1, self.threads + 1)
        parents = None if self.t == 1 else threads if self.t % 2 == 0 else numbers - self.threads
        posts = pl.DataFrame(
            {
                "post": numbers,
                "thread": threads,
                "parent": pl.Series([None] * self.threads if parents is None else parents.tolist(), dtype=pl.Int64),
                "author": asked["member"],
                "title": [f"Thread {n}" if self.t == 1 else None for n in threads.tolist()],
                "text": said.values.fill_null("…"),
                "time": numbers * 60,
                "trimmed": np.zeros(self.threads, np.int64),
                "origin": ["model"] * self.threads,
            },
            schema_overrides={"title": pl.String},
        )
        self.tables["posts"] = posts
        voters = self.rng.integers(0, self.members, self.threads)
        self.tables["votes"] = pl.DataFrame(
            {
                "post": numbers,
                "person": self.people.ids[voters],
                "vote": np.where(self.rng.random(self.threads) < 0.7, 1, -1),
            }
        )
        bad = posts.filter(pl.col("text").str.contains("cheap soil"))
        if bad.height:
            self.tables["moderation"] = bad.select(
                "post",
                pl.lit(self.people.ids[0]).alias("moderator"),
                pl.lit("remove").alias("power"),
                pl.lit(2, pl.Int64).alias("rule"),
                pl.lit("An advertisement.").alias("reason"),
                pl.col("author").alias("about"),
            )


def luck(request: Request) -> float:
    """A number between 0 and 1 that depends on the prompt alone."""
    return int.from_bytes(hashlib.sha256(repr(request.messages).encode()).digest()[:6], "big") / 2**48


def writer(offence: float = 0.3) -> Scripted:
    """A model that advertises with a given chance, half as often where a rule forbids it."""

    def write(request: Request) -> str:
        forbidden = "No advertising" in request.messages[-1][1]
        if luck(request) < (offence / 2 if forbidden else offence):
            return f"Buy my cheap soil, offer {luck(request):.4f}!"
        return f"My tomatoes grew {luck(request) * 10:.3f} cm on the balcony."

    return Scripted(write, spec=f"scripted:writer-{offence}")


def judge(hint: str = "cheap soil", sure: float = 0.98) -> Scripted:
    """A judge who knows an advertisement when it sees one."""

    def verdict(request: Request) -> dict[str, float]:
        asked = request.messages[-1][1]
        advert = hint in asked.split("judge:")[-1]
        about = any(word in asked for word in ("No advertising", "advertisement"))
        fine = any(word in asked for word in ("is for?", "civil"))
        yes = (advert and about) or (fine and not (advert and "is for?" in asked))
        return {"yes": sure if yes else 1 - sure, "no": 1 - sure if yes else sure}

    return Scripted(verdict, spec=f"scripted:judge-{hint}-{sure}")


def board(seed: int = 0, offence: float = 0.3, keep: Any = "nothing", **parameters: Any) -> Run:
    """A run of the board."""
    return simulate(Board(**parameters), model=writer(offence), seed=seed, keep=keep)
