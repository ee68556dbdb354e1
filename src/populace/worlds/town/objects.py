"""The states of the objects of a town, and the list of their changes."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import WorldError
from populace.worlds.town.places import LEVELS, OBJECT
from populace.worlds.town.spots import Ints
from populace.worlds.town.town import Town

_CHANGES = {"time": pl.Int64, "place": pl.Int64, "before": pl.String, "after": pl.String, "by": pl.Int64}


class Objects:
    """The states of all objects, which begin as on the map.

    Example:
        >>> town = Town.sallow_ferry()
        >>> objects, oven = Objects(town), town.place("Kettle & Crumb > kitchen > oven")
        >>> objects.set(oven, "hot", now=21600)
        >>> objects.state(oven), objects.changes()["before"].to_list()
        ('hot', ['off'])
    """

    def __init__(self, town: Town) -> None:
        self.town = town
        self._ids = town.objects()
        self._states = town.places.state.gather(self._ids.astype(np.uint32)).fill_null("").to_list()
        self._log: list[tuple[int, int, str, str, int | None]] = []

    def set(self, places: npt.ArrayLike, states: str | Sequence[str], now: int, *, by: int | None = None) -> None:
        """Set the states of objects; a state that an object already has is no change.

        Args:
            places: The objects.
            states: One state for all, or one for each.
            now: The simulated time in seconds.
            by: The row of the person who changed it; None for nobody.
        """
        numbers = self._numbers(places)
        new = [states] * len(numbers) if isinstance(states, str) else list(states)
        if len(new) != len(numbers):
            raise WorldError(f"{len(new)} states were given for {len(numbers)} objects.", "Give one, or one for each.")
        if self._log and now < self._log[-1][0]:
            raise WorldError(f"an object was changed at second {now}, before the last change at {self._log[-1][0]}.")
        for number, state in zip(numbers.tolist(), new, strict=True):
            before = self._states[number]
            if before != state:
                self._states[number] = state
                self._log.append((now, int(self._ids[number]), before, state, by))

    def state(self, place: int) -> str:
        """The state of one object."""
        return str(self._states[self._numbers(place).item()])

    def states(self, places: npt.ArrayLike) -> pl.Series:
        """The states of many objects."""
        return pl.Series("state", [self._states[number] for number in self._numbers(places)], dtype=pl.String)

    def changes(self, since: int | None = None) -> pl.DataFrame:
        """The changes from a time on, in order: time, place, address, before, after, by."""
        rows = self._log if since is None else [row for row in self._log if row[0] >= since]
        frame = pl.DataFrame(rows, schema=_CHANGES, orient="row")
        address = self.town.addresses(frame["place"].to_numpy())
        return frame.insert_column(2, address)

    def forget(self, before: int) -> None:
        """Drop the changes before a time, once they are in the journal; states stay."""
        self._log = [row for row in self._log if row[0] >= before]

    def _numbers(self, places: npt.ArrayLike) -> Ints:
        ids = self.town.place_ids(places)
        wrong = np.flatnonzero(self.town.places.level[ids] != OBJECT)
        if len(wrong):
            which = int(wrong[0])
            level = LEVELS[int(self.town.places.level[ids[which]])]
            raise WorldError(
                f"{self.town.address(int(ids[which]))!r} is a {level}, and only objects have a state.",
                "Name an object in it.",
            )
        return np.searchsorted(self._ids, ids)
