"""What people notice: others and what they do, and things whose state has changed.

A person attends to a few of the nearest people and things and remembers what is new. New is what was not among the last
few things that they noticed.
"""

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.people import HEARD, Id
from populace.scenarios.townlife import words
from populace.worlds.town.places import ROOM

if TYPE_CHECKING:
    from populace.scenarios.townlife.life import TownLife


class Notice(NamedTuple):
    """Something that a person notices, in words, and what is rated in its place."""

    who: Id
    text: str
    rated_as: str


class Novelty:
    """What each person noticed last, to tell what is new.

    Args:
        retention: How many notices a person compares a new one with.

    Example:
        >>> novelty = Novelty(2)
        >>> [novelty.is_new("ann", text) for text in ("rain", "rain", "sun", "snow", "rain")]
        [True, False, True, True, True]
    """

    def __init__(self, retention: int) -> None:
        self._last: dict[Id, deque[str]] = defaultdict(lambda: deque(maxlen=retention))

    def is_new(self, who: Id, text: str) -> bool:
        """Whether a person has not noticed this lately; it counts as noticed from now on."""
        last = self._last[who]
        if text in last:
            return False
        last.append(text)
        return True


def notice_people(life: "TownLife", now: int) -> tuple[list[Notice], list[tuple[Id, Id]]]:
    """What people newly see others do, and the pairs who see each other, each once."""
    pairs = life.presence.pairs_in_sight(now, bandwidth=life.attention)
    awake = ~(life.asleep[pairs.row] | life.asleep[pairs.other])
    rows, other_rows = pairs.row[awake], pairs.other[awake]
    place, building = life.presence.at(now).place, life.town.places.building
    sights = {other: _sight(life, other, int(place[other])) for other in np.unique(other_rows).tolist()}
    at_home = (place[other_rows] >= 0) & (building[place[other_rows]] == building[life.homes[rows]])
    observers, others = rows.tolist(), other_rows.tolist()
    notices = []
    for row, other, home in zip(observers, others, at_home.tolist(), strict=True):
        who, (text, text_at_home, rated_as) = life.ids[row], sights[other]
        text = text_at_home if home else text
        if life.novelty.is_new(who, text):
            notices.append(Notice(who, text, rated_as))
    return notices, [(life.ids[a], life.ids[b]) for a, b in mutual_pairs(rows, other_rows)]


def mutual_pairs(rows: npt.NDArray[np.int64], others: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """The pairs of whom each sees the other, each once, in order.

    Args:
        rows: Who sees somebody.
        others: Whom they see.

    Example:
        >>> mutual_pairs(np.array([2, 0, 2, 1, 0]), np.array([0, 1, 1, 2, 2]))
        [(0, 2), (1, 2)]
    """
    size = 1 + max(int(rows.max(initial=0)), int(others.max(initial=0)))
    ahead = rows < others
    pairs = np.intersect1d((rows * size + others)[ahead], (others * size + rows)[~ahead])
    return list(zip((pairs // size).tolist(), (pairs % size).tolist(), strict=True))


def _sight(life: "TownLife", row: int, place: int) -> tuple[str, str, str]:
    """What others see a person do, what those see who live there, and what is rated in the place of both."""
    who = life.ids[row]
    name, doing = life.names[who], life.doing(who) if place >= 0 else "walking"
    whole = life.stroke(who) if place >= 0 else doing
    return (
        words.observation(name, doing, life.where(place)),
        words.observation(name, doing, words.AT_HOME),
        f"{name} was {whole}.",
    )


def notice_things(life: "TownLife", now: int) -> list[Notice]:
    """What people newly see of things whose state is not the usual one, or was not when they last saw them."""
    unusual = [place for place, state in life.unusual.items() if state != IN_USE]
    watched = np.array(sorted({*unusual, *life.seen_unusual}), np.int64)
    if not len(watched):
        return []
    sight = life.presence.objects_in_sight(now, np.flatnonzero(~life.asleep), bandwidth=None)
    rows = np.isin(sight.place, watched)
    notices = []
    for row, thing in zip(sight.row[rows].tolist(), sight.place[rows].tolist(), strict=True):
        who, state = life.ids[row], life.objects.state(thing)
        if state == IN_USE or life.seen_states.get((who, thing), life.usual_states[thing]) == state:
            continue
        life.seen_states[who, thing] = state
        life.seen_unusual.add(thing)
        text = words.thing_state(life.town.places.name[thing], _in_room(life, thing, who), state or "as usual")
        if life.novelty.is_new(who, text):
            notices.append(Notice(who, text, text))
    return notices


IN_USE = "in use"
"""The state of a thing while somebody uses it, which others see in what that person does."""


def _in_room(life: "TownLife", thing: int, who: Id) -> str:
    room = int(life.town.places.parent[thing])
    name = life.town.places.name[room]
    building = int(life.town.places.building[thing])
    inside = f"in the {name} " if life.town.places.level[room] == ROOM else ""
    return inside + life.where(building, who)


def places_named(life: "TownLife", texts: Sequence[str]) -> set[str]:
    """The public places of the town that texts name."""
    return {
        place
        for text in texts
        for place in life.public
        if place in text and re.search(rf"(?<!\w){re.escape(place)}(?!\w)", text)
    }


def learn_announced_places(life: "TownLife") -> None:
    """Let people know the public places that announcements name to them."""
    if HEARD not in life.people:
        return
    heard = life.people.frame.filter(pl.col(HEARD).is_not_null())
    for text, ids in heard.group_by(HEARD, maintain_order=True).agg("id").iter_rows():
        for who in ids if places_named(life, [text]) else ():
            life.learn_places(who, [text])
