"""The run folder: manifest, committed steps, forks."""

from populace.journal.journal import Journal, MemoryRecord, Record
from populace.journal.manifest import Manifest, Parent, Regime, Status, author, environment, git_revision, now
from populace.journal.segments import collected

__all__ = [
    "Journal",
    "Manifest",
    "MemoryRecord",
    "Parent",
    "Record",
    "Regime",
    "Status",
    "author",
    "collected",
    "environment",
    "git_revision",
    "now",
]
