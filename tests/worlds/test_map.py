"""RunReader a map: what may stand in it, and what is said about what may not."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from populace.base.errors import PopulaceError, UnknownNameError, WorldError
from populace.worlds.town import Town, read_relations, read_residents
from populace.worlds.town.streets import StraightWays, streets_from_lines

SMALL = """
[town]
name = "Small"

[[street]]
name = "High Street"
points = [[0, 0], [100, 0]]

[[building]]
name = "Mill"
kind = "workshop"
x = 10
y = 5
open = "08:00-17:00"
rooms.floor.objects = { wheel = "turning", bell = { state = "silent", x = 12, y = 6 } }
rooms.loft = { through = "floor", objects = ["ladder"] }

[[building]]
name = "Cottage"
kind = "home"
x = 90
y = -5
"""


def written(tmp_path: Path, text: str = SMALL) -> Path:
    path = tmp_path / "map.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def small(tmp_path: Path) -> Town:
    return Town.read(written(tmp_path))


def test_places_come_in_the_order_town_buildings_rooms_objects(small: Town) -> None:
    assert small.places.addresses.to_list() == [
        "Small", "Mill", "Cottage", "Mill > floor", "Mill > loft",
        "Mill > floor > wheel", "Mill > floor > bell", "Mill > loft > ladder",
    ]  # fmt: skip


def test_an_address_is_read_as_it_is_printed(small: Town) -> None:
    assert [small.place(small.address(place)) for place in range(len(small))] == list(range(len(small)))
    assert small.place("Mill>floor>  wheel") == small.place("Mill > floor > wheel")


def test_all_addresses_of_the_shipped_town_are_found_again() -> None:
    town = Town.sallow_ferry()
    assert town.lookup(town.places.addresses.to_list()).tolist() == list(range(len(town)))


def test_a_place_without_coordinates_of_its_own_is_where_the_one_around_it_is(small: Town) -> None:
    wheel, bell = small.place("Mill > floor > wheel"), small.place("Mill > floor > bell")
    assert (small.places.x[wheel], small.places.y[wheel]) == (10, 5)
    assert (small.places.x[bell], small.places.y[bell]) == (12, 6)


def test_the_tree_leads_from_an_object_to_its_room_and_building(small: Town) -> None:
    wheel = small.place("Mill > floor > wheel")
    assert small.places.room[wheel] == small.place("Mill > floor")
    assert small.places.building[wheel] == small.place("Mill")
    assert small.inside(small.place("Mill")).tolist() == small.lookup(["Mill > floor", "Mill > loft"]).tolist()


@pytest.mark.parametrize(("hour", "there"), [(7.99, False), (8, True), (16.99, True), (17, False), (32, True)])
def test_a_building_is_open_in_its_hours_every_day(small: Town, hour: float, there: bool) -> None:
    assert small.open(small.lookup(["Mill > floor", "Cottage"]), int(hour * 3600)).tolist() == [there, True]


def test_opening_hours_may_run_past_midnight(tmp_path: Path) -> None:
    town = Town.read(written(tmp_path, SMALL.replace("08:00-17:00", "20:00-02:00")))
    mill = town.place("Mill")
    assert [bool(town.open(mill, hour * 3600)[0]) for hour in (1, 3, 19, 21, 25)] == [True, False, False, True, True]


@pytest.mark.parametrize(
    ("address", "nearest"), [("Mil", "Mill"), ("Mill > flor", "floor"), ("Mill > floor > weel", "wheel")]
)
def test_a_misspelt_address_is_told_the_nearest_part(small: Town, address: str, nearest: str) -> None:
    with pytest.raises(UnknownNameError) as told:
        small.place(address)
    assert told.value.nearest == nearest


def test_a_misspelt_room_is_named_with_its_building(small: Town) -> None:
    with pytest.raises(UnknownNameError, match="no room in 'Mill' named 'flor'.*Did you mean 'floor'"):
        small.place("Mill > flor")


def test_a_place_that_is_not_there_has_no_address(small: Town) -> None:
    for place in (-1, len(small.places)):
        with pytest.raises(WorldError, match=f"has no place {place}"):
            small.address(place)


def test_an_address_that_goes_deeper_than_an_object_is_unknown(small: Town) -> None:
    with pytest.raises(UnknownNameError):
        small.place("Mill > floor > wheel > spoke")


def test_without_streets_people_walk_straight(tmp_path: Path) -> None:
    text = SMALL.replace('[[street]]\nname = "High Street"\npoints = [[0, 0], [100, 0]]\n', "")
    town = Town.read(written(tmp_path, text))
    assert isinstance(town.ways, StraightWays)
    assert town.metres(town.place("Mill"), town.place("Cottage"))[0] == pytest.approx(np.hypot(80, 10))


def test_a_town_without_a_name_is_called_after_its_file(tmp_path: Path) -> None:
    assert Town.read(written(tmp_path, SMALL.replace('name = "Small"', ""))).name == "Map"


def test_kinds_of_ones_own_are_declared(tmp_path: Path) -> None:
    text = SMALL.replace('name = "Small"', 'name = "Small"\nkinds = ["lighthouse"]').replace(
        '"workshop"', '"lighthouse"'
    )
    town = Town.read(written(tmp_path, text))
    assert town.of_kind("lighthouse").tolist() == [town.place("Mill")]
    with pytest.raises(UnknownNameError, match="lighthouse"):
        town.of_kind("lighthose")


LOOP = 'rooms.loft = { through = "attic", objects = ["ladder"] }\nrooms.attic.through = "loft"'
LOFT = 'rooms.loft = { through = "floor", objects = ["ladder"] }'
AWAY = '\n[[street]]\nname = "Far Street"\npoints = [[0, 500], [100, 500]]\n[[building]]\nname = "Tower"\nkind = "hall"\nx = 5\ny = 505\n'


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (LOFT, LOOP, "map.toml, building 'Mill': room 'loft' cannot be reached"),
        (LOFT, LOFT.replace("floor", "flor"), "no room of building 'Mill' in map.toml named 'flor'.*'floor'"),
        ("y = -5", "y = -500", "map.toml, building 'Cottage': it cannot be reached; the nearest street, 'High Street'"),
        ("y = -5\n", "y = -5\n" + AWAY, "building 'Tower': it cannot be reached from 'Mill'; 'Far Street' does not meet"),
        ("x = 90\n", "", "building 'Cottage': the coordinate x is missing"),
        ("x = 90", 'x = "east"', "building 'Cottage': x is 'east'"),
        ("x = 90", "x = nan", "building 'Cottage': x is nan"),
        ("x = 90", "x = 90\nwidht = 3", "no key of building 'Cottage' in map.toml named 'widht'.*'width'"),
        ('kind = "home"', 'kind = "hme"', "map.toml, building 'Cottage'.* named 'hme'.*'home'"),
        ('name = "Cottage"', 'name = "Mill"', "2 places have the address 'Mill'"),
        ('name = "Cottage"', 'name = "Small"', "2 places have the address 'Small'"),
        (LOFT, LOFT.replace("rooms.loft", 'rooms."floor "'), "2 places have the address 'Mill > floor'"),
        ('name = "Cottage"\n', "", "building 2: name is missing"),
        ('name = "Cottage"', 'name = "A > B"', "holds '>'"),
        ('"08:00-17:00"', '"8-17"', "building 'Mill': open is '8'"),
        ('"08:00-17:00"', '"always"', "opening hours as"),
        ('"08:00-17:00"', '"08:00-08:00"', "from a time to the same time"),
        ("[[0, 0], [100, 0]]", "[[0, 0]]", "street 'High Street': points is not a line"),
        ("[[0, 0], [100, 0]]", '[["a", 0], [1, 1]]', "street 'High Street': points is not a line"),
        ("[[0, 0], [100, 0]]", "[[0, 0], [0, 0], [100, 0]]", "less than a metre apart"),
        ('objects = ["ladder"]', 'objects = ["ladder", "ladder"]', "2 places have the address.*ladder"),
        ('objects = ["ladder"]', "objects = 3", "room 'loft' of building 'Mill': objects is neither"),
        ('"turning"', "7", "object 'wheel' is 7.*Write its state as text"),
        ('name = "Small"', 'name = "Small"\npace = 0', r"map.toml, \[town\]: pace is 0"),
        ("[[street]]", "[street]", "'street' stands there once"),
        ("[[building]]", "[[bulding]]", "no table in map.toml named 'bulding'.*'building'"),
        ("y = 5", "y = ", "map.toml is not valid TOML"),
        ("y = 5", "y = 5\nobjects = {}", "objects stand in the building itself"),
        ("y = 5", "y = 5\nbeds = 1.5", "beds is 1.5"),
        ("y = 5", "y = 5\noutdoors = 1", "outdoors is 1"),
    ],
)  # fmt: skip
def test_a_map_that_is_wrong_is_refused_with_file_entry_and_remedy(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    assert before in SMALL
    with pytest.raises(PopulaceError, match=said) as told:
        Town.read(written(tmp_path, SMALL.replace(before, after)))
    assert isinstance(told.value, WorldError | UnknownNameError)
    assert told.value.hint
    assert "map.toml" in str(told.value)


def test_a_map_without_buildings_and_one_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="no building"):
        Town.read(written(tmp_path, "[town]\nname = 'Empty'"))
    with pytest.raises(WorldError, match="there is no file"):
        Town.read(tmp_path / "nowhere.toml")
    (tmp_path / "latin.toml").write_bytes(b"[town]\nname = '\xe9'")
    with pytest.raises(WorldError, match="not UTF-8"):
        Town.read(tmp_path / "latin.toml")


def test_streets_meet_where_they_cross_touch_or_overlap() -> None:
    crossing, _ = streets_from_lines([np.array([[0.0, 5], [10, 5]]), np.array([[5.0, 0], [5, 10]])])
    touching, _ = streets_from_lines([np.array([[0.0, 0], [10, 0]]), np.array([[4.0, 0], [4, 10]])])
    overlapping, _ = streets_from_lines([np.array([[0.0, 0], [10, 0]]), np.array([[4.0, 0], [14, 0]])])
    assert [(len(s.x), len(s.ends)) for s in (crossing, touching, overlapping)] == [(5, 4), (4, 3), (4, 3)]
    assert all(len(set(s.components().tolist())) == 1 for s in (crossing, touching, overlapping))


def test_the_shipped_town_has_what_a_town_needs() -> None:
    town = Town.sallow_ferry()
    for kind in ("café", "park", "grocer", "bookshop", "hardware shop", "school", "clinic", "library", "pub"):
        assert len(town.of_kind(kind)) == 1
    assert town.places.beds.sum() == 25
    assert bool(town.places.outdoors[town.place("Osier Park > pond > bench")])
    assert not bool(town.places.outdoors[town.place("Kettle & Crumb > tables")])


def test_the_files_in_the_documentation_can_be_read(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "concepts" / "town.md"
    map_, people, *_ = re.findall(r"^```text\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "people.toml").write_text(people, encoding="utf-8")
    town = Town.read(written(tmp_path, map_))
    assert read_residents(town, tmp_path / "people.toml")["name"].to_list() == ["Ada Stone", "Ben Reed"]
    assert read_relations(town, tmp_path / "people.toml").height == 1
