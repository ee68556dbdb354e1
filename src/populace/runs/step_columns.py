"""The columns of committed steps, read one by one and cached for as long as there is room.

A committed step never changes, and its digest names what it holds. So a column that was read once can be
kept under that digest: no run that is deleted, resumed or written anew can make it stale.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, TypeVar

import polars as pl
from cachetools import LRUCache

from populace.journal.segments import read_table
from populace.runs.reader import RunReader

ValueT = TypeVar("ValueT")


class SizedCache:
    """What was read last, up to a number of bytes; what was not used for longest leaves first. Threads may share it.

    Args:
        room: How many bytes may be held.

    Example:
        >>> cache = SizedCache(room=10)
        >>> cache.put("a", 1, size=6)
        >>> cache.put("b", 2, size=6)
        >>> cache.get("a"), cache.get("b")
        (None, 2)
    """

    def __init__(self, room: int) -> None:
        self._entries: LRUCache[Any, tuple[Any, int]] = LRUCache(room, getsizeof=itemgetter(1))
        self._lock = threading.Lock()

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        with self._lock:
            entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def put(self, key: Any, value: Any, size: int) -> None:
        """Hold a value of so many bytes; one that is larger than all the room is not held."""
        with self._lock:
            if size <= self._entries.maxsize:
                self._entries[key] = (value, size)


_COLUMNS = SizedCache(room=96_000_000)
_SMALL = SizedCache(room=24_000_000)


def table_columns(run: RunReader, step: int, table: str, names: Sequence[str]) -> pl.DataFrame | None:
    """Some columns of a table of a step; None where the step has no such table."""
    journal = run.journal
    commit = journal.commit_of(step)
    if f"{table}.parquet" not in commit.files:
        return None
    cached_columns = {name: _COLUMNS.get((commit.digest, table, name)) for name in names}
    missing = [name for name, column in cached_columns.items() if column is None]
    if missing:
        read = read_table(journal.holder(step).folder / "steps", commit, table, missing)
        for column in [] if read is None else read.get_columns():
            _COLUMNS.put((commit.digest, table, column.name), column, int(column.estimated_size()))
            cached_columns[column.name] = column
    return pl.DataFrame([cached_columns[name] for name in names])


def once_a_step(function: Callable[[RunReader, int], ValueT]) -> Callable[[RunReader, int], ValueT]:
    """Cache what a function returns about a step, which is small beside the step, under the digest of the step."""

    def cached(run: RunReader, step: int) -> ValueT:
        key = (run.journal.commit_of(step).digest, function.__qualname__)
        entry: tuple[ValueT] | None = _SMALL.get(key)
        if entry is None:
            entry = (function(run, step),)
            size = entry[0].estimated_size() if isinstance(entry[0], pl.DataFrame) else 0
            _SMALL.put(key, entry, int(size) + 500)
        return entry[0]

    cached.__doc__ = function.__doc__
    return cached


def people_columns(run: RunReader, step: int) -> dict[str, int]:
    """The columns of the population after a step, each with the step that wrote it last."""
    names: list[str] = run.record.facts(step)["people"]["columns"]
    writers: dict[str, int] = {}
    for earlier in range(step, -1, -1):
        facts = run.record.facts(earlier)["people"]
        writers |= {name: earlier for name in facts["written"] if name in names and name not in writers}
        if facts["rows"] or len(writers) == len(names):
            break
    return {name: writers[name] for name in names}


def people_table(run: RunReader, step: int, names: Sequence[str]) -> pl.DataFrame:
    """Some columns of the population after a step, read from the steps that wrote them."""
    written = people_columns(run, step)
    by_step: dict[int, list[str]] = {}
    for name in names:
        by_step.setdefault(written[name], []).append(name)
    by_name: dict[str, pl.Series] = {}
    for earlier, group in by_step.items():
        read = table_columns(run, earlier, "people", group)
        if read is not None:
            by_name |= {column.name: column for column in read.get_columns()}
    return pl.DataFrame([by_name[name] for name in names])


def row_order(run: RunReader, step: int, name: str, descending: bool = False) -> pl.Series:
    """The rows of the population after a step in the order of a column, equal ones as they stand, empty ones last."""
    digest = run.journal.commit_of(people_columns(run, step)[name]).digest
    key = (digest, "people", name, "descending" if descending else "ascending")
    rows: pl.Series | None = _COLUMNS.get(key)
    if rows is None:
        table = people_table(run, step, [name]).with_row_index("row")
        rows = table.sort(name, descending=descending, nulls_last=True, maintain_order=True)["row"]
        _COLUMNS.put(key, rows, int(rows.estimated_size()))
    return rows


def names_of(run: RunReader, step: int, ids: pl.Series) -> pl.Series:
    """The names of people by their ids, and nothing where they have none or have left."""
    known: dict[Any, str | None] = {}
    if "name" in people_columns(run, step):
        table = people_table(run, step, ["id", "name"]).filter(pl.col("id").is_in(ids.unique().implode()))
        known = dict(table.iter_rows())
    return pl.Series("name", [known.get(each) for each in ids], dtype=pl.String)
