"""The town in plain text."""

from __future__ import annotations

import numpy as np
import pytest

from populace.base.errors import WorldError
from populace.worlds.town import (
    Presence,
    Town,
    building_labels,
    building_rectangles,
    generate_residents,
    read_residents,
    render_map,
    street_lines,
)

TOWN = Town.sallow_ferry()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_map_is_as_wide_as_asked_and_names_every_building(width: int) -> None:
    lines = render_map(TOWN, width=width)
    assert max(map(len, lines)) <= width
    assert any(line.startswith("KC") and "Kettle & Crumb (café)" in line for line in lines)
    for label in building_labels(TOWN):
        assert any(line.split(" ")[0] == label for line in lines)


def test_labels_are_distinct() -> None:
    assert building_labels(TOWN).n_unique() == len(TOWN.places.buildings)
    assert building_labels(Town.generate(1000)).n_unique() == len(Town.generate(1000).places.buildings)


def test_the_map_counts_people_and_says_who_they_are() -> None:
    people = read_residents(TOWN)
    presence = Presence(TOWN, np.full(25, TOWN.place("The Lantern > bar")))
    presence.send([0], TOWN.place("Larch Lane 4"), now=0)
    lines = render_map(TOWN, presence, 60, names=people["name"])
    assert lines[0] == "Sallow Ferry, day 1, 00:01: 25 people, 1 on the way"
    assert any("TL:24" in line for line in lines)
    assert any("o" in line for line in lines[2:30])
    assert any(line.startswith("o") and line.endswith("on the way: Odile Farrant") for line in lines)
    assert all(len(line) <= 80 for line in lines)


def test_buildings_do_not_move_when_people_do() -> None:
    presence = Presence(TOWN, np.full(25, TOWN.place("The Lantern > bar")))
    empty, full = render_map(TOWN), render_map(TOWN, presence, 0)
    assert [line.find("KC") for line in empty[1:30]] == [line.find("KC") for line in full[1:30]]


def test_the_text_is_free_of_markup() -> None:
    assert not any(mark in line for line in render_map(TOWN) for mark in "[]\x1b")


def test_a_large_town_shows_how_many_are_where() -> None:
    town = Town.generate(500, 1)
    people = generate_residents(town, 500, np.random.default_rng(1))
    lines = render_map(town, Presence(town, people["bed_place"].to_numpy()), 0, 100)
    assert any(line.startswith("home (") and line.endswith(": 500") for line in lines)
    assert len(lines) < 70
    assert len(render_map(town)) < 70


def test_buildings_are_rectangles_and_streets_lines_for_other_drawings() -> None:
    presence = Presence(TOWN, np.full(3, TOWN.place("The Lantern > bar")))
    table = building_rectangles(TOWN, presence, 0)
    assert table["people"].sum() == 3
    assert table.filter(label="TL").select("left", "width", "x").row(0) == (536.0, 18.0, 545.0)
    assert street_lines(TOWN).columns == ["x", "y", "to_x", "to_y"]


def test_a_map_too_narrow_to_read_is_refused() -> None:
    with pytest.raises(WorldError, match="20 characters wide"):
        render_map(TOWN, width=20)
