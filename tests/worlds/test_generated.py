"""Towns and people of any size."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import PeopleError, WorldError
from populace.people import Network, People
from populace.worlds.town import Presence, Town, generate_relations, generate_residents, read_residents
from populace.worlds.town.streets import Streets

sizes = st.integers(1, 400)


def settled(people: int, seed: int) -> tuple[Town, People, pl.DataFrame]:
    rng = np.random.default_rng(seed)
    town = Town.generate(people, rng)
    made = generate_residents(town, people, rng)
    return town, made, generate_relations(town, made, rng)


@given(sizes, st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_a_generated_town_is_connected_and_every_address_is_its_own(people: int, seed: int) -> None:
    town = Town.generate(people, seed)
    assert isinstance(town.ways, Streets)
    assert len(np.unique(town.ways.components())) == 1
    assert np.isfinite(town.minutes(1, town.places.buildings)).all()
    assert town.places.addresses.n_unique() == len(town)
    assert town.places.beds.sum() == people


@given(sizes, st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_every_resident_has_a_home_with_a_bed_for_them(people: int, seed: int) -> None:
    town, made, _ = settled(people, seed)
    assert made.count() == people
    home = made["home_place"].to_numpy()
    assert (town.places.kind.gather(home.astype(np.uint32)) == "home").all()
    assert (np.bincount(home, minlength=len(town)) <= town.places.beds).all()
    assert (town.places.building[made["bed_place"].to_numpy()] == home).all()
    assert made["name"].n_unique() == people
    assert np.bincount(home).max() <= 5


@given(sizes, st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_nobody_works_where_there_is_no_post_and_pupils_are_at_school(people: int, seed: int) -> None:
    town, made, _ = settled(people, seed)
    frame = made.frame.filter(pl.col("workplace_place").is_not_null())
    building = pl.Series(town.places.building[frame["workplace_place"].to_numpy()])
    pupil = frame["occupation"] == "pupil"
    assert (town.places.kind.gather(building.filter(pupil).cast(pl.UInt32)) == "school").all()
    assert (np.bincount(building.filter(~pupil).to_numpy(), minlength=len(town)) <= town.places.posts).all()
    assert made.frame.filter(pl.col("age") < 18)["occupation"].is_in(["pupil"]).all()


@given(sizes, st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_relations_join_two_different_people_once_and_families_live_together(people: int, seed: int) -> None:
    _, made, ties = settled(people, seed)
    assert (ties["a"] < ties["b"]).all()
    assert ties.select("a", "b").is_duplicated().sum() == 0
    assert ties["closeness"].is_between(0, 1).all()
    if ties.height:
        Network(ties, source="a", target="b").check(made)
    homes = made["home_place"]
    family = ties.filter(pl.col("relation").is_in(["partners", "parent and child", "siblings"]))
    assert (homes.gather(family["a"].cast(pl.UInt32)) == homes.gather(family["b"].cast(pl.UInt32))).all()
    together = sum(size * (size - 1) // 2 for size in homes.value_counts()["count"].to_list())
    assert family.height == together


def test_parents_are_older_than_their_children() -> None:
    _, made, ties = settled(2000, 3)
    pairs = ties.filter(relation="parent and child")
    ages = [made["age"].gather(pairs[end].cast(pl.UInt32)) for end in ("a", "b")]
    assert (abs(ages[0] - ages[1]) >= 5).all()
    heads = made.frame.filter(pl.col("role") == "adult")["age"]
    assert heads.min() >= 18  # type: ignore[operator]


def test_a_thousand_people_know_a_handful_each_and_of_every_sort() -> None:
    _, made, ties = settled(1000, 1)
    assert 4 < 2 * ties.height / made.count() < 20
    assert {"partners", "parent and child", "siblings", "neighbours", "colleagues", "classmates", "friends"} == set(
        ties["relation"]
    )


def test_the_same_seed_makes_the_same_town_and_people() -> None:
    one, other = settled(300, 5), settled(300, 5)
    places, again = one[0].places, other[0].places
    assert places.addresses.equals(again.addresses) and places.kind.equals(again.kind)
    assert np.array_equal(places.x, again.x) and np.array_equal(places.y, again.y)
    assert one[1].frame.equals(other[1].frame)
    assert one[2].equals(other[2])
    assert not one[1].frame.equals(settled(300, 6)[1].frame)


def test_generated_people_have_every_column_of_residents() -> None:
    _, made, _ = settled(30, 1)
    shipped = read_residents(Town.sallow_ferry())
    assert set(shipped.columns) <= set(made.columns)
    assert all(shipped[name].dtype == made[name].dtype for name in shipped.columns)


def test_people_can_be_generated_for_a_town_written_by_hand() -> None:
    town = Town.sallow_ferry()
    rng = np.random.default_rng(1)
    people = generate_residents(town, 25, rng)
    assert generate_relations(town, people, rng).height > 10
    with pytest.raises(WorldError, match="Sallow Ferry has 25 beds, too few for 26 people"):
        generate_residents(town, 26, rng)


def test_everybody_can_walk_to_work() -> None:
    town, made, _ = settled(1000, 2)
    goers = made.frame.with_row_index().filter(pl.col("workplace_place").is_not_null())
    presence = Presence(town, made["bed_place"].to_numpy())
    arrives = presence.send(goers["index"].to_numpy(), goers["workplace_place"].to_numpy(), now=0)
    assert arrives.max() < 3600
    there = presence.at(int(arrives.max())).place[goers["index"].to_numpy()]
    assert there.tolist() == goers["workplace_place"].to_list()


def test_a_town_for_nobody_and_a_population_of_nobody_are_refused() -> None:
    with pytest.raises(WorldError, match="a town for 0 people"):
        Town.generate(0)
    with pytest.raises(PeopleError, match="at least one person"):
        generate_residents(Town.generate(3), 0, np.random.default_rng(0))
