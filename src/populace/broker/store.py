"""The call store: every reply that was ever paid for, by the hash of what was asked.

A reply is in the store before anybody sees it. The first reply to a request is the reply: a
second process that asked the same thing at the same time reads back the first one's.
"""

import json
import operator
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pydantic_core

from populace.base.errors import CallStoreError
from populace.base.sqlite import SharedDatabase
from populace.models import Reply

_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (key TEXT PRIMARY KEY, call TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS learned (model TEXT PRIMARY KEY, facts TEXT NOT NULL);
CREATE VIEW IF NOT EXISTS readable AS
SELECT key, json_extract(call, '$[0]') AS model, json_extract(call, '$[1][0]') AS text,
       json_extract(call, '$[1][1]') AS tokens, json_extract(call, '$[1][2]') AS finish,
       json_extract(call, '$[1][3]') AS prompt_tokens, json_extract(call, '$[1][4]') AS completion_tokens,
       json_extract(call, '$[2]') AS seconds, datetime(json_extract(call, '$[3]'), 'unixepoch') AS created
FROM calls;
"""
# A call is one JSON text, [model, reply, seconds, created]: two columns go into SQLite in half the time of eight, and
# the view `readable` takes it apart again for other tools. The prompt is not kept a second time: it stands in the
# journal, beside the key of its call.


_KEY = operator.itemgetter(0)  # Comparing keys alone takes a third of the time of comparing pairs.


class CallStore:
    """Replies in one SQLite file, shared by all runs and by several processes.

    Args:
        path: The file.
        patience_s: How long to wait for another process that is writing.
    """

    path: Path | None = None

    def __init__(self, path: Path, *, patience_s: float = 30.0) -> None:
        self.path = path
        self._db = SharedDatabase(
            path,
            "call store",
            timeout_s=patience_s,
            if_locked="Wait for it to end, or name another workspace.",
            if_damaged="Move the file away: recorded runs do not need it, and new replies go into a new one.",
        )
        with self._db.errors():
            connection = self._db.connection
            self._to_wal(patience_s)
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA cache_size=-65536")
            connection.execute("PRAGMA wal_autocheckpoint=64000")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > _VERSION:
                raise CallStoreError(
                    f"the call store {path} has version {version}; this Populace reads up to {_VERSION}.",
                    "Upgrade Populace, or name another workspace.",
                )
            if version < _VERSION:
                connection.executescript(_SCHEMA)
                connection.execute(f"PRAGMA user_version={_VERSION}")

    def _to_wal(self, patience_s: float) -> None:
        """SQLite does not wait by itself where two processes make a store at once."""
        deadline = time.monotonic() + patience_s
        while True:
            try:
                self._db.connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def get(self, keys: Sequence[str]) -> dict[str, Reply]:
        """The replies that are known among these keys."""
        query = "SELECT calls.key, call FROM json_each(?) JOIN calls ON calls.key = json_each.value"
        # In the order of keys, each page of the index is read once.
        wanted = pydantic_core.to_json(sorted(keys)).decode()
        # The requests of a lot are looked up while another thread stores replies to the lot before.
        rows = self._db.committed_rows(query, wanted)
        with self._db.errors():
            try:
                return {key: Reply.from_json(pydantic_core.from_json(call)[1]) for key, call in rows}
            except (ValueError, KeyError, IndexError, TypeError) as error:
                raise sqlite3.DatabaseError(f"a reply cannot be read ({error})") from error

    def put(self, model: str, calls: Sequence[tuple[str, Reply]], seconds: float = 0.0) -> dict[str, Reply]:
        """Keep new replies in one transaction; returns those that another process had kept first.

        Args:
            model: Who replied.
            calls: Keys and replies.
            seconds: How long each took.
        """
        name, tail = _frame(model, seconds)
        # In the order of keys, each page of the index changes once.
        rows = [(key, f"[{name},{reply.to_json().decode()},{tail}]") for key, reply in sorted(calls, key=_KEY)]
        new_count = self._db.insert_new("calls", rows)
        return {} if new_count == len(rows) else self.get([key for key, _ in calls])

    def put_contents(
        self, model: str, keys: list[str], contents: pl.LazyFrame, seconds: float = 0.0
    ) -> dict[str, Reply]:
        """The same for replies whose JSON is known; other threads can run meanwhile.

        Args:
            model: Who replied.
            keys: Keys.
            contents: A query that returns the JSON of each reply, in a column `reply`.
            seconds: How long each took.
        """
        name, tail = _frame(model, seconds)
        call = pl.concat_str(pl.lit(f"[{name},"), "reply", pl.lit(f",{tail}]"))
        rows = pl.concat([pl.LazyFrame({"key": keys}), contents], how="horizontal").sort("key")
        new_count, count = self._db.insert_new_texts("calls", rows.select("key", text=call))
        return {} if new_count == count else self.get(keys)

    def remove(self, keys: Sequence[str]) -> None:
        """Remove replies that cannot be used, so that they are asked for again."""
        self._db.rows("DELETE FROM calls WHERE key IN (SELECT value FROM json_each(?))", json.dumps(keys))

    def recall(self, model: str) -> dict[str, Any] | None:
        """What was learned about a model before."""
        rows = self._db.rows("SELECT facts FROM learned WHERE model = ?", model)
        return json.loads(rows[0][0]) if rows else None

    def learn(self, model: str, facts: Mapping[str, Any]) -> None:
        """Remember what was found out about a model."""
        self._db.rows("INSERT OR REPLACE INTO learned VALUES (?, ?)", model, json.dumps(dict(facts)))

    def pace(self, model: str) -> float | None:
        """How many seconds a call of this model took of late, or None where there were none."""
        query = """SELECT avg(seconds) FROM (SELECT json_extract(call, '$[2]') AS seconds FROM calls
                   WHERE json_extract(call, '$[0]') = ? ORDER BY rowid DESC LIMIT 1000)"""
        seconds = self._db.rows(query, model)[0][0]
        return float(seconds) if seconds is not None else None

    def open_call(self, key: str) -> dict[str, Any] | None:
        """One call with its reply and time, for a person to look at."""
        rows = self._db.rows("SELECT call FROM calls WHERE key = ?", key)
        if not rows:
            return None
        model, reply, seconds, created = json.loads(rows[0][0])
        reply = Reply.from_json(reply)._asdict()
        return {"key": key, "model": model, "reply": reply, "seconds": seconds, "created": created}

    def __len__(self) -> int:
        return int(self._db.rows("SELECT count(*) FROM calls")[0][0])


def _frame(model: str, seconds: float) -> tuple[str, str]:
    """What stands before and after a reply in a call."""
    return json.dumps(model), f"{seconds:.6f},{time.time():.3f}"


class MemoryCallStore(CallStore):
    """Replies that are kept for as long as the process lives."""

    def __init__(self) -> None:
        self._replies: dict[str, Reply] = {}

    def close(self) -> None:
        """Nothing to close."""

    def get(self, keys: Sequence[str]) -> dict[str, Reply]:
        """The replies that are known among these keys."""
        return {key: self._replies[key] for key in keys if key in self._replies}

    def put(self, model: str, calls: Sequence[tuple[str, Reply]], seconds: float = 0.0) -> dict[str, Reply]:
        """Keep new replies."""
        earlier = self.get([key for key, _ in calls])
        self._replies = dict(calls) | self._replies if earlier else self._replies | dict(calls)
        return earlier

    def remove(self, keys: Sequence[str]) -> None:
        """Remove replies that cannot be used."""
        for key in keys:
            self._replies.pop(key, None)

    def recall(self, model: str) -> dict[str, Any] | None:
        """Nothing is learned for longer than a process."""
        return None

    def learn(self, model: str, facts: Mapping[str, Any]) -> None:
        """Nothing is learned for longer than a process."""

    def pace(self, model: str) -> float | None:
        """Calls are not timed in memory."""
        return None

    def open_call(self, key: str) -> dict[str, Any] | None:
        """Calls are not timed in memory."""
        return None

    def __len__(self) -> int:
        return len(self._replies)
