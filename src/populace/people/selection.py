"""Which people: conditions on columns, written as plain data.

The same form serves keyword arguments in a scenario and JSON in an intervention, so a selection
can be recorded and read back; it is compared, never evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import PeopleError, UnknownNameError

_COMPARE = {
    "eq": lambda column, value: column.is_null() if value is None else column == value,
    "ne": lambda column, value: column.is_not_null() if value is None else column != value,
    "lt": lambda column, value: column < value,
    "le": lambda column, value: column <= value,
    "gt": lambda column, value: column > value,
    "ge": lambda column, value: column >= value,
}


def filter_expression(conditions: Mapping[str, Any], columns: list[str]) -> pl.Expr:
    """One expression for conditions such as `{"shirt": "blue", "age": {"ge": 30}}`.

    A list means any of its values; a mapping compares with lt, le, gt, ge, eq or ne; None means empty.
    """
    expression = pl.lit(True)
    for name, wanted in conditions.items():
        if name not in columns:
            raise UnknownNameError("column", name, columns)
        expression = expression & _one(name, wanted)
    return expression


def _one(name: str, wanted: Any) -> pl.Expr:
    column = pl.col(name)
    wanted = wanted.item() if isinstance(wanted, np.generic) else wanted
    if wanted is None:
        return column.is_null()
    if isinstance(wanted, Mapping):
        expression = pl.lit(True)
        for operator, value in wanted.items():
            if operator not in _COMPARE:
                raise UnknownNameError("comparison", operator, _COMPARE)
            expression = expression & _COMPARE[operator](column, value)
        return expression
    if isinstance(wanted, (list, tuple, set, frozenset)):
        return column.is_in(list(wanted))
    if not isinstance(wanted, (str, int, float, bool)):
        raise PeopleError(f"column {name!r} cannot be compared with {wanted!r}.", "Use a value, a list or a mapping.")
    return column == wanted
