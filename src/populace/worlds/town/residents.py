"""The residents of a town from a TOML file: who they are, who knows whom, and what they do on an ordinary day."""

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UnknownNameError, WorldError
from populace.base.formatting import time_of_day
from populace.people import People
from populace.worlds.town.places import DAY
from populace.worlds.town.toml_table import TomlFile, TomlTable, array_of_tables
from populace.worlds.town.town import SALLOW_FERRY, Town

_RESIDENT = (
    "name", "age", "occupation", "home", "bedroom", "workplace", "traits", "backstory", "wakes", "sleeps", "routine",
)  # fmt: skip
_RELATION = ("between", "relation", "closeness")
_ROUTINE = {"person": pl.Int64, "time": pl.Int64, "place": pl.Int64, "address": pl.String, "what": pl.String}


def read_residents(town: Town, path: str | Path | TomlFile | None = None) -> People:
    """The people of a residents file.

    They are numbered from 0 in the order of the file. Columns: `name`, `age`, `occupation`, `home`, `workplace`
    (addresses; no workplace is empty), `home_place`, `bed_place`, `workplace_place` (place ids), `traits`,
    `backstory`, `wakes`, `sleeps` (seconds of the day) and `routine` in words.

    Args:
        town: The town that they live in.
        path: The file; that of Sallow Ferry if left out.

    Example:
        >>> people = read_residents(Town.sallow_ferry())
        >>> people.count(), people.person("Odile Farrant").workplace
        (25, 'Kettle & Crumb > counter')
    """
    _, entries = _entries(path)
    homes, beds, works = zip(*(_places(town, entry) for entry in entries), strict=True)
    days = [_routine(town, entry) for entry in entries]
    return People(
        pl.DataFrame(
            {
                "id": pl.int_range(len(entries), eager=True),
                "name": [entry.text("name") for entry in entries],
                "age": [entry.whole("age") for entry in entries],
                "occupation": [entry.text("occupation") for entry in entries],
                "home": [town.address(home) for home in homes],
                "workplace": [None if work is None else town.address(work) for work in works],
                "home_place": homes,
                "bed_place": beds,
                "workplace_place": works,
                "traits": [", ".join(entry.texts("traits")) for entry in entries],
                "backstory": [" ".join(entry.text("backstory").split()) for entry in entries],
                "wakes": [entry.time("wakes") for entry in entries],
                "sleeps": [entry.time("sleeps") for entry in entries],
                "routine": [
                    "; ".join(f"{time_of_day(time)} {what} ({_building(town, place)})" for time, place, what in day)
                    for day in days
                ],
            },
            schema_overrides={"workplace": pl.String, "workplace_place": pl.Int64},
        )
    )


def _building(town: Town, place: int) -> str:
    """The building of a place, as people call it."""
    return town.address(int(town.places.building[place]))


_NEWCOMER = {
    "age": 35,
    "occupation": "without work so far",
    "traits": "new in town",
    "wakes": 7 * 3600,
    "sleeps": 22 * 3600,
    "routine": "you have none yet",
}


def settle_newcomers(people: People, town: Town) -> None:
    """Give people who joined without a home a place to live, and fill in what else nothing is known of.

    A home or workplace that they brought is an address of the town. Without a home they live in the one with the fewest
    residents; of several, the first.

    Args:
        people: The residents, changed in place.
        town: The town.

    Example:
        >>> town = Town.sallow_ferry()
        >>> people = read_residents(town)
        >>> people.add(People(pl.DataFrame({"id": [25], "name": ["Ada Bell"]})))
        >>> settle_newcomers(people, town)
        >>> people.person("Ada Bell").home is not None, people.person("Ada Bell").age
        (True, 35)
    """
    frame = people.frame
    homes = np.flatnonzero((town.places.kind == "home").fill_null(False).to_numpy())
    housed = frame.filter(pl.col("home_place").is_not_null())["home_place"].to_numpy()
    crowd = np.bincount(town.places.building[housed], minlength=len(town.places.building))
    new = frame.filter(pl.col("home_place").is_null() | pl.col("bed_place").is_null())
    rows: list[dict[str, Any]] = []
    for row in new.iter_rows(named=True):
        home = int(homes[np.argmin(crowd[homes])]) if row["home"] is None else _home(town, row["name"], row["home"])
        crowd[int(town.places.building[home])] += 1
        work = None if row["workplace"] is None else town.place(row["workplace"])
        story = f"You have just moved to {town.name}."
        known = {"home": town.address(home), "home_place": home, "bed_place": home, "workplace_place": work}
        known |= {"backstory": story} | {name: value for name, value in _NEWCOMER.items() if name in frame.columns}
        rows.append({name: value if row.get(name) is None else row[name] for name, value in known.items()})
    at = frame.with_row_index().filter(pl.col("id").is_in(new["id"].implode()))["index"].to_list()
    for name in rows[0] if rows else ():
        column = frame[name].to_list()
        for place, row in zip(at, rows, strict=True):
            column[place] = row[name]
        people[name] = pl.Series(name, column, dtype=frame.schema[name])


def _home(town: Town, name: str, address: str) -> int:
    place = town.place(address)
    building = int(town.places.building[place])
    if town.places.kind[building] != "home":
        raise WorldError(f"{name} cannot live at {address!r}.", "Name a building of kind home, or leave home out.")
    return place


def read_routines(town: Town, path: str | Path | TomlFile | None = None) -> pl.DataFrame:
    """What the residents do on an ordinary day: person, time in seconds of the day, place, address, what.

    Example:
        >>> read_routines(Town.sallow_ferry()).columns
        ['person', 'time', 'place', 'address', 'what']
    """
    _, entries = _entries(path)
    rows = [
        (person, time, place, town.address(place), what)
        for person, entry in enumerate(entries)
        for time, place, what in _routine(town, entry)
    ]
    return pl.DataFrame(rows, schema=_ROUTINE, orient="row")


def read_relations(town: Town, path: str | Path | TomlFile | None = None) -> pl.DataFrame:
    """Who knows whom: `a`, `b` (ids of residents), `relation`, `closeness` from 0 to 1; each pair once.

    Example:
        >>> ties = read_relations(Town.sallow_ferry())
        >>> 0.15 < ties.height / (25 * 24 / 2) < 0.25
        True
    """
    document, entries = _entries(path)
    file, values = document.name, document.tables()
    ids = {entry.text("name"): person for person, entry in enumerate(entries)}
    rows: dict[tuple[int, int], tuple[int, int, str, float]] = {}
    for entry in array_of_tables(file, values, "relation", _RELATION):
        names = entry.texts("between")
        if len(names) != 2:
            raise entry.error(f"it is between {len(names)} people.", 'Write between = ["…", "…"], two names.')
        for name in names:
            if name not in ids:
                raise UnknownNameError(f"resident ({file}, {entry.where})", name, ids)
        a, b = sorted(ids[name] for name in names)
        if a == b:
            raise entry.error(f"{names[0]} is related to themselves.", "Name two people.")
        if (a, b) in rows:
            raise entry.error(f"{names[0]} and {names[1]} stand there a second time.", "Keep one of the two.")
        closeness = entry.number("closeness", least=0)
        if closeness > 1:
            raise entry.error(f"closeness is {closeness:g}.", "Write a number from 0, strangers, to 1, inseparable.")
        rows[a, b] = (a, b, entry.text("relation"), closeness)
    schema = {"a": pl.Int64, "b": pl.Int64, "relation": pl.String, "closeness": pl.Float64}
    return pl.DataFrame(list(rows.values()), schema=schema, orient="row")


def _entries(source: str | Path | TomlFile | None) -> tuple[TomlFile, list[TomlTable]]:
    if source is None:
        source = SALLOW_FERRY.with_name(f"{SALLOW_FERRY.stem}_residents.toml")
    document = source if isinstance(source, TomlFile) else TomlFile.read(source)
    file = document.name
    entries = array_of_tables(file, document.tables(("resident", "relation")), "resident", _RESIDENT)
    if not entries:
        raise WorldError(f"{file}: nobody lives there.", "Add a [[resident]].")
    names = [entry.text("name") for entry in entries]
    folded, count = Counter(name.casefold() for name in names).most_common(1)[0]
    if count > 1:
        alike = " and ".join(dict.fromkeys(repr(name) for name in names if name.casefold() == folded))
        raise WorldError(
            f"{file}: {count} residents are named {alike}.",
            "Conversations go by name, and capitals do not count. Give each a name of their own.",
        )
    return document, entries


def _places(town: Town, entry: TomlTable) -> tuple[int, int, int | None]:
    home = _place(town, entry, "home", entry.text("home"))
    building = int(town.places.building[home])
    if town.places.kind[building] != "home":
        raise entry.error(
            f"home is {town.address(home)!r}, which is a {town.places.kind[building]}.", "Name a building of kind home."
        )
    bed = home
    if "bedroom" in entry:
        bed = _place(town, entry, "bedroom", f"{town.address(building)} > {entry.text('bedroom')}")
    if "workplace" not in entry:
        return home, bed, None
    return home, bed, _place(town, entry, "workplace", entry.text("workplace"))


def _routine(town: Town, entry: TomlTable) -> list[tuple[int, int, str]]:
    routine: list[tuple[int, int, str]] = []
    items: Any = entry.values.get("routine", [])
    shape = 'Write routine = [["07:30", "opens the shop", "Pell\'s Grocery > shop"]].'
    if not isinstance(items, list):
        raise entry.error("routine is not a list.", shape)
    for item in items:
        if not isinstance(item, list) or len(item) != 3 or not all(isinstance(part, str) for part in item):
            raise entry.error(f"routine holds {item!r}.", shape)
        routine.append((entry.seconds(item[0], "routine"), _place(town, entry, "routine", item[2]), item[1].strip()))
    bedtime, rising = entry.time("sleeps"), entry.time("wakes")
    if bedtime == rising:
        raise entry.error(
            f"wakes and sleeps are both {time_of_day(rising)}.", "Write a later bedtime: everybody sleeps."
        )
    # Who goes to bed after midnight may do something before that, in the same day.
    times = [time + DAY if bedtime < rising and time < bedtime else time for time, _, _ in routine]
    if times != sorted(times):
        before, after = next(pair for pair in itertools.pairwise(times) if pair[1] < pair[0])
        raise entry.error(
            f"routine runs backwards: {time_of_day(after)} comes after {time_of_day(before)}.",
            f"Put its lines in the order of the day, which begins at {time_of_day(rising)} with wakes.",
        )
    return routine


def _place(town: Town, entry: TomlTable, key: str, address: str) -> int:
    try:
        return town.place(address)
    except UnknownNameError as error:
        raise UnknownNameError(
            f"place for the {key} of {entry.where} in {entry.file}",
            error.name,
            error.known,
            f"The town is {town.name}.",
        ) from error
