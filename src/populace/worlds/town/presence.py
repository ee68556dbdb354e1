"""Presence: where the people of a town are, at a place or on the way, in columns."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import WorldError
from populace.worlds.town.perception import SightPairs, in_sight
from populace.worlds.town.spots import Bools, Floats, Ints, Spots
from populace.worlds.town.town import Town

SIGHT = 12.0
"""Metres at which people notice each other outdoors."""
ATTENTION = 8
"""The most people or objects that a person notices at a time."""
NOWHERE = -1


class Whereabouts(NamedTuple):
    """Where everybody is at one time.

    Args:
        place: The place; -1 on the way.
        x: Metres to the east.
        y: Metres to the north.
        to: The goal of people on the way; -1 for those who stay.
    """

    place: Ints
    x: Floats
    y: Floats
    to: Ints


class NoticedObjects(NamedTuple):
    """The objects that people notice: the row of the person, and the place id of the object."""

    row: Ints
    place: Ints


class Presence:
    """Where everybody is in a town; people are rows, in the order of the population.

    Times are simulated seconds. Only the current walk of each person is stored, so time only moves forward.

    Args:
        town: The town.
        places: Where everybody is at the beginning.
        now: The time of the beginning.

    Attributes:
        place: Where each person is or was last; -1 for a person who stopped on the way.
        to: The goal of the current walk; -1 where there is none.
        leaves: When that walk begins.
        arrives: When it ends.

    Example:
        >>> town = Town.sallow_ferry()
        >>> presence = Presence(town, town.lookup(["Larch Lane 4 > kitchen", "Kettle & Crumb > counter"]))
        >>> arrives = presence.send([0], town.place("Kettle & Crumb > counter"), now=0)
        >>> presence.at(60).place.tolist() == [-1, town.place("Kettle & Crumb > counter")]
        True
        >>> presence.pairs_in_sight(int(arrives[0])).other.tolist()
        [1, 0]
    """

    def __init__(self, town: Town, places: npt.ArrayLike, *, now: int = 0) -> None:
        self.town = town
        self._origin = town.spots(places)
        self.place: Ints = np.array(places, dtype=np.int64, ndmin=1)
        self.to: Ints = np.full(len(self.place), NOWHERE, dtype=np.int64)
        self.leaves: Ints = np.full(len(self.place), now, dtype=np.int64)
        self.arrives: Ints = self.leaves.copy()
        self.latest = now

    def __len__(self) -> int:
        return len(self.place)

    def send(self, people_rows: npt.ArrayLike, places: npt.ArrayLike, now: int) -> Ints:
        """Send people to places from wherever they are; those on the way change their course where they are.

        Args:
            people_rows: Who goes.
            places: Where to; one place stands for all.
            now: When they set out.

        Returns:
            When each arrives.
        """
        rows = self._rows(people_rows)
        goals = np.broadcast_to(np.asarray(places, dtype=np.int64), rows.shape).copy()
        ends = self.town.spots(goals)
        self._settle(now)
        going = ~((self.to[rows] == goals) & (self.arrives[rows] > now))
        rows_going, goals, ends = rows[going], goals[going], ends.take(going)
        origin = self._spots(now, rows_going)
        still = (self.to[rows_going] == NOWHERE) & (self.place[rows_going] >= 0)
        resting = still | self._within_a_building(rows_going)
        stays = np.where(resting, self.place[rows_going], goals)
        steps = np.where(resting, self.town.steps(stays, goals), self.town.steps(goals, goals) / 2)
        minutes = self.town.ways.metres(origin, ends) / self.town.pace + steps
        rooms = self.town.places.room
        minutes = np.where(resting & (rooms[stays] == rooms[goals]), 0.0, minutes)
        on_the_way = ~resting
        self.place[rows_going[on_the_way]] = NOWHERE
        self._origin.put(rows_going, origin)
        self.to[rows_going], self.leaves[rows_going] = goals, now
        self.arrives[rows_going] = now + np.ceil(minutes * 60 - 1e-6).astype(np.int64)
        self._settle(now)
        return np.maximum(self.arrives[rows], now)

    def reorder(self, people_rows: npt.ArrayLike, new_places: npt.ArrayLike, now: int) -> None:
        """Let people leave and join: those in these rows stay, in this order, and new people follow at their places.

        Args:
            people_rows: The rows of the people who stay.
            new_places: The place of each new person.
            now: The time.
        """
        rows, places = self._rows(people_rows), np.atleast_1d(np.asarray(new_places, dtype=np.int64))
        self._settle(now)
        self._origin = self._origin.take(rows).followed_by(self.town.spots(places))
        nowhere, times = np.full(len(places), NOWHERE, dtype=np.int64), np.full(len(places), now, dtype=np.int64)
        self.place = np.concatenate([self.place[rows], places])
        self.to = np.concatenate([self.to[rows], nowhere])
        self.leaves, self.arrives = (np.concatenate([old[rows], times]) for old in (self.leaves, self.arrives))

    def halt(self, people_rows: npt.ArrayLike, now: int) -> None:
        """Stop these people where they are, if they are on the way; `send` lets them walk on later."""
        rows = self._rows(people_rows)
        self._settle(now)
        rows = rows[(self.to[rows] != NOWHERE)]
        outside = rows[~self._within_a_building(rows)]
        self._origin.put(outside, self._spots(now, outside))
        self.place[outside] = NOWHERE
        self.to[rows], self.leaves[rows], self.arrives[rows] = NOWHERE, now, now

    def at(self, time: int) -> Whereabouts:
        """Where everybody is at a time, which must not be before the last change."""
        self._not_before(time)
        there = (self.to != NOWHERE) & (time >= self.arrives)
        place = np.where(there, self.to, self.place)
        moving = (self.to != NOWHERE) & ~there
        walking = np.flatnonzero(moving & ~self._within_a_building(np.arange(len(self))))
        place[walking] = NOWHERE
        known = np.maximum(place, 0)
        stands = place == NOWHERE
        x = np.where(stands, self._origin.x, self.town.places.x[known])
        y = np.where(stands, self._origin.y, self.town.places.y[known])
        if len(walking):
            spots = self._spots(time, walking)
            x[walking], y[walking] = spots.x, spots.y
        return Whereabouts(place, x, y, np.where(moving, self.to, NOWHERE))

    def pairs_in_sight(self, now: int, radius: float = SIGHT, *, bandwidth: int | None = None) -> SightPairs:
        """Who notices whom: in the same room, or outdoors and within a radius in metres.

        Without a bandwidth the table has every pair in both directions. With one, each person notices at most that
        many others, the nearest first; then a person may notice another without being noticed.
        """
        where = self.at(now)
        room, outdoors = self._surroundings(where)
        return in_sight(room, where.x, where.y, outdoors, radius=radius, bandwidth=bandwidth)

    def objects_in_sight(
        self, now: int, people_rows: npt.ArrayLike | None = None, *, bandwidth: int | None = ATTENTION
    ) -> NoticedObjects:
        """The objects in the room of each person, nearest first; people on the way notice none."""
        where = self.at(now)
        rows = np.arange(len(self)) if people_rows is None else self._rows(people_rows)
        rows = rows[where.place[rows] >= 0]
        objects, start = self.town.places.objects_by_room
        room = self.town.places.room[where.place[rows]]
        count = start[room + 1] - start[room]
        pair = np.repeat(np.arange(len(rows)), count)
        turn = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
        objects_seen = objects[start[room[pair]] + turn]
        away = np.hypot(
            self.town.places.x[objects_seen] - where.x[rows[pair]],
            self.town.places.y[objects_seen] - where.y[rows[pair]],
        )
        order = np.lexsort((objects_seen, away, pair))
        nearest = order if bandwidth is None else order[turn < bandwidth]
        return NoticedObjects(rows[pair[nearest]], objects_seen[nearest])

    def frame(self, now: int) -> pl.DataFrame:
        """Where everybody is, as a table for the journal and for drawing."""
        where = self.at(now)
        moving = where.to != NOWHERE
        return pl.DataFrame(
            {
                "row": np.arange(len(self)),
                "place": where.place,
                "address": self.town.addresses(where.place),
                "x": where.x,
                "y": where.y,
                "to": where.to,
                "leaves": np.where(moving, self.leaves, now),
                "arrives": np.where(moving, self.arrives, now),
            }
        )

    def _surroundings(self, where: Whereabouts) -> tuple[Ints, Bools]:
        """The room of each person, -1 on the way, and whether they are outdoors."""
        known = np.maximum(where.place, 0)
        stands = where.place == NOWHERE
        return np.where(stands, NOWHERE, self.town.places.room[known]), stands | self.town.places.outdoors[known]

    def _settle(self, now: int) -> None:
        self._not_before(now)
        self.latest = now
        there = np.flatnonzero((self.to != NOWHERE) & (now >= self.arrives))
        if len(there):
            self.place[there] = self.to[there]
            self._origin.put(there, self.town.spots(self.to[there]))
            self.to[there] = NOWHERE

    def _spots(self, now: int, rows: Ints) -> Spots:
        origin = self._origin.take(rows)
        moving = np.flatnonzero(self.to[rows] != NOWHERE)
        if len(moving):
            who, starts = rows[moving], origin.take(moving)
            ends = self.town.spots(self.to[who])
            spent = (now - self.leaves[who]) / np.maximum(self.arrives[who] - self.leaves[who], 1)
            origin.put(moving, self.town.ways.along(starts, ends, self.town.ways.metres(starts, ends) * spent))
        return origin

    def _within_a_building(self, rows: Ints) -> Bools:
        """Whether each goes from room to room of one building; until they arrive they count as in the old room."""
        building = self.town.places.building
        place, to = self.place[rows], self.to[rows]
        same: Bools = building[np.maximum(place, 0)] == building[np.maximum(to, 0)]
        return same & (place >= 0) & (to >= 0)

    def _rows(self, people_rows: npt.ArrayLike) -> Ints:
        rows = np.atleast_1d(np.asarray(people_rows, dtype=np.int64))
        if len(rows) and (rows.min() < 0 or rows.max() >= len(self)):
            wrong = rows[(rows < 0) | (rows >= len(self))][0]
            raise WorldError(f"there is no person in row {wrong}; the rows are 0 to {len(self) - 1}.")
        if len(np.unique(rows)) != len(rows):
            raise WorldError(
                "a person stands twice in the rows, and nobody is at two places at once.", "Give each row once."
            )
        return rows

    def _not_before(self, time: int) -> None:
        if time < self.latest:
            raise WorldError(
                f"where people were at second {time} is no longer known; the last change was at {self.latest}.",
                "Keep `frame(now)` of the times that you need.",
            )
