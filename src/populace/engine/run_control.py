"""Make a run that is under way wait, go on or stop, from another process.

Only the run folder is between the two processes: who writes a run holds its lock, and looks between
two steps whether somebody asked it to wait.
"""

from __future__ import annotations

import os
import signal

from populace.base.errors import UsageError
from populace.journal import Journal


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
