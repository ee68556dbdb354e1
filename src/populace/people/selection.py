"""Selecting people by conditions on columns, written as plain data.

Keyword arguments in a scenario and JSON in an intervention have the same form, so a selection can be recorded and read
back. Values are compared; nothing is evaluated as code.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import PeopleError, UnknownNameError, nearest
from populace.base.foreign import for_line

_SAMPLE, _FEW_VALUES = 1_000, 20
"""How many rows are looked at for values like one that nobody has, and how many values may be in them."""

_OPERATORS = {
    "eq": lambda column, value: column.is_null() if value is None else column == value,
    "ne": lambda column, value: column.is_not_null() if value is None else column != value,
    "lt": lambda column, value: column < value,
    "le": lambda column, value: column <= value,
    "gt": lambda column, value: column > value,
    "ge": lambda column, value: column >= value,
}


def filter_expression(conditions: Mapping[str, Any], columns: list[str]) -> pl.Expr:
    """A polars expression for conditions such as `{"shirt": "blue", "age": {"ge": 30}}`.

    A list means any of its values; a mapping compares with lt, le, gt, ge, eq or ne; None means empty.

    Args:
        conditions: A condition for each column name.
        columns: The columns that exist; another one raises UnknownNameError.

    Example:
        >>> pl.DataFrame({"age": [20, 30, 40]}).filter(filter_expression({"age": {"ge": 30}}, ["age"])).height
        2
    """
    expression = pl.lit(True)
    for name, condition in conditions.items():
        if name not in columns:
            raise UnknownNameError("column", name, columns)
        expression = expression & _column_expression(name, condition)
    return expression


def rows_of_ids(ids: pl.Series, wanted: pl.Series) -> npt.NDArray[np.int64]:
    """The rows in which some people stand; raises PeopleError where somebody is not there, or comes twice.

    Args:
        ids: The ids of all people.
        wanted: The ids of some of them, in any order.

    Example:
        >>> rows_of_ids(pl.Series([3, 5, 8]), pl.Series([8, 3])).tolist()
        [2, 0]
    """
    if wanted.len() == 1 and (row := ids.index_of(wanted[0])) is not None:
        return np.array([row])
    known = ids.to_numpy() if ids.dtype.is_integer() else np.zeros(0)
    if len(known) and not wanted.null_count() and (known[1:] > known[:-1]).all():
        # Ids of most populations are ascending numbers, in which a row is found at once.
        values = wanted.to_numpy()
        consecutive = known[-1] - known[0] == len(known) - 1
        rows = values - known[0] if consecutive else np.searchsorted(known, values)
        rows = np.clip(rows, 0, len(known) - 1)
        present = known[rows] == values
    else:
        table = pl.DataFrame({"id": ids}).with_row_index("row")
        places = wanted.to_frame("id").join(table, on="id", how="left", maintain_order="left")["row"]
        present, rows = places.is_not_null().to_numpy(), places.fill_null(0).to_numpy()
    if not present.all():
        raise PeopleError(f"there is no person with id {wanted[int(np.argmin(present))]!r}.")
    taken = np.zeros(len(ids), np.bool_)
    taken[rows] = True
    if np.count_nonzero(taken) < len(rows):
        raise PeopleError(f"id {wanted.filter(wanted.is_duplicated())[0]!r} was taken twice.")
    return rows.astype(np.int64)


def explain_nobody(column: pl.Series, value: Any) -> None:
    """Say why perhaps nobody has a value: it looks like a slip for one that the column holds.

    A warning, because another value may be meant that nobody has yet; Python shows it once for each place in the code.
    An error where the column knows its options, and the value looks like one of them.

    Example:
        >>> explain_nobody(pl.Series("vote", ["yes"], dtype=pl.Enum(["yes", "no"])), "Yes")
        Traceback (most recent call last):
        populace.base.errors.PeopleError: column 'vote' never holds 'Yes'. Did you mean 'yes'?
    """
    if not isinstance(value, str):
        return
    if isinstance(column.dtype, pl.Enum):
        _compare_with_options(column.name, column.dtype.categories.to_list(), value)
    elif column.dtype == pl.String:
        values = column.head(_SAMPLE).drop_nulls().unique().to_list()
        similar = nearest(value, sorted(values)) if len(values) <= _FEW_VALUES else None
        if similar is not None and not (column == value).any():
            text = f"nobody has {value!r} in the column {column.name!r}. Did you mean {similar!r}?"
            warnings.warn(for_line(text), stacklevel=3)


def _compare_with_options(name: str, options: list[str], value: str) -> None:
    if value in options:
        return
    similar = next((each for each in options if each.strip().casefold() == value.strip().casefold()), None)
    similar = similar or nearest(value, options)
    if similar:
        raise PeopleError(f"column {name!r} never holds {value!r}.", f"Did you mean {similar!r}?")
    few = ", ".join(map(repr, options[:_FEW_VALUES])) + (", …" if len(options) > _FEW_VALUES else "")
    later = "draw_column takes a value that nobody has yet with the weight 0"
    warnings.warn(for_line(f"column {name!r} never holds {value!r}; its values are {few}. {later}"), stacklevel=4)


def _column_expression(name: str, condition: Any) -> pl.Expr:
    column = pl.col(name)
    condition = condition.item() if isinstance(condition, np.generic) else condition
    if condition is None:
        return column.is_null()
    if isinstance(condition, Mapping):
        expression = pl.lit(True)
        for operator, value in condition.items():
            if operator not in _OPERATORS:
                raise UnknownNameError("comparison", operator, _OPERATORS)
            expression = expression & _OPERATORS[operator](column, value)
        return expression
    if isinstance(condition, (list, tuple, set, frozenset)):
        return column.is_in(list(condition))
    if not isinstance(condition, (str, int, float, bool)):
        raise PeopleError(
            f"column {name!r} cannot be compared with {condition!r}.", "Use a value, a list or a mapping."
        )
    return column == condition
