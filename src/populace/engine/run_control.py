"""Pause, continue or stop a run that is under way, from another process, and how to go on with one that stopped.

The two processes share only the run folder: the process that writes a run holds its lock, and checks between two steps
whether it should pause.
"""

import os
import signal

from populace.base.errors import PopulaceError, StoppedError, UsageError
from populace.engine.discovery import is_from_prompt
from populace.engine.workspace import Workspace, command_text
from populace.journal import Journal, Record


def pause(journal: Journal) -> None:
    """Make the run wait after the step under way. Its process stays."""
    _under_way(journal, "paused")
    journal.pause()


def go_on(journal: Journal) -> None:
    """Let a paused run go on."""
    _under_way(journal, "let go on")
    journal.pause(False)


def stop(journal: Journal) -> None:
    """Stop the run as Ctrl-C does: calls under way are finished and stored, and it can be resumed."""
    writer = _under_way(journal, "stopped")
    os.kill(writer, signal.SIGINT)


def add_resume_hint(error: PopulaceError, record: Record) -> None:
    """Let the error of a stopped run say how to go on with it; a run that is not kept cannot be resumed."""
    if isinstance(error, StoppedError) and error.hint is None and isinstance(record, Journal):
        folder = Workspace.of(record).folder
        place = "" if folder.resolve() == Workspace().folder.resolve() else f", {str(folder)!r}"
        again = f"Continue with pc.open_run({record.name!r}{place}).resume()"
        if not is_from_prompt(record.manifest.scenario):
            again += f", or with: {command_text(folder, 'resume', record.name)}"
        error.hint = f"Nothing that was paid for is lost. {again}"


def _under_way(journal: Journal, done: str) -> int:
    writer = journal.writer()
    if writer is None:
        raise UsageError(
            f"{journal.name} is not under way, so it cannot be {done}.",
            f"`{command_text(Workspace.of(journal).folder, 'resume', journal.name)}` goes on with it."
            if journal.manifest.status.state != "complete"
            else "It is complete.",
        )
    return writer
