"""A run under way, from outside: whether it goes, and how to make it wait or stop.

Only the run folder is between the two processes: who writes a run holds its lock, and looks between
two steps whether somebody asked it to wait.
"""

from __future__ import annotations

import os
import signal
from typing import Literal

from populace.base.errors import UsageError
from populace.journal import Journal

Condition = Literal["running", "pausing", "paused", "died", "complete", "stopped", "failed"]


def condition(journal: Journal) -> Condition:
    """How it stands with a run, the process that writes it included.

    `pausing` is a run that was asked to wait and is still in a step; `died` one whose process is gone though it
    never said that it ended, as after `kill -9` or a power cut.
    """
    if not journal.busy():
        state = journal.manifest.status.state
        return "died" if state == "running" else state
    if not journal.paused():
        return "running"
    return "paused" if journal.waiting() else "pausing"


def pause(journal: Journal) -> None:
    """Have the run wait after the step under way. Its process stays."""
    _under_way(journal, "paused")
    journal.pause()


def go_on(journal: Journal) -> None:
    """Let a paused run go on."""
    _under_way(journal, "let go on")
    journal.pause(False)


def stop(journal: Journal) -> None:
    """Have the run stop as Ctrl-C does: calls under way are finished and stored, and it can be resumed."""
    writer = _under_way(journal, "stopped")
    os.kill(writer, signal.SIGINT)


def _under_way(journal: Journal, done: str) -> int:
    writer = journal.writer()
    if writer is None:
        raise UsageError(
            f"{journal.name} is not under way, so it cannot be {done}.",
            f"`populace resume {journal.name}` goes on with it."
            if journal.manifest.status.state != "complete"
            else "It is complete.",
        )
    return writer
