"""Small scenarios for tests; in a module of their own so that a run can find them again."""

from __future__ import annotations

import os

import numpy as np

from populace import Choice, Field, Form, Number, People, Person, Rating, Scenario, Text, metric

SHIRTS = Choice("Which shirt?", options=("blue", "green"))


class Shirts(Scenario):
    """Everybody chooses a shirt; prompts differ by group and by the count of yesterday."""

    people_count: int = Field(12, ge=1)
    days: int = Field(4, ge=1)
    groups: int = Field(3, ge=1)
    wording: str = Field("Yesterday {blue} wore blue.")

    def setup(self) -> People:
        ids = range(self.people_count)
        groups = [f"group {i % self.groups}" for i in ids]
        return People.named(self.people_count, seed=self.rng).with_columns(group=groups, shirt="green")

    def profile(self) -> str:
        return "You belong to {group}."

    def length(self) -> int:
        return self.days

    async def step(self) -> None:
        self.people["shirt"] = await self.ask(
            self.people, SHIRTS, given=self.wording, rule=self.follow, blue=self.people.count(shirt="blue")
        )

    def follow(self, people: People) -> list[str]:
        return ["blue" if group == "group 0" else "green" for group in people["group"]]

    @metric
    def share_blue(self) -> float:
        return self.people.share(shirt="blue")


class Talk(Scenario):
    """People act side by side, each asking several things of different kinds, and share one list."""

    people_count: int = Field(8, ge=1)
    days: int = Field(3, ge=1)

    def setup(self) -> People:
        return People.named(self.people_count, seed=self.rng).with_columns(mood=3, said="")

    def length(self) -> int:
        return self.days

    async def step(self) -> None:
        self.order: list[int | str] = []
        moods = await self.each(self.people, self.one)
        self.people["mood"] = [mood if mood is not None else 0 for mood in moods]
        self.event("round", order=",".join(map(str, self.order)))

    async def one(self, person: Person) -> int | None:
        mood = (await self.ask(person, Rating("How happy are you?", low=1, high=7))).one
        luck = int(self.rng.integers(0, 1000))
        said = await self.ask(
            person, Text("What do you say?"), given="Your luck is {luck}. You feel {mood}.", luck=luck
        )
        self.order.append(person.id)
        self.event("said", person, text=said.one)
        return mood

    @metric
    def mean_mood(self) -> float:
        return float(self.people["mood"].mean() or 0)


class Wallets(Scenario):
    """People whose money is an array of the scenario, which is changed in place."""

    days: int = Field(4, ge=1)

    def setup(self) -> People:
        self.money = np.full(6, 100)
        return People.named(6, seed=self.rng).with_columns(money=self.money)

    def length(self) -> int:
        return self.days

    async def step(self) -> None:
        self.money += 1
        self.people["money"] = self.money
        await self.ask(self.people, SHIRTS, given="You have {money}.")


class Closeness(Scenario):
    """People wait, and an embedder on a server says how close two words are."""

    def setup(self) -> People:
        return People.named(2, seed=self.rng)

    def length(self) -> int:
        return 2

    async def step(self) -> None:
        one, other = self.open_embedder("openai:small").embed([f"tea {self.t}", "coffee"])
        self.closeness = float(one @ other)

    @metric
    def close(self) -> float:
        return round(getattr(self, "closeness", 0.0), 6)


class Forms(Scenario):
    """One question of every kind, for replays and journals."""

    days: int = Field(2, ge=1)

    def setup(self) -> People:
        return People.named(3, seed=self.rng)

    def length(self) -> int:
        return self.days

    async def step(self) -> None:
        await self.ask(self.people, Choice("Tea?", options=("yes", "no"), order="rotate"))
        await self.ask(self.people, Choice("Coffee?", options=("yes", "no"), reason=True))
        await self.ask(self.people, Number("How many cups?", low=0, high=20, whole=True))
        await self.ask(self.people, Text("Why?"))
        both = {"cups": Number("Cups?", whole=True), "sugar": Choice("Sugar?", options=("yes", "no"))}
        await self.ask(self.people, Form("About your drink.", questions=both))


class Clockwork(Scenario):
    """Depends on the hash seed of the process, which no run can repeat."""

    days: int = Field(2, ge=1)

    def setup(self) -> People:
        return People.named(4, seed=self.rng).with_columns(number=0)

    def length(self) -> int:
        return self.days

    async def step(self) -> None:
        self.people["number"] = [hash(name) % 1000 for name in self.people["name"]]
        await self.ask(self.people, SHIRTS, given="Your number is {number}.")


class Broken(Scenario):
    """Divides by zero in its second step."""

    days: int = Field(3, ge=1)

    def setup(self) -> People:
        return People.named(2, seed=self.rng)

    def length(self) -> int:
        return self.days

    async def step(self) -> None:
        await self.ask(self.people, SHIRTS)
        if self.t == 2:
            raise ZeroDivisionError("planned")


class Fragile(Shirts):
    """Fails in some runs: in every run of a mood, or by chance of the seed."""

    mood: str = Field("calm")

    async def step(self) -> None:
        if self.mood == "broken" or (self.mood == "nervous" and self.rng.random() < 0.5):
            raise ZeroDivisionError("planned")
        if self.mood == "deadly":
            os._exit(9)
        await super().step()
