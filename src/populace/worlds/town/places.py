"""The places of a town in columns, as a tree: the town, its buildings, their rooms, the objects in these."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from populace.base.errors import UnknownNameError
from populace.worlds.town.spots import Bools, Floats, Ints

TOWN, BUILDING, ROOM, OBJECT = range(4)
LEVELS = ("town", "building", "room", "object")
ABOVE = " > "
DAY = 24 * 60 * 60


@dataclass(frozen=True)
class Places:
    """Every place, one row each; the row is the place's id.

    The town comes first, then all buildings, then all rooms, then all objects, each in the order of the file.

    Args:
        name: The name, which is the last part of the address.
        level: 0 town, 1 building, 2 room, 3 object.
        parent: The place that contains it; -1 for the town.
        x: Metres to the east.
        y: Metres to the north.
        kind: The kind of a building; empty for other places.
        outdoors: Whether it is outdoors.
        opens: When a building opens, in seconds of the day.
        closes: When it closes; a time past midnight is more than 24 hours.
        width: Metres from west to east, for drawing.
        height: Metres from south to north.
        beds: How many people can live there.
        posts: How many people can work there.
        state: The state of an object at the beginning; empty for other places.
    """

    name: pl.Series
    level: Ints
    parent: Ints
    x: Floats
    y: Floats
    kind: pl.Series
    outdoors: Bools
    opens: Ints
    closes: Ints
    width: Floats
    height: Floats
    beds: Ints
    posts: Ints
    state: pl.Series

    def __len__(self) -> int:
        return len(self.level)

    @cached_property
    def building(self) -> Ints:
        """The building that each place is or belongs to; 0, the town, for the town itself."""
        return self._above(BUILDING)

    @cached_property
    def room(self) -> Ints:
        """The room that each place is or belongs to; a building or the town stands for itself."""
        return self._above(ROOM)

    @cached_property
    def buildings(self) -> Ints:
        """The ids of all buildings."""
        return np.flatnonzero(self.level == BUILDING)

    @cached_property
    def objects_by_room(self) -> tuple[Ints, Ints]:
        """The ids of all objects ordered by room, and where those of each place begin and end."""
        objects = np.flatnonzero(self.level == OBJECT)
        order = np.argsort(self.parent[objects], kind="stable")
        counts = np.bincount(self.parent[objects], minlength=len(self))
        return objects[order], np.concatenate([[0], np.cumsum(counts)])

    @cached_property
    def addresses(self) -> pl.Series:
        """The address of every place, such as `Larch Lane 4 > kitchen > stove`."""
        addresses = self.name
        parent = self.parent.copy()
        parent[(self.level <= BUILDING)] = -1
        while (parent >= 0).any():
            above = self.name.gather(np.maximum(parent, 0).astype(np.uint32))
            frame = pl.DataFrame({"above": above, "address": addresses, "has": parent >= 0})
            whole = pl.when("has").then(pl.concat_str("above", "address", separator=ABOVE)).otherwise("address")
            addresses = frame.select(whole.alias("address"))["address"]
            parent = np.where(self.level[np.maximum(parent, 0)] > BUILDING, self.parent[np.maximum(parent, 0)], -1)
        return addresses

    @cached_property
    def address_list(self) -> list[str]:
        """The same as a list, for those who look up one place after the other."""
        return self.addresses.to_list()

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {address: row for row, address in enumerate(self.address_list)}

    def find(self, address: str) -> int:
        """The id of an address; an unknown part is an error that names the most similar known one."""
        parts = [part.strip() for part in address.split(ABOVE.strip())]
        whole = ABOVE.join(parts)
        if whole in self._ids:
            return self._ids[whole]
        for depth in range(1, len(parts) + 1):
            if ABOVE.join(parts[:depth]) not in self._ids:
                break
        above = self._ids[ABOVE.join(parts[: depth - 1])] if depth > 1 else 0
        inside = np.flatnonzero(self.parent == above)
        known = self.name.gather(inside.astype(np.uint32)).to_list()
        kind = LEVELS[min(int(self.level[above]) + 1, OBJECT)]
        where = f" in {ABOVE.join(parts[: depth - 1])!r}" if depth > 1 else ""
        raise UnknownNameError(f"{kind}{where}", parts[depth - 1], known)

    def _above(self, level: int) -> Ints:
        """For each place the place of that level that contains it; a place of a higher level stands for itself."""
        places = np.arange(len(self))
        while (lower := self.level[places] > level).any():
            places = np.where(lower, self.parent[places], places)
        return places
