"""One person: a read-only view of a row of the population."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from populace.base.errors import PeopleError, PopulaceError, UnknownNameError, nearest
from populace.base.values import kind_of


class _UnknownColumnError(UnknownNameError, KeyError, AttributeError):  # type: ignore[misc]
    """An unknown column; also a KeyError and an AttributeError, so that `in`, `get` and `hasattr` work."""


class _ReadOnlyError(PeopleError, AttributeError, TypeError):
    """A person cannot be changed; also what Python raises for objects that cannot be changed."""


class _NoAttributeError(PeopleError, AttributeError):
    """An attribute that People do not have; also an AttributeError, so that `hasattr` works."""


def no_attribute(people: Any, name: str) -> PeopleError:
    """The error for an attribute that People do not have, with what to write instead."""
    if name in people.columns:
        return _NoAttributeError(f"a column is read with brackets, not as people.{name}.", f'Write: people["{name}"]')
    if hasattr(pl.DataFrame, name) or name in ("loc", "iloc", "iterrows", "groupby", "query", "assign", "values"):
        table = "to_pandas()." if not hasattr(pl.DataFrame, name) else ""
        return _NoAttributeError(
            f"people have no {name!r}; their table has.", f"Write people.frame.{table}{name}; it is a table of Polars."
        )
    methods = [each for each in dir(type(people)) if not each.startswith("_")]
    column, method = nearest(name, people.columns), nearest(name, methods)
    hint = f'Did you mean people["{column}"]?' if column else f"The columns are: {', '.join(people.columns[:20])}."
    if method and not column:
        hint = f"Did you mean people.{method}? {hint}"
    return _NoAttributeError(f"people have no attribute {name!r}.", hint)


def unknown_column(name: Any, columns: list[str]) -> PopulaceError:
    """The error for what stands in the brackets of people and is not one of their columns."""
    if isinstance(name, str):
        return UnknownNameError("column", name, columns)
    if isinstance(name, int):
        return PeopleError(f"people[{name}] names no column.", f"Write people.person({name}) for one person.")
    if isinstance(name, list):
        return PeopleError("people[[…]] names several columns.", "Write people.frame[[…]] for a table of them.")
    return PeopleError(
        f"people[…] takes the name of a column, not an object of type {kind_of(type(name))}.",
        'Write people.where(age={"ge": 30}) to select people.',
    )


class Person(Mapping[str, Any]):
    """A row of the population at one moment, read by key or by attribute.

    It is a copy: later changes to the table do not change it.

    Example:
        >>> mary = Person({"id": 3, "name": "Mary", "age": 41})
        >>> mary.name, mary["age"]
        ('Mary', 41)
    """

    __slots__ = ("_row",)

    _row: dict[str, Any]

    def __init__(self, row: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_row", dict(row))

    @property
    def id(self) -> int | str:
        """The stable id."""
        return self._row["id"]  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        try:
            return self._row[name]
        except KeyError:
            raise _UnknownColumnError("column", name, self._row) from None

    def __setitem__(self, name: str, value: Any) -> None:
        raise _ReadOnlyError(
            f"{name!r} was assigned to one person, who is a copy of a row and cannot be changed.",
            f'Change the column: self.people["{name}"] = …, with a value for each person or with answers.',
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "_row":  # Copying sets it.
            self[name] = value
        object.__setattr__(self, name, value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)

    def __repr__(self) -> str:
        return f"Person({', '.join(f'{name}={value!r}' for name, value in self._row.items())})"
