"""One person: a read-only view of a row of the population."""

from collections.abc import Iterator, Mapping
from typing import Any

from populace.base.errors import UnknownNameError


class _UnknownColumnError(UnknownNameError, KeyError, AttributeError):  # type: ignore[misc]
    """An unknown column; also a KeyError and an AttributeError, so that `in`, `get` and `hasattr` work."""


class Person(Mapping[str, Any]):
    """A row of the population at one moment, read by key or by attribute.

    It is a copy: later changes to the table do not change it.

    Example:
        >>> mary = Person({"id": 3, "name": "Mary", "age": 41})
        >>> mary.name, mary["age"]
        ('Mary', 41)
    """

    __slots__ = ("_row",)

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = dict(row)

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

    def __iter__(self) -> Iterator[str]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)

    def __repr__(self) -> str:
        return f"Person({', '.join(f'{name}={value!r}' for name, value in self._row.items())})"
