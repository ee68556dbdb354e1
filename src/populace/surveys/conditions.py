"""Conditions on answers and columns, written as plain data: who is shown an item, and who is screened out.

`{drinks: yes, age: {ge: 18}}` asks for both. `any`, `all` and `not` combine conditions. Nothing is evaluated as code.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from populace.base.errors import QuestionnaireError
from populace.people import filter_expression

Condition = Mapping[str, Any]
"""Conditions by column, or `any`, `all` and `not` with conditions inside."""

_DEEPEST = 16


def condition_columns(condition: Condition, depth: int = 0) -> list[str]:
    """The columns that a condition names, each once, in the order of their first appearance."""
    if depth > _DEEPEST:
        raise QuestionnaireError(
            f"a condition is nested more than {_DEEPEST} levels deep.", "Write it with fewer levels."
        )
    names: dict[str, None] = {}
    for key, value in condition.items():
        inner = _parts(key, value) if key in ("any", "all", "not") else None
        columns = [key] if inner is None else [name for part in inner for name in condition_columns(part, depth + 1)]
        names |= dict.fromkeys(columns)
    return list(names)


def condition_expression(condition: Condition, columns: list[str]) -> pl.Expr:
    """A polars expression that is true for the people who meet a condition, and never null.

    A comparison with an item that a person did not answer is false.

    Args:
        condition: The condition; an empty one is met by everybody.
        columns: The columns that exist; another one raises UnknownNameError.

    Example:
        >>> people = pl.DataFrame({"drinks": ["yes", "no", None], "age": [17, 30, 40]})
        >>> condition = {"any": [{"drinks": "yes"}, {"age": {"ge": 40}}]}
        >>> people.filter(condition_expression(condition, people.columns)).height
        2
    """
    expression = pl.lit(True)
    for key, value in condition.items():
        if key in ("any", "all", "not"):
            parts = [condition_expression(part, columns) for part in _parts(key, value)]
            if key == "not":
                combined = ~pl.all_horizontal(parts)
            else:
                combined = pl.any_horizontal(parts) if key == "any" else pl.all_horizontal(parts)
        else:
            combined = filter_expression({key: value}, columns).fill_null(False)
        expression = expression & combined
    return expression


def _parts(key: str, value: Any) -> list[Condition]:
    """The conditions inside `any`, `all` or `not`."""
    parts = [value] if isinstance(value, Mapping) else value
    if isinstance(parts, str) or not isinstance(parts, Sequence) or not all(isinstance(p, Mapping) for p in parts):
        raise QuestionnaireError(
            f"{key!r} in a condition needs conditions, not {value!r}.", "Write a list of mappings."
        )
    if not parts:
        raise QuestionnaireError(f"{key!r} in a condition holds no condition.", "Write at least one, or leave it out.")
    return list(parts)
