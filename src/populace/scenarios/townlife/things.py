"""Things that people use: the one in a room that fits best to what somebody does there."""

import functools

import numpy as np

from populace.models import Embedder
from populace.worlds.town import Town
from populace.worlds.town.places import ROOM

_NEAR = 0.3
"""The cosine from which a thing fits to an activity."""


class RoomThings:
    """The things in the rooms of a town.

    Args:
        town: The town.
        embedder: Tells how near a thing is to an activity in meaning; without one, nothing fits.
    """

    def __init__(self, town: Town, embedder: Embedder | None) -> None:
        self._town, self._embedder = town, embedder
        # People come back to the same rooms, and many rooms hold the same things.
        self._in_room = functools.lru_cache(maxsize=16_384)(self._find_things)
        self._nearest = functools.lru_cache(maxsize=16_384)(self._find_nearest)

    def fitting(self, room: int, doing: str) -> int | None:
        """The thing in a room that fits best to what somebody does there, if one is near enough in meaning."""
        things, names = self._in_room(room)
        place = self._nearest(doing, names) if names else None
        return None if place is None else things[place]

    def _find_things(self, room: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The things in a room and their names; none where it is no room."""
        places = self._town.places
        things = self._town.inside(room).tolist() if places.level[room] == ROOM else []
        return tuple(things), tuple(str(places.name[thing]) for thing in things)

    def _find_nearest(self, doing: str, names: tuple[str, ...]) -> int | None:
        """The place in a list of names of the one that is nearest to an activity."""
        if self._embedder is None:
            return None
        vectors = self._embedder.embed([doing, *names])
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        likeness = unit[1:] @ unit[0]
        best = int(np.argmax(likeness))
        return best if likeness[best] >= _NEAR else None
