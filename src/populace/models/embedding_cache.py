"""A cache of vectors by text: each distinct text is embedded once, in this process or, with a file, in any."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from populace.base.errors import CallStoreError, EmbeddingError, StorageError
from populace.models.embedders import Embedder, Vectors

_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (one INTEGER PRIMARY KEY CHECK (one = 1), embedder TEXT NOT NULL,
                                  dimension INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (text TEXT PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
"""
_BATCH = 10_000


class CachedEmbedder:
    """An embedder that caches the vectors of another one.

    Args:
        embedder: Embeds texts that are not in the cache.
        path: An SQLite file that several processes may share; without one, the cache lives as long as this object.
        lock_timeout_s: How long to wait for another process that is writing.

    Attributes:
        miss_count: How many texts were not in the cache.

    Example:
        >>> from populace.models.embedders import HashingEmbedder
        >>> cached = CachedEmbedder(HashingEmbedder(16))
        >>> bool((cached.embed(["tea", "tea"]) == HashingEmbedder(16).embed(["tea"])).all()), cached.miss_count
        (True, 1)
    """

    def __init__(self, embedder: Embedder, path: str | Path | None = None, *, lock_timeout_s: float = 30.0) -> None:
        self.embedder = embedder
        self.path = None if path is None else Path(path)
        self.miss_count = 0
        self._known: dict[str, bytes] = {}
        self._db: sqlite3.Connection | None = None
        if self.path is not None:
            with self._translate_errors(self.path):
                self._db = self._connect(self.path, lock_timeout_s)

    @property
    def name(self) -> str:
        """The name of the embedder."""
        return self.embedder.name

    @property
    def dimension(self) -> int:
        """The dimension of the embedder."""
        return self.embedder.dimension

    def __len__(self) -> int:
        if self._db is None or self.path is None:
            return len(self._known)
        with self._translate_errors(self.path):
            return int(self._db.execute("SELECT count(*) FROM vectors").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A unit vector for each text."""
        if not len(texts):
            return np.zeros((0, self.dimension), np.float32)
        keys = {
            text: hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest() for text in texts
        }
        self._look_up([key for key in keys.values() if key not in self._known])
        new = {key: text for text, key in keys.items() if key not in self._known}
        if new:
            vectors = self.embedder.embed(list(new.values())).astype("<f4")
            self.miss_count += len(new)
            rows = [(key, vector.tobytes()) for key, vector in zip(new, vectors, strict=True)]
            self._known.update(rows)
            self._store(rows)
        values = np.frombuffer(b"".join(self._known[keys[text]] for text in texts), "<f4")
        return values.reshape(len(texts), -1).astype(np.float32)

    def _look_up(self, keys: list[str]) -> None:
        if self._db is None or self.path is None:
            return
        query = "SELECT text, vector FROM json_each(?) JOIN vectors ON text = json_each.value"
        with self._translate_errors(self.path):
            for at in range(0, len(keys), _BATCH):
                batch = json.dumps(keys[at : at + _BATCH])
                self._known.update(self._db.execute(query, (batch,)).fetchall())

    def _store(self, rows: list[tuple[str, bytes]]) -> None:
        if self._db is None or self.path is None:
            return
        with self._translate_errors(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                before = self._db.total_changes
                self._db.executemany("INSERT INTO vectors VALUES (?, ?) ON CONFLICT DO NOTHING", sorted(rows))
                inserted = self._db.total_changes - before
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
        if inserted < len(rows):  # Another process was first, and what is in the file counts.
            self._look_up([key for key, _ in rows])

    def _connect(self, path: Path, lock_timeout_s: float) -> sqlite3.Connection:
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, timeout=lock_timeout_s, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA.strip().rstrip(";").split(";"):
            db.execute(statement)
        db.execute("INSERT INTO about VALUES (1, ?, ?) ON CONFLICT DO NOTHING", (self.name, self.dimension))
        about = db.execute("SELECT embedder, dimension FROM about").fetchone()
        db.execute("COMMIT")
        if about != (self.name, self.dimension):
            db.close()
            raise EmbeddingError(
                f"the embedding cache {path} holds vectors of {about[0]} with {about[1]} dimensions, not of "
                f"{self.name} with {self.dimension}.",
                "Name another file for each embedder.",
            )
        return db

    @contextlib.contextmanager
    def _translate_errors(self, path: Path) -> Iterator[None]:
        """Raise errors of SQLite and of the file system as errors of this package."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise CallStoreError(
                    f"the embedding cache {path} is locked by another process.", "Wait for it to end."
                ) from error
            if "full" in str(error):
                raise StorageError(f"the disk is full: the embedding cache {path} cannot grow.") from error
            raise CallStoreError(f"the embedding cache {path} cannot be used: {error}.") from error
        except sqlite3.DatabaseError as error:
            raise CallStoreError(
                f"the embedding cache {path} is damaged: {error}.",
                "Remove the file: it is a cache, and is written again.",
            ) from error
        except OSError as error:
            raise StorageError(f"the embedding cache {path} cannot be written: {error.strerror or error}.") from error
