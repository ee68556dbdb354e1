"""SQLite files that several processes share.

The first row of a key stays: rows are added and never replaced, so all processes read the same value for a key.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import CallStoreError, StorageError

_DIGITS = 12
_INSERT_PIECES = f"""
WITH RECURSIVE
numbers(number) AS (SELECT 0 WHERE ?1 > 0 UNION ALL SELECT number + 1 FROM numbers WHERE number + 1 < ?1),
places(begin, key_size, size) AS (
    SELECT CAST(substr(?3, number * {3 * _DIGITS} + 1, {_DIGITS}) AS INTEGER),
           CAST(substr(?3, number * {3 * _DIGITS} + {_DIGITS + 1}, {_DIGITS}) AS INTEGER),
           CAST(substr(?3, number * {3 * _DIGITS} + {2 * _DIGITS + 1}, {_DIGITS}) AS INTEGER)
    FROM numbers
)
INSERT INTO {{table}}
SELECT CAST(substr(?2, begin, key_size) AS TEXT), CAST(substr(?2, begin + key_size, size) AS TEXT)
FROM places WHERE true ON CONFLICT DO NOTHING
"""
"""Adds rows that are cut from one blob (2); a second one (3) says where each begins, and how long its parts are."""


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
        self._path, self._timeout_s = path, timeout_s
        self._lock, self._reading = threading.RLock(), threading.Lock()
        self._reader: sqlite3.Connection | None = None
        with self.errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self.connection = self._connect()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=self._timeout_s, isolation_level=None, check_same_thread=False)

    def close(self) -> None:
        """Close the file, after what another thread is writing."""
        with self._lock, self._reading:
            if self._reader is not None:
                self._reader.close()
            self.connection.close()

    def rows(self, query: str, *values: Any) -> list[Any]:
        """All rows that a query returns."""
        with self.errors(), self._lock:
            return self.connection.execute(query, values).fetchall()

    def committed_rows(self, query: str, *values: Any) -> list[Any]:
        """The same for a query that only reads; where another thread writes, it sees what was committed before.

        It then has a connection of its own: in a file with a write-ahead log, nobody who reads waits for a writer.
        """
        if self._lock.acquire(blocking=False):
            try:
                return self.rows(query, *values)
            finally:
                self._lock.release()
        with self.errors(), self._reading:
            self._reader = self._reader or self._connect()
            return self._reader.execute(query, values).fetchall()

    def insert_new(self, table: str, rows: Sequence[tuple[str, str | bytes]]) -> int:
        """Add the rows whose keys are new, in one transaction; returns how many were."""
        query = f"INSERT INTO {table} VALUES (?, ?) ON CONFLICT DO NOTHING"
        return self._write(lambda: self.connection.executemany(query, rows))

    def insert_new_texts(self, table: str, rows: pl.LazyFrame) -> tuple[int, int]:
        """The same for a query that returns the columns `key` and `text`; returns how many rows were new, and all rows.

        One statement adds all of them, so that other threads can run meanwhile: `executemany` lets go of the
        interpreter at every row, and would wait for the other threads each time.
        """
        key_size, size = pl.col("key").str.len_bytes(), pl.col("text").str.len_bytes()
        begin = (key_size + size).cum_sum().shift(1, fill_value=0) + 1
        places = pl.concat_str(each.cast(pl.String).str.zfill(_DIGITS) for each in (begin, key_size, size))
        content = pl.concat_str("key", "text").str.join("", ignore_nulls=False)
        table_of_one = rows.select(content, places.str.join("").alias("places"), pl.len().alias("count")).collect()
        whole, sizes, count = table_of_one.row(0)
        values = (count, whole.encode(), sizes.encode())
        return self._write(lambda: self.connection.execute(_INSERT_PIECES.format(table=table), values)), count

    def _write(self, insert: Callable[[], object]) -> int:
        with self.errors(), self._lock:
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                before = self.connection.total_changes
                insert()
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
