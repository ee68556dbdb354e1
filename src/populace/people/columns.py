"""From whatever holds values to a column: a value for each person, in the order of the people.

Columns of polars, pandas and numpy are taken, as are lists, tuples, ranges and generators, answers, and mappings from
ids to values. Whatever does not have a value for each person is refused.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.base.values import kind_of, plain_value, refusal

_ONE_EACH = "Give one value for all of them, or one for each in their order."


def to_column(name: str, values: Any, ids: pl.Series, place: str, error: type[UsageError]) -> pl.Series | Any:
    """The values as a column of a value for each person, or one plain value for all.

    Args:
        name: The name of the column.
        values: A single value, a sequence, array, column or iterator, answers, or a mapping from ids to values. A
            column of pandas whose index holds the ids is ordered by them.
        ids: The ids of the people.
        place: Where the values stand, as the beginning of a sentence.
        error: What to raise where they do not fit.

    Example:
        >>> from populace.base.errors import PeopleError
        >>> ids = pl.Series("id", ["ann", "bo"])
        >>> to_column("age", {"bo": 45, "ann": 31}, ids, "column 'age'", PeopleError).to_list()
        [31, 45]
    """
    if isinstance(values, (str, int, float, bool)) or values is None:
        return plain_value(values, place, error)
    if isinstance(values, pl.Series):
        return _sized(values.alias(name), ids.len(), place, error)
    if isinstance(values, (list, tuple)) and values and _is_answers(values[0]):
        values = [answers.one for answers in values]
    if isinstance(values, (list, tuple, range)):
        return _sized(_series(name, values, place, error), ids.len(), place, error)
    if hasattr(values, "__await__") or isinstance(values, type) or not _holds_values(values):
        return plain_value(values, place, error)
    if _is_answers(values):
        return _by_id(name, values.ids, values.values, ids, place, error)
    if isinstance(values, np.ndarray):
        return _array(name, values, ids.len(), place, error)
    if isinstance(values, Mapping):
        return _mapping(name, values, ids, place, error)
    if hasattr(values, "columns"):
        return _only_column(name, values, ids, place, error)
    if is_pandas(values) and hasattr(values, "index"):
        return _pandas_column(name, values, ids, place, error)
    if isinstance(values, (set, frozenset, bytes, bytearray, memoryview)) or not isinstance(values, Iterable):
        raise refusal(values, place, error)
    items = list(islice(values, ids.len() + 1))
    if len(items) > ids.len() and not hasattr(values, "__len__"):
        raise error(f"{place} yields more than {ids.len()} values, and there are {ids.len()} people.", _ONE_EACH)
    return _sized(_series(name, items, place, error), ids.len(), place, error)


def is_pandas(values: Any) -> bool:
    """Whether values belong to pandas, which need not be installed."""
    return type(values).__module__.partition(".")[0] == "pandas"


def from_pandas(name: str, values: Any) -> pl.Series:
    """A column of pandas as a column of polars; missing values become null. It does not need pyarrow."""
    kind = getattr(values.dtype, "kind", "O")
    if isinstance(values.dtype, np.dtype) and kind in "biufmM":
        return pl.Series(name, values.to_numpy(), nan_to_null=True)
    return pl.Series(name, values.astype(object).where(values.notna(), None).tolist(), strict=False)


def _is_answers(values: Any) -> bool:
    """Whether these are answers, with the ids of those who gave them."""
    return not hasattr(values, "__await__") and hasattr(values, "ids") and isinstance(values.values, pl.Series)


def _holds_values(values: Any) -> bool:
    return not isinstance(values, np.generic) and (hasattr(values, "__len__") or hasattr(values, "__iter__"))


def _series(name: str, values: Any, place: str, error: type[UsageError]) -> pl.Series:
    try:
        return pl.Series(name, values, strict=False)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as problem:
        kinds = ", ".join(sorted({kind_of(type(value)) for value in islice(values, 1000)}))
        raise error(
            f"{place} holds values that do not fit into one column: {kinds}.", "Give all of them one type."
        ) from problem


def _sized(column: pl.Series, count: int, place: str, error: type[UsageError]) -> pl.Series:
    """The column, where it has the right length and holds something that can be written."""
    if column.len() != count:
        raise error(
            f"{place} holds {column.len()} value{'' if column.len() == 1 else 's'} for {count} people.", _ONE_EACH
        )
    if isinstance(column.dtype, pl.Object | pl.Binary):
        first = next((value for value in column if value is not None), None)
        raise refusal(first, f"{place}: a value in it", error)
    return column


def _array(name: str, values: np.ndarray[Any, Any], count: int, place: str, error: type[UsageError]) -> Any:
    if not values.ndim:
        return plain_value(values.item(), place, error)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    return _sized(_series(name, values, place, error), count, place, error)


def _only_column(name: str, table: Any, ids: pl.Series, place: str, error: type[UsageError]) -> pl.Series | Any:
    """The column of a table that has just one; a lazy table has none yet."""
    columns = [] if isinstance(table, pl.LazyFrame) else list(table.columns)
    if len(columns) != 1:
        raise refusal(table, place, error)
    return to_column(name, table[columns[0]], ids, place, error)


def _mapping(name: str, values: Mapping[Any, Any], ids: pl.Series, place: str, error: type[UsageError]) -> pl.Series:
    """A mapping from ids to values, in the order of the people."""
    try:
        return _sized(_series(name, [values[who] for who in ids.to_list()], place, error), ids.len(), place, error)
    except KeyError as problem:
        if not any(who in values for who in ids.head(1000).to_list()):
            raise refusal(values, place, error) from None
        raise error(
            f"{place} is a mapping without a value for person {problem.args[0]!r}.", "Give everybody a value."
        ) from None


def _pandas_column(name: str, values: Any, ids: pl.Series, place: str, error: type[UsageError]) -> pl.Series:
    """A column of pandas: by its index where that holds the ids of the people, by position where it is 0, 1, 2 …"""
    column = _sized(from_pandas(name, values), ids.len(), place, error)
    index = from_pandas("id", values.index.to_series())
    if index.dtype.is_integer():
        index = index.cast(pl.Int64)
    same_type = index.dtype == ids.dtype
    if same_type and index.equals(ids):
        return column
    default = index.dtype == pl.Int64 and index.equals(pl.Series("id", np.arange(ids.len())))
    same_ids = same_type and index.sort().equals(ids.sort())
    if default and not same_ids:
        return column
    if same_ids and not default:
        return _by_id(name, index, column, ids, place, error)
    reason = "0, 1, 2 …, and the people have these ids in another order" if default else "not the ids of the people"
    raise error(
        f"{place} is a column of pandas whose index is {reason}.",
        "Write .to_numpy() to take the values by position, or make the ids the index: .set_axis(ids).",
    )


def _by_id(
    name: str, owners: pl.Series, values: pl.Series, ids: pl.Series, place: str, error: type[UsageError]
) -> pl.Series:
    """The values of the people to whom they belong; null for anybody else."""
    if owners.equals(ids):
        return values.alias(name)
    if owners.dtype != ids.dtype:
        raise error(f"{place} belongs to people with {owners.dtype} ids; these have {ids.dtype} ids.")
    table = pl.DataFrame({"id": owners, "value": values})
    return ids.alias("id").to_frame().join(table, on="id", how="left", maintain_order="left")["value"].alias(name)
