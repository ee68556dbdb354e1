"""The people that a change concerns, and the columns of the population, as forms have them."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import polars as pl

from populace.base.errors import InterventionError, UnknownNameError
from populace.people import People
from populace.studio.widgets.form_values import format_value, parse_value
from populace.tools.describe import Kind, Parameter

OPERATORS = {
    "eq": "is",
    "ne": "is not",
    "in": "is one of",
    "lt": "<",
    "le": "≤",
    "gt": ">",
    "ge": "≥",
    "empty": "is empty",
}
"""How a column may be compared, by the name in an intervention."""


class ColumnCondition(NamedTuple):
    """A condition in a form: a column, an operator, and the text to compare with."""

    column: str
    operator: str = "eq"
    text: str = ""


def columns_of(people: People) -> list[Parameter]:
    """The columns of a population as parameters; the help of each gives a value as an example.

    Example:
        >>> [(each.name, each.kind) for each in columns_of(People.named(2).with_columns(age=[3, 4]))]
        [('id', 'int'), ('name', 'text'), ('sex', 'text'), ('age', 'int')]
    """
    frame = people.frame
    first = frame.row(0, named=True) if frame.height else {}
    return [
        Parameter(name, _kind(dtype), optional=True, help=_example(first.get(name)))
        for name, dtype in frame.schema.items()
    ]


def column_value(column: Parameter, text: str) -> Any:
    """The value of a text for a column; None for an empty one."""
    return parse_value(column, text) if text.strip() else None


def selection(conditions: Iterable[ColumnCondition], who: str, share: str, people: People) -> dict[str, Any]:
    """A selection as plain data.

    Args:
        conditions: Conditions on columns.
        who: Names or ids, separated by commas or lines.
        share: A share of the people, at random.
        people: The population.

    Example:
        >>> ages = People.named(3).with_columns(age=[20, 30, 40])
        >>> selection([ColumnCondition("age", "ge", "30")], "", "0.5", ages)
        {'where': {'age': {'ge': 30}}, 'share': 0.5}
    """
    where: dict[str, Any] = {}
    columns = {each.name: each for each in columns_of(people)}
    for each in conditions:
        if each.column not in columns:
            raise UnknownNameError("column", each.column, columns)
        value = _comparison(columns[each.column], each)
        earlier = where.get(each.column)
        if each.column in where and not (isinstance(earlier, dict) and isinstance(value, dict)):
            raise InterventionError(f"{each.column} has two conditions that cannot hold together.")
        where[each.column] = earlier | value if isinstance(earlier, dict) else value
    result: dict[str, Any] = {"where": where} if where else {}
    names = [part.strip() for part in who.replace("\n", ",").split(",") if part.strip()]
    if names:
        result["ids"] = [people.person(name).id for name in names]
    if share.strip():
        result["share"] = parse_value(Parameter("share", "number", gt=0, le=1), share)
    return result


def _comparison(column: Parameter, condition: ColumnCondition) -> Any:
    if condition.operator == "empty":
        return None
    if condition.operator == "in":
        return [column_value(column, part) for part in condition.text.split(",")]
    value = column_value(column, condition.text)
    if value is None:
        raise InterventionError(f"{column.name}: a value to compare with is needed.")
    return value if condition.operator == "eq" else {condition.operator: value}


def _example(value: Any) -> str:
    plain = value if isinstance(value, str | int | float | bool | list | dict) or value is None else str(value)
    text = format_value(plain)
    return f"such as {text}" if text else ""


def _kind(dtype: pl.DataType) -> Kind:
    if dtype.is_integer():
        return "int"
    if dtype.is_float():
        return "number"
    if dtype == pl.Boolean:
        return "bool"
    return "text" if dtype in (pl.String, pl.Categorical, pl.Enum) else "json"
