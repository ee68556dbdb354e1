"""The map of a town: as plain text for the terminal, and as tables for other drawings."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from populace.base.errors import WorldError
from populace.base.formatting import time_of_day
from populace.worlds.town.places import DAY
from populace.worlds.town.presence import NOWHERE, Presence
from populace.worlds.town.spots import Floats, Ints
from populace.worlds.town.streets import Streets
from populace.worlds.town.town import Town

MOST_LABELS = 80
"""With more buildings than this a map shows how many people are where, without labels."""
NARROWEST = 40


def building_labels(town: Town) -> pl.Series:
    """A unique short label for each building: initials, and the number where the name has one.

    Example:
        >>> building_labels(Town.sallow_ferry()).to_list()[:3]
        ['KC', 'OP', 'PG']
    """
    taken: set[str] = set()
    unique = []
    for name in town.places.name.gather(town.places.buildings.astype(np.uint32)).to_list():
        words = "".join(letter if letter.isalnum() else " " for letter in name.replace("'", "")).split()
        short = "".join(word if word.isdecimal() else word[0].upper() for word in words) or "?"
        label, number = short, 0
        while label in taken:
            number += 1
            label = f"{short}{chr(96 + number) if number <= 26 else number}"
        taken.add(label)
        unique.append(label)
    return pl.Series("label", unique, dtype=pl.String)


def building_rectangles(town: Town, presence: Presence | None = None, now: int = 0) -> pl.DataFrame:
    """The buildings as rectangles for drawing: place, label, name, kind, left, bottom, width, height, x, y, people.

    Example:
        >>> building_rectangles(Town.sallow_ferry()).select("label", "left", "width").row(0)
        ('KC', 269.0, 22.0)
    """
    places, ids = town.places, town.places.buildings
    people = np.zeros(len(ids), dtype=np.int64)
    if presence is not None:
        people = _counts(town, presence.at(now).place)
    return pl.DataFrame(
        {
            "place": ids,
            "label": building_labels(town),
            "name": places.name.gather(ids.astype(np.uint32)),
            "kind": places.kind.gather(ids.astype(np.uint32)),
            "left": places.x[ids] - places.width[ids] / 2,
            "bottom": places.y[ids] - places.height[ids] / 2,
            "width": places.width[ids],
            "height": places.height[ids],
            "x": places.x[ids],
            "y": places.y[ids],
            "people": people,
        }
    )


def street_lines(town: Town) -> pl.DataFrame:
    """The street sections for drawing: x, y, to_x, to_y; empty in a town without streets."""
    if not isinstance(town.ways, Streets):
        return pl.DataFrame(schema={"x": pl.Float64, "y": pl.Float64, "to_x": pl.Float64, "to_y": pl.Float64})
    first, second = town.ways.ends.T
    x, y = town.ways.x, town.ways.y
    return pl.DataFrame({"x": x[first], "y": y[first], "to_x": x[second], "to_y": y[second]})


def render_map(
    town: Town,
    presence: Presence | None = None,
    now: int = 0,
    width: int = 80,
    *,
    names: Sequence[str] | pl.Series | None = None,
) -> list[str]:
    """The town as lines of plain text: a title, the map, and a legend.

    A building is shown by its label and, after a colon, the number of people in it; `o` is a person on the way, a dot
    a street. The position of a building depends on the map alone, so that it is the same at every time.

    Args:
        town: The town.
        presence: Where people are; without it the map shows no people.
        now: The simulated time in seconds.
        width: The width in characters.
        names: The names of the people, for the legend.

    Example:
        >>> lines = render_map(Town.sallow_ferry(), width=60)
        >>> lines[0]
        'Sallow Ferry, day 1, 00:00'
        >>> max(map(len, lines)) <= 60
        True
    """
    if width < NARROWEST:
        raise WorldError(f"a map {width} characters wide cannot be read.", f"Give it {NARROWEST} or more.")
    place = np.zeros(0, dtype=np.int64) if presence is None else presence.at(now).place
    title = f"{town.name}, day {now // DAY + 1}, {time_of_day(now)}"
    if presence is not None:
        title += f": {len(place)} people, {int((place == NOWHERE).sum())} on the way"
    canvas = _Canvas(town, width)
    few = len(town.places.buildings) <= MOST_LABELS
    counts = _counts(town, place)
    if few:
        canvas.streets(town)
        if presence is not None:
            where = presence.at(now)
            away = where.place == NOWHERE
            canvas.cells[canvas.cell(where.x[away], where.y[away])] = "o"
        canvas.buildings(town, counts)
        legend = _legend(town, counts, place, names, width)
    else:
        _crowds(canvas, town, presence, now)
        legend = _kinds(town, counts)
    return [line[:width] for line in (title, "", *canvas.lines(), "", *legend)]


class _Canvas:
    """Characters on a grid, twice as many metres to a line as to a column."""

    def __init__(self, town: Town, width: int) -> None:
        ids = town.places.buildings
        x, y = town.places.x[ids], town.places.y[ids]
        if isinstance(town.ways, Streets):
            x, y = np.concatenate([x, town.ways.x]), np.concatenate([y, town.ways.y])
        self.left, self.top = float(x.min()), float(y.max())
        self.metres = max(float(np.ptp(x)) / (width - 9), float(np.ptp(y)) / 2 / 40, 1.0)
        self.height = int(float(np.ptp(y)) / self.metres / 2) + 1
        self.cells = np.full((self.height, width), " ", dtype="<U1")
        self.taken = np.zeros((self.height, width), dtype=bool)

    def cell(self, x: Floats, y: Floats) -> tuple[Ints, Ints]:
        """Line and column of points."""
        line = np.rint((self.top - y) / self.metres / 2).astype(np.int64)
        column = np.rint((x - self.left) / self.metres).astype(np.int64) + 3
        return np.clip(line, 0, self.height - 1), np.clip(column, 0, self.cells.shape[1] - 1)

    def streets(self, town: Town) -> None:
        lines = street_lines(town)
        steps = np.linspace(0, 1, 2 * self.cells.shape[1])
        for x, y, to_x, to_y in lines.iter_rows():
            self.cells[self.cell(x + (to_x - x) * steps, y + (to_y - y) * steps)] = "."

    def buildings(self, town: Town, counts: Ints) -> None:
        """A label for each building on or near its cell, homes last; without room it stands in the legend only."""
        table = building_rectangles(town).with_columns(people=pl.Series(counts))
        ordered = table.with_columns(home=pl.col("kind") == "home").sort("home", maintain_order=True)
        for label, x, y, people in ordered.select("label", "x", "y", "people").iter_rows():
            line, column = (int(part[0]) for part in self.cell(np.array([x]), np.array([y])))
            room = len(label) + 3
            for down, aside in ((0, 0), (1, 0), (-1, 0), (0, room), (0, -room), (2, 0), (-2, 0)):
                row, start = line + down, min(max(column + aside - len(label) // 2, 0), self.cells.shape[1] - room)
                if 0 <= row < self.height and not self.taken[row, start : start + room].any():
                    text = f"{label}:{people}" if people else label
                    self.taken[row, start : start + room] = True
                    self.cells[row, start : start + len(text)] = list(text)
                    break

    def lines(self) -> list[str]:
        return ["".join(row).rstrip() for row in self.cells]


def _counts(town: Town, place: Ints) -> Ints:
    there = town.places.building[place[place != NOWHERE]]
    return np.bincount(there - 1, minlength=len(town.places.buildings))


def _crowds(canvas: _Canvas, town: Town, presence: Presence | None, now: int) -> None:
    """The number of people in each cell: a digit, or + for ten and more; a dot is an empty building."""
    ids = town.places.buildings
    canvas.cells[canvas.cell(town.places.x[ids], town.places.y[ids])] = "."
    if presence is None:
        return
    where = presence.at(now)
    line, column = canvas.cell(where.x, where.y)
    people = np.zeros(canvas.cells.shape, dtype=np.int64)
    np.add.at(people, (line, column), 1)
    some = people > 0
    digits = np.array(list("0123456789+"))
    canvas.cells[some] = digits[np.minimum(people[some], 10)]


def _legend(town: Town, counts: Ints, place: Ints, names: Sequence[str] | pl.Series | None, width: int) -> list[str]:
    building = np.where(place == NOWHERE, -1, town.places.building[np.maximum(place, 0)])
    wide = max(len(label) for label in building_labels(town))
    lines = []
    for number, (label, name, kind) in enumerate(building_rectangles(town).select("label", "name", "kind").iter_rows()):
        line = f"{label:<{wide}}  {name}" + ("" if kind == "home" else f" ({kind})")
        if counts[number]:
            line += f": {counts[number]}"
            if names is not None:
                line += " " + ", ".join(str(names[int(row)]) for row in np.flatnonzero(building == number + 1))
        lines.append(line)
    if names is not None and (building == -1).any():
        walkers = ", ".join(str(names[int(row)]) for row in np.flatnonzero(building == -1))
        lines.append(f"{'o':<{wide}}  on the way: {walkers}")
    return [line if len(line) <= width else line[: width - 1] + "…" for line in lines]


def _kinds(town: Town, counts: Ints) -> list[str]:
    table = building_rectangles(town).with_columns(people=pl.Series(counts))
    kinds = table.group_by("kind", maintain_order=True).agg(pl.len().alias("buildings"), pl.col("people").sum())
    return [f"{kind} ({buildings}): {people}" for kind, buildings, people in kinds.iter_rows()]
