"""The file of a town: a map in TOML, read and checked."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UnknownNameError, WorldError
from populace.worlds.town.places import BUILDING, DAY, OBJECT, ROOM, TOWN, Places
from populace.worlds.town.spots import Floats, Ints, Spots
from populace.worlds.town.streets import StraightWays, Streets, Ways, streets_from_lines
from populace.worlds.town.toml_table import TomlFile, TomlTable, array_of_tables
from populace.worlds.town.town import PACE, Town

KINDS = (
    "home", "café", "pub", "restaurant", "grocer", "bookshop", "hardware shop", "bakery", "pharmacy", "shop", "school",
    "nursery", "clinic", "library", "office", "workshop", "farm", "factory", "station", "church", "hall", "post office",
    "park", "square", "garden", "playground", "market",
)  # fmt: skip
OUTDOORS = ("park", "square", "garden", "playground", "market")
DOORSTEP = 100.0
"""The most metres between a building and the nearest street."""
BEDS = 4
POSTS = 4
SIZES = {"park": (60.0, 40.0), "school": (30.0, 20.0), "square": (30.0, 30.0)}

_TOWN = ("name", "pace", "doorstep", "kinds")
_STREET = ("name", "points")
_BUILDING = ("name", "kind", "x", "y", "width", "height", "open", "outdoors", "beds", "posts", "rooms", "objects")
_ROOM = ("through", "x", "y", "outdoors", "objects")
_OBJECT = ("state", "x", "y")


class _Rows:
    def __init__(self, name: str) -> None:
        self.rows: list[dict[str, Any]] = []
        self.add(name, TOWN, -1, 0.0, 0.0, outdoors=True)

    def add(self, name: str, level: int, parent: int, x: float, y: float, **values: Any) -> int:
        defaults = {"kind": None, "outdoors": False, "opens": 0, "closes": DAY, "width": 0.0, "height": 0.0}
        defaults |= {"beds": 0, "posts": 0, "state": None}
        self.rows.append({"name": name, "level": level, "parent": parent, "x": x, "y": y} | defaults | values)
        return len(self.rows) - 1

    def places(self) -> Places:
        order = sorted(range(len(self.rows)), key=lambda row: self.rows[row]["level"])
        new_row = {old: new for new, old in enumerate(order)}
        rows = [self.rows[old] for old in order]

        columns: dict[str, Any] = {key: [row[key] for row in rows] for key in rows[0]}
        columns["parent"] = [new_row.get(parent, -1) for parent in columns["parent"]]
        for key in ("name", "kind", "state"):
            columns[key] = pl.Series(key, columns[key], dtype=pl.String)
        for key in ("level", "parent", "opens", "closes", "beds", "posts"):
            columns[key] = np.array(columns[key], dtype=np.int64)
        for key in ("x", "y", "width", "height"):
            columns[key] = np.array(columns[key], dtype=float)
        return Places(**columns | {"outdoors": np.array(columns["outdoors"], dtype=bool)})


def read_town(source: str | Path | TomlFile) -> Town:
    """A town from the file of its map, once all of it is checked."""
    document = source if isinstance(source, TomlFile) else TomlFile.read(source)
    values, file = document.tables(("town", "street", "building")), document.name
    about = TomlTable(file, "[town]", values.get("town", {}), _TOWN)
    name = about.text("name", Path(file).stem.replace("_", " ").title())
    kinds = (*KINDS, *about.texts("kinds", []))
    buildings = array_of_tables(file, values, "building", _BUILDING)
    if not buildings:
        raise WorldError(f"{file}: the map has no building.", "Add one as [[building]] with name, kind, x and y.")
    rows = _Rows(name)
    for building in buildings:
        _building(building, kinds, rows)
    places = rows.places()
    _check_distinct(file, places.addresses.to_list())
    lines, streets = _streets(file, values)
    ways, doors = _ways_and_doors(file, places, lines, streets, about.number("doorstep", DOORSTEP, least=0))
    pace = about.number("pace", PACE)
    if pace <= 0:
        raise about.error(f"pace is {pace:g}.", "It is metres a minute; 80 is an unhurried walk.")
    return Town(name, places, ways, doors, pace=pace)


def _name(entry: TomlTable, name: str) -> str:
    if ">" in name:
        raise entry.error(f"the name {name!r} holds '>', which separates the parts of an address.", "Leave it out.")
    return name.strip()


def _building(entry: TomlTable, kinds: tuple[str, ...], rows: _Rows) -> None:
    name = _name(entry, entry.text("name"))
    kind = entry.text("kind")
    if kind not in kinds:
        raise UnknownNameError(
            f"kind of building ({entry.file}, {entry.where})",
            kind,
            kinds,
            'Kinds of your own go into [town] kinds = ["…"].',
        )
    for axis in ("x", "y"):
        if axis not in entry:
            raise entry.error(f"the coordinate {axis} is missing.", f"Add a line {axis} = …, in metres.")
    x, y = entry.number("x"), entry.number("y")
    opens, closes = entry.hours("open")
    size, outdoors = SIZES.get(kind, (12.0, 10.0)), entry.flag("outdoors", kind in OUTDOORS)
    home = kind == "home"
    place = rows.add(
        name, BUILDING, 0, x, y, kind=kind, outdoors=outdoors, opens=opens, closes=closes,
        width=entry.number("width", size[0], least=0), height=entry.number("height", size[1], least=0),
        beds=entry.whole("beds", BEDS if home else 0), posts=entry.whole("posts", 0 if home or outdoors else POSTS),
    )  # fmt: skip
    rooms = entry.values.get("rooms", {})
    if not isinstance(rooms, Mapping):
        raise entry.error("rooms is not a table.", 'Write rooms.kitchen.objects = { stove = "off" }.')
    if "objects" in entry:
        raise entry.error("objects stand in the building itself.", "Put them into a room: rooms.hall.objects = { … }.")
    _check_reachable(entry, rooms)
    for room_name, room in rooms.items():
        inner = TomlTable(entry.file, f"room {room_name!r} of building {name!r}", room, _ROOM)
        _name(inner, room_name)
        room_x, room_y = inner.number("x", x), inner.number("y", y)
        room_outdoors = inner.flag("outdoors", outdoors)
        room_place = rows.add(room_name.strip(), ROOM, place, room_x, room_y, outdoors=room_outdoors)
        _objects(inner, room_place, room_x, room_y, room_outdoors, rows)


def _objects(room: TomlTable, parent: int, x: float, y: float, outdoors: bool, rows: _Rows) -> None:
    objects = room.values.get("objects", {})
    if isinstance(objects, list):
        names = room.texts("objects")
        _check_distinct(room.file, [f"{room.where} > {name}" for name in names] or [""])
        objects = dict.fromkeys(names, "")
    if not isinstance(objects, Mapping):
        raise room.error("objects is neither a table nor a list.", 'Write objects = { stove = "off" }.')
    for name, value in objects.items():
        if not isinstance(value, (str, Mapping)):
            raise room.error(f"the object {name!r} is {value!r}.", f'Write its state as text: {name} = "off".')
        entry = TomlTable(
            room.file,
            f"object {name!r} in {room.where}",
            {"state": value} if isinstance(value, str) else value,
            _OBJECT,
        )
        _name(entry, name)
        state = entry.values.get("state", "")
        if not isinstance(state, str):
            raise entry.error(f"state is {state!r}.", 'Write it as text, such as "off".')
        place = entry.number("x", x), entry.number("y", y)
        rows.add(name.strip(), OBJECT, parent, *place, outdoors=outdoors, state=state)


def _check_reachable(building: TomlTable, rooms: Mapping[str, Any]) -> None:
    through = {name: room.get("through") for name, room in rooms.items() if isinstance(room, Mapping)}
    for name, before in through.items():
        if before is not None and before not in through:
            raise UnknownNameError(
                f"room of {building.where} in {building.file}",
                str(before),
                through,
                f"Room {name!r} is reached through it.",
            )
    reached = {name for name, before in through.items() if before is None}
    while more := {name for name, before in through.items() if name not in reached and before in reached}:
        reached |= more
    lost = [name for name in through if name not in reached]
    if lost:
        chain = " is reached through ".join(repr(name) for name in (lost[0], through[lost[0]]))
        raise building.error(
            f"room {lost[0]!r} cannot be reached: {chain}, and none of these has a way to the door.",
            f"Take the line 'through' out of one of {', '.join(lost)}.",
        )


def _check_distinct(file: str, addresses: list[str]) -> None:
    address, count = Counter(addresses).most_common(1)[0]
    if count > 1:
        raise WorldError(
            f"{file}: {count} places have the address {address!r}.",
            "Give each a name of its own.",
        )


def _streets(file: str, values: Mapping[str, Any]) -> tuple[list[Floats], list[str]]:
    lines, names = [], []
    for number, entry in enumerate(array_of_tables(file, values, "street", _STREET), start=1):
        names.append(entry.text("name", f"street {number}"))
        try:
            line = np.array(entry.values.get("points", []), dtype=float)
        except (TypeError, ValueError):
            line = np.zeros(0)
        if line.ndim != 2 or line.shape[1] != 2 or len(line) < 2 or not np.isfinite(line).all():
            raise entry.error(
                "points is not a line.", "Write points = [[0, 0], [120, 0]], two or more points in metres."
            )
        if (np.hypot(*np.diff(line, axis=0).T) < 1).any():
            raise entry.error("two points that follow each other are less than a metre apart.", "Leave one out.")
        lines.append(line)
    return lines, names


def _ways_and_doors(
    file: str, places: Places, lines: list[Floats], names: list[str], doorstep: float
) -> tuple[Ways, Spots]:
    """The ways and the doors, once it is checked that every building can be reached from every other."""
    ids = places.buildings
    x, y = places.x[ids], places.y[ids]
    if not lines:
        return StraightWays(), Spots.at(x, y)
    streets, owner = streets_from_lines(lines)
    doors = streets.attach(x, y, building=ids)
    far = int(np.argmax(doors.access))
    name = places.name[int(ids[far])]
    if doors.access[far] > doorstep:
        raise WorldError(
            f"{file}, building {name!r}: it cannot be reached; the nearest street, "
            f"{names[owner[doors.section[far]]]!r}, is {doors.access[far]:.0f} metres away, "
            f"and a doorstep is {doorstep:g} at most.",
            "Move the building, lead a street to it, or set [town] doorstep.",
        )
    _check_connected(file, places, streets, owner, names, doors)
    return streets, doors


def _check_connected(file: str, places: Places, streets: Streets, owner: Ints, names: list[str], doors: Spots) -> None:
    part = streets.components()[streets.ends[doors.section, 0]]
    main = np.bincount(part).argmax()
    if (part == main).all():
        return
    lost, reached = int(np.argmax(part != main)), int(np.argmax(part == main))
    building = [places.name[int(places.buildings[row])] for row in (lost, reached)]
    street = [names[owner[doors.section[row]]] for row in (lost, reached)]
    raise WorldError(
        f"{file}, building {building[0]!r}: it cannot be reached from {building[1]!r}; "
        f"{street[0]!r} does not meet the streets around {street[1]!r}.",
        "Let two streets cross or share a point.",
    )
