"""The call store: every reply that was ever paid for, by the hash of what was asked.

A reply is in the store before anybody sees it. The first reply to a request is the reply: a
second process that asked the same thing at the same time reads back the first one's.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from populace.errors import CallStoreError, StorageError
from populace.models import Model, Reply, Request

_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    request TEXT NOT NULL,
    reply TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    created REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS learned (model TEXT PRIMARY KEY, facts TEXT NOT NULL);
"""


class CallStore:
    """Replies in one SQLite file, shared by all runs and by several processes.

    Args:
        path: The file; None keeps replies in memory for as long as the store lives.
        patience_s: How long to wait for another process that is writing.
    """

    def __init__(self, path: Path | None, *, patience_s: float = 30.0) -> None:
        self.path = path
        with self._guard():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path or ":memory:", timeout=patience_s, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > _VERSION:
                raise CallStoreError(
                    f"the call store {path} has version {version}; this Populace reads up to {_VERSION}.",
                    "Upgrade Populace, or name another workspace.",
                )
            self._db.executescript(_SCHEMA)
            self._db.execute(f"PRAGMA user_version={_VERSION}")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def get(self, keys: Sequence[str]) -> dict[str, Reply]:
        """The replies that are known among these keys."""
        columns = "key, reply, prompt_tokens, completion_tokens"
        query = f"SELECT {columns} FROM calls WHERE key IN (SELECT value FROM json_each(?))"
        with self._guard():
            rows = self._db.execute(query, (json.dumps(keys),)).fetchall()
        return {key: Reply.from_json(reply, read, written) for key, reply, read, written in rows}

    def put(self, model: Model, calls: Iterable[tuple[str, Request, Reply]], seconds: float = 0.0) -> dict[str, Reply]:
        """Keep new replies in one transaction; returns those that another process had kept first."""
        now = time.time()
        rows = [
            (
                key,
                model.spec,
                request.to_json(),
                reply.to_json(),
                reply.prompt_tokens,
                reply.completion_tokens,
                seconds,
                now,
            )
            for key, request, reply in calls
        ]
        with self._guard():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                before = self._db.total_changes
                self._db.executemany("INSERT INTO calls VALUES (?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING", rows)
                kept = self._db.total_changes - before
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
        return {} if kept == len(rows) else self.get([row[0] for row in rows])

    def recall(self, model: str) -> dict[str, Any] | None:
        """What was learned about a model before."""
        with self._guard():
            row = self._db.execute("SELECT facts FROM learned WHERE model = ?", (model,)).fetchone()
        return json.loads(row[0]) if row else None

    def learn(self, model: str, facts: Mapping[str, Any]) -> None:
        """Remember what was found out about a model."""
        with self._guard():
            self._db.execute("INSERT OR REPLACE INTO learned VALUES (?, ?)", (model, json.dumps(dict(facts))))

    def open_call(self, key: str) -> dict[str, Any] | None:
        """One call with its request, reply, tokens and time, for a person to look at."""
        with self._guard():
            cursor = self._db.execute("SELECT * FROM calls WHERE key = ?", (key,))
            row = cursor.fetchone()
        return dict(zip([column[0] for column in cursor.description], row, strict=True)) if row else None

    def __len__(self) -> int:
        with self._guard():
            return int(self._db.execute("SELECT count(*) FROM calls").fetchone()[0])

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """SQLite's errors, in words."""
        try:
            yield
        except sqlite3.OperationalError as error:
            said = str(error)
            if "locked" in said or "busy" in said:
                raise CallStoreError(
                    f"the call store {self.path} is locked by another process.",
                    "Wait for it to end, or name another workspace.",
                ) from error
            if "full" in said:
                raise StorageError(
                    f"the disk is full: the call store {self.path} cannot grow.", "Free some space and resume."
                ) from error
            raise CallStoreError(f"the call store {self.path} cannot be used: {said}.") from error
        except sqlite3.DatabaseError as error:
            raise CallStoreError(
                f"the call store {self.path} is damaged: {error}.",
                "Move the file away: recorded runs do not need it, and new replies go into a new one.",
            ) from error
