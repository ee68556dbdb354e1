"""A run of a town, read for its map: the town itself, the positions of people at each step, and the events."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError, WorldError
from populace.base.formatting import time_of_day
from populace.base.randomness import stream
from populace.engine.replay import scenario_class
from populace.journal import Journal
from populace.people import Id
from populace.runs.reader import RunReader
from populace.scenarios.townlife import TownLife
from populace.worlds.town.places import DAY
from populace.worlds.town.spots import Floats, Ints
from populace.worlds.town.town_map import building_rectangles, street_lines

MAX_STEPS = 288
"""How many steps may be read at once: two days of ten minutes each."""
ABSENT = -2
"""The place of somebody who has left the town or not come yet."""
SETUP = "0/rng"
"""The random stream of `setup`."""


@dataclass(frozen=True)
class Window:
    """The positions of people during some steps; a row for each step, a column for each person.

    Attributes:
        steps: The numbers of the steps.
        times: The time of each, in simulated seconds since the first midnight.
        place: The place of each person; -1 on the way, `ABSENT` for those who are not in the town.
        x: Metres to the east; NaN for those who are not in the town.
        y: Metres to the north; the same.
    """

    steps: Ints
    times: Ints
    place: Ints
    x: Floats
    y: Floats

    def __getitem__(self, steps: slice) -> Window:
        """The positions during some of the steps."""
        return Window(self.steps[steps], self.times[steps], self.place[steps], self.x[steps], self.y[steps])


class TownRun:
    """A run whose people live in a town.

    Positions and events are read once and kept, so that a page can move through time; a run that goes on is
    read on from where it was.

    Args:
        run: The run.

    Attributes:
        town: The town, made again from the parameters and the seed of the run.
        ids: The people, in the order of the recorded rows.
        names: Their names.

    Raises:
        UsageError: The run has no town.
    """

    def __init__(self, run: RunReader) -> None:
        self.run = run
        scenario = scenario_class(run)
        if not issubclass(scenario, TownLife):
            raise UsageError(
                f"{run.name} is a run of {scenario.title()}, which has no town.",
                "Open a run of party here, or start one: populace run party",
            )
        self.scenario: type[TownLife] = scenario
        regime = run.manifest.regimes[0]
        known = scenario.parameter_model().model_fields
        # A parameter that the scenario does not have any more says nothing about the town.
        parameters = {name: value for name, value in regime.parameters.items() if name in known}
        self.town = scenario(**parameters).make_town(stream(regime.seed, SETUP))
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
        """The time of a step, in simulated seconds since the first midnight."""
        return self._read(step)[0]

    def step_at(self, time: float) -> int:
        """The last step that began at or before a time; the first where the time lies before it."""
        steps = self._some_steps()
        first = self.time_of(steps[0])
        return int(np.clip(steps[0] + (time - first) // self.tick, steps[0], steps[-1]))

    def window(self, first: int, last: int) -> Window:
        """The positions from one step to another, both included."""
        steps = np.arange(first, last + 1)
        # The last step first: it names the people who joined, and every step has a row for each of them.
        self._read(last)
        return Window(steps, *map(np.stack, zip(*map(self._read, steps.tolist()), strict=True)))

    def bounds(self, first: int | None, last: int | None) -> tuple[int, int]:
        """A range of steps cut to the recorded ones; one that is too wide is refused."""
        steps = self._some_steps()
        begin = steps[0] if first is None else max(first, steps[0])
        end = min(begin + MAX_STEPS - 1 if last is None else last, steps[-1])
        if begin > end:
            raise UsageError(
                f"{self.run.name} has no positions from step {begin} to {end}.",
                f"It has those of steps {steps[0]} to {steps[-1]}.",
            )
        if end - begin >= MAX_STEPS:
            raise UsageError(
                f"{end - begin + 1} steps are too many at once.", f"Ask for {MAX_STEPS} or fewer, several times."
            )
        return begin, end

    def events(self, first: int = 0, last: int | None = None) -> pl.DataFrame:
        """The events from one step to another, both included, in order: step, person, kind, data."""
        end = (self.run.steps[-1] if self.run.steps else -1) if last is None else last
        tables = []
        for step in range(first, end + 1):
            if step not in self._events:
                table = self.run.record.table(step, "events")
                self._events[step] = pl.DataFrame() if table is None else table.select("step", "person", "kind", "data")
            if self._events[step].height:
                tables.append(self._events[step])
        person = pl.Series(self.ids).dtype
        empty = pl.DataFrame(schema={"step": pl.Int64, "person": person, "kind": pl.String, "data": pl.String})
        return pl.concat([empty, *tables], how="vertical_relaxed")

    def building(self, place: Ints) -> Ints:
        """The number of the building of each place, counted from 0; -1 on the way, `ABSENT` for the absent."""
        return np.where(place < 0, place, self.town.places.building[np.maximum(place, 0)] - 1)

    def _some_steps(self) -> list[int]:
        steps = self.steps
        if not steps:
            raise UsageError(f"{self.run.name} has no step yet, so nobody has moved.", "Wait for its first step.")
        return steps

    def _read(self, step: int) -> tuple[int, Ints, Floats, Floats]:
        if step not in self._positions:
            table = self._with_everybody(self.run.table("positions", step), step)
            place, x, y = (table[name].to_numpy() for name in ("place", "x", "y"))
            self._check(place, x, y)
            self._positions[step] = int(table["time"][0]), place.astype(np.int32), x, y
        return self._positions[step]

    def _add_joined(self, last: int) -> None:
        """Take up the people who joined until a step."""
        arrivals = self.run.rows("events", pl.col("kind") == "joined", until=last)
        if not arrivals.height:
            return
        names = arrivals["data"].str.json_path_match("$.name")
        new = [(who, name) for who, name in zip(arrivals["person"], names, strict=True) if who not in self.row]
        if new:
            self.ids += [who for who, _ in new]
            self.names += [name for _, name in new]
            self.row = {who: row for row, who in enumerate(self.ids)}
            self._positions.clear()

    def _with_everybody(self, table: pl.DataFrame, step: int) -> pl.DataFrame:
        """A row for everybody who was ever there; people who have left or not come yet are absent."""
        if "person" in table.columns:
            self._add_joined(step)
        elif table.height >= len(self.ids):
            return table
        else:
            table = table.with_columns(pl.Series(self.ids[: table.height]).alias("person"))
        absent = {"place": ABSENT, "x": float("nan"), "y": float("nan")}
        everybody = pl.DataFrame({"person": self.ids}).join(table, on="person", how="left", maintain_order="left")
        return everybody.with_columns(
            *(pl.col(name).fill_null(value) for name, value in absent.items()),
            pl.col("time").fill_null(table["time"][0]),
        )

    def _check(self, place: Ints, x: Floats, y: Floats) -> None:
        """Raise an error where the map is not the one of the run; its file may have changed since."""
        indoors, places = place[place >= 0], self.town.places
        fits = not len(indoors) or (
            indoors.max() < len(places)
            and np.allclose(places.x[indoors], x[place >= 0])
            and np.allclose(places.y[indoors], y[place >= 0])
        )
        if not fits or len(place) != len(self.ids):
            raise WorldError(
                f"{self.run.name} was recorded on another map than {self.town.name} as it is now.",
                "Define make_town in its scenario as its setup makes the town, or restore the map of that time.",
            )


_CACHE: dict[tuple[str, str], TownRun] = {}
_CACHE_SIZE = 4
_CACHE_LOCK = Lock()


def town_of(run: RunReader) -> TownRun:
    """The town of a run; those of the last runs are cached, and read on as the runs go on."""
    if not isinstance(run.record, Journal):
        return TownRun(run)
    key = str(run.folder), run.manifest.created
    with _CACHE_LOCK:
        town = _CACHE.pop(key, None) or TownRun(run)
        town.run = run
        _CACHE[key] = town
        while len(_CACHE) > _CACHE_SIZE:
            _CACHE.pop(next(iter(_CACHE)))
    return town


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


def time_label(time: float) -> str:
    """A time as `day 1, 13:40`."""
    return f"day {int(time) // DAY + 1}, {time_of_day(int(time))}"
