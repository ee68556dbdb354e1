"""Ways between the places of a town: along streets, or straight where there are none.

Distances are those of a graph with doors on its edges, so they are a metric: symmetric, 0 from a point to itself, and
never longer than a detour. The distances of all pairs of junctions are computed once; those of many people are then a
few array lookups.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from populace.worlds.town.spots import Bools, Floats, Ints, Spots, interpolate, share_of

COLUMNS_AT_ONCE = 128
"""How many targets shortest paths are found for at a time, so that they stay in the cache of the processor."""
TOUCH = 0.05
"""Lines that are nearer than this many metres touch, since maps are written by hand."""


class Paths(NamedTuple):
    """Many ways for drawing: a row for each with the points at which it begins, turns and ends, some repeated."""

    x: Floats
    y: Floats


class StraightWays:
    """Everybody walks in a straight line.

    Example:
        >>> home, park = Spots.at(np.zeros(1), np.zeros(1)), Spots.at(np.array([30.0]), np.array([40.0]))
        >>> StraightWays().metres(home, park).tolist()
        [50.0]
    """

    def metres(self, a: Spots, b: Spots) -> Floats:
        """The length of the way from each point of `a` to that of `b`."""
        return np.hypot(a.x - b.x, a.y - b.y)

    def along(self, a: Spots, b: Spots, metres: Floats) -> Spots:
        """The point after this many metres on the way from each point of `a` to that of `b`."""
        share = share_of(metres, self.metres(a, b))
        return Spots.at(interpolate(a.x, b.x, share), interpolate(a.y, b.y, share))

    def paths(self, a: Spots, b: Spots) -> Paths:
        """The two ends of each line."""
        return Paths(np.stack([a.x, b.x], axis=1), np.stack([a.y, b.y], axis=1))

    def attach(self, x: Floats, y: Floats) -> Spots:
        """The points themselves."""
        return Spots.at(x, y)


class _Course(NamedTuple):
    """The part of a way on the streets: within one section, or out at one junction and in at another."""

    metres: Floats
    direct: Bools
    out: Ints
    into: Ints


class Streets:
    """Sections of street between junctions.

    Args:
        x: Metres to the east, for each junction.
        y: Metres to the north, for each junction.
        ends: The two junctions of each section.

    Example:
        >>> corner = Streets(np.array([0.0, 100.0, 100.0]), np.array([0.0, 0.0, 50.0]), np.array([[0, 1], [1, 2]]))
        >>> doors = corner.attach(np.array([0.0, 110.0]), np.array([0.0, 50.0]))
        >>> corner.metres(doors.take(np.array([0])), doors.take(np.array([1]))).tolist()
        [160.0]
    """

    def __init__(self, x: Floats, y: Floats, ends: Ints) -> None:
        self.x, self.y, self.ends = x, y, ends
        self.length: Floats = np.hypot(*(c[ends[:, 0]] - c[ends[:, 1]] for c in (x, y)))

    @cached_property
    def _leaving(self) -> tuple[Ints, Ints, Floats]:
        """The sections that leave each junction: the next junction, the section, its length."""
        origin = np.concatenate([self.ends[:, 0], self.ends[:, 1]])
        target = np.concatenate([self.ends[:, 1], self.ends[:, 0]])
        section = np.tile(np.arange(len(self.ends)), 2)
        order = np.argsort(origin, kind="stable")
        degree = np.bincount(origin, minlength=len(self.x))
        first = np.concatenate([[0], np.cumsum(degree)[:-1]])
        slot = np.arange(len(origin)) - np.repeat(first, degree)
        shape = (len(self.x), max(1, int(degree.max(initial=0))))
        nexts, sections = np.tile(np.arange(shape[0])[:, None], shape[1]), np.zeros(shape, dtype=np.int64)
        lengths = np.full(shape, np.inf)
        where = origin[order], slot
        nexts[where], sections[where], lengths[where] = target[order], section[order], self.length[section[order]]
        return nexts, sections, lengths

    @cached_property
    def _between(self) -> Floats:
        nexts, _, lengths = self._leaving
        count = len(self.x)
        metres = np.full((count, count), np.inf)
        for start in range(0, count, COLUMNS_AT_ONCE):
            part = np.full((count, min(COLUMNS_AT_ONCE, count - start)), np.inf)
            part[start + np.arange(part.shape[1]), np.arange(part.shape[1])] = 0.0
            settled = False
            while not settled:
                before = part.copy()
                for slot in range(nexts.shape[1]):
                    np.minimum(part, part[nexts[:, slot]] + lengths[:, slot, None], out=part)
                settled = bool((before == part).all())
            metres[:, start : start + part.shape[1]] = part
        shortest: Floats = np.minimum(metres, metres.T)
        return shortest

    @cached_property
    def _hop(self) -> npt.NDArray[np.uint8]:
        """For each pair of junctions, which of the sections that leave the first leads to the second."""
        nexts, _, lengths = self._leaving
        best = np.full(self._between.shape, np.inf)
        hop = np.zeros(self._between.shape, dtype=np.uint8)
        for slot in range(nexts.shape[1]):
            metres = self._between[nexts[:, slot]] + lengths[:, slot, None]
            better = metres < best
            hop[better] = slot
            np.minimum(best, metres, out=best)
        return hop

    def components(self) -> Ints:
        """A number for each junction, the same for connected ones."""
        label = np.arange(len(self.x))
        while True:
            low = np.minimum(label[self.ends[:, 0]], label[self.ends[:, 1]])
            spread = label.copy()
            np.minimum.at(spread, self.ends[:, 0], low)
            np.minimum.at(spread, self.ends[:, 1], low)
            spread = spread[spread]
            if (spread == label).all():
                return label
            label = spread

    def attach(self, x: Floats, y: Floats, *, building: Ints | None = None) -> Spots:
        """The points, attached to the nearest street on the shortest path."""
        ax, ay = self.x[self.ends[:, 0]], self.y[self.ends[:, 0]]
        dx, dy = self.x[self.ends[:, 1]] - ax, self.y[self.ends[:, 1]] - ay
        along = (x[:, None] - ax) * dx + (y[:, None] - ay) * dy
        share = np.clip(along / (dx * dx + dy * dy), 0.0, 1.0)
        away = np.hypot(ax + share * dx - x[:, None], ay + share * dy - y[:, None])
        section = np.argmin(away, axis=1)
        row = np.arange(len(x))
        whose = np.full(len(x), -1, dtype=np.int64) if building is None else building
        offset = share[row, section] * self.length[section]
        return Spots(x.astype(float), y.astype(float), section, offset, away[row, section], whose)

    def metres(self, a: Spots, b: Spots) -> Floats:
        """The length of the way from each point of `a` to that of `b`."""
        same = (a.building >= 0) & (a.building == b.building)
        return np.where(same, np.abs(a.access - b.access), a.access + self._course(a, b).metres + b.access)

    def along(self, a: Spots, b: Spots, metres: Floats) -> Spots:
        """The point after this many metres on the way from each point of `a` to that of `b`."""
        same = (a.building >= 0) & (a.building == b.building)
        course = self._course(a, b)
        spots = self._on_the_street(a, b, course, metres - a.access)
        leaving = ~same & (metres <= a.access)
        arriving = ~same & (metres > a.access + course.metres)
        for rows, near, distance in (
            (leaving, a, metres),
            (arriving, b, a.access + course.metres + b.access - metres),
        ):
            if rows.any():
                spot, walked = near.take(rows), np.clip(distance[rows], 0.0, near.access[rows])
                share = share_of(walked, spot.access)
                door_x, door_y = self._point(spot.section, spot.offset)
                x, y = interpolate(spot.x, door_x, share), interpolate(spot.y, door_y, share)
                spots.put(rows, Spots(x, y, spot.section, spot.offset, spot.access - walked, spot.building))
        if same.any():
            one, other = a.take(same), b.take(same)
            share = share_of(metres[same], np.abs(one.access - other.access))
            x, y = interpolate(one.x, other.x, share), interpolate(one.y, other.y, share)
            access = interpolate(one.access, other.access, share)
            spots.put(same, Spots(x, y, one.section, one.offset, access, one.building))
        return spots

    def paths(self, a: Spots, b: Spots) -> Paths:
        """The ways from each point of `a` to that of `b`."""
        course = self._course(a, b)
        indoors = (a.building >= 0) & (a.building == b.building)
        on_streets = ~(indoors | course.direct) & np.isfinite(course.metres)
        begins, ends = (self._point(spot.section, spot.offset) for spot in (a, b))
        x, y = (np.where(indoors, here, door) for here, door in zip((a.x, a.y), begins, strict=True))
        xs, ys = [a.x, x], [a.y, y]
        here, walking = course.out, on_streets
        while walking.any():
            x, y = np.where(walking, self.x[here], x), np.where(walking, self.y[here], y)
            xs.append(x)
            ys.append(y)
            walking = walking & (here != course.into)
            here = np.where(walking, self._leaving[0][here, self._hop[here, course.into]], here)
        xs += [np.where(indoors, b.x, ends[0]), b.x]
        ys += [np.where(indoors, b.y, ends[1]), b.y]
        return Paths(np.stack(xs, axis=1), np.stack(ys, axis=1))

    def _point(self, section: Ints, offset: Floats) -> tuple[Floats, Floats]:
        first, second = self.ends[section].T
        share = share_of(offset, self.length[section])
        return interpolate(self.x[first], self.x[second], share), interpolate(self.y[first], self.y[second], share)

    def _course(self, a: Spots, b: Spots) -> _Course:
        from_ends = np.stack([a.offset, self.length[a.section] - a.offset])
        to_ends = np.stack([b.offset, self.length[b.section] - b.offset])
        choices = [
            from_ends[i] + self._between[self.ends[a.section, i], self.ends[b.section, j]] + to_ends[j]
            for i in (0, 1)
            for j in (0, 1)
        ]
        choices.append(np.where(a.section == b.section, np.abs(a.offset - b.offset), np.inf))
        table = np.stack(choices)
        best = np.argmin(table, axis=0)
        row = np.arange(len(best))
        out = self.ends[a.section, np.minimum(best // 2, 1)]
        return _Course(table[best, row], best == 4, out, self.ends[b.section, best % 2])

    def _on_the_street(self, a: Spots, b: Spots, course: _Course, metres: Floats) -> Spots:
        """The point after this many metres of the part of the way that is on the streets."""
        left = np.clip(metres, 0.0, course.metres)
        section, offset = a.section.copy(), a.offset.copy()
        turned = np.where(course.direct, b.offset < a.offset, course.out == self.ends[a.section, 0])
        first_leg = np.where(turned, a.offset, self.length[a.section] - a.offset)
        near = course.direct | (left <= first_leg)
        offset = np.where(near, a.offset + np.where(turned, -left, left), offset)
        self._hops(np.flatnonzero(~near), course, left - first_leg, b, section, offset)
        offset = np.clip(offset, 0.0, self.length[section])
        x, y = self._point(section, offset)
        nobody = np.full(len(x), -1, dtype=np.int64)
        return Spots(x, y, section, offset, np.zeros(len(x)), nobody)

    def _hops(self, rows: Ints, course: _Course, left: Floats, b: Spots, section: Ints, offset: Floats) -> None:
        """Move all walkers from junction to junction, and set the section and offset that each has come to."""
        nexts, sections, lengths = self._leaving
        here, goal, left = course.out[rows], course.into[rows], left[rows]
        while len(rows):
            at_goal = here == goal
            slot = self._hop[here, goal]
            length = np.where(at_goal, np.inf, lengths[here, slot])
            stays = left <= length
            where = rows[stays]
            taken = np.where(at_goal, b.section[rows], sections[here, slot])[stays]
            section[where] = taken
            forth = self.ends[taken, 0] == here[stays]
            offset[where] = np.where(forth, left[stays], self.length[taken] - left[stays])
            onward = ~stays
            rows, goal, left = rows[onward], goal[onward], (left - length)[onward]
            here = nexts[here, slot][onward]


Ways: TypeAlias = StraightWays | Streets
"""How people get from one point to another."""


def streets_from_lines(lines: Sequence[Floats]) -> tuple[Streets, Ints]:
    """Streets from lines of points, and for each section the line that it is a part of.

    Example:
        >>> cross, _ = streets_from_lines([np.array([[0.0, 5.0], [10.0, 5.0]]), np.array([[5.0, 0.0], [5.0, 10.0]])])
        >>> len(cross.x), len(cross.ends)
        (5, 4)
    """
    starts = np.concatenate([line[:-1] for line in lines])
    stops = np.concatenate([line[1:] for line in lines])
    whose = np.repeat(np.arange(len(lines)), [len(line) - 1 for line in lines])
    pieces, owners = [], []
    for row in range(len(starts)):
        cuts = _cuts(row, starts, stops)
        points = starts[row] + cuts[:, None] * (stops[row] - starts[row])
        pieces.append(np.stack([points[:-1], points[1:]], axis=1))
        owners.append(np.full(len(points) - 1, whose[row]))
    ends, junctions = _junctions(np.concatenate(pieces).reshape(-1, 2))
    sections = np.sort(ends.reshape(-1, 2), axis=1)
    owner = np.concatenate(owners)
    real = sections[:, 0] != sections[:, 1]
    sections, first = np.unique(sections[real], axis=0, return_index=True)
    order = np.argsort(first)
    return Streets(junctions[:, 0], junctions[:, 1], sections[order]), owner[real][first[order]]


def _cuts(row: int, starts: Floats, stops: Floats) -> Floats:
    """The shares of its length at which one line meets the others, its own ends included."""
    origin, way = starts[row], stops[row] - starts[row]
    length = float(np.hypot(*way))
    ends = np.concatenate([starts, stops]) - origin
    share = (ends @ way) / length**2
    near = np.hypot(*(ends - share[:, None] * way).T) <= TOUCH
    ways = stops - starts
    turn = way[0] * ways[:, 1] - way[1] * ways[:, 0]
    slanted = np.abs(turn) > 1e-9
    safe = np.where(slanted, turn, 1.0)
    gap = starts - origin
    mine = (gap[:, 0] * ways[:, 1] - gap[:, 1] * ways[:, 0]) / safe
    theirs = (gap[:, 0] * way[1] - gap[:, 1] * way[0]) / safe
    cross = slanted & (theirs >= 0) & (theirs <= 1)
    margin = TOUCH / length
    inner = np.concatenate([share[near], mine[cross]])
    inner = np.sort(inner[(inner > margin) & (inner < 1 - margin)])
    apart = np.concatenate([[True], np.diff(inner) > margin]) if len(inner) else np.zeros(0, dtype=bool)
    return np.concatenate([[0.0], inner[apart], [1.0]])


def _junctions(points: Floats) -> tuple[Ints, Floats]:
    """The junction of each point as a number, and the junctions; points that touch share one."""
    number = np.empty(len(points), dtype=np.int64)
    junctions: list[Floats] = []
    cells: dict[tuple[int, int], int] = {}
    for row, point in enumerate(points):
        cell = int(np.floor(point[0] / (2 * TOUCH))), int(np.floor(point[1] / (2 * TOUCH)))
        around = [(cell[0] + i, cell[1] + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        close = [c for c in around if c in cells and np.hypot(*(junctions[cells[c]] - point)) <= 2 * TOUCH]
        if close:
            number[row] = cells[close[0]]
        else:
            number[row] = cells[cell] = len(junctions)
            junctions.append(point)
    return number, np.array(junctions)
