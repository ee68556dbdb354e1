"""A run of a town, read for its map: the town itself, who was where at each step, and what happened there."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError, WorldError
from populace.base.formatting import time_of_day
from populace.base.randomness import stream
from populace.engine.discovery import find_scenario
from populace.journal import Journal
from populace.people import Id
from populace.runs.reader import RunReader
from populace.scenarios.townlife import TownLife
from populace.worlds.town.places import DAY
from populace.worlds.town.spots import Floats, Ints
from populace.worlds.town.town_map import building_rectangles, street_lines

MOST_STEPS = 288
"""How many steps may be read at once: two days of ten minutes each."""
SETUP = "0/rng"
"""Where in a run the random numbers of `setup` come from."""
EVENTS = {"step": pl.Int64, "person": pl.Int64, "kind": pl.String, "data": pl.String}


@dataclass(frozen=True)
class Window:
    """Who was where during some steps; a row for each step, a column for each person.

    Args:
        steps: The numbers of the steps.
        times: When each was, in simulated seconds since the first midnight.
        place: The place of each person; -1 on the way.
        x: Metres to the east.
        y: Metres to the north.
    """

    steps: Ints
    times: Ints
    place: Ints
    x: Floats
    y: Floats


class TownRun:
    """A run whose people live in a town.

    Positions and events are read once and kept, so that a page can move through time; a run that goes on is
    read on from where it was.

    Args:
        run: The run; an error says so where it has no town.

    Attributes:
        town: The town, made anew from the parameters and the seed of the run.
        ids: The people, in the order of the recorded rows.
        names: What they are called.
    """

    def __init__(self, run: RunReader) -> None:
        self.run = run
        scenario = find_scenario(run.manifest.scenario)
        if not issubclass(scenario, TownLife):
            raise UsageError(
                f"{run.name} is a run of {scenario.title()}, which has no town.",
                "Open a run of party here, or start one: populace run party",
            )
        self.scenario: type[TownLife] = scenario
        begun = run.manifest.regimes[0]
        self.town = scenario(**begun.parameters).make_town(stream(begun.seed, SETUP))
        people = run.people(0)
        self.ids: list[Id] = people.ids.to_list()
        self.names: list[str] = people["name"].cast(pl.String).to_list()
        self.row = {who: row for row, who in enumerate(self.ids)}
        self.tick = int(scenario.tick.total_seconds())
        self._positions: dict[int, tuple[int, Ints, Floats, Floats]] = {}
        self._events: dict[int, pl.DataFrame] = {}

    @property
    def steps(self) -> list[int]:
        """The steps with recorded positions; the beginning has none."""
        return self.run.steps[1:]

    def time_of(self, step: int) -> int:
        """When a step was, in simulated seconds since the first midnight."""
        return self._read(step)[0]

    def step_at(self, time: float) -> int:
        """The last step that began at or before a time; the first where the time lies before it."""
        steps = self._some_steps()
        first = self.time_of(steps[0])
        return int(np.clip(steps[0] + (time - first) // self.tick, steps[0], steps[-1]))

    def window(self, first: int, last: int) -> Window:
        """Who was where from one step to another, both included."""
        read = [self._read(step) for step in range(first, last + 1)]
        return Window(
            np.arange(first, last + 1),
            np.array([time for time, _, _, _ in read], dtype=np.int64),
            np.stack([place for _, place, _, _ in read]),
            np.stack([x for _, _, x, _ in read]),
            np.stack([y for _, _, _, y in read]),
        )

    def bounds(self, first: int | None, last: int | None) -> tuple[int, int]:
        """A window of steps cut to what there is; too wide a one is refused."""
        steps = self._some_steps()
        begin = steps[0] if first is None else max(first, steps[0])
        end = min(begin + MOST_STEPS - 1 if last is None else last, steps[-1])
        if begin > end:
            raise UsageError(
                f"{self.run.name} has no positions from step {begin} to {end}.",
                f"It has those of steps {steps[0]} to {steps[-1]}.",
            )
        if end - begin >= MOST_STEPS:
            raise UsageError(
                f"{end - begin + 1} steps are too many at once.", f"Ask for {MOST_STEPS} or fewer, several times."
            )
        return begin, end

    def events(self) -> pl.DataFrame:
        """Everything that happened, in order: step, person, kind, data."""
        return self._happened(0, self.run.steps[-1] if self.run.steps else -1)

    def events_between(self, first: int, last: int) -> pl.DataFrame:
        """What happened from one step to another, both included."""
        return self._happened(first, last)

    def building(self, place: Ints) -> Ints:
        """The number of the building of each place, counted from 0; -1 on the way."""
        return np.where(place < 0, -1, self.town.places.building[np.maximum(place, 0)] - 1)

    def _happened(self, first: int, last: int) -> pl.DataFrame:
        found = []
        for step in range(first, last + 1):
            if step not in self._events:
                table = self.run.record.table(step, "events")
                self._events[step] = pl.DataFrame() if table is None else table.select("step", "person", "kind", "data")
            if self._events[step].height:
                found.append(self._events[step])
        return pl.concat(found, how="vertical_relaxed") if found else pl.DataFrame(schema=EVENTS)

    def _some_steps(self) -> list[int]:
        steps = self.steps
        if not steps:
            raise UsageError(f"{self.run.name} has no step yet, so nobody has moved.", "Wait for its first step.")
        return steps

    def _read(self, step: int) -> tuple[int, Ints, Floats, Floats]:
        if step not in self._positions:
            table = self.run.table("positions", step)
            place, x, y = (table[name].to_numpy() for name in ("place", "x", "y"))
            self._check(place, x, y)
            self._positions[step] = int(table["time"][0]), place.astype(np.int32), x, y
        return self._positions[step]

    def _check(self, place: Ints, x: Floats, y: Floats) -> None:
        """The map must be the one that people walked on; a file may have changed since."""
        known, places = place[place >= 0], self.town.places
        fits = not len(known) or (
            known.max() < len(places)
            and np.allclose(places.x[known], x[place >= 0])
            and np.allclose(places.y[known], y[place >= 0])
        )
        if not fits or len(place) != len(self.ids):
            raise WorldError(
                f"{self.run.name} was recorded on another map than {self.town.name} as it is now.",
                "Define make_town in its scenario as its setup makes the town, or put the map of that time back.",
            )


def has_town(run: RunReader) -> bool:
    """Whether a run recorded where its people were, so that a page may lead to its map; opens no table."""
    steps = run.steps
    return len(steps) > 1 and "tables/positions" in run.record.table_names(steps[-1])


_KEPT: dict[tuple[str, str], TownRun] = {}
_MOST_KEPT = 4
_KEEPING = Lock()


def town_of(run: RunReader) -> TownRun:
    """The town of a run; of the runs last looked at it is kept, and read on as they go on."""
    if not isinstance(run.record, Journal):
        return TownRun(run)
    key = str(run.folder), run.manifest.created
    with _KEEPING:
        kept = _KEPT.pop(key, None) or TownRun(run)
        kept.run = run
        _KEPT[key] = kept
        while len(_KEPT) > _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)))
    return kept


def town_map(town: TownRun) -> dict[str, Any]:
    """The map as plain data: its name, buildings and streets in columns, its bounds, the people and the timeline."""
    houses, streets = building_rectangles(town.town), street_lines(town.town)
    left, bottom = houses["left"], houses["bottom"]
    across = pl.concat([left, left + houses["width"], streets["x"], streets["to_x"]])
    along = pl.concat([bottom, bottom + houses["height"], streets["y"], streets["to_y"]])
    steps = town.steps
    return {
        "name": town.town.name,
        "run": town.run.name,
        "buildings": houses.drop("people", "place").with_columns(pl.col(pl.Float64).round(1)).to_dict(as_series=False),
        "streets": streets.with_columns(pl.all().round(1)).to_dict(as_series=False),
        "bounds": [across.min(), along.min(), across.max(), along.max()],
        "people": {"id": town.ids, "name": town.names},
        "tick": town.tick,
        "first": steps[0] if steps else None,
        "last": steps[-1] if steps else None,
        "begins": town.time_of(steps[0]) if steps else None,
        "ends": town.time_of(steps[-1]) if steps else None,
    }


def said_time(time: float) -> str:
    """A time as `day 1, 13:40`."""
    return f"day {int(time) // DAY + 1}, {time_of_day(int(time))}"
