"""The run folder: manifest, committed steps, forks."""

from populace.journal.journal import Journal, MemoryRecord, Record
from populace.journal.manifest import Manifest, Parent, Regime, Status, author, environment, git_revision, now

__all__ = [
    "Journal",
    "Manifest",
    "MemoryRecord",
    "Parent",
    "Record",
    "Regime",
    "Status",
    "author",
    "environment",
    "git_revision",
    "now",
]
