"""SQLite files that several processes share.

The first row of a key stays: rows are added and never replaced, so all processes read the same value for a key.
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from populace.base.errors import CallStoreError, StorageError


class SharedDatabase:
    """An SQLite file that several processes read and write, whose errors are those of this package.

    Args:
        path: The file; its folder is made where it is missing.
        name: What the file is, for messages.
        timeout_s: How long to wait for another process that is writing.
        if_locked: The advice where another process writes for longer than that.
        if_damaged: The advice where the file cannot be read.
    """

    def __init__(self, path: Path, name: str, *, timeout_s: float, if_locked: str, if_damaged: str) -> None:
        self._name = f"the {name} {path}"
        self._if_locked, self._if_damaged = if_locked, if_damaged
        with self.errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self.connection = sqlite3.connect(path, timeout=timeout_s, isolation_level=None, check_same_thread=False)

    def rows(self, query: str, *values: Any) -> list[Any]:
        """All rows that a query returns."""
        with self.errors():
            return self.connection.execute(query, values).fetchall()

    def insert_new(self, table: str, rows: Sequence[tuple[str, str | bytes]]) -> int:
        """Add the rows whose keys are new, in one transaction; returns how many were."""
        with self.errors():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                before = self.connection.total_changes
                self.connection.executemany(f"INSERT INTO {table} VALUES (?, ?) ON CONFLICT DO NOTHING", rows)
                count = self.connection.total_changes - before
                self.connection.execute("COMMIT")
                return count
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self.connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Raise errors of SQLite and of the file system as CallStoreError or StorageError."""
        try:
            yield
        except sqlite3.OperationalError as error:
            message = str(error)
            if "locked" in message or "busy" in message:
                raise CallStoreError(f"{self._name} is locked by another process.", self._if_locked) from error
            if "full" in message or "disk I/O" in message:
                raise StorageError(
                    f"the disk is full or does not work: {self._name} cannot grow.", "Free some space and resume."
                ) from error
            if "unable to open" in message or "readonly" in message:
                raise StorageError.not_writable(self._name, error) from error
            raise CallStoreError(f"{self._name} cannot be used: {message}.") from error
        except sqlite3.DatabaseError as error:
            raise CallStoreError(f"{self._name} is damaged: {error}.", self._if_damaged) from error
        except OSError as error:
            raise StorageError.not_writable(self._name, error) from error
