"""Where runs are kept: a folder with `runs/` and the call store that they share."""

from __future__ import annotations

import os
from pathlib import Path

from populace.base.errors import RunNotFoundError, nearest
from populace.broker import CallStore
from populace.journal import Journal


class Workspace:
    """A folder of runs.

    Args:
        folder: The folder; without one, POPULACE_WORKSPACE, else the current folder.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder or os.environ.get("POPULACE_WORKSPACE") or ".")

    @classmethod
    def of(cls, journal: Journal) -> Workspace:
        """The workspace that a run lies in."""
        return cls(journal.folder.parent.parent)

    @property
    def runs(self) -> Path:
        """The folder of the run folders."""
        return self.folder / "runs"

    def store(self) -> CallStore:
        """The call store, opened."""
        return CallStore(self.folder / "calls.sqlite")

    def names(self) -> list[str]:
        """The names of all runs."""
        if not self.runs.is_dir():
            return []
        return sorted(entry.name for entry in self.runs.iterdir() if (entry / "manifest.json").is_file())

    def free_name(self, stem: str) -> str:
        """A name that no run has: the stem, or the stem with a number."""
        name, number = stem, 2
        while (self.runs / name).exists():
            name, number = f"{stem}-{number}", number + 1
        return name

    def open(self, name: str | Path) -> Journal:
        """A run by its name, by the beginning of its name, or by its path; `last` is the newest."""
        if (Path(name) / "manifest.json").is_file():
            return Journal(Path(name))
        names = self.names()
        if str(name) == "last" and names:
            return Journal(
                max((self.runs / each for each in names), key=lambda f: (f / "manifest.json").stat().st_mtime)
            )
        found = [each for each in names if each == str(name)] or [each for each in names if each.startswith(str(name))]
        if len(found) == 1:
            return Journal(self.runs / found[0])
        if found:
            raise RunNotFoundError(f"{name!r} fits several runs: {', '.join(found[:8])}.", "Write more of the name.")
        guess = nearest(str(name), names)
        raise RunNotFoundError(
            f"there is no run {str(name)!r} in {self.runs}.",
            (f"Did you mean {guess!r}? " if guess else "") + "`populace list` shows the runs.",
        )
