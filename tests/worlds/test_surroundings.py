from __future__ import annotations

import polars as pl
import pytest

from populace import People
from populace.base.errors import ActionRefusedError, UnknownNameError, WorldError
from populace.worlds.surroundings import Surroundings

PEOPLE = People(pl.DataFrame({"id": [0, 1, 2], "name": ["Ann", "Bo", "Cy"]}))
WAYS = {"square": ["harbour"], "harbour": ["square", "island"], "island": []}


def world(**options: object) -> Surroundings:
    return Surroundings(PEOPLE, WAYS, things={"apple": "Ann", "stove": "harbour"}, **options)  # type: ignore[arg-type]


def test_options_follow_from_where_people_are_and_what_they_carry() -> None:
    place = world(at=["square", "square", "harbour"])
    lists = {what: place.options(what, PEOPLE.ids).to_list() for what in ("people", "places", "things", "belongings")}
    assert lists == {
        "people": [["Bo"], ["Ann"], []],
        "places": [["harbour"], ["harbour"], ["square", "island"]],
        "things": [["apple"], [], ["stove"]],
        "belongings": [["apple"], [], []],
    }
    with pytest.raises(UnknownNameError):
        place.options("ghosts", PEOPLE.ids)


def test_in_a_crowd_everybody_is_offered_some_and_others_than_themselves() -> None:
    crowd = People(pl.DataFrame({"id": range(500), "name": [f"P{i}" for i in range(500)]}))
    lists = Surroundings(crowd, ["square"]).options("people", crowd.ids)
    assert lists.list.len().unique().to_list() == [20]
    assert lists.list.explode().value_counts()["count"].unique().to_list() == [20]
    assert not any(f"P{who}" in names for who, names in enumerate(lists.to_list()))


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (lambda here: here.move(0, "island"), "island cannot be reached from square"),
        (lambda here: here.speak(0, "Cy", "Hello"), "Cy is not here"),
        (lambda here: here.speak(0, "Ann", "Hello"), "Ann is not here"),
        (lambda here: here.speak(0, "Nobody", "Hello"), "Nobody is not here"),
        (lambda here: here.give(1, "Ann", "apple"), "you do not have the apple"),
        (lambda here: here.give(0, "Cy", "apple"), "Cy is not here"),
        (lambda here: here.use(0, "stove", "hot"), "the stove is not here"),
        (lambda here: here.use(1, "apple", "eaten"), "the apple is not here"),
    ],
)
def test_what_is_impossible_is_refused_and_changes_nothing(action: object, reason: str) -> None:
    here = world(at=["square", "square", "harbour"])
    before = here.things, here.places(PEOPLE.ids).to_list()
    with pytest.raises(ActionRefusedError, match=reason):
        action(here)  # type: ignore[operator]
    assert here.things.equals(before[0]) and here.places(PEOPLE.ids).to_list() == before[1]


def test_who_leaves_leaves_their_things_behind() -> None:
    here = world()
    here.change_people(People(pl.DataFrame({"id": [1, 7], "name": ["Bo", "Di"]})))
    assert here.things.rows() == [("apple", "square", None), ("stove", "harbour", None)]
    assert here.options("people", pl.Series([7])).to_list() == [["Bo"]]
    here.change_thing("stove", "burning")
    assert here.things["state"].to_list() == [None, "burning"]
    with pytest.raises(UnknownNameError, match="thing"):
        here.change_thing("stone", "hot")


def test_a_world_that_cannot_be_is_refused() -> None:
    for places, options in (([], {}), (["square"], {"at": ["moon"] * 3}), ({"square": ["moon"]}, {}),
                            (["square"], {"things": {"apple": "moon"}}), (["Ann"], {})):  # fmt: skip
        with pytest.raises(WorldError if places != ["square"] and not isinstance(places, dict) else UnknownNameError):
            Surroundings(PEOPLE, places, **options)  # type: ignore[arg-type]
    twins = People(pl.DataFrame({"id": [0, 1], "name": ["Ann", "Ann"]}))
    with pytest.raises(WorldError, match="names of their own"):
        Surroundings(twins, ["square"])
