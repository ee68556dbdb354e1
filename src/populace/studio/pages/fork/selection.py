"""Who is meant, and what is known of people, as forms have it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.base.errors import InterventionError, UnknownNameError
from populace.people import People
from populace.studio.widgets.form_values import format_value, parse_value
from populace.tools.describe import Kind, Parameter

SIGNS = {
    "eq": "is",
    "ne": "is not",
    "in": "is one of",
    "lt": "<",
    "le": "≤",
    "gt": ">",
    "ge": "≥",
    "empty": "is empty",
}
"""How a column may be compared."""


@dataclass(frozen=True)
class Column:
    """A column of the population: what may be typed for it, and a value that it has."""

    name: str
    kind: Kind
    example: str


@dataclass(frozen=True)
class ColumnCondition:
    """A condition as it was typed."""

    column: str
    sign: str = "eq"
    text: str = ""


def columns_of(people: People) -> list[Column]:
    """The columns of a population.

    Example:
        >>> [(each.name, each.kind) for each in columns_of(People.named(2).with_columns(age=[3, 4]))]
        [('id', 'int'), ('name', 'text'), ('sex', 'text'), ('age', 'int')]
    """
    frame = people.frame
    first = frame.row(0, named=True) if frame.height else {}
    return [Column(name, _kind(dtype), format_value(plain(first.get(name)))) for name, dtype in frame.schema.items()]


def column_value(column: Column, text: str) -> Any:
    """What was typed for a column, as a value of its kind; nothing typed is nothing."""
    if not text.strip():
        return None
    return parse_value(Parameter(column.name, column.kind, optional=True), text)


def plain(value: Any) -> Any:
    """A value of a column as plain data; what JSON does not know, in words."""
    return value if isinstance(value, str | int | float | bool | list | dict) or value is None else str(value)


def selection(conditions: Iterable[ColumnCondition], who: str, share: str, people: People) -> dict[str, Any]:
    """A selection from what was typed: conditions on columns, ids or names, a share at random.

    Example:
        >>> ages = People.named(3).with_columns(age=[20, 30, 40])
        >>> selection([ColumnCondition("age", "ge", "30")], "", "0.5", ages)
        {'where': {'age': {'ge': 30}}, 'share': 0.5}
    """
    made: dict[str, Any] = {}
    known = {each.name: each for each in columns_of(people)}
    for each in conditions:
        if each.column not in known:
            raise UnknownNameError("column", each.column, known)
        where = made.setdefault("where", {})
        wanted = _wanted(known[each.column], each)
        earlier = where.get(each.column)
        if each.column in where and not (isinstance(earlier, dict) and isinstance(wanted, dict)):
            raise InterventionError(f"{each.column} has two conditions that cannot hold together.")
        where[each.column] = earlier | wanted if isinstance(earlier, dict) else wanted
    named = [part.strip() for part in who.replace("\n", ",").split(",") if part.strip()]
    if named:
        made["ids"] = [people.person(name).id for name in named]
    if share.strip():
        made["share"] = parse_value(Parameter("share", "number", gt=0, le=1), share)
    return made


def _wanted(column: Column, condition: ColumnCondition) -> Any:
    if condition.sign == "empty":
        return None
    if condition.sign == "in":
        return [column_value(column, part) for part in condition.text.split(",")]
    value = column_value(column, condition.text)
    if value is None:
        raise InterventionError(f"{column.name}: a value to compare with is needed.")
    return value if condition.sign == "eq" else {condition.sign: value}


def _kind(dtype: pl.DataType) -> Kind:
    if dtype.is_integer():
        return "int"
    if dtype.is_float():
        return "number"
    if dtype == pl.Boolean:
        return "bool"
    return "text" if dtype in (pl.String, pl.Categorical, pl.Enum) else "json"
