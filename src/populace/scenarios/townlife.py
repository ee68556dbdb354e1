"""Life in a town: people plan, walk, notice each other, talk, remember and reflect.

A step is ten minutes. Nobody is asked while an action lasts; there are questions only when something begins, when
people meet, and when much has happened to somebody.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from populace.base.formatting import time_of_day
from populace.engine.scenario import Field, Scenario
from populace.minds import (
    Action,
    Agenda,
    Dialogue,
    Memory,
    Mind,
    Planning,
    PlanningPart,
    Recollection,
    Reflection,
    Talk,
)
from populace.people import Id, People
from populace.questions import Choice
from populace.scenarios.town_moves import check_names, follow_population
from populace.worlds.town.presence import Presence
from populace.worlds.town.town import Town

DAY, HOUR, TICK = 86_400, 3600, 600
BEGINS = 5 * HOUR
"""The first day begins before anybody gets up."""

WHO = "You are {name}, {age}, {occupation}, in the small town of {town}. You are {traits}. {backstory}"
HERE = "It is {time} on {date}. You are at {where}. You are busy with this: {doing}.\n"
COMES_TO_MIND = "What comes to your mind:\n{memories}\n"
MEETING = "{other} is here too. {acquaintance} {other} is busy with this: {others_doing}."
TALKING = "You talk with {partners}.\n" + COMES_TO_MIND + "What was said so far:\n{said}"


class TownLife(Scenario):
    """Residents of a town live their days."""

    days: int = Field(2, ge=1, description="How many days.")
    remembers: bool = Field(True, description="Whether people remember anything.")
    reflects: bool = Field(True, description="Whether people draw conclusions from their memories.")
    plans: bool = Field(True, description="Whether people plan their days; otherwise they follow their routine.")
    finer: bool = Field(False, description="Whether a planned action is made finer when it begins.")
    importance: Literal["rule", "model"] = Field("rule", description="Who rates how important a memory is.")
    retrieval: str = Field("park2023", description="How memories are ranked.")
    embedder: str = Field("minilm", description="The embedder with which relevance is computed.")
    reflection_budget: float = Field(150.0, gt=0, description="The total importance after which people reflect.")
    cooldown: int = Field(120, ge=0, description="Minutes before a pair may talk again.")
    utterances: int = Field(6, ge=2, description="The most utterances of a conversation.")

    start: ClassVar[datetime] = datetime(2026, 2, 13, 5)
    tick: ClassVar[timedelta] = timedelta(seconds=TICK)

    def make_town(self, rng: np.random.Generator) -> Town:
        """The town, made from the parameters and random numbers alone, so that readers of a run can make it again.

        A scenario with another town than Sallow Ferry overrides this, and calls it first in `setup` with `self.rng`.
        """
        return Town.sallow_ferry()

    def inhabit(self, town: Town, people: People, relations: pl.DataFrame, routines: pl.DataFrame) -> People:
        """Put people into a town, and return them; a scenario calls this at the end of its `setup`.

        Args:
            town: The town.
            people: Its residents, with the columns of `read_residents`.
            relations: Who knows whom, as pairs of ids `a` and `b`, with `relation` in words.
            routines: What they do on an ordinary day, with the columns of `read_routines`.
        """
        check_names(people["name"].to_list())
        self.town = town
        self.names: dict[Id, str] = {}
        self.population_changed = False
        self.index_people(people)
        self.presence = Presence(town, self.beds, now=BEGINS)
        self.agenda = Agenda(self.ids)
        self.routine: dict[Id, list[tuple[int, int, str]]] = {who: [] for who in self.ids}
        for person, time, place, what in routines.select("person", "time", "place", "what").iter_rows():
            self.routine[person].append((time, place, what))
        self.relations: dict[tuple[Id, Id], str] = {}
        for a, b, relation in relations.select("a", "b", "relation").iter_rows():
            self.relations[a, b] = self.relations[b, a] = relation
        self.acquainted = {(a, b) for a, b in self.relations if a < b}  # type: ignore[operator]
        public = [
            building for building in town.places.buildings.tolist() if town.places.kind[building] not in ("home", None)
        ]
        # A building without rooms is one room.
        rooms = {building: [*town.inside(building).tolist(), building] for building in public}
        self.public = {town.address(building): int(inside[0]) for building, inside in rooms.items()}
        self.mind = self.make_mind()
        self.asleep = np.ones(len(self.ids), np.bool_)
        self.last_meeting: dict[tuple[Id, Id], int] = {}
        self.last_noticed: dict[tuple[Id, Id], str] = {}
        self.conversation_count = 0
        self.utterances_now: list[str] = []
        return people.with_columns(place=town.addresses(self.beds), doing="sleep", town=town.name)

    def index_people(self, people: People) -> None:
        """Look up what is asked of everybody in each step; names of people who left stay known."""
        self.ids: list[Id] = people.ids.to_list()
        self.row = {who: row for row, who in enumerate(self.ids)}
        self.names |= dict(zip(self.ids, people["name"].to_list(), strict=True))
        self.homes = people["home_place"].to_numpy()
        self.beds = people["bed_place"].to_numpy()
        self.work = people["workplace_place"].fill_null(-1).to_numpy()
        self.wakes = people["wakes"].to_numpy()
        self.sleeps = np.where(people["sleeps"] <= people["wakes"], people["sleeps"] + DAY, people["sleeps"])

    def make_mind(self) -> Mind:
        """The minds of the residents; a scenario may leave parts out or replace them."""
        memory = (
            Memory(self.open_embedder(self.embedder), how=self.retrieval, rater=self.importance)
            if self.remembers
            else None
        )
        return Mind(
            profile=WHO,
            memory=memory,
            reflection=Reflection(budget=self.reflection_budget) if self.reflects and self.remembers else None,
            planning=Planning(places=("home", "work", *self.public)) if self.plans else None,
            dialogue=Dialogue(limit=self.utterances),
        )

    def length(self) -> int:
        """From before the first morning to midnight of the last day."""
        return (self.days * DAY - BEGINS) // TICK

    @property
    def seconds(self) -> int:
        """The simulated time, in seconds since midnight before the first day."""
        return BEGINS + self.t * TICK

    async def step(self) -> None:
        """Ten minutes."""
        now = self.seconds
        follow_population(self, now)
        self.utterances_now = []
        await self._rise(now)
        await self._begin_actions(now)
        pairs = await self._notice(now)
        await self._meet(pairs, now)
        self._record(now)

    def reflecting(self) -> list[Id]:
        """The people who are awake."""
        return [who for who, asleep in zip(self.ids, self.asleep, strict=True) if not asleep]

    async def _rise(self, now: int) -> None:
        of_day = now % DAY
        up = (self.wakes <= of_day) & (of_day < self.sleeps) | (of_day + DAY < self.sleeps)
        rising = [who for who in self.ids if self.asleep[self.row[who]] and up[self.row[who]]]
        retiring = [who for who in self.ids if not self.asleep[self.row[who]] and not up[self.row[who]]]
        self.asleep = ~up
        if retiring:
            rows = [self.row[who] for who in retiring]
            self.presence.send(rows, self.beds[rows], now)
            for who in retiring:
                self.agenda.set(who, [])
                self.agenda.begin(who, Action(now, now + DAY, "home", "sleep"))
        if rising:
            await self.plan(rising, now)

    def bedtime(self, who: Id, now: int) -> int:
        """When a person goes to bed on the day of `now`."""
        return int(now - now % DAY + self.sleeps[self.row[who]])

    async def plan(self, ids: Sequence[Id], now: int) -> None:
        """Let people plan the rest of the day; without a valid plan a person follows the routine."""
        plans: dict[Id, list[Action]] = {}
        if self.mind.planning is not None:
            plans = await self.mind.planning.plan_day(
                self,
                self.people.take(ids),
                given=HERE + COMES_TO_MIND + "On an ordinary day you do this: {routine}",
                now=now,
                until={who: self.bedtime(who, now) for who in ids},
                **self._situation_fields(ids, now, [f"plans for today, {self.date}"] * len(ids), "planning: day"),
            )
        for who in ids:
            actions = plans.get(who) or self._by_routine(who, now)
            self.agenda.set(who, actions)
            self.agenda.begin(
                who, Action(now, actions[0].start if actions else self.bedtime(who, now), "", "get ready")
            )
            self.event("planned", who, plan="; ".join(f"{time_of_day(a.start)} {a.doing} ({a.where})" for a in actions))
        if self.mind.memory is not None and self.mind.planning is not None:
            texts = [self._plan_text(who) for who in ids]
            self.mind.memory.store(ids, texts, kind="plan", now=now, importance=3.0)

    def _plan_text(self, who: Id) -> str:
        steps = ", ".join(f"{time_of_day(a.start)} {a.doing} at {a.where}" for a in self.agenda.planned(who))
        return f"My plan for {self.date}: {steps or 'nothing in particular'}."

    def _by_routine(self, who: Id, now: int) -> list[Action]:
        midnight, until = now - now % DAY, self.bedtime(who, now)
        rows = [(midnight + time, place, what) for time, place, what in self.routine[who] if midnight + time >= now]
        ends = [*(row[0] for row in rows[1:]), until][: len(rows)]
        return [
            Action(start, end, self.town.address(place), what)
            for (start, place, what), end in zip(rows, ends, strict=True)
            if start < until
        ]

    @property
    def date(self) -> str:
        """The day in words."""
        return f"{self.now:%d %B}".lstrip("0")

    def _place(self, who: Id, where: str) -> int | None:
        """The place of an action for a person; None where it has none."""
        row = self.row[who]
        if where == "home":
            return int(self.homes[row])
        if where == "work":
            return int(self.work[row] if self.work[row] >= 0 else self.homes[row])
        if where in self.public:
            return self.public[where]
        return self.town.place(where) if where else None

    async def _begin_actions(self, now: int) -> None:
        began: list[tuple[Id, Action]] = []
        for who in self.agenda.due(now):
            if self.asleep[self.row[who]]:
                continue
            action = self.agenda.next(who, now)
            if action is None:
                action = Action(now, max(now + TICK, self.bedtime(who, now)), "home", "rest at home")
                self.agenda.begin(who, action)
            began.append((who, action))
        if self.finer and self.mind.planning is not None:
            began = await self._refine(self.mind.planning, began, now)
        going = [(self.row[who], place) for who, a in began if (place := self._place(who, a.where)) is not None]
        if going:
            rows, places = zip(*going, strict=True)
            self.presence.send(list(rows), list(places), now)

    async def _refine(
        self, planning: PlanningPart, began: list[tuple[Id, Action]], now: int
    ) -> list[tuple[Id, Action]]:
        long = [(who, a) for who, a in began if a.where and a.end - a.start > HOUR and a.doing != "rest at home"]
        if long:
            ids = [who for who, _ in long]
            refined = await planning.refine(
                self,
                self.people.take(ids),
                [a for _, a in long],
                given=HERE + "Now begins: {stroke}.",
                stroke=[f"{a.doing}, at {a.where}, until {time_of_day(a.end)}" for _, a in long],
                **self._situation_fields(ids, now),
            )
            finer = {who: actions for (who, _), actions in zip(long, refined, strict=True)}
            for who, actions in finer.items():
                self.agenda.put_first(who, actions[1:])
                self.agenda.begin(who, actions[0])
            began = [(who, finer[who][0] if who in finer else a) for who, a in began]
        return began

    def _situation_fields(
        self, ids: Sequence[Id], now: int, about: Sequence[str] | None = None, purpose: str = ""
    ) -> dict[str, Any]:
        """The fields of a prompt: time, place and action, and with `about` the memories that come to mind."""
        where = self.presence.at(now)
        rows = [self.row[who] for who in ids]
        places = self.town.addresses(where.place[rows]).fill_null("the street").to_list()
        fields: dict[str, Any] = {
            "time": time_of_day(now),
            "date": self.date,
            "where": places,
            "doing": [self.doing(who) for who in ids],
        }
        if about is not None:
            fields["memories"] = Recollection.nothing(len(ids))
            if self.mind.memory is not None:
                fields["memories"] = self.mind.memory.recollect(ids, about, now=now, purpose=purpose, top=5)
        return fields

    def doing(self, who: Id) -> str:
        """What a person is busy with."""
        action = self.agenda.doing[who]
        return action.doing if action is not None else "nothing in particular"

    async def _notice(self, now: int) -> list[tuple[Id, Id]]:
        """Let people remember what is new about those they see; returns the pairs who see each other, each once."""
        pairs = self.presence.pairs_in_sight(now, bandwidth=8)
        keep = ~(self.asleep[pairs.row] | self.asleep[pairs.other])
        observers, others = pairs.row[keep].tolist(), pairs.other[keep].tolist()
        observations: list[tuple[Id, str]] = []
        for a, b in zip(observers, others, strict=True):
            one, other = self.ids[a], self.ids[b]
            busy = self.doing(other)
            if self.last_noticed.get((one, other)) != busy:
                self.last_noticed[one, other] = busy
                observations.append((one, f"I saw {self.names[other]}, who was busy with this: {busy}."))
        if observations and self.mind.memory is not None:
            who, texts = zip(*observations, strict=True)
            await self.mind.memory.remember(self, who, texts, kind="observation", now=now)
        both = set(zip(observers, others, strict=True))
        return [(self.ids[a], self.ids[b]) for a, b in sorted(both) if a < b and (b, a) in both]

    async def _meet(self, pairs: Sequence[tuple[Id, Id]], now: int) -> None:
        """Let pairs who meet talk if the first is willing; everybody is in one conversation at most."""
        ready = [p for p in pairs if now - self.last_meeting.get(p, -DAY) >= self.cooldown * 60 and p[0] != p[1]]
        taken: set[Id] = set()
        meeting: list[tuple[Id, Id]] = []
        for place in self.rng.permutation(len(ready)).tolist():
            a, b = ready[place]
            if a not in taken and b not in taken:
                taken |= {a, b}
                meeting.append((a, b) if self.rng.random() < 0.5 else (b, a))
        if not meeting:
            return
        meeting.sort(key=lambda pair: self.row[pair[0]])
        for a, b in meeting:
            self.last_meeting[(a, b) if self.row[a] < self.row[b] else (b, a)] = now
        willing = await self.willing(meeting, now)
        talking = [pair for pair, yes in zip(meeting, willing, strict=True) if yes]
        talks = await self.talk(talking, now) if talking else []
        for talk in talks:
            self._record_talk(talk, now)
        await self.revise(talks, now)

    async def willing(self, pairs: Sequence[tuple[Id, Id]], now: int) -> list[bool]:
        """Whether the first of each pair starts a conversation with the second."""
        ids = [a for a, _ in pairs]
        others = [self.names[b] for _, b in pairs]
        answers = await self.ask(
            self.people.take(ids),
            Choice("Do you start a conversation with {other} now?", options=("yes", "no")),
            given=HERE + COMES_TO_MIND + MEETING,
            purpose="whether to talk",
            other=others,
            acquaintance=[self.acquaintance(a, b) for a, b in pairs],
            others_doing=[self.doing(b) for _, b in pairs],
            **self._situation_fields(ids, now, others, "whether to talk"),
        )
        return [value == "yes" for value in answers.values]

    def acquaintance(self, one: Id, other: Id) -> str:
        """How one person knows another, in words."""
        name = self.names[other]
        relation = self.relations.get((one, other))
        return f"You and {name} know each other: {relation}." if relation else f"You do not know {name} yet."

    async def talk(self, pairs: Sequence[tuple[Id, Id]], now: int) -> list[Talk]:
        """Hold the conversations of pairs, all at the same time."""
        fields = self._situation_fields([a for a, _ in pairs], now)
        if self.mind.dialogue is None:
            return []
        return await self.mind.dialogue.hold(
            self,
            [[self.people.person(who) for who in pair] for pair in pairs],
            given="It is {time} on {date}. You are at {where}.\n" + TALKING,
            now=now,
            memory=self.mind.memory,
            present=lambda who: not self.asleep[self.row[who]],
            time=[fields["time"]] * len(pairs),
            date=[fields["date"]] * len(pairs),
            where=fields["where"],
        )

    def _record_talk(self, talk: Talk, now: int) -> None:
        """Record a conversation; people who talked know each other from then on."""
        self.conversation_count += 1
        for line in talk.lines:
            hearers = [who for who in talk.people if who != line.speaker]
            self.event("said", line.speaker, to=hearers, text=line.text, at=now)
            self.utterances_now.append(f"{line.name}: {line.text}")
        if talk.lines:
            a, b = sorted(talk.people, key=lambda who: self.row[who])[:2]
            self.acquainted.add((a, b))
            self.relations.setdefault((a, b), "you have talked before")
            self.relations.setdefault((b, a), "you have talked before")
        for who in talk.people:
            others = " and ".join(self.names[other] for other in talk.people if other != who)
            self.agenda.interrupt(who, Action(now, now + TICK, "", f"talk with {others}"))
        self.event("talked", talk.people[0], others=list(talk.people[1:]), lines=len(talk.lines), ended=talk.ended)

    async def revise(self, talks: Sequence[Talk], now: int) -> None:
        """Let people change their plan after a conversation; nobody does unless a scenario overrides this."""

    def _record(self, now: int) -> None:
        frame = self.presence.frame(now)
        self.people["place"] = frame["address"].fill_null("on the way")
        self.people["doing"] = pl.Series(
            ["sleep" if s else self.doing(w) for w, s in zip(self.ids, self.asleep, strict=True)]
        )
        positions = frame.select("row", "place", "x", "y").with_columns(time=pl.lit(now))
        # Rows are those of the first population until somebody joins or leaves.
        self.tables["positions"] = (
            positions.with_columns(self.people.ids.alias("person")) if self.population_changed else positions
        )
