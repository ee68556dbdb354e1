"""Generated towns of any size, on a grid of streets."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from populace.base.errors import WorldError
from populace.worlds.town.places import BUILDING, DAY, OBJECT, ROOM, TOWN, Places
from populace.worlds.town.spots import Floats, Ints, Spots
from populace.worlds.town.streets import Streets
from populace.worlds.town.toml_table import TomlFile
from populace.worlds.town.town import Town

HOUSEHOLDS = (0.30, 0.34, 0.16, 0.14, 0.06)
"""The share of households of one to five people."""
BLOCK, PLOTS_A_SIDE, SETBACK = 150.0, 7, 14.0
"""Metres between junctions; plots on each side of a section; metres from the middle of the street to a building."""
WORKING = 0.55
"""Posts for each resident; somewhat more than there are workers."""
GENERATED = TomlFile.read(Path(__file__).with_name("generated_town.toml")).tables()
"""Words and kinds of which generated towns and their residents are made."""
TREES = GENERATED["trees"].split()
EASTWARD, NORTHWARD = ("Street", "Way", "Walk"), ("Lane", "Row", "Rise")


@dataclass(frozen=True)
class BuildingKind:
    """A kind of building: for how many residents there is one, its posts, hours and rooms."""

    residents: int
    posts: int
    hours: tuple[int, int]
    rooms: tuple[tuple[str, str, str], ...]
    """Room, object in it, its state."""


HOME = BuildingKind(**GENERATED["home"])
KINDS = {kind: BuildingKind(**values) for kind, values in GENERATED["kinds"].items()}


@dataclass(frozen=True)
class _Buildings:
    kind: list[str]
    plot: Ints
    """The plot of each building; for a park, its block."""
    beds: Ints
    posts: Ints


def generate_town(people: int, rng: np.random.Generator) -> Town:
    """A town with homes, work and leisure for this many people."""
    if people < 1:
        raise WorldError(f"a town for {people} people cannot be made.", "Give 1 or more.")
    beds = _households(people, rng)
    counts = {kind: max(1, round(people / building.residents)) for kind, building in KINDS.items()}
    others = sum(counts[kind] * building.posts for kind, building in KINDS.items() if kind != "office")
    counts["office"] = max(1, math.ceil((people * WORKING - others) / KINDS["office"].posts))
    parks = counts.pop("park")
    built = len(beds) + sum(counts.values())
    side = 2
    while 4 * PLOTS_A_SIDE * side * (side - 1) < built or (side - 1) ** 2 < parks:
        side += 1
    streets = _grid(side)
    plots = _plots(streets, side)
    work, homes = _zones(plots, sum(counts.values()), len(beds), rng)
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    blocks = np.sort(rng.choice((side - 1) ** 2, parks, replace=False))
    buildings = _Buildings(
        kind=["home"] * len(homes) + kinds + ["park"] * parks,
        plot=np.concatenate([homes, rng.permutation(work), blocks]),
        beds=np.concatenate([beds, np.zeros(len(kinds) + parks, dtype=np.int64)]),
        posts=np.array([0] * len(homes) + [KINDS[kind].posts for kind in kinds] + [0] * parks, dtype=np.int64),
    )
    doors = _doors(buildings, plots, streets, side)
    return Town(f"a town for {people}", _places(people, buildings, doors, side), streets, doors)


def _households(people: int, rng: np.random.Generator) -> Ints:
    sizes = rng.choice(len(HOUSEHOLDS), people, p=HOUSEHOLDS) + 1
    enough = int(np.searchsorted(np.cumsum(sizes), people)) + 1
    sizes = sizes[:enough]
    sizes[-1] -= int(sizes.sum()) - people
    return sizes


def _grid(side: int) -> Streets:
    """Streets with junctions in a square: first the sections of each line eastward, then of each line northward."""
    number = np.arange(side * side).reshape(side, side)
    east = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    north = np.stack([number[:-1].T.ravel(), number[1:].T.ravel()], axis=1)
    x, y = np.tile(np.arange(side) * BLOCK, side), np.repeat(np.arange(side) * BLOCK, side)
    return Streets(x, y, np.concatenate([east, north]))


def _plots(streets: Streets, side: int) -> Spots:
    """The plots on both sides of every section, in order, as points connected to the street."""
    sections = len(streets.ends)
    section = np.repeat(np.arange(sections), 2 * PLOTS_A_SIDE)
    number = np.tile(np.arange(2 * PLOTS_A_SIDE), sections)
    offset = BLOCK * (number // 2 + 1) / (PLOTS_A_SIDE + 1)
    aside = np.where(number % 2 == 0, SETBACK, -SETBACK)
    first = streets.ends[section, 0]
    eastward = section < side * (side - 1)
    x = streets.x[first] + np.where(eastward, offset, aside)
    y = streets.y[first] + np.where(eastward, aside, offset)
    return Spots(x, y, section, offset, np.full(len(x), SETBACK), np.full(len(x), -1, dtype=np.int64))


def _zones(plots: Spots, work: int, homes: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The plots for work, mostly near the middle, and those for homes, from the middle outwards."""
    away = np.hypot(plots.x - plots.x.mean(), plots.y - plots.y.mean())
    inwards = np.argsort(away * rng.uniform(0.3, 1.0, len(away)), kind="stable")
    left = inwards[work:]
    return np.sort(inwards[:work]), np.sort(left[np.argsort(away[left], kind="stable")][:homes])


def _doors(buildings: _Buildings, plots: Spots, streets: Streets, side: int) -> Spots:
    park = np.array([kind == "park" for kind in buildings.kind])
    doors = plots.take(np.where(park, 0, buildings.plot))
    block = buildings.plot[park]
    column, line = block % (side - 1), block // (side - 1)
    half = np.full(len(block), BLOCK / 2)
    section = line * (side - 1) + column
    x, y = (column + 0.5) * BLOCK, (line + 0.5) * BLOCK
    doors.put(park, Spots(x, y, section, half, half, half.astype(np.int64)))
    doors.building[:] = np.arange(len(doors)) + 1
    return doors


def _names(buildings: _Buildings, side: int) -> pl.Series:
    """Addresses by street and number; those of buildings that are no homes begin with the kind."""
    lines = np.arange(side)

    def street_names(kinds: tuple[str, ...]) -> list[str]:
        every = [f"{tree} {kind}" for kind in kinds for tree in TREES]
        return [every[n % len(every)] + (f" {n // len(every) + 1}." if n >= len(every) else "") for n in lines]

    streets = pl.Series(street_names(EASTWARD) + street_names(NORTHWARD))
    per_line = 2 * PLOTS_A_SIDE * (side - 1)
    frame = pl.DataFrame(
        {
            "kind": buildings.kind,
            "street": streets.gather(np.minimum(buildings.plot // per_line, 2 * side - 1).astype(np.uint32)),
            "number": buildings.plot % per_line + 1,
            "plot": buildings.plot,
        }
    )
    address = pl.format("{} {}", "street", "number")
    title = pl.col("kind").str.slice(0, 1).str.to_uppercase() + pl.col("kind").str.slice(1)
    return frame.select(
        pl.when(pl.col("kind") == "home")
        .then(address)
        .when(pl.col("kind") == "park")
        .then(pl.format("Park {}", pl.col("plot") + 1))
        .otherwise(pl.format("{}, {}", title, address))
        .alias("name")
    )["name"]


def _places(people: int, buildings: _Buildings, doors: Spots, side: int) -> Places:
    count = len(buildings.kind)
    kinds = pl.Series(buildings.kind)
    rooms: list[tuple[Ints, str, str, str]] = []
    hours = np.zeros((count, 2), dtype=np.int64)
    for kind, building in {"home": HOME, **KINDS}.items():
        which = np.flatnonzero((kinds == kind).to_numpy())
        hours[which] = np.array(building.hours) * 3600
        rooms.extend((which, *room) for room in building.rooms)
    parent = np.concatenate([which for which, *_ in rooms])
    order = np.argsort(parent, kind="stable")
    lengths = [len(which) for which, *_ in rooms]
    in_order = np.repeat(np.arange(len(rooms)), lengths)[order].astype(np.uint32)
    words = [pl.Series([room[part] for room in rooms], dtype=pl.String).gather(in_order) for part in (1, 2, 3)]
    park = (kinds == "park").to_numpy()
    inside = parent[order]
    total = len(inside)
    empty, none = np.zeros(2 * total, dtype=np.int64), pl.Series([None], dtype=pl.String)
    size = np.where(park, BLOCK - 4 * SETBACK, 12.0)

    def places(town: float, own: Floats) -> Floats:
        return np.concatenate([[town], own, own[inside], own[inside]])

    def only(own: Ints, town: int = 0) -> Ints:
        return np.concatenate([[town], own, empty])

    return Places(
        name=pl.concat([pl.Series([f"a town for {people}"]), _names(buildings, side), words[0], words[1]]).alias(
            "name"
        ),
        level=np.repeat([TOWN, BUILDING, ROOM, OBJECT], [1, count, total, total]),
        parent=np.concatenate([[-1], np.zeros(count, dtype=np.int64), inside + 1, np.arange(total) + count + 1]),
        x=places(0.0, doors.x),
        y=places(0.0, doors.y),
        kind=pl.concat([none, kinds, none.new_from_index(0, 2 * total)]).alias("kind"),
        outdoors=np.concatenate([[True], park, park[inside], park[inside]]),
        opens=only(hours[:, 0]),
        closes=np.concatenate([[DAY], hours[:, 1], np.full(2 * total, DAY)]),
        width=places(0.0, size),
        height=places(0.0, np.where(park, size, 10.0)),
        beds=only(buildings.beds),
        posts=only(buildings.posts),
        state=pl.concat([none.new_from_index(0, 1 + count + total), words[2]]).alias("state"),
    )
