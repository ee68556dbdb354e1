"""Life in a town: people plan, walk, notice each other and things, react, talk, remember and reflect.

A step is ten minutes. Nobody is asked while an action lasts; there are questions only when something begins, when
people meet, when something new matters, and when much has happened to somebody.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UnknownNameError, WorldError
from populace.base.formatting import time_of_day
from populace.base.templates import Template
from populace.engine.scenario import Field, ReportTable, Scenario
from populace.minds import AIM, Action, Agenda, Dialogue, Memory, Mind, Planning, Reflection, Talk
from populace.people import Id, People
from populace.questions import Choice
from populace.runs.reader import RunReader
from populace.scenarios.townlife import days, meetings, words
from populace.scenarios.townlife.moves import check_names, follow_population
from populace.scenarios.townlife.noticing import (
    Notice,
    Novelty,
    learn_announced_places,
    notice_people,
    notice_things,
    places_named,
)
from populace.scenarios.townlife.report import words_report
from populace.scenarios.townlife.things import RoomThings
from populace.worlds.town.objects import Objects
from populace.worlds.town.places import OBJECT
from populace.worlds.town.presence import ATTENTION, Presence
from populace.worlds.town.town import Town

DAY, HOUR, TICK = 86_400, 3600, 600
_SAME = 0.65
"""The cosine from which two events are one and the same to a person."""
BEGINS = 5 * HOUR
"""The first day begins before anybody gets up."""


class TownLife(Scenario):
    """Residents of a town live their days."""

    days: int = Field(2, ge=1, description="How many days.")
    remembers: bool = Field(True, description="Whether people remember anything.")
    reflects: bool = Field(True, description="Whether people draw conclusions from their memories.")
    plans: bool = Field(True, description="Whether people plan their days; otherwise they follow their routine.")
    hours: bool = Field(False, description="Whether a broad plan is divided into hours when a part of it begins.")
    finer: bool = Field(False, description="Whether an action is planned in steps of 5 to 15 minutes when it begins.")
    reacts: bool = Field(True, description="Whether people may change their plans when something new matters.")
    importance: Literal["model", "rule"] = Field("model", description="Who rates how important a memory is.")
    matters: float = Field(6.0, ge=1, le=10, description="The importance from which people think of reacting.")
    attention: int = Field(ATTENTION, ge=1, description="The most people or things that a person notices at a time.")
    retention: int = Field(8, ge=1, description="How many of the last notices a new one is compared with.")
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
        self.objects = Objects(town)
        self.usual_states = {int(thing): self.objects.state(int(thing)) for thing in town.objects()}
        self.unusual: dict[int, str] = {}
        self.seen_states: dict[tuple[Id, int], str] = {}
        self.seen_unusual: set[int] = set()
        self.using: dict[Id, int] = {}
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
        self.known: dict[Id, set[str]] = {}
        for who in self.ids:
            self.learn_home(who)
        self.mind = self.make_mind()
        self.memory_embedder = self.mind.memory.embedder if isinstance(self.mind.memory, Memory) else None
        self.things = RoomThings(town, self.memory_embedder)
        self.asleep = np.ones(len(self.ids), np.bool_)
        self.novelty = Novelty(self.retention)
        self.strokes: dict[Id, Action] = {}
        self.considered: dict[Id, deque[npt.NDArray[np.float64]]] = {}
        self.closed: dict[Id, tuple[int, str]] = {}
        self.last_meeting: dict[tuple[Id, Id], int] = {}
        self.conversation_count = 0
        self.utterances_now: list[str] = []
        return people.with_columns(place=town.addresses(self.beds), doing=words.SLEEPING, town=town.name, currently="")

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

    def learn_home(self, who: Id) -> None:
        """Let a person know the places of their ordinary day; others become known by a visit or by name."""
        building = self.town.places.building
        rows = [place for _, place, _ in self.routine.get(who, [])]
        work = int(self.work[self.row[who]])
        own = {self.town.address(int(building[place])) for place in (*rows, *([work] if work >= 0 else []))}
        self.known[who] = {"home", *(["work"] if work >= 0 else []), *(own & set(self.public))}

    def make_mind(self) -> Mind:
        """The minds of the residents; a scenario may leave parts out or replace them."""
        memory = None
        if self.remembers:
            memory = Memory(
                self.open_embedder(self.embedder),
                how=self.retrieval,
                rater=self.importance,
                variety=0.85,
                time_label=words.time_label,
                merges=True,
            )
        return Mind(
            profile=words.WHO,
            memory=memory,
            reflection=Reflection(budget=self.reflection_budget) if self.reflects and self.remembers else None,
            planning=Planning(places=("home", "work", *self.public)) if self.plans else None,
            dialogue=Dialogue(limit=self.utterances, aim=AIM),
        )

    def length(self) -> int:
        """From before the first morning to midnight of the last day."""
        return (self.days * DAY - BEGINS) // TICK

    @property
    def seconds(self) -> int:
        """The simulated time, in seconds since midnight before the first day."""
        return BEGINS + self.t * TICK

    @property
    def date(self) -> str:
        """The day in words."""
        return f"{self.now:%d %B}".lstrip("0")

    async def step(self) -> None:
        """Ten minutes."""
        now = self.seconds
        follow_population(self, now)
        learn_announced_places(self)
        self.utterances_now = []
        await days.rise(self, now)
        await days.begin_actions(self, now)
        pairs = await self._notice(now)
        await meetings.meet(self, pairs, now)
        self._record(now)

    def reflecting(self) -> list[Id]:
        """The people who are awake."""
        return [who for who, asleep in zip(self.ids, self.asleep, strict=True) if not asleep]

    def bedtime(self, who: Id, now: int) -> int:
        """When a person goes to bed next; those who stay up past midnight still live the day before."""
        return self.day_start(who, now) + int(self.sleeps[self.row[who]])

    def day_start(self, who: Id, now: int) -> int:
        """The midnight with which the day of a person began; it lasts until they go to bed."""
        midnight = now - now % DAY
        return midnight - DAY if now - midnight + DAY < self.sleeps[self.row[who]] else midnight

    def doing(self, who: Id) -> str:
        """What a person is doing, as a phrase that fits after "is"."""
        action = self.agenda.doing[who]
        return action.doing if action is not None else words.FALLBACKS[-1]

    def stroke(self, who: Id) -> str:
        """The part of the broad plan to which what a person is doing belongs; what they are doing without one."""
        return self.strokes[who].doing if who in self.strokes else self.doing(who)

    def where(self, place: int, who: Id | None = None) -> str:
        """A place as people call it, such as "at Kettle & Crumb"; "at home" for the home of `who`."""
        if place < 0:
            return "in the street"
        building = int(self.town.places.building[place])
        if who is not None and building == int(self.town.places.building[self.homes[self.row[who]]]):
            return words.AT_HOME
        return f"at {self.town.address(building)}"

    def situation(self, ids: Sequence[Id], now: int) -> dict[str, Any]:
        """The fields of a prompt about the present: time, date, place and activity."""
        place = self.presence.at(now).place
        return {
            "time": time_of_day(now),
            "date": self.date,
            "where": [self.where(int(place[self.row[who]]), who) for who in ids],
            "doing": [self.doing(who) if place[self.row[who]] >= 0 else "on your way" for who in ids],
        }

    def present_moment(self, people: People) -> Sequence[str]:
        """The time, the place and the activity of each person; those who sleep are in bed."""
        ids = people.ids.to_list()
        now = self.situation(ids, self.seconds)
        asleep = [bool(self.asleep[self.row[who]]) for who in ids]
        doing = [words.IN_BED if sleeps else text for sleeps, text in zip(asleep, now["doing"], strict=True)]
        columns = {"doing": pl.Series(doing), "where": pl.Series(now["where"])}
        return Template(words.HERE).render(now, columns, len(ids)).to_list()

    async def plan(self, ids: Sequence[Id], now: int, because: Mapping[Id, str] | None = None) -> None:
        """Let people plan the rest of the day; without a valid plan a person follows the routine.

        Args:
            ids: Who plans.
            now: The simulated time.
            because: What made each of them plan anew, where anything did.
        """
        await days.plan(self, ids, now, because)

    def plan_text(self, who: Id) -> str:
        """What a person has planned for the rest of the day."""
        return words.plan_text(self.agenda.planned(who), self.date)

    async def _notice(self, now: int) -> list[tuple[Id, Id]]:
        """Let people remember what is new of what they see, and react to it; returns the pairs who see each other."""
        notices, pairs = notice_people(self, now)
        notices += notice_things(self, now)
        notices += days.notice_closed(self, now)
        if notices:
            rated = await self._remember_rated(notices, now)
            events = {each.who: each.text for each, mark in zip(notices, rated, strict=True) if mark >= self.matters}
            events |= {who: text for who, text, _ in notices if who in self.closed and now >= self.closed[who][0]}
            self.closed = {who: close for who, close in self.closed.items() if who not in events}
            await self.react(events, now)
        return pairs

    async def _remember_rated(self, notices: Sequence[Notice], now: int) -> list[float]:
        """Store observations; returns their importance, 0 where nothing is known of it."""
        memory = self.mind.memory
        if memory is None:
            return [0.0] * len(notices)
        ids, texts, rated_as = (list(column) for column in zip(*notices, strict=True))
        stored = await memory.remember(self, ids, texts, kind="observation", now=now, rated_as=rated_as)
        return [float(mark) for mark in np.nan_to_num(memory.importance_of(stored.tolist()))]

    async def react(self, events: Mapping[Id, str], now: int) -> None:
        """Let people decide whether something new changes their plans; those who say so plan the rest of the day anew.

        Args:
            events: What happened to each of them, in words.
            now: The simulated time.
        """
        ids = [
            who
            for who in events
            if who in self.row and not self.asleep[self.row[who]] and self.bedtime(who, now) - now >= HOUR // 2
        ]
        if not ids or not self.reacts or self.mind.planning is None:
            return
        ids = self._not_considered(ids, events)
        if not ids:
            return
        answers = await self.ask(
            self.people.take(ids),
            Choice("Does it change what you do for the rest of the day?", options=("no", "yes")),
            given=f"{words.HERE}\n{{plan}}\n{words.HAPPENED}",
            purpose="whether to react",
            about=[events[who] for who in ids],
            plan=[self.plan_text(who) for who in ids],
            event=[events[who] for who in ids],
            **self.situation(ids, now),
        )
        changing = [who for who, value in zip(ids, answers.values, strict=True) if value == "yes"]
        for who in changing:
            self.event("reacted", who, to=events[who], at=now)
        if changing:
            await self.plan(changing, now, because={who: events[who] for who in changing})

    def _not_considered(self, ids: Sequence[Id], events: Mapping[Id, str]) -> list[Id]:
        """The people to whom what happened is new: unlike the last things of which they thought whether to react."""
        if self.memory_embedder is None:
            return list(ids)
        new = []
        for who, vector in zip(ids, self.memory_embedder.embed([events[who] for who in ids]), strict=True):
            unit = np.asarray(vector, np.float64) / max(float(np.linalg.norm(vector)), 1e-9)
            last = self.considered.setdefault(who, deque(maxlen=self.retention))
            if not any(float(unit @ other) >= _SAME for other in last):
                new.append(who)
            last.append(unit)
        return new

    async def willing(self, pairs: Sequence[tuple[Id, Id]], now: int) -> list[bool]:
        """Whether the first of each pair starts a conversation with the second."""
        return await meetings.ask_willing(self, pairs, now)

    async def talk(self, pairs: Sequence[tuple[Id, Id]], now: int) -> list[Talk]:
        """Hold the conversations of pairs, all at the same time."""
        return await meetings.hold_talks(self, pairs, now)

    def acquaintance(self, one: Id, other: Id) -> str:
        """How one person knows another, in words."""
        name = self.names[other]
        relation = self.relations.get((one, other))
        return f"You and {name} know each other: {relation}." if relation else f"You do not know {name} yet."

    def record_talk(self, talk: Talk, now: int) -> None:
        """Record a conversation; people who talked know each other and the places that were named from then on."""
        meetings.record_talk(self, talk, now)

    def learn_places(self, who: Id, texts: Sequence[str]) -> None:
        """Let a person know the public places that others named to them."""
        self.known[who] |= places_named(self, texts)

    def change_thing(self, place: str, state: str) -> None:
        """Set the state of a thing, named by its address; people who see it notice it.

        Example: `change_thing("Larch Lane 4 > kitchen > stove", "burning")`.
        """
        self.set_state(self.check_thing(place), state)

    def check_thing(self, place: str) -> int:
        """The number of a thing by its address; an error where there is no such thing."""
        try:
            thing = self.town.place(place)
        except UnknownNameError as error:
            names = {self.town.places.name[each]: self.town.address(each) for each in self.town.objects().tolist()}
            if place in names:
                raise UnknownNameError("building", place, [], suggestion=repr(names[place])) from error
            raise
        if self.town.places.level[thing] != OBJECT:
            raise WorldError(
                f"{place!r} is not a thing.", "Name a thing in a room, such as 'Larch Lane 4 > kitchen > stove'."
            )
        return thing

    def set_state(self, thing: int, state: str, by: Id | None = None) -> None:
        """Set the state of a thing by its place id."""
        self.objects.set(thing, state, self.seconds, by=None if by is None else self.row[by])
        if state == self.usual_states[thing]:
            self.unusual.pop(thing, None)
        else:
            self.unusual[thing] = state

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """What the words of the run were like: faults of speech, how time was spent, and invalid answers."""
        return words_report(run)

    def _record(self, now: int) -> None:
        frame = self.presence.frame(now)
        self.people["place"] = frame["address"].fill_null("on the way")
        doing = [words.SLEEPING if s else self.doing(w) for w, s in zip(self.ids, self.asleep, strict=True)]
        self.people["doing"] = pl.Series(doing)
        awake, idle = int((~self.asleep).sum()), sum(text in words.FALLBACKS for text in doing)
        self.tables["waking"] = pl.DataFrame({"time": [now], "awake": [awake], "idle": [idle]})
        positions = frame.select("row", "place", "x", "y").with_columns(time=pl.lit(now))
        # Rows are those of the first population until somebody joins or leaves.
        self.tables["positions"] = (
            positions.with_columns(self.people.ids.alias("person")) if self.population_changed else positions
        )
        changes = self.objects.changes(now)
        if changes.height:
            self.tables["things"] = changes
        self.objects.forget(now + 1)
