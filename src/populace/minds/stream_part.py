"""The memories of some of the people in a process of their own: a stream with its embedder, called with bytes."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import polars as pl

from populace.cluster import Origin
from populace.minds.memory_columns import KINDS
from populace.minds.memory_stream import PRESENTED, MemoryStream
from populace.minds.retrieval import Retrieval
from populace.models import CachedEmbedder, open_embedder

_HEADER_SIZE = 4


class StreamPart:
    """A memory stream that is called with bytes.

    Args:
        setup: The name and dimension of the embedder, and the string that opens it where texts are embedded here.
        origin: Not used: a stream sends nothing on its own.
    """

    def __init__(self, setup: bytes, origin: Origin | None = None) -> None:
        data = json.loads(setup)
        self._stream = MemoryStream(embedder=data["embedder"], dimension=data["dimension"])
        self._embedder = CachedEmbedder(open_embedder(data["spec"])) if data["spec"] else None

    def append(self, content: bytes) -> bytes:
        """Add memories under given ids."""
        options, table = unpack(content)
        self._stream.append(
            table["owner"].to_numpy(),
            table["text"],
            kind=[KINDS[code] for code in table["kind"].to_list()],
            time=table["time"].to_numpy(),
            importance=table["importance"].to_numpy(),
            embeddings=self._vectors(table["text"], options, table),
            evidence=table["evidence"].to_list() if "evidence" in table.columns else None,
            ids=table["memory"].to_numpy(),
        )
        return b""

    def retrieve(self, content: bytes) -> bytes:
        """The best memories for each query."""
        options, table = unpack(content)
        found = self._stream.retrieve(
            table["owner"].to_numpy(),
            self._vectors(table["text"], options, table),
            now=options["now"],
            how=Retrieval(**options["how"]),
            top=options["top"],
            kinds=options["kinds"],
            touch=options["touch"],
        )
        return pack({}, found.hstack(self._stream.rows(found["memory"], PRESENTED)))

    def rows(self, content: bytes) -> bytes:
        """Memories by id."""
        options, table = unpack(content)
        return pack({}, self._stream.rows(table["memory"], options["columns"]))

    def vectors(self, content: bytes) -> bytes:
        """The vectors of memories by id."""
        vectors = self._stream.vectors(unpack(content)[1]["memory"])
        rows = [row.tobytes() for row in vectors.values]
        return pack({}, pl.DataFrame({"vector": pl.Series(rows, dtype=pl.Binary), "factor": vectors.factors}))

    def of(self, content: bytes) -> bytes:
        """All memories of one person."""
        return pack({}, self._stream.of(unpack(content)[0]["owner"]))

    def recent(self, content: bytes) -> bytes:
        """The newest memories of each person."""
        options, table = unpack(content)
        return pack({}, self._stream.recent(table["owner"].to_numpy(), options["count"]))

    def touch(self, content: bytes) -> bytes:
        """Count memories as accessed now."""
        options, table = unpack(content)
        self._stream.touch(table["memory"], options["now"])
        return b""

    def forget(self, content: bytes) -> bytes:
        """Drop memories."""
        self._stream.forget(unpack(content)[1]["memory"])
        return b""

    def counts(self, content: bytes) -> bytes:
        """How many memories each person has."""
        return pack({}, pl.DataFrame({"count": self._stream.counts(unpack(content)[1]["owner"].to_numpy())}))

    def columns(self, content: bytes) -> bytes:
        """Numeric columns of all memories."""
        return pack({}, self._stream.columns(*unpack(content)[0]["names"]))

    def size(self, content: bytes) -> bytes:
        """How many memories have no importance, and how many bytes all of them take."""
        return pack({"unrated": self._stream.unrated(), "bytes": self._stream.nbytes}, pl.DataFrame())

    def _vectors(self, texts: pl.Series, options: dict[str, Any], table: pl.DataFrame) -> Any:
        if self._embedder is not None:
            return self._embedder.embed(texts.to_list())
        return np.frombuffer(b"".join(table["vector"]), "<f4").reshape(table.height, options["dimension"])


def pack(options: dict[str, Any], table: pl.DataFrame) -> bytes:
    """Options and a table as bytes: JSON and Arrow, which hold data and no code."""
    header = json.dumps(options).encode()
    content = io.BytesIO()
    table.write_ipc(content, compression="uncompressed")
    return len(header).to_bytes(_HEADER_SIZE, "big") + header + content.getvalue()


def unpack(content: bytes) -> tuple[dict[str, Any], pl.DataFrame]:
    """What `pack` made bytes of.

    Example:
        >>> options, table = unpack(pack({"now": 3}, pl.DataFrame({"memory": [1, 2]})))
        >>> options, table["memory"].to_list()
        ({'now': 3}, [1, 2])
    """
    end = _HEADER_SIZE + int.from_bytes(content[:_HEADER_SIZE], "big")
    return json.loads(content[_HEADER_SIZE:end]), pl.read_ipc(content[end:])
