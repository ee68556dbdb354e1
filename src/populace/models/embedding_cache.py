"""A cache of vectors by text: each distinct text is embedded once, in this process or, with a file, in any."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from populace.base.errors import EmbeddingError
from populace.base.sqlite import SharedDatabase
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
        self.miss_count = 0
        self._known: dict[str, bytes] = {}
        self._db = None if path is None else self._open(Path(path), lock_timeout_s)

    @property
    def name(self) -> str:
        """The name of the embedder."""
        return self.embedder.name

    @property
    def dimension(self) -> int:
        """The dimension of the embedder."""
        return self.embedder.dimension

    def __len__(self) -> int:
        return len(self._known) if self._db is None else int(self._db.rows("SELECT count(*) FROM vectors")[0][0])

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.connection.close()
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
        if self._db is not None:
            query = "SELECT text, vector FROM json_each(?) JOIN vectors ON text = json_each.value"
            for at in range(0, len(keys), _BATCH):
                self._known.update(self._db.rows(query, json.dumps(keys[at : at + _BATCH])))

    def _store(self, rows: list[tuple[str, bytes]]) -> None:
        if self._db is not None and self._db.insert_new("vectors", sorted(rows)) < len(rows):
            # Another process was first, and what is in the file counts.
            self._look_up([key for key, _ in rows])

    def _open(self, path: Path, lock_timeout_s: float) -> SharedDatabase:
        db = SharedDatabase(
            path,
            "embedding cache",
            timeout_s=lock_timeout_s,
            if_locked="Wait for it to end.",
            if_damaged="Remove the file: it is a cache, and is written again.",
        )
        with db.errors():
            connection = db.connection
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA.strip().rstrip(";").split(";"):
                connection.execute(statement)
            embedder = (self.name, self.dimension)
            connection.execute("INSERT INTO about VALUES (1, ?, ?) ON CONFLICT DO NOTHING", embedder)
            about = connection.execute("SELECT embedder, dimension FROM about").fetchone()
            connection.execute("COMMIT")
        if about != embedder:
            connection.close()
            raise EmbeddingError(
                f"the embedding cache {path} holds vectors of {about[0]} with {about[1]} dimensions, not of "
                f"{self.name} with {self.dimension}.",
                "Name another file for each embedder.",
            )
        return db
