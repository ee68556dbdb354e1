"""Where people spend their time: person-hours by building and by cell of street."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from populace.studio.pages.town.data import ABSENT, TownRun
from populace.studio.pages.town.frames import walks
from populace.worlds.town.spots import Floats, Spots
from populace.worlds.town.town_map import building_rectangles

CELL = 10.0
"""Metres of a side of a cell of street."""
POINTS = 12
"""The time of a walk is divided among this many points."""
AT_ONCE = 72
"""How many steps are added up at a time."""
HOUR = 3600.0


@dataclass(frozen=True)
class Heat:
    """Presence over a span of time.

    Attributes:
        buildings: Person-hours in each building: place, name, kind, x, y, person_hours, share.
        streets: Person-hours on the way, by cell of `CELL` metres: x, y (its middle), person_hours.
        person_hours: The sum, which is the hours of everybody who is in the town.
        begins: When the span begins, in simulated seconds.
        ends: When it ends.
    """

    buildings: pl.DataFrame
    streets: pl.DataFrame
    person_hours: float
    begins: int
    ends: int

    def table(self) -> pl.DataFrame:
        """Buildings and streets as one table."""
        streets = self.streets.with_columns(name=pl.lit("on the way"), kind=pl.lit("street"))
        shared = streets.with_columns(share=pl.col("person_hours") / max(self.person_hours, 1e-9))
        return pl.concat([self.buildings.drop("place"), shared.select(self.buildings.drop("place").columns)])


def heat(town: TownRun, first: int, last: int) -> Heat:
    """Person-hours from one step to another.

    Every moment of everybody is counted once: in a building, or on the way between two.
    """
    inside = np.zeros(len(town.town.places.buildings))
    cells: list[pl.DataFrame] = []
    seconds = 0
    for begin in range(first, last, AT_ONCE):
        seconds += _add(town, begin, min(begin + AT_ONCE, last), inside, cells)
    begins, ends = town.time_of(first), town.time_of(last)
    total = seconds / HOUR
    schema = {"x": pl.Float64, "y": pl.Float64, "person_hours": pl.Float64}
    streets = pl.concat([pl.DataFrame(schema=schema), *cells])
    houses = building_rectangles(town.town).select("place", "name", "kind", "x", "y")
    buildings = houses.with_columns(person_hours=inside / HOUR, share=inside / HOUR / max(total, 1e-9))
    return Heat(
        buildings,
        streets.group_by("x", "y").agg(pl.sum("person_hours")).sort("x", "y"),
        total,
        begins,
        ends,
    )


def _add(town: TownRun, first: int, last: int, inside: Floats, cells: list[pl.DataFrame]) -> int:
    """Add the presence from one step to another; returns its seconds."""
    window = town.window(first, last)
    at = town.building(window.place[:-1])
    spans = np.diff(window.times)
    ways = walks(town, first, last - 1)
    walking = np.zeros(at.shape, dtype=bool)
    walking[ways.step - first, ways.row] = True
    rests = np.broadcast_to(spans[:, None], at.shape)
    indoors = (at >= 0) & ~walking
    np.add.at(inside, at[indoors], rests[indoors])
    step = ways.step - first
    arrived = ways.into >= 0
    np.add.at(inside, ways.into[arrived], (ways.starts + spans[step] - ways.ends)[arrived])
    outdoors = (at == -1) & ~walking
    cells.append(_cells(window.x[:-1][outdoors], window.y[:-1][outdoors], rests[outdoors]))
    if len(ways.step):
        metres = town.town.ways.metres(ways.origin, ways.goal)
        share = np.tile((np.arange(POINTS) + 0.5) / POINTS, len(ways.step))
        origin, goal = (_repeated(spots) for spots in (ways.origin, ways.goal))
        points = town.town.ways.along(origin, goal, np.repeat(metres, POINTS) * share)
        cells.append(_cells(points.x, points.y, np.repeat((ways.ends - ways.starts) / POINTS, POINTS)))
    return int(rests[at != ABSENT].sum())


def _repeated(spots: Spots) -> Spots:
    return spots.take(np.repeat(np.arange(len(spots)), POINTS))


def _cells(x: Floats, y: Floats, seconds: Floats) -> pl.DataFrame:
    middle = [np.floor(along / CELL) * CELL + CELL / 2 for along in (x, y)]
    table = pl.DataFrame({"x": middle[0], "y": middle[1], "person_hours": seconds / HOUR})
    return table.group_by("x", "y").agg(pl.sum("person_hours"))


def heat_data(result: Heat) -> dict[str, Any]:
    """A heat map as plain data, its buildings in the order of the map."""
    return {
        "buildings": result.buildings["person_hours"].round(3).to_list(),
        "streets": result.streets.with_columns(pl.col("person_hours").round(4)).to_dict(as_series=False),
        "cell": CELL,
        "person_hours": result.person_hours,
        "begins": result.begins,
        "ends": result.ends,
    }
