"""Steps become part of the record in order; a large one is written by another thread while the next step begins.

Writing the tables of a hundred thousand prompts takes a sixth of a second, in which a model would have nothing to do.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from populace.base.plain_tables import PlainTable, Table
from populace.journal import Journal, Record

MANY_ROWS = 20_000
"""From how many rows on, in all tables of a step, another thread writes it. Fewer are written in a few milliseconds."""
_HEAD_START = 0.04
_MOST_S = 0.1
"""How long the next step goes on alone, as a share of how long a step takes and in seconds at most: its first prompts
should reach the model before all processors are busy with writing."""


class StepCommits:
    """Writes the steps of a run, one at a time, each with the status of the run.

    Whoever writes anything else to the record, or leaves the run, waits for `finish` first.

    Args:
        record: Where the steps go.
        on_commit: Is told the number of each step that became part of the record.
        on_failure: Is called if a step could not be written while the next one is under way already.
    """

    def __init__(self, record: Record, on_commit: Callable[[int], None], on_failure: Callable[[], None]) -> None:
        self._record = record
        self._on_commit, self._on_failure = on_commit, on_failure
        self._writing: asyncio.Task[None] | None = None
        self._is_awaited = threading.Event()

    @property
    def under_way(self) -> bool:
        """Whether a step may still be missing in the record."""
        return self._writing is not None

    def commit(
        self,
        step: int,
        tables: Mapping[str, Table],
        facts: Mapping[str, Any],
        usage: Mapping[str, Any],
        status: Mapping[str, Any],
    ) -> None:
        """Write a step now, or begin to if it is large; the step before must be finished."""
        if isinstance(self._record, Journal) and sum([table.height for table in tables.values()]) >= MANY_ROWS:
            own = {name: _own(table) for name, table in tables.items()}
            head_start_s = min(_MOST_S, _HEAD_START * usage.get("seconds", 0.0))
            self._is_awaited.clear()
            # Begun here, and not by the task, whose turn comes only when the next step has to wait for something.
            write = functools.partial(self._write, step, own, facts, usage, status)
            future = asyncio.get_running_loop().run_in_executor(None, self._write_after, head_start_s, write)
            self._writing = asyncio.create_task(self._attend(step, future))
        else:
            self._write(step, tables, facts, usage, status)
            self._on_commit(step)

    async def finish(self) -> None:
        """Wait until what was begun is written, and raise the error if it could not be.

        A thread cannot be cancelled, so this ends only when the thread has: the cancellation is raised afterwards.
        """
        writing, cancellation = self._writing, None
        if writing is None:
            return
        self._is_awaited.set()
        while not writing.done():
            try:
                await asyncio.wait([writing])
            except asyncio.CancelledError as error:
                cancellation = error
        self._writing = None
        writing.result()
        if cancellation is not None:
            raise cancellation

    def _write(
        self,
        step: int,
        tables: Mapping[str, Table],
        facts: Mapping[str, Any],
        usage: Mapping[str, Any],
        status: Mapping[str, Any],
    ) -> None:
        self._record.commit(step, tables, facts, usage)
        self._record.set_status(**status)

    def _write_after(self, seconds: float, write: Callable[[], None]) -> None:
        self._is_awaited.wait(seconds)
        write()

    async def _attend(self, step: int, written: asyncio.Future[None]) -> None:
        try:
            await written
        except BaseException:
            self._on_failure()
            raise
        self._on_commit(step)


def _own(table: Table) -> Table:
    """The same table with memory of its own: what a scenario changes in the next step must not change it."""
    if isinstance(table, PlainTable):
        return table
    return pl.DataFrame([_own_column(column) for column in table.get_columns()])


def _own_column(column: pl.Series) -> pl.Series:
    """A column that shares no memory with an array of numpy, which columns of numbers do that were made from one."""
    if not (column.dtype.is_numeric() or column.dtype.is_nested()) or not len(column):
        return column
    parts, start = [], 0
    # Part by part, because the bytes of a file depend on how its columns are divided in memory.
    for length in column.chunk_lengths():
        parts.append(_copy(column.slice(start, length)))
        start += length
    return pl.concat(parts, rechunk=False)


def _copy(part: pl.Series) -> pl.Series:
    """A copy in new memory: joining two halves makes one, and takes a tenth of the time of picking all rows."""
    half = len(part) // 2
    return pl.concat([part.head(half), part.slice(half)], rechunk=True) if half else part.gather([0] * len(part))
