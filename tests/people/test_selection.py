from __future__ import annotations

import operator
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import PeopleError, PopulaceError, UnknownNameError
from populace.people import Id, People, draw_column

OPERATORS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


@pytest.fixture
def people() -> People:
    return People(
        pl.DataFrame(
            {
                "id": [0, 1, 2, 3, 4],
                "age": [30, 41, 52, 63, None],
                "shirt": ["blue", "green", "blue", None, "red"],
                "here": [True, False, True, False, True],
            }
        )
    )


@pytest.mark.parametrize(
    ("conditions", "ids"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"shirt": "blue"}, [0, 2]),
        ({"shirt": "pink"}, []),
        ({"here": False}, [1, 3]),
        ({"shirt": ["blue", "red"]}, [0, 2, 4]),
        ({"shirt": ("green",)}, [1]),
        ({"shirt": []}, []),
        ({"age": {41, 63}}, [1, 3]),
        ({"age": {"ge": 41}}, [1, 2, 3]),
        ({"age": {"gt": 41, "lt": 63}}, [2]),
        ({"age": {"le": 30}}, [0]),
        ({"age": {"eq": 52}}, [2]),
        ({"age": {"ne": 52}}, [0, 1, 3]),
        ({"shirt": None}, [3]),
        ({"age": None}, [4]),
        ({"shirt": "blue", "age": {"gt": 30}}, [2]),
    ],
)
def test_people_are_selected_by_plain_conditions(people: People, conditions: dict[str, Any], ids: list[int]) -> None:
    assert people.where(**conditions).ids.to_list() == ids
    assert people.count(**conditions) == len(ids)


@pytest.mark.parametrize(("wanted", "ids"), [({"ne": None}, [0, 1, 2, 4]), ({"eq": None}, [3])])
def test_none_means_empty_inside_a_comparison_too(people: People, wanted: dict[str, None], ids: list[int]) -> None:
    assert people.where(shirt=wanted).ids.to_list() == ids


def test_polars_expressions_and_conditions_work_together(people: People) -> None:
    assert people.where(pl.col("age") % 2 == 1, here=False).ids.to_list() == [1, 3]


def test_an_unknown_column_is_named_with_the_nearest(people: People) -> None:
    with pytest.raises(UnknownNameError) as raised:
        people.where(shrit="blue")
    assert raised.value.nearest == "shirt"


def test_an_unknown_comparison_is_named_with_the_nearest(people: People) -> None:
    with pytest.raises(UnknownNameError, match="comparison") as raised:
        people.where(age={"gte": 3})
    assert raised.value.nearest in ("gt", "ge")


@pytest.mark.parametrize("wanted", [object(), len, 3j])
def test_a_value_that_is_no_data_is_refused_by_column(people: People, wanted: object) -> None:
    with pytest.raises(PeopleError, match="'age'"):
        people.where(age=wanted)


@pytest.mark.parametrize("wanted", ["old", ["old"], {"gt": "old"}])
def test_comparing_a_number_with_a_text_is_an_error_of_the_family(people: People, wanted: Any) -> None:
    with pytest.raises(PopulaceError, match="age"):
        people.where(age=wanted)


def test_a_number_drawn_with_numpy_selects_like_any_other(people: People) -> None:
    assert people.where(age=np.int64(41)).ids.to_list() == [1]
    assert people.where(here=np.bool_(False)).ids.to_list() == [1, 3]


def test_a_value_that_a_column_of_known_categories_can_never_hold_is_answered_with_those_that_it_can() -> None:
    people = People.named(20, seed=1)
    assert people.count(sex="female") + people.count(sex="male") == 20
    for read in (people.count, people.share, people.where):
        with pytest.warns(UserWarning, match="'sex' never holds 'f'; its values are 'female', 'male'. draw_column"):
            read(sex="f")
    with pytest.raises(PeopleError, match="Did you mean 'female'"):
        people.count(sex="femal")


def test_a_list_is_compared_with_a_column_of_known_categories_whatever_it_holds() -> None:
    people = People.named(20, seed=1)
    assert people.count(sex=["male", "unknown"]) == people.count(sex="male")
    health = draw_column(4, {"well": 3, "ill": 1, "immune": 0})
    assert people.take(range(4)).with_columns(health=health).count(health="immune") == 0


@given(
    st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=1, max_size=12),
    st.sampled_from(sorted(OPERATORS)),
    st.integers(-3, 3),
)
@settings(max_examples=60, deadline=None)
def test_a_comparison_keeps_exactly_those_whom_python_would_keep(
    values: list[int | None], name: str, bound: int
) -> None:
    people = People(pl.DataFrame({"x": pl.Series(values, dtype=pl.Int64)}))
    expected = [i for i, value in enumerate(values) if value is not None and OPERATORS[name](value, bound)]
    assert people.where(x={name: bound}).ids.to_list() == expected


def test_take_gives_the_people_in_the_order_of_the_ids(people: People) -> None:
    assert people.take([3, 0]).ids.to_list() == [3, 0]
    assert people.take([3, 0])["age"].to_list() == [63, 30]
    assert people.take(pl.Series([2])).ids.to_list() == [2]
    assert len(people.take([])) == 0


@pytest.mark.parametrize("who", [9, "nobody"])
def test_taking_somebody_who_is_not_there_is_an_error_that_names_the_id(people: People, who: object) -> None:
    with pytest.raises(PopulaceError, match=str(who)):
        people.take([0, who])  # type: ignore[list-item]


@pytest.mark.parametrize("ids", [[4, 7, 9, 12], [12, 4, 9, 7], ["d", "a", "c", "b"]])
def test_people_are_taken_by_ids_of_any_kind_and_order(ids: list[Id]) -> None:
    people = People({"id": ids, "row": range(4)})
    assert people.take([ids[3], ids[0]])["row"].to_list() == [3, 0]
    strange: list[Id] = ["x", "e"] if isinstance(ids[0], str) else [0, 5, 13]
    for who in strange:
        with pytest.raises(PeopleError, match=f"no person with id {who!r}"):
            people.take([ids[1], who])
    with pytest.raises(PeopleError, match=f"id {ids[2]!r} was taken twice"):
        people.take([ids[2], ids[1], ids[2]])


def test_nobody_can_be_taken_twice(people: People) -> None:
    with pytest.raises(PeopleError, match="1"):
        people.take([1, 1])


def test_a_sample_is_the_same_for_the_same_seed(people: People) -> None:
    everybody = People.named(1000, seed=1)
    first, again, other = (everybody.sample(100, seed=seed).ids.to_list() for seed in (5, 5, 6))
    assert first == again != other


@given(st.integers(0, 20), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_a_sample_holds_different_people_in_table_order(count: int, seed: int) -> None:
    ids = People(pl.DataFrame({"x": range(20)})).sample(count, seed=seed).ids.to_list()
    assert len(ids) == count
    assert ids == sorted(set(ids))


@pytest.mark.parametrize("count", [-1, 6])
def test_more_people_than_there_are_cannot_be_sampled(people: People, count: int) -> None:
    with pytest.raises(PeopleError, match=f"{count} people cannot be drawn from 5"):
        people.sample(count, seed=1)


def test_selections_can_be_narrowed_further(people: People) -> None:
    assert people.where(here=True).where(shirt="blue").ids.to_list() == [0, 2]
    assert people.where(here=True).take([4]).ids.to_list() == [4]


def test_a_value_that_nobody_has_is_named_with_the_one_that_was_probably_meant() -> None:
    people = People({"sex": ["male", "female", "female"], "state": ["well", "well", "well"]})
    with pytest.warns(UserWarning, match="nobody has 'mal' in the column 'sex'. Did you mean 'male'?"):
        assert people.count(sex="mal") == 0
    with pytest.warns(UserWarning, match="Did you mean 'female'?"):
        assert len(people.where(sex="femal", state="well")) == 0


def test_a_value_that_nobody_has_yet_is_no_reason_to_warn() -> None:
    """Warnings are errors in these tests."""
    people = People({"state": ["well", "well"], "code": ["a1", "a2"], "name": ["Ann", "Bo"]})
    assert people.count(state="infected") == people.share(state="ill") == 0
    assert len(people.where(state="well", code="b7")) == 0
    many = People({"word": [f"word {number}" for number in range(30)]})
    assert many.count(word="word 99") == 0
    assert people.where(state="ill").count(name="An") == 0
