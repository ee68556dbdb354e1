"""A town: its places, the ways between them and how long walking takes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UnknownNameError, WorldError
from populace.worlds.town.places import BUILDING, DAY, LEVELS, OBJECT, TOWN, Places
from populace.worlds.town.spots import Bools, Floats, Ints, Spots
from populace.worlds.town.streets import Ways
from populace.worlds.town.toml_table import TomlFile

PACE = 80.0
"""Metres a minute, an unhurried walk."""
THRESHOLD = 0.5
"""Minutes between a room and the door of its building; two rooms of one building are a minute apart."""
SALLOW_FERRY = Path(__file__).with_name("sallow_ferry.toml")


class Town:
    """Places that people share.

    Args:
        name: The name of the town.
        places: Its places.
        ways: How people get from one place to another.
        doors: For each building, in order, where it stands and how it is connected to the streets.
        pace: Metres that people walk in a minute.

    Example:
        >>> town = Town.sallow_ferry()
        >>> cafe, home = town.place("Kettle & Crumb > counter"), town.place("Larch Lane 4 > kitchen")
        >>> town.address(cafe)
        'Kettle & Crumb > counter'
        >>> bool(0 < town.minutes(home, cafe)[0] < 15)
        True
    """

    def __init__(self, name: str, places: Places, ways: Ways, doors: Spots, *, pace: float = PACE) -> None:
        if not pace > 0:
            raise WorldError(f"nobody walks {pace:g} metres a minute.", "Give a pace above 0, such as 80.")
        self.name, self.places, self.ways, self.doors, self.pace = name, places, ways, doors, pace

    @classmethod
    def read(cls, path: str | Path | TomlFile) -> Town:
        """A town from a map in TOML; `docs/concepts/town.md` describes the format."""
        from populace.worlds.town.town_file import read_town

        return read_town(path)

    @classmethod
    def sallow_ferry(cls) -> Town:
        """Sallow Ferry, the town for 25 people that comes with Populace."""
        return cls.read(SALLOW_FERRY)

    @classmethod
    def generate(cls, people: int = 1000, seed: int | np.random.Generator = 0) -> Town:
        """A town on a grid of streets, with homes, work, schools, shops, cafés and parks for this many people."""
        from populace.worlds.town.town_generator import generate_town

        return generate_town(people, seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed))

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        counts = np.bincount(self.places.level, minlength=4)
        counts_text = ", ".join(f"{count} {level}s" for count, level in zip(counts[1:], LEVELS[1:], strict=True))
        return f"<town {self.name!r}: {counts_text}>"

    def place(self, address: str) -> int:
        """The id of one address, such as `Larch Lane 4 > kitchen > stove`."""
        return self.places.find(address)

    def lookup(self, addresses: Iterable[str]) -> Ints:
        """The ids of many addresses."""
        return np.array([self.places.find(address) for address in addresses], dtype=np.int64)

    def address(self, place: int) -> str:
        """The address of one place."""
        if not 0 <= place < len(self.places):
            raise self._no_place(place)
        return self.places.address_list[place]

    def addresses(self, places: npt.ArrayLike) -> pl.Series:
        """The addresses of many places; empty where a place is -1, which means on the way."""
        ids = np.asarray(places, dtype=np.int64)
        self.place_ids(ids[ids >= 0])
        addresses = self.places.addresses.gather(np.maximum(ids, 0).astype(np.uint32))
        return addresses.set(pl.Series(ids < 0), None).alias("address")

    def of_kind(self, *kinds: str) -> Ints:
        """The buildings of these kinds."""
        known = self.places.kind.drop_nulls().unique().to_list()
        for kind in kinds:
            if kind not in known:
                raise UnknownNameError(f"kind of building in {self.name}", kind, known)
        return np.flatnonzero(self.places.kind.is_in(kinds).fill_null(False).to_numpy())

    def inside(self, place: int) -> Ints:
        """The places directly inside one: its rooms or its objects."""
        return np.flatnonzero(self.places.parent == self.place_ids(place).item())

    def open(self, places: npt.ArrayLike, now: int) -> Bools:
        """Whether the building of each place is open at a time, given in seconds since a midnight."""
        building = self.places.building[self.place_ids(places)]
        opens, closes, hour = self.places.opens[building], self.places.closes[building], now % DAY
        return ((opens <= hour) & (hour < closes)) | (hour + DAY < closes)

    def spots(self, places: npt.ArrayLike) -> Spots:
        """The points from which people leave places, connected to the streets by the doors of the buildings."""
        ids = self.place_ids(places)
        if (self.places.level[ids] == TOWN).any():
            raise WorldError(
                f"{self.name} as a whole is not a place to go to.",
                f"Name a building, a room or an object, such as {self.places.name[1]!r}.",
            )
        return self.doors.take(self.places.building[ids] - 1)

    def metres(self, from_places: npt.ArrayLike, to_places: npt.ArrayLike) -> Floats:
        """Metres between the buildings of each pair of places."""
        origins, goals = np.broadcast_arrays(self.place_ids(from_places), self.place_ids(to_places))
        return self.ways.metres(self.spots(origins), self.spots(goals))

    def minutes(self, from_places: npt.ArrayLike, to_places: npt.ArrayLike, *, pace: float | None = None) -> Floats:
        """How long each walk takes, in minutes.

        It is 0 within a room and a minute between two rooms of a building; leaving or entering a room adds half a
        minute to the walk between the buildings. That makes it a metric.

        Args:
            from_places: Where each walk begins; a single place counts for all.
            to_places: Where it ends; a single place counts for all.
            pace: Metres a minute; that of the town if left out.
        """
        origins, goals = np.broadcast_arrays(self.place_ids(from_places), self.place_ids(to_places))
        walked = self.metres(origins, goals) / (self.pace if pace is None else pace)
        return np.where(self.places.room[origins] == self.places.room[goals], 0.0, walked + self.steps(origins, goals))

    def steps(self, from_places: Ints, to_places: Ints) -> Floats:
        """The minutes of each walk that are spent between a room and a door."""
        rooms = [(self.places.level[self.places.room[ids]] > BUILDING) * THRESHOLD for ids in (from_places, to_places)]
        return np.asarray(rooms[0] + rooms[1])

    def objects(self) -> Ints:
        """The ids of all objects."""
        return np.flatnonzero(self.places.level == OBJECT)

    def place_ids(self, places: npt.ArrayLike) -> Ints:
        """Places as an array of ids; an unknown one is an error."""
        ids = np.atleast_1d(np.asarray(places, dtype=np.int64))
        if len(ids) and (ids.min() < 0 or ids.max() >= len(self.places)):
            wrong = ids[(ids < 0) | (ids >= len(self.places))][0]
            raise self._no_place(wrong)
        return ids

    def _no_place(self, place: int) -> WorldError:
        return WorldError(f"{self.name} has no place {place}; its places are 0 to {len(self.places) - 1}.")
