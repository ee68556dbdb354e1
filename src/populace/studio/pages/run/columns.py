"""The columns of committed steps, read one by one and kept for as long as there is room.

A committed step never changes, and its digest names what it holds. So a column that was read once can be
kept under that digest: no run that is deleted, resumed or written anew can make it stale.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import polars as pl

from populace.journal.segments import read_table
from populace.runs.reader import RunReader

ValueT = TypeVar("ValueT")


class Kept:
    """What was read last, up to a number of bytes; what was not used for longest goes first.

    Args:
        room: How many bytes may be kept.

    Example:
        >>> kept = Kept(room=10)
        >>> kept.put("a", 1, size=6)
        >>> kept.put("b", 2, size=6)
        >>> kept.get("a"), kept.get("b")
        (None, 2)
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.held = 0
        self._values: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any) -> Any:
        """What is kept under a key, or None."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Any, value: Any, size: int) -> None:
        """Keep a value of so many bytes."""
        with self._lock:
            if key in self._values:
                self.held -= self._values.pop(key)[1]
            self._values[key] = (value, size)
            self.held += size
            while self.held > self.room and self._values:
                self.held -= self._values.popitem(last=False)[1][1]


_COLUMNS = Kept(room=96_000_000)
_SMALL = Kept(room=24_000_000)


def columns(run: RunReader, step: int, table: str, names: Sequence[str]) -> pl.DataFrame | None:
    """Some columns of a table of a step; None where the step has no such table."""
    journal = run.journal
    commit = journal.commit_of(step)
    if f"{table}.parquet" not in commit.files:
        return None
    found = {name: _COLUMNS.get((commit.digest, table, name)) for name in names}
    missing = [name for name, column in found.items() if column is None]
    if missing:
        read = read_table(journal.holder(step).folder / "steps", commit, table, missing)
        for column in [] if read is None else read.get_columns():
            _COLUMNS.put((commit.digest, table, column.name), column, int(column.estimated_size()))
            found[column.name] = column
    return pl.DataFrame([found[name] for name in names])


def once_a_step(function: Callable[[RunReader, int], ValueT]) -> Callable[[RunReader, int], ValueT]:
    """Keep what a function finds out about a step, which is small beside the step, under the step's digest."""

    def remembered(run: RunReader, step: int) -> ValueT:
        key = (run.journal.commit_of(step).digest, function.__qualname__)
        held = _SMALL.get(key)
        if held is None:
            held = (function(run, step),)
            size = held[0].estimated_size() if isinstance(held[0], pl.DataFrame) else 0
            _SMALL.put(key, held, int(size) + 500)
        found: ValueT = held[0]
        return found

    remembered.__doc__ = function.__doc__
    return remembered


def people_columns(run: RunReader, step: int) -> dict[str, int]:
    """The columns of the population after a step, each with the step that wrote it last."""
    wanted: list[str] = run.record.facts(step)["people"]["columns"]
    found: dict[str, int] = {}
    for earlier in range(step, -1, -1):
        facts = run.record.facts(earlier)["people"]
        found |= {name: earlier for name in facts["written"] if name in wanted and name not in found}
        if facts["rows"] or len(found) == len(wanted):
            break
    return {name: found[name] for name in wanted}


def people(run: RunReader, step: int, names: Sequence[str]) -> pl.DataFrame:
    """Some columns of the population after a step, read from the steps that wrote them."""
    written = people_columns(run, step)
    by_step: dict[int, list[str]] = {}
    for name in names:
        by_step.setdefault(written[name], []).append(name)
    found: dict[str, pl.Series] = {}
    for earlier, group in by_step.items():
        read = columns(run, earlier, "people", group)
        if read is not None:
            found |= {column.name: column for column in read.get_columns()}
    return pl.DataFrame([found[name] for name in names])


def order(run: RunReader, step: int, name: str, descending: bool = False) -> pl.Series:
    """The rows of the population after a step in the order of a column, equal ones as they stand, empty ones last."""
    digest = run.journal.commit_of(people_columns(run, step)[name]).digest
    key = (digest, "people", name, "descending" if descending else "ascending")
    held: pl.Series | None = _COLUMNS.get(key)
    if held is None:
        table = people(run, step, [name]).with_row_index("row")
        held = table.sort(name, descending=descending, nulls_last=True, maintain_order=True)["row"]
        _COLUMNS.put(key, held, int(held.estimated_size()))
    return held


def names(run: RunReader, step: int, ids: pl.Series) -> pl.Series:
    """The names of people by their ids, and nothing where they have none or have left."""
    known: dict[Any, str | None] = {}
    if "name" in people_columns(run, step):
        table = people(run, step, ["id", "name"]).filter(pl.col("id").is_in(ids.unique().implode()))
        known = dict(table.iter_rows())
    return pl.Series("name", [known.get(each) for each in ids], dtype=pl.String)
