"""Validation of input: missing values are dropped and counted; other unusable values raise an error."""

import importlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UnknownNameError, UsageError

Numbers: TypeAlias = npt.NDArray[np.float64]
Values: TypeAlias = pl.Series | npt.NDArray[Any] | Sequence[float | int | bool | None]

ROUNDING = 1e-12
_MAX_SIZE = 1e150


def library(name: str) -> Any:
    """A module of scipy, statsmodels or scikit-learn, which are loaded only where they are used."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        root = name.split(".")[0]
        if missing.name is None or missing.name.split(".")[0] != root:
            raise
        raise UsageError(
            f"this analysis needs {root}.", "Install it with: pip install 'populace[analysis]'"
        ) from missing


def numbers(values: Values, what: str = "the values") -> tuple[Numbers, int]:
    """The numbers among the values, and how many were missing.

    Args:
        values: Numbers or truth values; None and NaN are missing.
        what: How an error names them.

    Example:
        >>> numbers([1, None, 3.5])
        (array([1. , 3.5]), 1)
    """
    floats = _floats(values, what)
    present = ~np.isnan(floats)
    return floats[present], int((~present).sum())


def complete_pairs(a: Values, b: Values) -> tuple[Numbers, Numbers, int]:
    """Two columns that belong together row by row, without the rows in which one is missing, and how many those are."""
    first, second = _floats(a, "the first values"), _floats(b, "the second values")
    if len(first) != len(second):
        raise UsageError(
            f"paired values must be of one length, and these are {len(first)} and {len(second)}.",
            "Give them in the order of their pairs (None where one is missing), or compare with paired=False.",
        )
    present = ~(np.isnan(first) | np.isnan(second))
    return first[present], second[present], int((~present).sum())


def complete_rows(frame: pl.DataFrame, columns: Iterable[str]) -> tuple[pl.DataFrame, int]:
    """The named columns of a table without the rows in which one is missing, and how many those are."""
    names = list(dict.fromkeys(columns))
    for name in names:
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    selected = frame.select(names)
    floating = [name for name in names if selected[name].dtype.is_float()]
    complete = selected.with_columns(pl.col(floating).fill_nan(None)).drop_nulls()
    return complete, frame.height - complete.height


def numeric(frame: pl.DataFrame, name: str) -> Numbers:
    """A column of a table without missing rows, as finite numbers."""
    return numbers(frame[name], f"the values of {name!r}")[0]


def named_groups(groups: dict[str, Values] | Any, needed: int, test: str) -> tuple[dict[str, Numbers], int]:
    """Named groups as numbers, each with as many values as the test needs, and how many were missing."""
    if len(groups) < 2:
        raise UsageError(f"{test} needs at least two groups, and there are {len(groups)}.")
    values_by_group, dropped = {}, 0
    for name, values in groups.items():
        values_by_group[str(name)], missing = numbers(values, f"the values of {name!r}")
        dropped += missing
        check_count(len(values_by_group[str(name)]), needed, f"group {name!r}", test)
    return values_by_group, dropped


def check_count(count: int, needed: int, what: str, test: str) -> None:
    """Raise an error if there are too few values."""
    if count < needed:
        available = "no value" if count == 0 else f"{count} value{'s' if count > 1 else ''}"
        raise UsageError(f"{what} has {available}, and {test} needs at least {needed}.", "Run more replicates (seeds).")


def constant(values: Numbers, scale: float | None = None) -> bool:
    """Whether values differ by no more than rounding, against their own size or a given one."""
    size = float(np.abs(values).max()) if scale is None else scale
    return bool(np.ptp(values) <= ROUNDING * size)


def check_level(level: float) -> float:
    """The confidence level; raises an error if it is not between 0 and 1."""
    if not 0 < level < 1:
        raise UsageError(f"a confidence level lies between 0 and 1, and this is {level:g}.", "The usual one is 0.95.")
    return level


def check_choice(kind: str, name: str, known: Sequence[str]) -> str:
    """The name if it is known; otherwise raises an error that suggests the nearest."""
    if name not in known:
        raise UnknownNameError(kind, name, known)
    return name


def _floats(values: Values, what: str) -> Numbers:
    refused = UsageError(f"{what} are not numbers.", "Turn them into numbers first, or count them as shares.")
    if isinstance(values, pl.Series):
        if not (values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.Null)):
            raise refused
        array: npt.NDArray[Any] = values.cast(pl.Float64).to_numpy()
    else:
        try:
            array = np.asarray(
                values if isinstance(values, np.ndarray) else [np.nan if v is None else v for v in values]
            )
        except ValueError as ragged:
            raise refused from ragged
    if array.size == 0:
        return np.empty(0)
    if array.ndim != 1:
        raise UsageError(f"{what} must be one column, and they have {array.ndim} dimensions.")
    if array.dtype.kind not in "biuf":
        raise refused
    floats = array.astype(np.float64)
    if np.isinf(floats).any():
        raise UsageError(f"{what} hold an infinite number.", "Leave it out, or make it missing (None).")
    if (np.abs(floats) > _MAX_SIZE).any():
        raise UsageError(
            f"{what} hold a number beyond {_MAX_SIZE:g}, whose variance is too large to compute.", "Use another unit."
        )
    return floats
