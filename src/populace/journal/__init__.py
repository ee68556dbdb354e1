"""The run folder: manifest, committed steps, forks."""

from populace.journal.journal import Journal, MemoryRecord, Record
from populace.journal.manifest import Manifest, Parent, Regime, Status, environment, git_revision, now

__all__ = [
    "Journal",
    "Manifest",
    "MemoryRecord",
    "Parent",
    "Record",
    "Regime",
    "Status",
    "environment",
    "git_revision",
    "now",
]
