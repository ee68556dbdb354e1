"""Conditions on answers and columns, written as plain data: who is shown an item, and who is screened out.

`{drinks: yes, age: {ge: 18}}` asks for both. `any`, `all` and `not` combine conditions. Nothing is evaluated as code.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from populace.base.errors import QuestionnaireError
from populace.people import filter_expression

Condition = Mapping[str, Any]
"""Conditions by column, or `any`, `all` and `not` with conditions inside."""

_DEEPEST = 16
_FLAGS = {"yes": True, "true": True, "no": False, "false": False}


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


def comparisons(condition: Condition) -> Iterator[tuple[str, str, Any]]:
    """Every single comparison in a condition: the column, `eq`, `ne`, `lt`, `le`, `gt` or `ge`, and the value.

    Example:
        >>> list(comparisons({"age": {"ge": 18}, "not": {"drinks": ["tea", "milk"]}}))
        [('age', 'ge', 18), ('drinks', 'eq', 'tea'), ('drinks', 'eq', 'milk')]
    """
    for key, value in condition.items():
        if key in ("any", "all", "not"):
            for part in _parts(key, value):
                yield from comparisons(part)
        elif isinstance(value, Mapping):
            yield from ((key, str(name), each) for name, each in value.items())
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield from ((key, "eq", each) for each in value)
        else:
            yield key, "eq", value


def answer_flag(value: Any) -> bool | None:
    """Yes or no, also as words; None for anything else."""
    return value if isinstance(value, bool) else _FLAGS.get(value) if isinstance(value, str) else None


def check_form(condition: Condition) -> None:
    """Raise UsageError unless a condition is well formed, whatever columns there are."""
    condition_expression(condition, dict.fromkeys(condition_columns(condition), pl.String()))


def condition_expression(condition: Condition, schema: Mapping[str, pl.DataType]) -> pl.Expr:
    """A polars expression that is true for the people who meet a condition, and never null.

    A comparison with an item that a person did not answer is false.

    Args:
        condition: The condition; an empty one is met by everybody.
        schema: The columns that exist, with their types; another one raises UnknownNameError.

    Example:
        >>> people = pl.DataFrame({"drinks": ["yes", "no", None], "age": [17, 30, 40]})
        >>> condition = {"any": [{"drinks": "yes"}, {"age": {"ge": 40}}]}
        >>> people.filter(condition_expression(condition, people.schema)).height
        2
    """
    expression = pl.lit(True)
    for key, value in condition.items():
        if key in ("any", "all", "not"):
            parts = [condition_expression(part, schema) for part in _parts(key, value)]
            if key == "not":
                combined = ~pl.all_horizontal(parts)
            else:
                combined = pl.any_horizontal(parts) if key == "any" else pl.all_horizontal(parts)
        else:
            value = _with_flags(value) if schema.get(key) == pl.Boolean else value
            combined = filter_expression({key: value}, list(schema)).fill_null(False)
        expression = expression & combined
    return expression


def _with_flags(value: Any) -> Any:
    """A comparison with a column of yes and no: the words as what the column holds."""
    if isinstance(value, Mapping):
        return {name: _with_flags(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_with_flags(each) for each in value]
    flag = answer_flag(value)
    return value if flag is None else flag


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
