"""Who notices whom: people in the same room, and people outdoors who are near enough.

People on the same spot are handled together, rooms are groups and the outdoors is a grid. So the work grows with the
number of people and of what they notice, not with the number of all pairs.
"""

from typing import NamedTuple

import numpy as np

from populace.worlds.town.spots import Bools, Floats, Ints


class SightPairs(NamedTuple):
    """Who notices whom, ordered by who notices, nearest first.

    Args:
        row: The row of the person who notices.
        other: The row of the person who is noticed.
        metres: The distance between them.
    """

    row: Ints
    other: Ints
    metres: Floats


def in_sight(
    room: Ints, x: Floats, y: Floats, outdoors: Bools, *, radius: float, bandwidth: int | None = None
) -> SightPairs:
    """Who notices whom.

    Args:
        room: The room of each person; -1 for people on the way.
        x: Metres to the east.
        y: Metres to the north.
        outdoors: Who is outdoors.
        radius: How many metres people see outdoors; in a room they see all of it.
        bandwidth: The most people that one person notices, the nearest first. Of people equally near, each person
            notices those who follow in the table, so that nobody is noticed by all or by none.

    Example:
        >>> three = np.array([0.0, 0.0, 9.0])
        >>> in_sight(np.array([4, 4, -1]), three, three, np.array([False, False, True]), radius=30)[:2]
        (array([0, 1]), array([1, 0]))
    """
    spot, first = _spots(room, x, y)
    order = np.argsort(spot, kind="stable")
    members = np.bincount(spot, minlength=len(first))
    start = np.concatenate([[0], np.cumsum(members)])
    rank = np.empty(len(spot), dtype=np.int64)
    rank[order] = np.arange(len(spot)) - np.repeat(start[:-1], members)
    here, there = _spots_in_sight(room[first], x[first], y[first], outdoors[first], radius)
    metres = np.hypot(x[first[here]] - x[first[there]], y[first[here]] - y[first[there]])
    own = (here == there).astype(np.int64)
    visible = members[there] - own
    if bandwidth is not None:
        visible = np.minimum(visible, bandwidth)
    pair = np.repeat(np.arange(len(here)), members[here] * visible)
    step = np.arange(len(pair)) - np.repeat(
        np.cumsum(members[here] * visible) - members[here] * visible, members[here] * visible
    )
    row = order[start[here[pair]] + step // visible[pair]]
    turn = step % visible[pair]
    other = order[start[there[pair]] + (rank[row] + own[pair] + turn) % members[there[pair]]]
    away = metres[pair]
    nearest = np.lexsort((other, turn, away, row))
    if bandwidth is not None:
        counts = np.bincount(row, minlength=len(spot))
        place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        nearest = nearest[place < bandwidth]
    return SightPairs(row[nearest], other[nearest], away[nearest])


def _spots(room: Ints, x: Floats, y: Floats) -> tuple[Ints, Ints]:
    """A number for each person, equal for people in one room at one point, and the first person of each spot."""
    order = np.lexsort((y, x, room))
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([np.diff(column[order]) != 0 for column in (room, x, y)], axis=0)
    spot = np.empty(len(order), dtype=np.int64)
    spot[order] = np.cumsum(new) - 1
    return spot, order[new]


def _spots_in_sight(room: Ints, x: Floats, y: Floats, outdoors: Bools, radius: float) -> tuple[Ints, Ints]:
    """All ordered pairs of spots whose people notice each other, each spot with itself included."""
    every = np.arange(len(room))
    inside = every[room >= 0]
    a, b = _same_group(inside, room[inside])
    open_air = every[outdoors]
    c, d = _near(open_air, x[open_air], y[open_air], radius)
    pairs = np.sort(np.concatenate([a * len(room) + b, c * len(room) + d, every * len(room) + every]))
    pairs = pairs[np.diff(pairs, prepend=-1) != 0]
    return pairs // max(1, len(room)), pairs % max(1, len(room))


def _same_group(items: Ints, group: Ints) -> tuple[Ints, Ints]:
    order = np.argsort(group, kind="stable")
    _, first, size = np.unique(group[order], return_index=True, return_counts=True)
    return _meet(items[order], items[order], np.repeat(first, size), np.repeat(size, size))


def _meet(one: Ints, other: Ints, first: Ints, size: Ints) -> tuple[Ints, Ints]:
    """Each of `one` with `size` of `other`, beginning at `first`."""
    left = np.repeat(np.arange(len(one)), size)
    step = np.arange(len(left)) - np.repeat(np.cumsum(size) - size, size)
    return one[left], other[first[left] + step]


def _near(items: Ints, x: Floats, y: Floats, radius: float) -> tuple[Ints, Ints]:
    """All ordered pairs at most a radius apart, by way of a grid whose cells are as wide as the radius."""
    if not len(items):
        return items, items
    cell = max(radius, 1.0)
    column, line = (np.floor((c - c.min()) / cell).astype(np.int64) + 1 for c in (x, y))
    lines = int(line.max()) + 2
    key = column * lines + line
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    candidates = [
        _meet(np.arange(len(items)), order, low, np.searchsorted(sorted_key, key + aside + 1, side="right") - low)
        for aside in (-lines, 0, lines)
        for low in (np.searchsorted(sorted_key, key + aside - 1),)
    ]
    one, other = (np.concatenate(side) for side in zip(*candidates, strict=True))
    near = np.hypot(x[one] - x[other], y[one] - y[other]) <= radius
    return items[one[near]], items[other[near]]
