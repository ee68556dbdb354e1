"""Junctions: lines on a map are cut into street sections wherever they cross or touch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from populace.worlds.town.spots import Floats, Ints
from populace.worlds.town.streets import Streets

TOUCH = 0.05
"""Lines that are nearer than this many metres touch, since maps are written by hand."""


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
