"""Which values can be written into a text, and what to say of those that cannot.

A value that Python would write as `<… at 0x7f…>` means nothing to a reader and differs from process to process, so it
never becomes part of a prompt.
"""

import inspect
import math
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID

import numpy as np

from populace.base.errors import UsageError

_PLAIN = frozenset((str, int, bool, float))
_READABLE = (str, int, float, date, time, timedelta, Decimal, Fraction, PurePath, UUID)


def plain_value(value: Any, place: str, error: type[UsageError]) -> Any:
    """A single value as plain data: a numpy scalar becomes a Python one, a member of an Enum its value.

    Args:
        value: The value.
        place: Where it stands, as the beginning of a sentence.
        error: What to raise where a text cannot hold the value.

    Example:
        >>> plain_value(np.int64(3), "'age'", UsageError)
        3
        >>> plain_value(len, "'age'", UsageError)
        Traceback (most recent call last):
        populace.base.errors.UsageError: 'age' is the function len, not what it returns. Call it: write len(…).
    """
    if type(value) in _PLAIN or value is None:
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Enum):
        return plain_value(value.value, place, error)
    if isinstance(value, _READABLE) or _writes_itself(value):
        return value
    raise refusal(value, place, error)


def is_nan(value: Any) -> bool:
    """Whether a value is the float that is not a number, with which pandas marks missing values."""
    return isinstance(value, float) and math.isnan(value)


def refusal(value: Any, place: str, error: type[UsageError]) -> UsageError:
    """The error for a value that cannot be used: what it is, and what to write in its place.

    Example:
        >>> print(refusal({3, 1}, "'friends'", UsageError))
        'friends' is a set, which has no order. Write sorted(…).
    """
    kind = type(value).__name__
    if hasattr(value, "missing_await"):
        return value.missing_await()  # type: ignore[no-any-return]
    if inspect.isawaitable(value):
        if hasattr(value, "close"):
            value.close()
        name = getattr(value, "__qualname__", kind)
        return error(
            f"{place} is the coroutine {name}, not its result: the word await is missing.",
            f"Write await before the call, as in: await self.{name.rpartition('.')[2]}(…).",
        )
    if isinstance(value, type):
        return error(f"{place} is the class {kind_of(value)}, not an object.", f"Write {value.__name__}(…).")
    if inspect.isroutine(value):
        name = getattr(value, "__qualname__", kind).rpartition(".<locals>.")[2]
        if name == "<lambda>":
            return error(f"{place} is a function (a lambda), not a value.", "Call the function and pass its result.")
        last = name.rpartition(".")[2]
        return error(f"{place} is the function {name}, not what it returns.", f"Call it: write {last}(…).")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return error(f"{place} is {kind}, not text.", 'Write value.decode("utf-8").')
    if isinstance(value, (set, frozenset)):
        return error(f"{place} is a {kind}, which has no order.", "Write sorted(…).")
    columns = getattr(value, "columns", None)
    if columns is not None and not isinstance(value, Mapping):
        names = ", ".join(map(str, list(columns)[:8]))
        return error(f"{place} is a table ({kind_of(type(value))}) with the columns {names}.", "Name one: table[…].")
    if isinstance(value, Mapping):
        names = ", ".join(map(str, list(value)[:8]))
        return error(f"{place} is a {kind} with the keys {names}.", "Pass one of its values: value[…].")
    return error(
        f"{place} is an object of type {kind_of(type(value))}, which cannot be written as text.",
        "Pass a number, a text, or one value for each person.",
    )


def kind_of(kind: type) -> str:
    """The name of a type, with its package where it is not built in.

    Example:
        >>> kind_of(int), kind_of(np.ndarray)
        ('int', 'numpy.ndarray')
    """
    package = kind.__module__.partition(".")[0]
    return kind.__qualname__ if package in ("builtins", "__main__") else f"{package}.{kind.__qualname__}"


def _writes_itself(value: Any) -> bool:
    """Whether the type of a value says how it is written, and the value is a single one."""
    if isinstance(value, type) or any(hasattr(value, name) for name in ("__len__", "__iter__", "__await__")):
        return False
    kind: Any = type(value)
    own = kind.__str__ is not object.__str__ or kind.__format__ is not object.__format__
    return own and " at 0x" not in str(value)
