"""Tables of a few rows as plain Python values.

A step of a small run records a handful of tables with a few rows each, and mostly nobody looks at them before they
are written. A column of polars takes 5 to 30 microseconds to make, whatever it holds, and a step would need fifty of
them; lists take almost no time. Such a table becomes one of polars where somebody reads it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from populace.base.lists import list_column


@dataclass(frozen=True, eq=False)
class TableTypes:
    """The columns of a table with their types. It is equal to itself alone, which makes it quick to look up.

    Attributes:
        types: Names and types, in the order of the columns.
    """

    types: tuple[tuple[str, pl.DataType], ...]

    @classmethod
    def of(cls, schema: Mapping[str, pl.DataType]) -> TableTypes:
        """The types of a schema."""
        return cls(tuple(schema.items()))


@dataclass(frozen=True, eq=False)
class PlainTable:
    """A table of a few rows: a list of Python values for each column.

    Args:
        types: Its columns.
        columns: For each of them, in the same order, a value for each row.

    Example:
        >>> people = PlainTable(TableTypes.of({"name": pl.String(), "age": pl.Int64()}), [["Ann", "Bo"], [31, None]])
        >>> people.height, people["name"], people.frame["age"].null_count()
        (2, ['Ann', 'Bo'], 1)
    """

    types: TableTypes
    columns: Sequence[Sequence[Any]]

    @property
    def height(self) -> int:
        """How many rows it has."""
        return len(self.columns[0])

    def __getitem__(self, name: str) -> Sequence[Any]:
        return next(values for (each, _), values in zip(self.types.types, self.columns, strict=True) if each == name)

    @functools.cached_property
    def frame(self) -> pl.DataFrame:
        """The same table for polars."""
        pairs = zip(self.types.types, self.columns, strict=True)
        return pl.DataFrame([_series(name, values, dtype) for (name, dtype), values in pairs])


Table = pl.DataFrame | PlainTable
"""A table, whichever of the two it is."""


def to_polars(table: Table) -> pl.DataFrame:
    """A table for polars."""
    return table.frame if isinstance(table, PlainTable) else table


def has_value(table: Table, name: str, value: str | None) -> bool:
    """Whether a column holds a text, or, for None, whether something is missing in it."""
    if isinstance(table, PlainTable):
        return value in table[name]
    column = table[name]
    return bool(column.null_count()) if value is None else bool((column == value).any())


def stack_columns(tables: Sequence[Sequence[Sequence[Any]]]) -> list[Sequence[Any]]:
    """The columns of tables that have the same ones, with their rows one below the other."""
    if len(tables) == 1:
        return list(tables[0])
    return [list(chain.from_iterable(parts)) for parts in zip(*tables, strict=True)]


def _series(name: str, values: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    if isinstance(dtype, pl.List) and None not in values:
        items = pl.Series(name, list(chain.from_iterable(values)), dtype.inner)
        return list_column(items, np.array([len(value) for value in values], np.int64))
    return pl.Series(name, values, dtype)
