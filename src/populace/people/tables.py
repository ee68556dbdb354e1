"""From whatever holds a table to a table of polars."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import PeopleError
from populace.base.templates import FEW
from populace.base.values import kind_of, refusal
from populace.people.columns import from_pandas, is_pandas


def to_frame(table: Any, place: str, *, index: str = "", hint: str = "") -> pl.DataFrame:
    """A table of polars from one of polars, pandas or arrow, from columns by name, or from a list of rows.

    Args:
        table: The table.
        place: What it is, as the beginning of a sentence.
        index: The column that the index of a pandas table becomes; without a name the index is left out.
        hint: What to write in place of something that is no table.

    Example:
        >>> to_frame([{"name": "Ann", "age": 31}, {"name": "Bo", "age": 45}], "the table").shape
        (2, 2)
    """
    if isinstance(table, pl.LazyFrame):
        raise PeopleError(f"{place} is a LazyFrame, which is not computed yet.", "Write table.collect().")
    if isinstance(table, pl.DataFrame):
        frame = table
    elif is_pandas(table) and hasattr(table, "columns"):
        frame = _from_pandas(table, place, index)
    elif isinstance(table, Mapping) and not _is_row(table):
        frame = _from_columns(table, place)
    elif _is_list_of_rows(table):
        frame = pl.DataFrame([dict(row) for row in table], infer_schema_length=None, strict=False)
    elif hasattr(table, "__arrow_c_stream__") and not isinstance(table, (pl.Series, str)) and not is_pandas(table):
        frame = pl.DataFrame(table)
    else:
        raise PeopleError(f"{place} is {_described(table)}, not a table.", hint)
    unusable = next((name for name, kind in frame.schema.items() if kind in (pl.Object, pl.Binary)), None)
    if unusable is not None:
        first = frame[unusable].drop_nulls()[0]
        raise refusal(first, f"column {unusable!r}: a value in it", PeopleError)
    return frame


def with_id_column(frame: pl.DataFrame, id: str, place: str) -> pl.DataFrame:
    """The frame with the column that identifies people as `id`.

    Args:
        frame: The table.
        id: The name of the column.
        place: What the table is, as the beginning of a sentence.

    Example:
        >>> with_id_column(pl.DataFrame({"code": [7, 8]}), "code", "the table").columns
        ['id']
    """
    if id not in frame.columns:
        raise PeopleError(
            f"{place} has no column {id!r}; its columns are {', '.join(frame.columns)}.",
            "Name the column that identifies a person with id=…",
        )
    if id != "id" and "id" in frame.columns:
        raise PeopleError(f"{place}: both {id!r} and 'id' would be the id.", "Rename or drop one of them.")
    return frame.rename({id: "id"}) if id != "id" else frame


def with_valid_ids(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with ids as Int64 or String; raises PeopleError if an id is missing, repeated or of another type."""
    ids = frame["id"]
    if not frame.height:
        raise PeopleError("the population is empty.", "A run needs at least one person.")
    if ids.null_count():
        row = int(ids.is_null().arg_max() or 0)
        raise PeopleError(f"column 'id', row {row + 1}: the id is missing.", "Every person needs one.")
    if ids.dtype == pl.Int64:
        pass
    elif ids.dtype.is_integer():
        try:
            frame = frame.with_columns(pl.col("id").cast(pl.Int64))
        except pl.exceptions.InvalidOperationError as error:
            raise PeopleError("column 'id' holds a whole number beyond 64 bits.", "Use strings as ids.") from error
    elif ids.dtype != pl.String:
        raise PeopleError(f"column 'id' holds {ids.dtype}; ids are whole numbers or strings.")
    # A set for a few: `n_unique` wakes all threads of polars.
    if (len(set(ids.to_list())) if ids.len() <= FEW else ids.n_unique()) != ids.len():
        row = int(ids.is_duplicated().arg_max() or 0)
        raise PeopleError(
            f"column 'id': {ids[row]!r} identifies more than one person (first in row {row + 1}).",
            "Ids must differ. Names need not: leave id out, and people are numbered.",
        )
    return frame


def _described(value: Any) -> str:
    if isinstance(value, (str, int, Path)):
        return repr(value) if not isinstance(value, Path) else f"the path {value}"
    first = f" of {kind_of(type(value[0]))}" if isinstance(value, (list, tuple)) and value else ""
    return f"an object of type {kind_of(type(value))}{first}"


def _is_row(table: Mapping[Any, Any]) -> bool:
    """Whether a mapping holds the values of one person, not columns."""
    return bool(table) and all(isinstance(value, (str, int, float)) or value is None for value in table.values())


def _is_list_of_rows(table: Any) -> bool:
    return isinstance(table, Sequence) and len(table) > 0 and all(isinstance(row, Mapping) for row in table)


def _from_columns(table: Mapping[Any, Any], place: str) -> pl.DataFrame:
    columns: dict[str, Any] = {}
    for name, values in table.items():
        if not isinstance(name, str):
            raise PeopleError(f"{place} has a column named {name!r}, which is not a text.", 'Name it, as in "age".')
        if isinstance(values, (Mapping, set, frozenset)):
            raise refusal(values, f"column {name!r}", PeopleError)
        if isinstance(values, (str, int, float)) or values is None:
            columns[name] = values
        elif is_pandas(values) and hasattr(values, "index"):
            columns[name] = from_pandas(name, values)
        else:
            columns[name] = values if isinstance(values, (pl.Series, np.ndarray)) else list(values)
    try:
        return pl.DataFrame(columns, strict=False)
    except pl.exceptions.PolarsError as error:
        sizes = [f"{name} {len(values)}" for name, values in columns.items() if hasattr(values, "__len__")]
        raise PeopleError(
            f"{place} has columns of different lengths: {', '.join(sizes)}.", "Give every person a value in each."
        ) from error


def _from_pandas(table: Any, place: str, index: str) -> pl.DataFrame:
    """A table of pandas; its index becomes a column where it is more than the number of the row."""
    names = list(table.columns)
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise PeopleError(
            f"{place} has a column named {wrong!r}, which is not a text.",
            'Name the columns: table.columns = ["age", …].',
        )
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise PeopleError(f"{place} has two columns named {repeated!r}.", "Rename one of them.")
    frame = pl.DataFrame([from_pandas(name, table[name]) for name in names])
    if not index or index in names:
        return frame
    if getattr(table.index, "nlevels", 1) > 1:
        raise PeopleError(
            f"{place} has an index of {table.index.nlevels} levels, and one is needed to identify people.",
            "Write table.reset_index(), or make one column the index.",
        )
    labels = from_pandas(index, table.index.to_series())
    if frame.width and labels.equals(pl.Series(index, np.arange(len(table)))):
        return frame
    if labels.n_unique() != labels.len():
        raise PeopleError(
            f"{place}: {labels.filter(labels.is_duplicated())[0]!r} stands twice in the index, which holds the ids.",
            "Write table.reset_index(drop=True) to number the people anew.",
        )
    return frame.insert_column(0, labels)
