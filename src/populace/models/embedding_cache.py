"""A cache of vectors by text: each distinct text is embedded once, in this process or, with a file, in any."""

import hashlib
import json
from collections.abc import Callable, Sequence
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
_INSERT_ABOUT = "INSERT INTO about VALUES (1, ?, ?) ON CONFLICT DO NOTHING"
_BATCH = 10_000


class CachedEmbedder:
    """An embedder that caches the vectors of another one.

    Args:
        embedder: Embeds texts that are not in the cache.
        path: An SQLite file that several processes may share; without one, the cache lives as long as this object.
        batch_size: How many texts are embedded and stored at a time; all of them by default.
        on_stored: Called after each batch is stored; an error that it raises loses no vector.
        lock_timeout_s: How long to wait for another process that is writing.

    Attributes:
        miss_count: How many texts were not in the cache.

    Example:
        >>> from populace.models.embedders import HashingEmbedder
        >>> cached = CachedEmbedder(HashingEmbedder(16))
        >>> bool((cached.embed(["tea", "tea"]) == HashingEmbedder(16).embed(["tea"])).all()), cached.miss_count
        (True, 1)
    """

    def __init__(
        self,
        embedder: Embedder,
        path: str | Path | None = None,
        *,
        batch_size: int | None = None,
        on_stored: Callable[[], None] | None = None,
        lock_timeout_s: float = 30.0,
    ) -> None:
        self.embedder = embedder
        self.miss_count = 0
        self._batch_size = batch_size
        self._on_stored = on_stored
        self._known: dict[str, bytes] = {}
        self._path = path
        self._dimension = known_dimension(embedder)
        self._db = None if path is None else self._open(Path(path), lock_timeout_s)

    @property
    def name(self) -> str:
        """The name of the embedder."""
        return self.embedder.name

    @property
    def known_dimension(self) -> int | None:
        """The dimension; None where only a call to a server would tell it."""
        return self._dimension

    @property
    def dimension(self) -> int:
        """The dimension of the embedder; where nothing tells it yet, a text is embedded and stored."""
        return self._dimension or self.embed(["dimension"]).shape[1]

    def __len__(self) -> int:
        return len(self._known) if self._db is None else int(self._db.rows("SELECT count(*) FROM vectors")[0][0])

    def close(self) -> None:
        """Close the embedder and the file."""
        close: Callable[[], None] | None = getattr(self.embedder, "close", None)
        if close is not None:
            close()
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
        size = self._batch_size or len(new) or 1
        for batch in (list(new.items())[at : at + size] for at in range(0, len(new), size)):
            self._embed_new(dict(batch))
        values = np.frombuffer(b"".join(self._known[keys[text]] for text in texts), "<f4")
        return values.reshape(len(texts), -1).astype(np.float32)

    def _embed_new(self, texts: dict[str, str]) -> None:
        """Embed some texts by key, and store their vectors before anything else happens."""
        vectors = self.embedder.embed(list(texts.values())).astype("<f4")
        self.miss_count += len(texts)
        if self._dimension is None:
            self._dimension = self._db_dimension(vectors.shape[1])
        if vectors.shape[1] != self._dimension:
            raise self._mismatch(self.name, self._dimension, vectors.shape[1])
        rows = [(key, vector.tobytes()) for key, vector in zip(texts, vectors, strict=True)]
        self._known.update(rows)
        self._store(rows)
        if self._on_stored is not None:
            self._on_stored()

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
            if self._dimension is not None:
                connection.execute(_INSERT_ABOUT, (self.name, self._dimension))
            about = connection.execute("SELECT embedder, dimension FROM about").fetchone()
            connection.execute("COMMIT")
        if about is not None and about != (self.name, self._dimension or about[1]):
            connection.close()
            raise self._mismatch(about[0], about[1], self._dimension)
        self._dimension = about and about[1]
        return db

    def _db_dimension(self, dimension: int) -> int:
        """The dimension that the file records; that of the first vectors is recorded where there is none."""
        if self._db is None:
            return dimension
        self._db.rows(_INSERT_ABOUT, self.name, dimension)
        return int(self._db.rows("SELECT dimension FROM about")[0][0])

    def _mismatch(self, name: str, dimension: int, own_dimension: int | None) -> EmbeddingError:
        own = f"{self.name} with {own_dimension}" if own_dimension else self.name
        return EmbeddingError(
            f"the embedding cache {self._path or 'in memory'} holds vectors of {name} with {dimension} dimensions, "
            f"not of {own}.",
            "Name another file for each embedder; where a server changed its model, remove the file.",
        )


def known_dimension(embedder: Embedder) -> int | None:
    """The size of an embedder's vectors; None where only a call to a server would tell it.

    Example:
        >>> from populace.models.embedders import HashingEmbedder
        >>> known_dimension(HashingEmbedder(16))
        16
    """
    if hasattr(type(embedder), "known_dimension"):
        dimension: int | None = embedder.known_dimension  # type: ignore[attr-defined]
        return dimension
    return embedder.dimension
