"""Where a worker writes what its runs gave and spent: files in the folder of the experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from populace.experiments.folder import RowWriter, RunRow
from populace.experiments.spending import RunKey, Spending, SpendingWriter, abandoned_spending


class Ledger(Protocol):
    """Takes the rows of runs, what they spend while they go on, and the folders that are kept."""

    def begin(self, key: RunKey) -> None:
        """Begin the record of what a run spends."""

    def count(self, spending: Spending) -> None:
        """Record what the run under way has spent so far."""

    def abandon(self) -> None:
        """Leave the record as it is: the run ended without a row that says what it spent."""

    def write(self, row: RunRow) -> None:
        """Write the row of a run that ended; a complete one says what it spent, and its record is closed."""

    def earlier_spending(self) -> dict[RunKey, Spending]:
        """What runs spent that have no row yet, or had to be begun again."""

    def keep(self, run: Path) -> None:
        """Keep the folder of a run, which lies in its place among the runs of the experiment."""

    def flush(self) -> None:
        """Wait until the rows are on the disk."""

    def close(self) -> None:
        """Close the files."""


class FolderLedger:
    """The ledger of a worker that shares the file system with the folder of its experiment.

    Args:
        folder: The experiment's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows = RowWriter(folder)
        self._spending = SpendingWriter(folder)

    def begin(self, key: RunKey) -> None:
        """Begin the record of what a run spends."""
        self._spending.begin(key)

    def count(self, spending: Spending) -> None:
        """Record what the run under way has spent so far."""
        self._spending.count(spending)

    def abandon(self) -> None:
        """Leave the record as it is."""
        self._spending.abandon()

    def write(self, row: RunRow) -> None:
        """Write the row of a run that ended."""
        self._rows.write(row)
        if row["status"] == "complete":
            self._spending.settle()
        else:
            self._spending.abandon()

    def earlier_spending(self) -> dict[RunKey, Spending]:
        """What runs spent that have no row yet, or had to be begun again."""
        return abandoned_spending(self._folder)

    def keep(self, run: Path) -> None:
        """The folder of the run is in its place already."""

    def flush(self) -> None:
        """Wait until the rows are on the disk."""
        self._rows.flush()

    def close(self) -> None:
        """Close the files."""
        self._rows.close()
        self._spending.close()
