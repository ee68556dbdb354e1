"""What may be put into a column or into a prompt, and what is refused."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from populace.base.errors import PeopleError, PopulaceError, TemplateError
from populace.base.templates import Template
from populace.people import Network, People


@pytest.fixture
def people() -> People:
    return People({"id": ["ann", "bo", "cy"]})


class Colour(Enum):
    RED = "red"


def numbers() -> Iterator[int]:
    yield from (1, 2, 3)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3],
        (1, 2, 3),
        range(1, 4),
        np.array([1, 2, 3]),
        np.array([[1], [2], [3]]),
        pl.Series([1, 2, 3]),
        pl.DataFrame({"any": [1, 2, 3]}),
        pd.Series([1, 2, 3]),
        pd.Series([3, 1, 2], index=["cy", "ann", "bo"]),
        pd.DataFrame({"any": [1, 2, 3]}),
        pd.Index([1, 2, 3]),
        {"cy": 3, "ann": 1, "bo": 2},
        {0: 1, 1: 2, 2: 3}.values(),
        map(int, "123"),
    ],
    ids=lambda values: type(values).__module__.partition(".")[0] + "." + type(values).__name__,
)
def test_one_value_for_each_person_is_taken_from_whatever_holds_it(people: People, values: Any) -> None:
    people["x"] = values
    assert people["x"].to_list() == [1, 2, 3]


def test_generators_are_taken_where_they_have_the_right_length(people: People) -> None:
    people["x"] = numbers()
    assert people["x"].to_list() == [1, 2, 3]
    with pytest.raises(PeopleError, match="yields more than 3 values, and there are 3 people"):
        people["x"] = iter(int, 1)
    with pytest.raises(PeopleError, match="holds 2 values for 3 people"):
        people["x"] = (number for number in (1, 2))


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([7, 8, 9], "whose index is not the ids of the people"),
        (["ann", "bo", "di"], "whose index is not the ids of the people"),
    ],
)
def test_a_column_of_pandas_with_another_index_is_refused(people: People, index: list[Any], message: str) -> None:
    with pytest.raises(PeopleError, match=rf"column 'x' is a column of pandas {message}.*to_numpy\(\)"):
        people["x"] = pd.Series([1, 2, 3], index=index)


def test_a_column_of_pandas_that_could_be_meant_by_position_or_by_id_is_refused() -> None:
    people = People({"id": [2, 0, 1]})
    with pytest.raises(PeopleError, match="the people have these ids in another order"):
        people["x"] = pd.Series([1, 2, 3])
    people["x"] = pd.Series([10, 20, 30], index=[0, 2, 1])
    assert people["x"].to_list() == [20, 10, 30]


class Thing:
    """Something without a text of its own."""


class Amount:
    """Something that says how it is written."""

    def __str__(self) -> str:
        return "a lot"


async def coroutine() -> None:
    """Nothing."""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (np.int64(3), "3"),
        (np.float32(0.5), "0.5"),
        (np.array(3), "3"),
        (np.bool_(True), "True"),
        (Decimal("1.50"), "1.50"),
        (date(2026, 1, 5), "2026-01-05"),
        (datetime(2026, 1, 5, 8), "2026-01-05 08:00:00"),
        (np.datetime64("2026-01-05"), "2026-01-05"),
        (time(8, 30), "08:30:00"),
        (timedelta(days=1), "1 day, 0:00:00"),
        (pd.Timestamp("2026-01-05"), "2026-01-05 00:00:00"),
        (Colour.RED, "red"),
        (Amount(), "a lot"),
        ([1, 2], "1, 2"),
        ([Colour.RED, None], "red"),
        ([], "none"),
    ],
)
def test_single_values_are_written_as_a_reader_expects(value: Any, text: str) -> None:
    value = value.item() if isinstance(value, np.ndarray) else value
    assert Template("{x}").render({"x": value}, {}).to_list() == [text]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda: 1, "is a function (a lambda), not a value. Call the function and pass its result."),
        (Network.count, "is the function Network.count, not what it returns. Call it: write count(…)."),
        (Thing(), "is an object of type populace_tests.Thing, which cannot be written as text."),
        (Thing, "Thing, not an object. Write Thing(…)."),
        (b"text", 'is bytes, not text. Write value.decode("utf-8").'),
        ({1, 2}, "is a set, which has no order. Write sorted(…)."),
        ({"a": 1}, "is a dict with the keys a. Pass one of its values: value[…]."),
        (
            pl.DataFrame({"a": [1], "b": [2]}),
            "is a table (polars.DataFrame) with the columns a, b. Name one: table[…].",
        ),
        (
            pd.DataFrame({"a": [1], "b": [2]}),
            "is a table (pandas.DataFrame) with the columns a, b. Name one: table[…].",
        ),
        (numbers(), "is an object of type generator, which cannot be written as text."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_written_never_reaches_a_prompt(people: People, value: Any, message: str) -> None:
    for use in (
        lambda: Template("{x}").render({"x": value}, {}),
        lambda: Template("{x}").render({"x": [value]}, {}),
    ):
        with pytest.raises(TemplateError) as raised:
            use()
        text = re.sub(r"type \S*Thing", "type populace_tests.Thing", str(raised.value)).replace("test_columns.", "")
        assert message in text and " at 0x" not in str(raised.value)


@pytest.mark.parametrize(
    "value", [lambda: 1, Thing(), Thing, b"text", {"a", "b"}, [Thing()] * 3, [lambda: 1] * 3, [b"a", b"b", b"c"]]
)
def test_what_cannot_be_written_does_not_enter_a_column(people: People, value: Any) -> None:
    with pytest.raises(PeopleError, match="column 'x'"):
        people["x"] = value
    with pytest.raises(PeopleError, match="column 'x'"):
        people.with_columns(x=value)


def test_a_coroutine_in_a_column_or_a_template_says_that_await_is_missing(people: People) -> None:
    with pytest.raises(
        PeopleError, match="column 'x' is the coroutine coroutine, not its result: the word await is missing"
    ):
        people["x"] = coroutine()
    with pytest.raises(PeopleError, match="the word await is missing"):
        people["x"] = [coroutine() for _ in range(1)] * 3
    with pytest.raises(TemplateError, match="the word await is missing"):
        Template("{x}").render({"x": coroutine()}, {})
    assert not asyncio.iscoroutinefunction(people.count)


@pytest.mark.parametrize("value", [float("nan"), np.float64("nan")])
def test_nan_does_not_reach_a_prompt(value: Any) -> None:
    with pytest.raises(TemplateError, match=r"\{x\} is nan, which marks a missing value"):
        Template("{x}").render({"x": value}, {})


def test_a_mapping_needs_a_value_for_everybody(people: People) -> None:
    with pytest.raises(PeopleError, match="without a value for person 'cy'"):
        people["x"] = {"ann": 1, "bo": 2}
    with pytest.raises(PopulaceError, match="is a dict with the keys red"):
        people["x"] = {"red": 1}


def test_values_of_several_types_that_fit_into_no_column_are_named(people: People) -> None:
    with pytest.raises(PeopleError, match=r"column 'x'.* (dict|list|object)"):
        people["x"] = [1, {"a": 2}, [3]]
