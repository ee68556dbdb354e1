"""Steps become part of the record in order; a large one is written by another thread while the next step begins.

Writing the tables of a hundred thousand prompts takes a sixth of a second, in which a model would have nothing to do.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from populace.base.own_memory import with_own_memory
from populace.base.plain_tables import Table
from populace.journal import Journal, Record

MANY_ROWS = 20_000
"""From how many rows on, in all tables of a step, another thread writes it. Fewer are written in a few milliseconds."""
_HEAD_START = 0.04
_MOST_S = 0.1
"""How long the next step goes on alone, as a share of how long a step takes and in seconds at most: its first prompts
should reach the model before all processors are busy with writing."""


@dataclass
class _Writing:
    """A step that another thread writes.

    Attributes:
        step: Its number.
        thread: Ends when the step is written.
        loop: The same for the event loop. It is no task: who ends the loop cancels all tasks, and the thread goes on.
        is_reported: Whether observers were told how it ended.
        problem: What they raised.
    """

    step: int
    thread: concurrent.futures.Future[None]
    loop: asyncio.Future[None]
    is_reported: bool = False
    problem: BaseException | None = None


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
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None
        self._writing: _Writing | None = None
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

        def write(own: Mapping[str, Table]) -> None:
            self._record.commit(step, own, facts, usage)
            self._record.set_status(**status)

        if isinstance(self._record, Journal) and sum([table.height for table in tables.values()]) >= MANY_ROWS:
            # What a scenario changes in the next step must not change this one.
            own = {name: with_own_memory(table) for name, table in tables.items()}
            head_start_s = min(_MOST_S, _HEAD_START * usage.get("seconds", 0.0))
            self._is_awaited.clear()
            self._pool = self._pool or concurrent.futures.ThreadPoolExecutor(1, "steps")
            thread = self._pool.submit(self._after, head_start_s, functools.partial(write, own))
            self._writing = writing = _Writing(step, thread, asyncio.wrap_future(thread))
            writing.loop.add_done_callback(lambda done: self._report(writing, done))
        else:
            write(tables)
            self._on_commit(step)

    async def finish(self) -> None:
        """Wait until what was begun is written, and raise the error if it could not be.

        A thread cannot be cancelled, so this ends only when the thread has: the cancellation is raised afterwards.
        """
        writing, cancellation = self._writing, None
        if writing is None:
            return
        self._is_awaited.set()
        while not writing.loop.done():
            try:
                await asyncio.wait([writing.loop])
            except asyncio.CancelledError as error:
                cancellation = error
        self._report(writing)
        self._writing = None
        writing.thread.result()
        if writing.problem is not None:
            raise writing.problem
        if cancellation is not None:
            raise cancellation

    async def leave(self) -> None:
        """Finish, and let the thread go; it has ended even where the event loop ends before."""
        try:
            await self.finish()
        finally:
            self.join()

    def join(self) -> None:
        """Wait for the thread, where there is one, and let it go."""
        self._is_awaited.set()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _report(self, writing: _Writing, done: asyncio.Future[None] | None = None) -> None:
        """Tell how a step ended, once."""
        if done is not None and not done.cancelled():
            done.exception()  # The event loop complains of an error that nobody has asked for.
        if writing.is_reported:
            return
        writing.is_reported = True
        try:
            writing.thread.result()
            self._on_commit(writing.step)
        except BaseException as error:  # noqa: BLE001 - `finish` raises it.
            writing.problem = error
            self._on_failure()

    def _after(self, seconds: float, write: Callable[[], None]) -> None:
        self._is_awaited.wait(seconds)
        write()
