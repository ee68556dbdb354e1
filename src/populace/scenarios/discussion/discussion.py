"""A group discusses a topic; everybody states their position privately before and after.

In script mode the scenario says who speaks. In agent mode an utterance wakes the others, who reply or stay silent.
"""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from populace.engine.scenario import Field, ReportTable, Scenario, metric
from populace.minds import Memory, Mind
from populace.people import Id, People, draw_column
from populace.questions import Choice, Form, Rating, Text
from populace.runs.reader import RunReader
from populace.worlds.forum import gini
from populace.worlds.schedule import Schedule, ScheduleEntry

LEANINGS = {"open-minded": 2, "cautious": 1, "outspoken": 1, "sceptical": 1, "easygoing": 1}

SAY = Form(
    "What do you say to the group now?",
    questions={"say": Text("Your words.", max_words=35), "stance": Choice("Your stance.", options=("for", "against"))},
)
SITUATION = 'You are in a discussion of {group} people. The topic: "{topic}"\n'
LATELY = "What was said lately:\n{said}"


class Discussion(Scenario):
    """A group discusses a topic, and people say privately before and after what they think of it."""

    members: int = Field(6, ge=3, le=12, description="How many take part.")
    topic: str = Field("The town should close its main street to cars.", description="What is discussed.")
    rounds: int = Field(3, ge=1, description="How many rounds there are; one step each.")
    mode: Literal["script", "agent"] = Field(
        "script", description="Whether the scenario says who speaks, or an utterance wakes the others."
    )
    turns: Literal["moderated", "free"] = Field(
        "moderated", description="Script mode: everybody in turn, or whoever most wants to speak."
    )
    speakers: int = Field(3, ge=1, description="Script mode with free turns: how many speak in a round.")
    replies: int = Field(2, ge=1, description="Agent mode: the most waves of replies to an utterance.")
    remembers: bool = Field(True, description="Whether people recall what was said before.")
    embedder: str = Field("minilm", description="The embedder with which relevance is computed.")

    tick: ClassVar[timedelta] = timedelta(minutes=10)
    chart: ClassVar[tuple[str, ...]] = ("mean_position", "spread")

    def setup(self) -> People:
        """Everybody gets a name, a character and an empty memory."""
        people = People.named(self.members, seed=self.rng)
        self.mind = Mind(
            profile="You are {name}, {leaning}, taking part in a discussion among neighbours.",
            memory=Memory(self.open_embedder(self.embedder)) if self.remembers else None,
            recalled=6,
        )
        self.spoke: dict[Id, int] = dict.fromkeys(people.ids.to_list(), 0)
        self.lines: list[tuple[str, str]] = []
        self.before: np.ndarray[Any, np.dtype[np.float64]] | None = None
        return people.with_columns(
            leaning=draw_column(self.members, LEANINGS, seed=self.rng),
            before=pl.Series([None] * self.members, dtype=pl.Int64),
            position=pl.Series([None] * self.members, dtype=pl.Int64),
        )

    def length(self) -> int:
        """One step is one round; positions are asked in the first and the last."""
        return self.rounds

    async def step(self) -> None:
        """A round of discussion; positions are asked before the first round and after the last."""
        if self.before is None:
            await self._ask_positions()
            self.before = self._position_values()
            self.people["before"] = self.people["position"]
        await (self._speak_in_waves() if self.mode == "agent" else self._speak_in_turn())
        if self.t == self.rounds:
            await self._ask_positions()

    async def _ask_positions(self) -> None:
        """Ask everybody for their position; an invalid answer leaves it as it was."""
        self.people["position"] = await self.ask(
            self.people,
            Rating("How far do you agree, from 1, not at all, to 7, fully?", low=1, high=7),
            given=SITUATION,
            purpose="position",
            about=self.topic,
            group=self.members,
        )

    async def _speak_in_turn(self) -> None:
        """Script mode: everybody speaks in turn, or the person who most wants to."""
        if self.turns == "moderated":
            for who in self.people.ids.to_list():
                await self._speak(who)
            return
        for _ in range(self.speakers):
            urge = await self.ask(
                self.people,
                Rating("How much do you want to speak next, from 1, not at all, to 7, very much?", low=1, high=7),
                given=SITUATION + LATELY,
                purpose="urge",
                said=self._lately(),
                about=self.topic,
                group=self.members,
            )
            wants = urge.values.cast(pl.Float64).fill_null(0).to_numpy()
            eager = np.flatnonzero(wants == wants.max())
            await self._speak(self.people.ids[int(self.rng.choice(eager))])

    async def _speak_in_waves(self) -> None:
        """Agent mode: one person begins, and utterances wake the others until nobody replies."""
        everybody = self.people.ids.to_list()
        schedule = Schedule(everybody, waves=self.replies)
        opener = everybody[(self.t - 1) % len(everybody)]
        text = await self._speak(opener)
        if text is not None:
            schedule.send(opener, everybody, text)

        async def receive(who: Id, messages: Sequence[ScheduleEntry]) -> None:
            answers = await self.ask(
                self.people.person(who),
                Choice("Do you reply to the group, or stay silent?", options=("reply", "silent")),
                given=SITUATION + LATELY,
                purpose="whether to reply",
                said="\n".join(f'"{message.text}"' for message in messages),
                about=self.topic,
                group=self.members,
            )
            if answers.one == "reply":
                reply = await self._speak(who)
                if reply is not None:
                    schedule.send(who, everybody, reply)

        self.event("quiet", why=await schedule.run(self, receive, self.t), messages=schedule.sent)

    async def _speak(self, who: Id) -> str | None:
        """Ask a person for an utterance, record it and let the others remember it; None where it is invalid."""
        person = self.people.person(who)
        answers = await self.ask(
            person,
            SAY,
            given=SITUATION + LATELY,
            purpose="utterance",
            said=self._lately(),
            about=self.topic,
            group=self.members,
        )
        if answers.one is None:
            return None
        utterance = json.loads(answers.one)
        self.spoke[who] += 1
        self.lines.append((str(person.name), utterance["say"]))
        self.event("said", person, text=utterance["say"], stance=utterance["stance"])
        others = self.people.take([other for other in self.people.ids.to_list() if other != who])
        await self.remember(others, f'{person.name} said: "{utterance["say"]}"', kind="hearing")
        await self.remember(person, f'You said: "{utterance["say"]}"', kind="speech")
        return str(utterance["say"])

    def _lately(self) -> str:
        return "\n".join(f"{name}: {text}" for name, text in self.lines[-4:]) or "(nobody has spoken yet)"

    def _position_values(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        return self.people["position"].cast(pl.Float64).to_numpy()

    @metric
    def mean_position(self) -> float | None:
        """The mean position, from 1 to 7."""
        mean = self.people["position"].mean()
        return float(mean) if isinstance(mean, (int, float)) else None

    @metric
    def spread(self) -> float | None:
        """The standard deviation of positions."""
        positions = self._position_values()
        positions = positions[~np.isnan(positions)]
        return float(positions.std()) if len(positions) else None

    @metric
    def polarisation(self) -> float | None:
        """The share of pairs on different sides of the middle."""
        side = np.sign(self._position_values() - 4)
        pairs = self.members * (self.members - 1) / 2
        return float((side == 1).sum() * (side == -1).sum() / pairs) if (~np.isnan(side)).any() else None

    @metric
    def shift(self) -> float | None:
        """How far positions moved since the beginning, on average over those with both."""
        shifts = np.zeros(0) if self.before is None else np.abs(self._position_values() - self.before)
        shifts = shifts[~np.isnan(shifts)]
        return float(shifts.mean()) if len(shifts) else None

    @metric
    def utterances(self) -> int:
        """The number of valid utterances so far."""
        return sum(self.spoke.values())

    @metric
    def inequality(self) -> float | None:
        """The Gini coefficient of utterances: 0 when all spoke equally often."""
        return gini(np.array(list(self.spoke.values())))

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """Who spoke how often, and everybody's position before and after."""
        spoke = run.events.filter(pl.col("kind") == "said").group_by("person").agg(pl.len().alias("spoke"))
        people = run.people().frame.select(pl.col("id").alias("person"), "name", "leaning", "before", "position")
        table = people.join(spoke, on="person", how="left", maintain_order="left").with_columns(
            pl.col("spoke").fill_null(0)
        )
        return [
            ReportTable("Positions before and after, and who spoke", table.drop("person").rename({"position": "after"}))
        ]
