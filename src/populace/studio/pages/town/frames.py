"""People on the move: the position of everybody at each step, and the way of each between two steps.

The journal holds the positions at each step. In between they take the shortest way along the streets at the
town's pace, as the town itself moves them; so the way is known, and the time of an arrival to half a minute.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from populace.studio.pages.town.data import ABSENT, TownRun, Window
from populace.worlds.town.spots import Floats, Ints, Spots
from populace.worlds.town.town import THRESHOLD

HERE = 0.01
"""Metres within which two points are the same."""


@dataclass(frozen=True)
class Walks:
    """The ways of people between two steps, in columns.

    Attributes:
        step: The step after which each begins or goes on.
        row: The person.
        starts: When it begins, in simulated seconds.
        ends: When the person arrives, or when the next step finds them on the way.
        into: The building at its end, counted from 0; -1 for those still on the way.
    """

    step: Ints
    row: Ints
    starts: Ints
    ends: Ints
    origin: Spots
    goal: Spots
    into: Ints


def walks(town: TownRun, first: int, last: int) -> Walks:
    """The ways that begin at these steps; those after the last recorded step are unknown."""
    steps = town.steps
    begin, end = max(first - 1, steps[0]), min(last + 1, steps[-1])
    window = town.window(begin, end)
    skip = first - begin
    now, then = window[skip:-1], window[skip + 1 :]
    before = window.place[:-2] if skip else _with_unknown(window)
    here, there, earlier = town.building(now.place), town.building(then.place), town.building(before)
    stands = (here < 0) & (there < 0) & (np.hypot(then.x - now.x, then.y - now.y) < HERE)
    present = (here != ABSENT) & (there != ABSENT)
    moves = ((here < 0) | ((there >= 0) & (here != there))) & ~stands & present
    at, row = np.nonzero(moves)
    leaves = np.where(here[at, row] >= 0, here[at, row], earlier[at, row])
    origin = _spots(town, leaves, now.x[at, row], now.y[at, row])
    goal = _spots(town, there[at, row], then.x[at, row], then.y[at, row])
    starts, latest, into = now.times[at], then.times[at], there[at, row]
    seconds = (town.town.ways.metres(origin, goal) / town.town.pace + THRESHOLD) * 60
    arrives = np.minimum(starts + np.ceil(np.minimum(seconds, town.tick)).astype(np.int64), latest)
    return Walks(now.steps[at], row, starts, np.where(into >= 0, arrives, latest), origin, goal, into)


def frames(town: TownRun, first: int, last: int) -> dict[str, Any]:
    """A window of the film as compact columns.

    Returns:
        `steps` and `times`; `at`, a list for each step with the building of every person, -1 on the way and `ABSENT`
        for those who are not in the town; `outside`, where those on the way were recorded; and `walks`, with the points
        of way k from `begins[k]` to `begins[k+1]` in `x` and `y`.
    """
    window = town.window(first, last)
    at = town.building(window.place)
    step, row = np.nonzero(at == -1)
    moves = walks(town, first, last)
    lines = town.town.ways.paths(moves.origin, moves.goal)
    turns = np.ones(lines.x.shape, dtype=bool)
    turns[:, 1:] = np.hypot(np.diff(lines.x), np.diff(lines.y)) >= HERE
    return {
        "steps": window.steps.tolist(),
        "times": window.times.tolist(),
        "at": at.tolist(),
        "outside": {
            "step": window.steps[step].tolist(),
            "row": row.tolist(),
            "x": np.round(window.x[step, row], 1).tolist(),
            "y": np.round(window.y[step, row], 1).tolist(),
        },
        "walks": {
            "step": moves.step.tolist(),
            "row": moves.row.tolist(),
            "starts": moves.starts.tolist(),
            "ends": moves.ends.tolist(),
            "begins": np.concatenate([[0], np.cumsum(turns.sum(axis=1))]).astype(np.int64).tolist(),
            "x": np.round(lines.x[turns], 1).tolist(),
            "y": np.round(lines.y[turns], 1).tolist(),
        },
    }


def positions(town: TownRun, first: int, last: int) -> pl.DataFrame:
    """The recorded positions of these steps as a table: step, time, person, name, address, x, y."""
    window = town.window(first, last)
    step, row = np.nonzero(window.place != ABSENT)
    return pl.DataFrame(
        {
            "step": window.steps[step],
            "time": window.times[step],
            "person": pl.Series(town.ids).gather(row),
            "name": pl.Series(town.names).gather(row),
            "address": town.town.addresses(window.place[step, row]),
            "x": window.x[step, row],
            "y": window.y[step, row],
        }
    )


def _with_unknown(window: Window) -> Ints:
    """The places one step earlier, where nothing is known about the first."""
    return np.concatenate([np.full((1, window.place.shape[1]), -1, dtype=window.place.dtype), window.place[:-2]])


def _spots(town: TownRun, building: Ints, x: Floats, y: Floats) -> Spots:
    """Where people set out from or come to: the door of a building, or a point of the street."""
    spots = town.town.ways.attach(x, y)
    inside = building >= 0
    spots.put(inside, town.town.doors.take(building[inside]))
    return spots
