"""The columns of people who live in a town, as a person would write them."""

import polars as pl

from populace.base.formatting import time_of_day
from populace.runs.reader import RunReader

_TIMES = ("wakes", "sleeps")
"""Columns that hold seconds of the day."""
_NUMBERS = ("home_place", "bed_place", "workplace_place", "leisure_place")
"""Columns that hold the numbers of places, whose names are in other columns."""


def has_town(run: RunReader) -> bool:
    """Whether the people of a run live in a town."""
    return any("tables/positions" in run.record.table_names(step) for step in run.steps[1:2])


def resident_texts(people: pl.DataFrame) -> pl.DataFrame:
    """People with times of day as texts, and without the numbers of places.

    Example:
        >>> resident_texts(pl.DataFrame({"name": ["Ann"], "wakes": [25_200], "bed_place": [60]})).to_dicts()
        [{'name': 'Ann', 'wakes': '07:00'}]
    """
    times = [name for name in _TIMES if name in people.columns and people[name].dtype.is_numeric()]
    texts = [
        pl.Series(name, [None if each is None else time_of_day(int(each)) for each in people[name]], pl.String)
        for name in times
    ]
    return people.with_columns(texts).drop(_NUMBERS, strict=False)
