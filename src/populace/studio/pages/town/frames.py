"""People on the move: where everybody is at each step, and the way each takes between two steps.

What is recorded is where people are at a step. In between they take the shortest way along the streets at the
town's pace, which is how the town moves them; so the way is known, and the minute of an arrival to half a minute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from populace.studio.pages.town.data import TownRun, Window
from populace.worlds.town.spots import Floats, Ints, Spots
from populace.worlds.town.town import THRESHOLD

HERE = 0.01
"""Metres within which two points are the same."""


@dataclass(frozen=True)
class Walks:
    """Ways that people took between two steps, in columns.

    Args:
        step: The step after which each sets out or goes on.
        row: Who.
        starts: When, in simulated seconds.
        ends: When they are there, or when the next step finds them on the way.
        origin: From where.
        goal: To where.
        into: The building that they come to, counted from 0; -1 for those still on the way.
    """

    step: Ints
    row: Ints
    starts: Ints
    ends: Ints
    origin: Spots
    goal: Spots
    into: Ints


def walks(town: TownRun, first: int, last: int) -> Walks:
    """The ways that begin at these steps; those after the last recorded step are not known."""
    steps = town.steps
    begin, end = max(first - 1, steps[0]), min(last + 1, steps[-1])
    seen = town.window(begin, end)
    skip = first - begin
    now, then = (_part(seen, part) for part in (slice(skip, len(seen.steps) - 1), slice(skip + 1, None)))
    before = _part(seen, slice(0, len(seen.steps) - 2)).place if skip else _with_unknown(seen)
    here, there, earlier = town.building(now.place), town.building(then.place), town.building(before)
    stands = (here < 0) & (there < 0) & (np.hypot(then.x - now.x, then.y - now.y) < HERE)
    moves = ((here < 0) | ((there >= 0) & (here != there))) & ~stands
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
        `steps` and `times`; `at`, a list for each step with the building of every person, -1 on the way; `outside`,
        where those on the way were recorded; and `walks`, with the points of way k from `begins[k]` to `begins[k+1]`
        in `x` and `y`.
    """
    seen = town.window(first, last)
    at = town.building(seen.place)
    step, row = np.nonzero(at < 0)
    made = walks(town, first, last)
    lines = town.town.ways.paths(made.origin, made.goal)
    turns = np.ones(lines.x.shape, dtype=bool)
    turns[:, 1:] = np.hypot(np.diff(lines.x), np.diff(lines.y)) >= HERE
    return {
        "steps": seen.steps.tolist(),
        "times": seen.times.tolist(),
        "at": at.tolist(),
        "outside": {
            "step": seen.steps[step].tolist(),
            "row": row.tolist(),
            "x": np.round(seen.x[step, row], 1).tolist(),
            "y": np.round(seen.y[step, row], 1).tolist(),
        },
        "walks": {
            "step": made.step.tolist(),
            "row": made.row.tolist(),
            "starts": made.starts.tolist(),
            "ends": made.ends.tolist(),
            "begins": np.concatenate([[0], np.cumsum(turns.sum(axis=1))]).astype(np.int64).tolist(),
            "x": np.round(lines.x[turns], 1).tolist(),
            "y": np.round(lines.y[turns], 1).tolist(),
        },
    }


def positions(town: TownRun, first: int, last: int) -> pl.DataFrame:
    """The recorded positions of these steps as a table: step, time, person, name, address, x, y."""
    seen = town.window(first, last)
    people = len(town.ids)
    return pl.DataFrame(
        {
            "step": np.repeat(seen.steps, people),
            "time": np.repeat(seen.times, people),
            "person": pl.concat([pl.Series(town.ids)] * len(seen.steps)),
            "name": pl.concat([pl.Series(town.names)] * len(seen.steps)),
            "address": town.town.addresses(seen.place.ravel()),
            "x": seen.x.ravel(),
            "y": seen.y.ravel(),
        }
    )


def _part(seen: Window, steps: slice) -> Window:
    return Window(seen.steps[steps], seen.times[steps], seen.place[steps], seen.x[steps], seen.y[steps])


def _with_unknown(seen: Window) -> Ints:
    """The places one step earlier, where nothing is known about the first."""
    return np.concatenate([np.full((1, seen.place.shape[1]), -1, dtype=seen.place.dtype), seen.place[:-2]])


def _spots(town: TownRun, building: Ints, x: Floats, y: Floats) -> Spots:
    """Where people set out from or come to: the door of a building, or a point of the street."""
    made = town.town.ways.attach(x, y)
    inside = building >= 0
    made.put(inside, town.town.doors.take(building[inside]))
    return made
