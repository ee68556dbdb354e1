"""One resident is told that they plan a party at the café; nobody else is.

The run takes two simulated days. Who comes to know, from whom, and who comes to the party is measured from utterances
and from where people were.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from populace.base.formatting import plural, time_of_day
from populace.engine.scenario import Field, ReportTable, metric
from populace.minds import Line, Memory, Talk
from populace.people import HEARD, Id, People
from populace.runs.reader import RunReader
from populace.scenarios.party.attendance import attendance_report
from populace.scenarios.party.diffusion import Diffusion, draw_diffusion
from populace.scenarios.townlife import BEGINS, DAY, HOUR, TICK, TownLife
from populace.worlds.town import (
    Town,
    generate_relations,
    generate_residents,
    read_relations,
    read_residents,
    read_routines,
    render_map,
)
from populace.worlds.town.people_generator import ordinary_routines

NEWS = re.compile(r"\bpart(y|ies)\b|valentine", re.IGNORECASE)
INVITES = re.compile(r"\b(come|join|invit\w*|welcome|attend|see you|would you like)\b", re.IGNORECASE)
PLAN = (
    "I am giving a Valentine's Day party at {café} on 14 February from 17:00 to 19:00. I want many people to come, so "
    "I tell everybody I meet about it and invite them."
)
PASSED_ON = "There is a Valentine's Day party at {café} on 14 February at 17:00. You are invited, do come!"

GREETING = "Good day to you."


class Party(TownLife):
    """A resident plans a party and is told so; nobody else is. Who comes to know, and who comes?"""

    residents: int = Field(
        25, ge=3, description="The number of residents; for another number than 25, town and people are generated."
    )
    told: bool = Field(True, description="Whether the host is told of the party; otherwise nobody should know.")
    talk_by: Literal["model", "rumour"] = Field(
        "model", description="Whether people talk in their own words, or pass the news on by a rule."
    )
    talk_chance: float = Field(0.5, ge=0, le=1, description="Rumour rule: the chance that two who meet talk.")
    pass_chance: float = Field(
        0.5, ge=0, le=1, description="Rumour rule: the chance that somebody who knows passes it on."
    )

    chart: ClassVar[tuple[str, ...]] = ("know", "invited", "came")

    def make_town(self, rng: np.random.Generator) -> Town:
        """Sallow Ferry for its 25 residents, a made-up town for any other number."""
        return Town.sallow_ferry() if self.residents == 25 else Town.generate(self.residents, rng)

    def setup(self) -> People:
        """The town and its people, one of whom is told of the party."""
        town = self.make_town(self.rng)
        if self.residents == 25:
            people, ties, days = read_residents(town), read_relations(town), read_routines(town)
        else:
            people = generate_residents(town, self.residents, self.rng)
            ties, days = generate_relations(town, people, self.rng), ordinary_routines(people)
        people = self.inhabit(town, people, ties, days)
        self.café = next(name for name in self.public if town.places.kind[town.place(name)] == "café")
        at_work = [who for who in self.ids if self.work[self.row[who]] >= 0 and self._works_at_café(who)]
        self.host: Id = at_work[0] if at_work else self.ids[0]
        self.news = Diffusion(NEWS)
        self.invitees: set[Id] = set()
        self.guests: set[Id] = set()
        if self.told:
            self.news.tell(self.host, self.seconds)
            if self.mind.memory is not None:
                self.mind.memory.store(
                    [self.host], [PLAN.format(café=self.café)], kind="plan", now=self.seconds, importance=9.0
                )
        return people

    def _works_at_café(self, who: Id) -> bool:
        building = self.town.places.building[int(self.work[self.row[who]])]
        return self.town.address(int(building)) == self.café

    async def step(self) -> None:
        """Ten minutes of town life; during the party, guests are counted."""
        if self.t == 1 and self.told:
            self.event("told", self.host, at=self.seconds - TICK)
        self._hear_announcements()
        await super().step()
        if 17 * HOUR <= self.seconds - DAY < 19 * HOUR:
            where = self.presence.at(self.seconds).place
            inside = {self.town.place(self.café), *self.town.inside(self.town.place(self.café)).tolist()}
            came = [
                w for w in self.ids if int(where[self.row[w]]) in inside and w in self.news.knows and w != self.host
            ]
            for who in came:
                if who not in self.guests:
                    self.guests.add(who)
                    self.event("came", who, at=self.seconds)

    def _hear_announcements(self) -> None:
        """People who are told of the party by an announcement know of it, as the host does."""
        if HEARD not in self.people:
            return
        hearers = self.people.frame.filter(pl.col(HEARD).is_not_null()).select("id", HEARD)
        for who, heard in hearers.iter_rows():
            lines = [line for line in heard.split("\n") if NEWS.search(line)]
            if not lines or who in self.news.knows:
                continue
            self.news.tell(who, self.seconds)
            self.event("told", who, at=self.seconds)
            if self.mind.memory is not None:
                self.mind.memory.store([who], [" ".join(lines)], kind="told", now=self.seconds, importance=9.0)

    async def willing(self, pairs: Sequence[tuple[Id, Id]], now: int) -> list[bool]:
        """By the rumour rule, chance decides who talks."""
        if self.talk_by == "rumour":
            return [bool(draw < self.talk_chance) for draw in self.rng.random(len(pairs))]
        return await super().willing(pairs, now)

    async def talk(self, pairs: Sequence[tuple[Id, Id]], now: int) -> list[Talk]:
        """By the rumour rule, people who know pass the news on with a chance."""
        if self.talk_by != "rumour":
            return await super().talk(pairs, now)
        text = PASSED_ON.format(café=self.café)
        passes = self.rng.random((len(pairs), 2)) < self.pass_chance
        talks = []
        for pair, lucky in zip(pairs, passes.tolist(), strict=True):
            texts = [
                text if luck and who in self.news.knows else GREETING for who, luck in zip(pair, lucky, strict=True)
            ]
            talks.append(Talk(pair, [Line(who, self.names[who], line) for who, line in zip(pair, texts, strict=True)]))
        return talks

    def record_talk(self, talk: Talk, now: int) -> None:
        """Follow the news through what was said."""
        super().record_talk(talk, now)
        for line in talk.lines:
            hearers = [who for who in talk.people if who != line.speaker]
            before = set(self.news.knows)
            claims = len(self.news.claims)
            self.news.add_utterance(line.speaker, hearers, line.text, now)
            for who in hearers:
                if who in self.news.knows and who not in before:
                    self.event("came to know", who, source=line.speaker, text=line.text, at=now)
                if NEWS.search(line.text) and INVITES.search(line.text) and line.speaker in self.news.knows:
                    self.invitees.add(who)
            if len(self.news.claims) > claims:
                self.event("claimed without evidence", line.speaker, text=line.text, at=now)

    def view(self) -> list[str]:
        """How many are awake and know of the party, the last utterances, and the map."""
        awake = int((~self.asleep).sum())
        knowing = ", ".join(self.names[who] for who in list(self.news.knows)[-4:])
        talks, know = self.conversation_count, len(self.news.knows)
        far = f"{awake} awake · {plural(talks, 'conversation')} · {know} know of the party: {knowing}"
        utterances = [f"  {line}" for line in self.utterances_now[-4:]]
        if len(self.ids) > 60:
            return [far, *utterances, ""]
        names = list(self.names.values())
        return [far, *utterances, "", *render_map(self.town, self.presence, self.seconds, names=names)]

    @metric
    def know(self) -> int:
        """How many know of the party."""
        return len(self.news.knows)

    @metric
    def invited(self) -> int:
        """How many were invited by somebody who knew of the party."""
        return len(self.invitees)

    @metric
    def came(self) -> int:
        """How many people who knew were at the café during the party, without the host."""
        return len(self.guests)

    @metric
    def claims(self) -> int:
        """How many utterances spoke of the party by somebody who had not heard of it."""
        return len(self.news.claims)

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
        """Who came to know, and through whom; and who was at the café, with the party and without."""
        news, names, came = _outcome(run)
        table = news.table(names)
        at = [f"day {time // DAY + 1}, {time_of_day(time)}" for time in table["time"]]
        reached = table.with_columns(at=pl.Series(at, dtype=pl.String)).select(
            "name", "at", "from", "chain", came=pl.col("name").is_in([names[who] for who in came])
        )
        note = f"{len(news.claims)} utterances spoke of the party without evidence."
        return [
            ReportTable("Who came to know, from whom", reached, note),
            *attendance_report(run, cls, came),
        ]

    @classmethod
    def pictures(cls, run: RunReader, folder: Path) -> list[Path]:
        """The tree of who told whom, and when."""
        news, names, came = _outcome(run)
        if not news.knows:
            return []
        end = BEGINS + run.steps[-1] * TICK
        title = f"{run.name} · {run.manifest.regime.model} · seed {run.manifest.regime.seed}"
        return [draw_diffusion(news, names, came, folder / "diffusion.png", title=title, end=end)]


def diffusion_of(events: pl.DataFrame) -> Diffusion:
    """The diffusion of the news of the party in the recorded events of a run."""
    news = Diffusion(NEWS)
    for kind, person, data in events.select("kind", "person", "data").iter_rows():
        details = json.loads(data)
        if kind == "told":
            news.tell(person, details["at"])
        elif kind == "said":
            news.add_utterance(person, details["to"], details["text"], details["at"])
    return news


def _outcome(run: RunReader) -> tuple[Diffusion, dict[Id, str], set[Id]]:
    """The diffusion of the news, the names of all people, and who came."""
    events = run.events
    came = set(events.filter(pl.col("kind") == "came")["person"].to_list())
    names: dict[Id, str] = {}
    for people in (run.people(0), run.people()):
        names |= dict(zip(people.ids.to_list(), people["name"].to_list(), strict=True))
    moved = events.filter(pl.col("kind").is_in(["joined", "left"]))
    names |= dict(zip(moved["person"], moved["data"].str.json_path_match("$.name"), strict=True))
    return diffusion_of(events), names, came
