"""The columns of committed steps, read one by one and cached by the digest of their step.

A committed step never changes, and its digest names what it holds: no run that is deleted, resumed or written
anew can make a cached column stale.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import polars as pl
from cachetools import LRUCache, cached

from populace.runs.reader import RunReader

ValueT = TypeVar("ValueT")


def size_bytes(value: object) -> int:
    """About how much memory a cached value takes."""
    return 500 + (int(value.estimated_size()) if isinstance(value, pl.DataFrame | pl.Series) else 0)


_COLUMNS: LRUCache[Any, Any] = LRUCache(96_000_000, size_bytes)
_PER_STEP: LRUCache[Any, Any] = LRUCache(24_000_000, size_bytes)
_LOCK = threading.Lock()


def columns(run: RunReader, step: int, table: str, names: Sequence[str]) -> pl.DataFrame | None:
    """Some columns of a table of a step; None where the step has no such table."""
    if table not in run.record.table_names(step):
        return None
    digest = run.journal.commit_of(step).digest
    with _LOCK:
        known = {name: _COLUMNS.get((digest, table, name)) for name in names}
    missing = [name for name, column in known.items() if column is None]
    read = run.record.table(step, table, missing) if missing else None
    for column in [] if read is None else read.get_columns():
        known[column.name] = column
        if size_bytes(column) <= _COLUMNS.maxsize:
            with _LOCK:
                _COLUMNS[digest, table, column.name] = column
    return pl.DataFrame([known[name] for name in names])


def cached_per_step(function: Callable[[RunReader, int], ValueT]) -> Callable[[RunReader, int], ValueT]:
    """Cache the result of a function of a step, which must be small beside the step, by the step's digest."""

    def key(run: RunReader, step: int) -> tuple[str, str]:
        return run.journal.commit_of(step).digest, function.__qualname__

    return cached(_PER_STEP, key, _LOCK)(function)


def totals(parts: Iterable[pl.DataFrame], schema: Mapping[str, pl.DataType | type[pl.DataType]]) -> pl.DataFrame:
    """Counts of several steps added up: the last column of the schema is summed over all others."""
    *keys, count = schema
    table = pl.concat([pl.DataFrame(schema=schema), *(part for part in parts if part.height)], how="vertical_relaxed")
    return table.group_by(keys).agg(pl.sum(count).cast(schema[count]))


def people(run: RunReader, step: int, names: Sequence[str]) -> pl.DataFrame:
    """Some columns of the population after a step, read from the steps that wrote them."""
    written = run.record.people_columns(step)
    names_by_step: dict[int, list[str]] = {}
    for name in names:
        names_by_step.setdefault(written[name], []).append(name)
    parts: dict[str, pl.Series] = {}
    for earlier, group in names_by_step.items():
        table = columns(run, earlier, "people", group)
        if table is not None:
            parts |= {column.name: column for column in table.get_columns()}
    return pl.DataFrame([parts[name] for name in names])


def _order_key(run: RunReader, step: int, name: str, descending: bool = False) -> tuple[str, str, bool]:
    return run.journal.commit_of(run.record.people_columns(step)[name]).digest, name, descending


@cached(_COLUMNS, _order_key, _LOCK)
def order(run: RunReader, step: int, name: str, descending: bool = False) -> pl.Series:
    """The rows of the population after a step in the order of a column, equal ones as they stand, empty ones last."""
    table = people(run, step, [name]).with_row_index("row")
    return table.sort(name, descending=descending, nulls_last=True, maintain_order=True)["row"]


def names(run: RunReader, step: int, ids: pl.Series) -> pl.Series:
    """The names of people by their ids; None for those who have no name or have left."""
    known: dict[Any, str | None] = {}
    if "name" in run.record.people_columns(step):
        table = people(run, step, ["id", "name"]).filter(pl.col("id").is_in(ids.unique().implode()))
        known = dict(table.iter_rows())
    return pl.Series("name", [known.get(each) for each in ids], dtype=pl.String)
