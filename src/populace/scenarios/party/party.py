"""One resident is told of an event that they plan; nobody else is.

The run takes two simulated days. Who comes to know, from whom, and who comes to the event is measured from utterances
and from where people were. By default the event is a party at the café, as in the source.
"""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from populace.base.errors import ParameterError
from populace.base.formatting import plural
from populace.engine.scenario import Field, ReportTable, metric
from populace.minds import Action, Memory, Mind, Talk
from populace.people import HEARD, Id, People
from populace.runs.reader import RunReader
from populace.scenarios.party.diffusion import Diffusion
from populace.scenarios.party.event import NewsEvent, NewsEvents
from populace.scenarios.party.occasion import Occasion, check_times, find_occasions
from populace.scenarios.party.picture import draw_diffusion
from populace.scenarios.party.report import party_report, read_outcome
from populace.scenarios.party.rumour import RumourRule
from populace.scenarios.townlife import BEGINS, TICK, WHO, TownLife
from populace.worlds.town import (
    TomlFile,
    Town,
    generate_relations,
    generate_residents,
    read_relations,
    read_residents,
    read_routines,
    render_map,
)
from populace.worlds.town.people_generator import ordinary_routines

_SALLOW_FERRY = 25
_EVENT_METRICS = ("know", "partial", "wrong", "invited", "came", "attendance", "claims")


class Party(TownLife):
    """A resident plans a party and is told so; nobody else is. Who comes to know, and who comes?"""

    residents: int = Field(
        _SALLOW_FERRY,
        ge=3,
        description="The number of residents; for another number than 25, town and people are generated.",
    )
    map: TomlFile | None = Field(None, description="A TOML file with the map of the town; otherwise Sallow Ferry.")
    residents_file: TomlFile | None = Field(None, description="A TOML file with the residents of the map.")
    news: NewsEvents = Field(
        "party", validate_default=True, description="The news: a TOML file of events, or one that ships."
    )
    event_what: str = Field("", description="What the first event is, in place of what the news says.")
    event_host: str = Field("", description="The name of the host of the first event.")
    event_place: str = Field("", description="The place of the first event: an address, or a kind of building.")
    event_day: int | None = Field(None, ge=1, description="The day of the first event.")
    event_begins: str = Field("", description="When the first event begins, such as 17:00.")
    event_ends: str = Field("", description="When the first event ends.")
    told: bool = Field(True, description="Whether hosts are told of their event; otherwise nobody should know.")
    talk_chance: float = Field(0.5, ge=0, le=1, description="By rule: the chance that two who meet talk.")
    pass_chance: float = Field(0.5, ge=0, le=1, description="By rule: the chance that somebody who knows passes it on.")
    attend_chance: float = Field(0.5, ge=0, le=1, description="By rule: the chance that somebody who knows goes there.")

    chart: ClassVar[tuple[str, ...]] = ("know", "invited", "came")

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        # What is wrong with news, map and residents is said before a run begins. A town that is generated has the names
        # of its run, so that only the times of its events are checked here.
        files = self.map is not None or self.residents_file is not None
        news = self.declared_events != list(_default_news().root)
        if files or (news and self.residents == _SALLOW_FERRY):
            town = self.make_town(np.random.default_rng(0))
            people, _, _ = self.make_people(town, np.random.default_rng(0))
            self._find_occasions(town, people)
        elif news:
            check_times(self.declared_events, starts=BEGINS, days=self.days)

    @property
    def declared_events(self) -> list[NewsEvent]:
        """The events, the first with what the parameters say of it."""
        first, *others = self.news.root
        changes: dict[str, Any] = {
            "what": self.event_what,
            "host": self.event_host,
            "place": self.event_place,
            "day": self.event_day,
            "begins": self.event_begins,
            "ends": self.event_ends,
        }
        changes = {name: value for name, value in changes.items() if value}
        if "what" in changes:
            changes |= {"words": (), "day_names": ()}
        if not changes:
            return [first, *others]
        return [NewsEvents.model_validate([first.model_dump() | changes]).root[0], *others]

    def make_town(self, rng: np.random.Generator) -> Town:
        """The town of the map; without one Sallow Ferry for its 25 residents, a made-up town for any other number."""
        if self.map is not None:
            return Town.read(self.map)
        lives_here = self.residents == _SALLOW_FERRY or self.residents_file is not None
        return Town.sallow_ferry() if lives_here else Town.generate(self.residents, rng)

    def make_people(self, town: Town, rng: np.random.Generator) -> tuple[People, pl.DataFrame, pl.DataFrame]:
        """The residents, who knows whom, and their routines; called with the random numbers that made the town."""
        if self.residents_file is None and (self.map is not None or self.residents != _SALLOW_FERRY):
            people = generate_residents(town, self.residents, rng)
            return people, generate_relations(town, people, rng), ordinary_routines(people)
        file = self.residents_file
        people = read_residents(town, file)
        if self.residents not in (_SALLOW_FERRY, len(people)):
            raise ParameterError(
                f"{file.name if file else 'Sallow Ferry'} has {len(people)} residents, and residents is "
                f"{self.residents}.",
                "Leave residents out: the file says who lives there.",
            )
        return people, read_relations(town, file), read_routines(town, file)

    def setup(self) -> People:
        """The town and its people, of whom the hosts are told of their events."""
        town = self.make_town(self.rng)
        people = self.inhabit(town, *self.make_people(town, self.rng))
        self.occasions = self._find_occasions(town, people)
        self.diffusions = {each.name: each.follow(self.names) for each in self.occasions}
        self.guests: dict[str, set[Id]] = {occasion.name: set() for occasion in self.occasions}
        self.present: dict[str, set[Id]] = {occasion.name: set() for occasion in self.occasions}
        self.rule = RumourRule(self.talk_chance, self.pass_chance, self.attend_chance)
        self.decided: set[tuple[str, Id]] = set()
        currently = dict.fromkeys(self.ids, "")
        for occasion in self.occasions if self.told else ():
            self.diffusions[occasion.name].tell(occasion.host, self.seconds)
            currently[occasion.host] += f" {occasion.message()}"
            if self.mind.memory is not None:
                self.mind.memory.store(
                    [occasion.host], [occasion.message()], kind="thought", now=self.seconds, importance=9.0
                )
        return people.with_columns(currently=pl.Series(list(currently.values())))

    def _find_occasions(self, town: Town, people: People) -> list[Occasion]:
        return find_occasions(
            self.declared_events, town, people, first_day=self.start.date(), starts=BEGINS, days=self.days
        )

    def make_mind(self) -> Mind:
        """The minds of the residents; by rule nobody remembers, plans or reflects, because nobody is asked."""
        return Mind(profile=WHO) if self.by_rule else super().make_mind()

    @property
    def by_rule(self) -> bool:
        """Whether the rumour rule decides, so that no model is asked."""
        return self.stage.settings.decider == "rule"

    async def step(self) -> None:
        """Ten minutes of town life; during an event, those who are there are counted."""
        if self.t == 1 and self.told:
            for occasion in self.occasions:
                self.event("told", occasion.host, event=occasion.name, at=self.seconds - TICK)
        self._hear_announcements()
        if self.by_rule:
            self._go_by_rule()
        await super().step()
        for occasion in self.occasions:
            if self.t in occasion.steps(BEGINS, TICK) and occasion.can_be_attended:
                self._count_guests(occasion)

    def _hear_announcements(self) -> None:
        """People to whom the news is announced were told, as the host was, as much as the announcement says."""
        if HEARD not in self.people:
            return
        hearers = self.people.frame.filter(pl.col(HEARD).is_not_null()).select("id", HEARD)
        for who, heard in hearers.iter_rows():
            for occasion in self.occasions:
                news = self.diffusions[occasion.name]
                text = " ".join(line for line in heard.split("\n") if occasion.reader.names_it(line))
                if not text or not news.tell(who, self.seconds, text):
                    continue
                self.event("told", who, event=occasion.name, text=text, at=self.seconds)

    def _count_guests(self, occasion: Occasion) -> None:
        inside = np.isin(self.presence.at(self.seconds).place, occasion.places(self.town))
        there = {who for who, yes in zip(self.ids, inside.tolist(), strict=True) if yes} - {occasion.host}
        self.present[occasion.name] |= there
        came = [who for who in there if self.diffusions[occasion.name].status(who) == "full"]
        for who in sorted(set(came) - self.guests[occasion.name], key=lambda who: self.row[who]):
            self.guests[occasion.name].add(who)
            self.event("came", who, event=occasion.name, at=self.seconds)

    def _go_by_rule(self) -> None:
        """By rule, people who know of an event decide once whether to go; the host goes."""
        now = self.seconds
        for occasion in self.occasions:
            if not occasion.can_be_attended or self.t not in occasion.steps(BEGINS, TICK):
                continue
            name, news = occasion.name, self.diffusions[occasion.name]
            undecided = [who for who in self.ids if (name, who) not in self.decided and not self.asleep[self.row[who]]]
            knowing = [who for who in undecided if news.status(who) == "full"]
            self.decided |= {(name, who) for who in knowing}
            goes = self.rule.goes(knowing, name, self.stage.settings.seed) if knowing else []
            *_, spot = occasion.places(self.town)[:2]
            for who, yes in zip(knowing, goes, strict=True):
                if yes or who == occasion.host:
                    until = occasion.ends or now
                    self.agenda.begin(who, Action(now, until, occasion.address, f"being at the {occasion.event.what}"))
                    self.presence.send([self.row[who]], [spot], now)

    async def willing(self, pairs: Sequence[tuple[Id, Id]], now: int) -> list[bool]:
        """By the rumour rule, chance decides who talks."""
        return self.rule.willing(len(pairs), self.rng) if self.by_rule else await super().willing(pairs, now)

    async def talk(self, pairs: Sequence[tuple[Id, Id]], now: int) -> list[Talk]:
        """By the rumour rule, people who know pass the news on with a chance, until the event is over."""
        if not self.by_rule:
            return await super().talk(pairs, now)
        current = [each for each in self.occasions if each.ends is None or now < each.ends]
        knows = {each.spoken(): functools.partial(_knows, self.diffusions[each.name]) for each in current}
        return self.rule.talks(pairs, knows, self.names, self.rng)

    def record_talk(self, talk: Talk, now: int) -> None:
        """Follow the news through what was said."""
        super().record_talk(talk, now)
        for line in talk.lines:
            hearers = [who for who in talk.people if who != line.speaker]
            for name, news in self.diffusions.items():
                before = {who: news.status(who) for who in hearers}
                claims, invited = len(news.claims), set(news.invitations)
                news.add_utterance(line.speaker, hearers, line.text, now)
                for who in hearers:
                    status = news.status(who)
                    if status != before[who]:
                        kind = "came to know" if status == "full" else "heard of it"
                        self.event(kind, who, event=name, source=line.speaker, status=status, text=line.text, at=now)
                    if who in news.invitations and who not in invited:
                        self.event("invited", who, event=name, source=line.speaker, text=line.text, at=now)
                if len(news.claims) > claims:
                    self.event("claimed without evidence", line.speaker, event=name, text=line.text, at=now)

    def view(self) -> list[str]:
        """How many are awake and know the news, the last utterances, and the map."""
        awake = int((~self.asleep).sum())
        parts = [f"{awake} awake", plural(self.conversation_count, "conversation")]
        for occasion in self.occasions:
            knows = self.diffusions[occasion.name].knows
            latest = ", ".join(self.names[who] for who in list(knows)[-4:])
            parts.append(f"{len(knows)} know of the {occasion.name}: {latest}")
        utterances = [f"  {line}" for line in self.utterances_now[-4:]]
        if len(self.ids) > 60:
            return [" · ".join(parts), *utterances, ""]
        names = list(self.names.values())
        lines = render_map(self.town, self.presence, self.seconds, names=names)
        return [" · ".join(parts), *utterances, "", *lines]

    def measure(self, name: str, event: str) -> int | None:
        """A metric of one event; None for what cannot be measured: who comes to an event after the run, for one."""
        occasion = next(occasion for occasion in self.occasions if occasion.name == event)
        news = self.diffusions[event]
        steps = occasion.steps(BEGINS, TICK)
        if name in ("came", "attendance") and (occasion.place is None or not steps or steps[0] > self.length()):
            return None
        values: dict[str, Callable[[], int]] = {
            "know": lambda: news.count("full"),
            "partial": lambda: news.count("partial"),
            "wrong": lambda: news.count("wrong"),
            "invited": lambda: len(news.invitations),
            "came": lambda: len(self.guests[event]),
            "attendance": lambda: len(self.present[event]),
            "claims": lambda: len(news.claims),
        }
        return values[name]()

    def own_metrics(self) -> dict[str, Callable[[Any], Any]]:
        """The metrics of the class and, where there are several events, those of each under its name."""
        events = [event.name for event in self.news.root]
        named: dict[str, Callable[[Any], Any]] = {}
        for event in events if len(events) > 1 else ():
            for name in _EVENT_METRICS:
                named[f"{name}_{event}"] = functools.partial(_event_metric, name=name, event=event)
        return self.metrics() | named

    def _first(self, name: str) -> int | None:
        return self.measure(name, self.occasions[0].name)

    @metric
    def know(self) -> int | None:
        """How many were told of the first event, and when or where it is."""
        return self._first("know")

    @metric
    def partial(self) -> int | None:
        """How many were told of the first event, and not when or where it is."""
        return self._first("partial")

    @metric
    def wrong(self) -> int | None:
        """How many were told another time or place of the first event."""
        return self._first("wrong")

    @metric
    def invited(self) -> int | None:
        """How many were invited to the first event by somebody who was told of it."""
        return self._first("invited")

    @metric
    def came(self) -> int | None:
        """How many people who knew of the first event were there during it, without the host."""
        return self._first("came")

    @metric
    def attendance(self) -> int | None:
        """How many people were at the place of the first event during it, knowing or not, without the host."""
        return self._first("attendance")

    @metric
    def claims(self) -> int | None:
        """How many utterances spoke of the first event, or of its time or place, by somebody who was not told so."""
        return self._first("claims")

    @metric
    def conversations(self) -> int:
        """How many conversations there were."""
        return self.conversation_count

    @metric
    def acquaintance_density(self) -> float:
        """The share of pairs who know each other."""
        present = sum(a in self.row and b in self.row for a, b in self.acquainted)
        return 2 * present / max(1, len(self.ids) * (len(self.ids) - 1))

    @metric
    def memories(self) -> int:
        """How many memories all people have together."""
        return len(self.mind.memory.stream) if isinstance(self.mind.memory, Memory) else 0

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """Who was told and through whom, who came, with the news and without, and who got to know whom."""
        return [*party_report(run, cls), *super().report(run)]

    @classmethod
    def pictures(cls, run: RunReader, folder: Path) -> list[Path]:
        """For each event, the tree of who told whom, and when."""
        outcome = read_outcome(run, cls)
        end = BEGINS + run.steps[-1] * TICK
        regime = run.manifest.regime
        who = regime.model if regime.decider == "model" else "the rumour rule"
        title = f"{run.name} · {who} · seed {regime.seed}"
        drawn = []
        for number, (occasion, news, came) in enumerate(outcome.occasions):
            if news.knows:
                path = folder / ("diffusion.png" if number == 0 else f"diffusion-{occasion.name}.png")
                drawn.append(draw_diffusion(news, occasion, outcome.names, came, path, title=title, end=end))
        return drawn


@functools.cache
def _default_news() -> NewsEvents:
    return NewsEvents.model_validate("party")


def _knows(news: Diffusion, who: Id) -> bool:
    return news.status(who) == "full"


def _event_metric(party: Party, *, name: str, event: str) -> int | None:
    return party.measure(name, event)
