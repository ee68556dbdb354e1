"""An event in a town with its residents: its place, its time, its host, and how speech about it is read."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import polars as pl

from populace.base.errors import ParameterError, UnknownNameError
from populace.base.formatting import plural, time_of_day
from populace.base.templates import Template
from populace.people import Id, People
from populace.scenarios.party.diffusion import Diffusion
from populace.scenarios.party.event import NewsEvent
from populace.scenarios.party.telling import TellingReader, plain
from populace.worlds.town import Town

_HOUR, _DAY = 3600, 86_400
_ADULT = 18


@dataclass(frozen=True)
class Occasion:
    """An event with its place, time and host in one town.

    Attributes:
        event: The event.
        host: The resident who is told of it.
        place: The number of its place; None for an event without one.
        address: The address of its place; empty without one.
        begins: When it begins, in simulated seconds since the first midnight; None for an event without a time.
        ends: When it ends.
        date: Its day in words; empty without one.
        reader: Reads what utterances tell of it.
    """

    event: NewsEvent
    host: Id
    place: int | None
    address: str
    begins: int | None
    ends: int | None
    date: str
    reader: TellingReader

    @property
    def name(self) -> str:
        """The name of the event."""
        return self.event.name

    @property
    def can_be_attended(self) -> bool:
        """Whether it has both a place and a time, so that people can be there."""
        return self.place is not None and self.begins is not None

    def follow(self, names: dict[Id, str]) -> Diffusion:
        """The diffusion of its news, before anybody was told.

        Args:
            names: The names of the people, by which narration is recognised.
        """
        return Diffusion(self.reader, names, frozenset([self.host]))

    def places(self, town: Town) -> list[int]:
        """Its place and everything inside."""
        return [] if self.place is None else [self.place, *town.inside(self.place).tolist()]

    def steps(self, starts: int, tick: int) -> range:
        """The steps of a run during which it goes on.

        Args:
            starts: The time of step 0 in simulated seconds.
            tick: The seconds of a step.
        """
        if self.begins is None or self.ends is None:
            return range(0)
        return range(max(1, -((starts - self.begins) // tick)), -((starts - self.ends) // tick))

    def message(self) -> str:
        """What the host is told: what they mean to do, and no more."""
        template = self.event.message or "You are planning this: {what}" + (
            f"{' at {place}' if self.address else ''}{' on {date} from {begins} to {ends}' if self.date else ''}."
        )
        return self._fill(template)

    def spoken(self) -> str:
        """The news as a rule passes it on."""
        article = "an" if self.event.what[0].casefold() in "aeiou" else "a"
        there = f"There is {article} {{what}}"
        where, when = " at {place}" if self.address else "", " on {date} at {begins}" if self.date else ""
        return self._fill(f"{there}{where}{when}." + (" Do come!" if self.can_be_attended else ""))

    def _fill(self, template: str) -> str:
        event = self.event
        values = {"what": event.what, "place": self.address, "date": self.date}
        values |= {"begins": event.begins or "", "ends": event.ends or ""}
        return str(Template(template).render(values, {})[0])


def find_occasions(
    events: Sequence[NewsEvent], town: Town, people: People, *, first_day: date, starts: int, days: int
) -> list[Occasion]:
    """Events with their places, times and hosts in a town.

    Args:
        events: The events.
        town: The town.
        people: Its residents, with their names and workplaces.
        first_day: The date of the first day.
        starts: When the run starts, in seconds since the midnight before.
        days: How many days the run has.

    Raises:
        ParameterError: Nobody could hear of an event: its host lives elsewhere, its place is not on the map, or its
            time is outside the run.
    """
    check_times(events, starts=starts, days=days)
    occasions: list[Occasion] = []
    hosts: list[Id] = []
    for event in events:
        place = None if event.place is None else _place(event, town)
        host = _host(event, town, people, place, hosts)
        hosts.append(host)
        begins = ends = None
        day = ""
        if event.day is not None and event.begins is not None and event.ends is not None:
            midnight = (event.day - 1) * _DAY
            begins, ends = midnight + _seconds(event.begins), midnight + _seconds(event.ends)
            day = f"{first_day + timedelta(days=event.day - 1):%d %B}".lstrip("0")
            if place is not None:
                _check_open(event, town, place, begins, ends)
        reader = TellingReader(
            event.key_words, *_place_names(town, place), begins, ends, first_day, tuple(event.day_names)
        )
        address = "" if place is None else town.address(place)
        occasions.append(Occasion(event, host, place, address, begins, ends, day, reader))
    return occasions


def _check_open(event: NewsEvent, town: Town, place: int, begins: int, ends: int) -> None:
    """Raise an error where the building of an event is closed from its beginning to its end."""
    building = int(town.places.building[place])
    if any(bool(town.open(building, moment)[0]) for moment in range(begins, ends, _HOUR // 6)):
        return
    opens, closes = (time_of_day(int(each[building]) % _DAY) for each in (town.places.opens, town.places.closes))
    raise ParameterError(
        f"the event {event.name!r} is from {event.begins} to {event.ends}, and {town.address(building)} is open from "
        f"{opens} to {closes}.",
        "Nobody could come in. Change the hours of the building in the map, or the time of the event.",
    )


def check_times(events: Sequence[NewsEvent], *, starts: int, days: int) -> None:
    """Raise an error where an event is over before the run, or later than on the day after it.

    Args:
        events: The events.
        starts: When the run starts, in seconds since the midnight before.
        days: How many days the run has.
    """
    for event in events:
        if event.day is None or event.ends is None:
            continue
        if event.day > days + 1:
            raise ParameterError(
                f"the event {event.name!r} is on day {event.day}, and the run has {plural(days, 'day')}.",
                f"Nobody could come to it. Give it an earlier day, or run --days {event.day}",
            )
        if (event.day - 1) * _DAY + _seconds(event.ends) <= starts:
            raise ParameterError(
                f"the event {event.name!r} ends on day {event.day} at {event.ends}, and the run begins at "
                f"{time_of_day(starts)} on day 1.",
                "Nobody could hear of it before it is over. Give it a later time.",
            )


def _place(event: NewsEvent, town: Town) -> int:
    assert event.place is not None
    of_kind = np.flatnonzero((town.places.kind == event.place).fill_null(False).to_numpy())
    if of_kind.size:
        return int(of_kind[0])
    try:
        return town.place(event.place)
    except UnknownNameError as error:
        raise UnknownNameError(
            f"place for the event {event.name!r}", event.place, error.known, f"The town is {town.name}."
        ) from error


def _host(event: NewsEvent, town: Town, people: People, place: int | None, hosts: Sequence[Id]) -> Id:
    frame = people.frame
    choice: Id
    if event.host is not None:
        found = frame.filter(pl.col("name") == event.host)["id"].to_list()
        if not found:
            names = frame["name"].to_list()
            hint = "Nobody could hear of it: only the host is told. The host must be one of the residents."
            raise UnknownNameError(f"resident to host the event {event.name!r}", event.host, names, hint)
        choice = found[0]
        return choice
    free = frame.filter(~pl.col("id").is_in(pl.Series(list(hosts), dtype=frame.schema["id"]).implode()))
    if place is not None and free.height:
        work = free["workplace_place"].fill_null(-1).to_numpy()
        there = town.places.building[np.maximum(work, 0)] == town.places.building[place]
        staff = free.filter(pl.Series((work >= 0) & there))
        if staff.height:
            choice = staff["id"][0]
            return choice
    adults = free.filter(pl.col("age") >= _ADULT) if "age" in free.columns else free
    choice = (adults if adults.height else free if free.height else frame)["id"][0]
    return choice


def _seconds(clock: str) -> int:
    hour, minute = clock.split(":")
    return int(hour) * _HOUR + int(minute) * 60


def _place_names(town: Town, place: int | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What people call a place, and what they call other places."""
    places = town.places
    buildings: list[int] = places.buildings.tolist()
    if place is None:
        return (), ()
    here = int(places.building[place])
    names = {building: plain(places.name[building]) for building in buildings}
    kinds = [str(places.kind[building]) for building in buildings]

    def called(building: int) -> set[str]:
        kind = str(places.kind[building])
        return {names[building]} | ({plain(kind), *_PLAIN_KINDS.get(kind, ())} if kinds.count(kind) == 1 else set())

    others = {name for building in buildings if building != here for name in called(building)}
    # A word of the name is enough where no other place has it, as "the Kettle" for the Kettle & Crumb.
    elsewhere = {word for name in others for word in _words(name)}
    parts = {word for word in _words(names[here]) if len(word) > 3 and word not in elsewhere and not word.isdigit()}
    own = called(here) | parts
    return tuple(sorted(own)), tuple(sorted(others - own))


_PLAIN_KINDS: Mapping[str, tuple[str, ...]] = {"café": ("cafe",)}


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W_]+", name)
