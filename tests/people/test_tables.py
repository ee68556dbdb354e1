from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from populace.base.errors import PeopleError
from populace.people import People

SURVEY = pd.DataFrame({"name": ["Ann", "Bo", None], "age": [31.0, None, 27.0], "vote": pd.Categorical(["a", "b", "a"])})


def test_a_table_of_pandas_becomes_people_and_missing_values_are_null() -> None:
    people = People(SURVEY)
    assert people.ids.to_list() == [0, 1, 2]
    assert people["name"].to_list() == ["Ann", "Bo", None]
    assert people["age"].to_list() == [31.0, None, 27.0]
    assert people["vote"].to_list() == ["a", "b", "a"]


def test_dates_and_numbers_of_pandas_keep_their_type() -> None:
    table = pd.DataFrame({"day": pd.to_datetime(["2026-01-05"]), "n": pd.array([3], "Int64"), "ok": [True]})
    assert People(table).frame.row(0)[1:] == (pd.Timestamp("2026-01-05").to_pydatetime(), 3, True)


def test_the_index_of_pandas_holds_the_ids_where_it_is_more_than_the_number_of_the_row() -> None:
    assert People(SURVEY[SURVEY["age"].notna()]).ids.to_list() == [0, 2]
    assert People(SURVEY.set_index(pd.Index(["x", "y", "z"]))).ids.to_list() == ["x", "y", "z"]
    assert People(SURVEY.assign(id=["p", "q", "r"]).set_index("id")).ids.to_list() == ["p", "q", "r"]
    assert People(SURVEY.assign(id=[5, 6, 7])).ids.to_list() == [5, 6, 7]


@pytest.mark.parametrize(
    "table",
    [
        {"name": ["Ann", "Bo"], "age": np.array([31, 45])},
        [{"name": "Ann", "age": 31}, {"name": "Bo", "age": 45}],
        pl.DataFrame({"name": ["Ann", "Bo"], "age": [31, 45]}),
        pa.table({"name": ["Ann", "Bo"], "age": [31, 45]}),
        People({"name": ["Ann", "Bo"], "age": [31, 45]}),
    ],
    ids=["columns", "rows", "polars", "arrow", "people"],
)
def test_a_table_may_come_in_many_forms(table: Any) -> None:
    assert People(table).frame.rows() == [(0, "Ann", 31), (1, "Bo", 45)]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (["Ann", "Bo"], "an object of type list of str, not a table. Write pc.People.named(10)"),
        (10, "the table is 10, not a table. Write pc.People.named(10)"),
        (
            "people.csv",
            "the table is 'people.csv', not a table. Write pc.People.named(10), pc.People.read(\"file.csv\")",
        ),
        ({"name": "Ann", "age": 31}, "an object of type dict, not a table"),
        ({"name": ["Ann"], "age": [1, 2]}, "different lengths: name 1, age 2"),
        (pl.LazyFrame({"a": [1]}), "is a LazyFrame, which is not computed yet. Write table.collect()."),
        (pd.DataFrame([[1, 2]]), "has a column named 0, which is not a text"),
        (SURVEY.set_index(pd.Index([1, 1, 2])), "1 stands twice in the index"),
        (SURVEY.set_index(["name", "vote"]), "an index of 2 levels"),
        ({"f": [len, len]}, "is the function len, not what it returns"),
        ([], "not a table"),
        (pd.DataFrame({"age": []}), "the population is empty"),
    ],
)
def test_what_is_no_table_of_people_is_refused_with_what_to_write(table: Any, message: str) -> None:
    with pytest.raises(PeopleError) as raised:
        People(table)
    assert message in str(raised.value)
