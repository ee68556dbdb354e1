"""The memories of a population divided among several processes by person.

All memories of a person lie in one shard, and every result depends on the memories of one person alone. So what is
returned is the same, bit for bit, as from one `MemoryStream`, for any number of shards.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import ClusterLostError, MemoryStreamError, WorkerLostError
from populace.minds.growable_arrays import GrowableArray, Ints, to_ints
from populace.minds.memory_columns import FRAME
from populace.minds.memory_stream import PRESENTED, MemoryStream, check_evidence, check_owners, in_order, kind_codes
from populace.minds.retrieval import Retrieval, retrieval_preset
from populace.minds.similarity import QuantizedVectors
from populace.minds.stream_part import pack, unpack

_AHEAD = 8
"""How many calls that return nothing may be under way before one of them is waited for."""
_FOUND = ("query", "rank", "memory", "recency", "importance", "relevance", "score")
_TEXTS = {"query": pl.Int64, "memory": pl.Int64, "text": pl.String, "kind": pl.String, "time": pl.Int64}


class Shard(Protocol):
    """A `StreamPart` that is reached by calls, which it executes in their order."""

    def call(self, method: str, content: bytes = b"") -> Future[bytes]:
        """Call a method."""


class ShardedStream(MemoryStream):
    """A memory stream whose memories lie in several shards. Not safe for several threads at a time.

    Args:
        shards: The shards.
        embedder: The name of the embedder of all its vectors.
        dimension: The size of a vector; without one, that of the first vectors.
        embeds: Whether the shards embed texts themselves; texts then take the place of vectors.
    """

    def __init__(self, shards: Sequence[Shard], *, embedder: str, dimension: int | None, embeds: bool) -> None:
        super().__init__(embedder=embedder, dimension=dimension)
        self.embeds = embeds
        self._shards = list(shards)
        self._next_id = self._size = 0
        self._place = GrowableArray(np.int16)
        self._under_way: list[Future[bytes]] = []
        self._texts = pl.DataFrame(schema=_TEXTS)

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """The memory that the shards take, in bytes."""
        return sum(each["bytes"] for each in self._sizes())

    def append(
        self,
        owners: Sequence[int] | npt.ArrayLike,
        texts: Sequence[str] | pl.Series,
        *,
        kind: str | Sequence[str],
        time: int | npt.ArrayLike,
        importance: float | npt.ArrayLike,
        embeddings: npt.ArrayLike,
        evidence: Sequence[Sequence[int]] | None = None,
        embedder: str | None = None,
        ids: Ints | None = None,
    ) -> Ints:
        """Add memories; returns their ids. Where the shards embed, `embeddings` holds the texts."""
        columns, series = self._columns(owners, texts, kind, time, importance)
        check_evidence(evidence, series.len(), self._next_id)
        new: Ints = np.arange(self._next_id, self._next_id + series.len())
        table = pl.DataFrame({"memory": new, "text": series} | columns)
        if evidence is not None:
            table = table.with_columns(evidence=pl.Series([list(basis) for basis in evidence], dtype=pl.List(pl.Int64)))
        table, options = self._with_vectors(table, embeddings, embedder)
        self._next_id += len(new)
        self._size += len(new)
        self._place.reserve(self._next_id)
        places = columns["owner"] % len(self._shards)
        self._place.values[new] = places
        self._tell("append", options, table, places)
        return new

    def retrieve(
        self,
        owners: Sequence[int] | npt.ArrayLike,
        queries: npt.ArrayLike,
        *,
        now: int,
        how: Retrieval | str = "park2023",
        top: int | None = None,
        kinds: Sequence[str] | None = None,
        touch: bool = True,
        embedder: str | None = None,
    ) -> pl.DataFrame:
        """The best memories for each query. Where the shards embed, `queries` holds texts."""
        way = retrieval_preset(how) if isinstance(how, str) else how
        people = check_owners(owners)
        asked = pl.DataFrame({"owner": people, "text": list(queries) if self.embeds else [""] * len(people)})  # type: ignore[arg-type]
        asked, options = self._with_vectors(asked, queries, embedder)
        if kinds is not None:
            kind_codes(kinds, len(kinds))
        options |= {"now": now, "how": dataclasses.asdict(way), "top": top, "touch": touch}
        options["kinds"] = None if kinds is None else list(kinds)
        found = self._ask("retrieve", options, asked, people % len(self._shards), by="query").sort(
            "query", maintain_order=True
        )
        self._texts = found.select("query", "memory", *PRESENTED)
        return found.select(_FOUND)

    def present(self, retrieved: pl.DataFrame, how: Retrieval | str = "park2023") -> pl.DataFrame:
        """The retrieved memories with text, kind and time, in the order in which `how` shows them to a model."""
        way = retrieval_preset(how) if isinstance(how, str) else how
        presented = retrieved.join(self._texts, on=["query", "memory"], how="left", maintain_order="left")
        if presented["text"].null_count():
            # These are not from the last call of `retrieve`, with which the shards sent the texts.
            presented = retrieved.hstack(self.rows(retrieved["memory"], PRESENTED))
        return in_order(presented, "query", *(("time", "memory") if way.presented == "by time" else ("rank",)))

    def rows(self, ids: Sequence[int] | npt.ArrayLike | pl.Series, columns: Sequence[str] = FRAME) -> pl.DataFrame:
        """Memories by id, in the order of the ids."""
        numbers, options = to_ints(ids), {"columns": list(columns)}
        return self._ask("rows", options, pl.DataFrame({"memory": numbers}), self._places(numbers), by="row")

    def vectors(self, ids: Sequence[int] | npt.ArrayLike | pl.Series) -> QuantizedVectors:
        """The vectors of memories by id, a row each."""
        numbers = to_ints(ids)
        table = self._ask("vectors", {}, pl.DataFrame({"memory": numbers}), self._places(numbers), by="row")
        values = np.frombuffer(b"".join(table["vector"]), np.int8)
        return QuantizedVectors(values.reshape(len(numbers), -1 if len(numbers) else 0), table["factor"].to_numpy())

    def of(self, owner: int) -> pl.DataFrame:
        """All memories of one person, in the order in which they were added."""
        self._settle()
        return unpack(self._result(self._shards[owner % len(self._shards)].call("of", pack({"owner": owner}, _EMPTY))))[
            1
        ]

    def recent(self, owners: Sequence[int] | npt.ArrayLike, count: int) -> pl.DataFrame:
        """The newest memories of each person, newest first; the column `query` is the row in `owners`."""
        people = check_owners(owners)
        asked, places = pl.DataFrame({"owner": people}), people % len(self._shards)
        return self._ask("recent", {"count": count}, asked, places, by="query").sort("query", maintain_order=True)

    def touch(self, ids: Sequence[int] | npt.ArrayLike | pl.Series, now: int) -> None:
        """Count memories as accessed now."""
        numbers = to_ints(ids)
        self._tell("touch", {"now": now}, pl.DataFrame({"memory": numbers}), self._places(numbers))

    def forget(self, ids: Sequence[int] | npt.ArrayLike | pl.Series) -> None:
        """Drop memories; memories that rest on them keep their ids as evidence."""
        numbers = np.unique(to_ints(ids))
        places = self._places(numbers)
        self._place.values[numbers] = -1
        self._size -= len(numbers)
        self._tell("forget", {}, pl.DataFrame({"memory": numbers}), places)

    def counts(self, owners: Sequence[int] | npt.ArrayLike) -> Ints:
        """How many memories each of these people has."""
        people = check_owners(owners)
        asked = pl.DataFrame({"owner": people})
        counts: Ints = self._ask("counts", {}, asked, people % len(self._shards), by="row")["count"].to_numpy()
        return counts

    def unrated(self, owner: int | None = None) -> int:
        """How many memories have no importance, of one person or of all."""
        if owner is not None:
            return int(self.of(owner)["importance"].is_nan().sum())
        return sum(each["unrated"] for each in self._sizes())

    def columns(self, *names: str) -> pl.DataFrame:
        """Numeric columns of all memories, ordered by owner and id."""
        self._settle()
        wanted = list(dict.fromkeys([*names, "owner", "memory"]))
        calls = [shard.call("columns", pack({"names": wanted}, _EMPTY)) for shard in self._shards]
        return pl.concat([unpack(self._result(call))[1] for call in calls]).sort("owner", "memory").select(names)

    def _sizes(self) -> list[dict[str, int]]:
        self._settle()
        return [unpack(self._result(call))[0] for call in [shard.call("size") for shard in self._shards]]

    def _with_vectors(
        self, table: pl.DataFrame, vectors: Any, embedder: str | None
    ) -> tuple[pl.DataFrame, dict[str, Any]]:
        """The table with a vector in each row, where the shards do not make the vectors themselves."""
        if self.embeds:
            return table, {}
        checked = self._vectors(vectors, table.height, embedder)
        packed = [row.tobytes() for row in checked.astype("<f4")]
        return table.with_columns(vector=pl.Series(packed, dtype=pl.Binary)), {"dimension": checked.shape[1]}

    def _places(self, ids: Ints) -> Ints:
        """The shards of memories by id."""
        known = (ids >= 0) & (ids < self._next_id)
        if known.all():
            places: Ints = self._place.values[ids].astype(np.int64)
            known = places >= 0
            if known.all():
                return places
        missing = int(ids[int(np.argmin(known))])
        raise MemoryStreamError(
            f"there is no memory with the id {missing}.",
            "It was forgotten." if 0 <= missing < self._next_id else f"Ids run from 0 to {self._next_id - 1}.",
        )

    def _parts(
        self, method: str, options: dict[str, Any], table: pl.DataFrame, places: Ints
    ) -> Iterable[tuple[Ints, dict[str, Any], pl.DataFrame]]:
        """Call a method of every shard that is concerned, with its rows; their numbers, and what it returned."""
        self._settle()
        calls = []
        for number, shard in enumerate(self._shards):
            rows = np.flatnonzero(places == number)
            if len(rows):
                calls.append((rows, shard.call(method, pack(options, table[rows]))))
        return [(rows, *unpack(self._result(call))) for rows, call in calls]

    def _ask(self, method: str, options: dict[str, Any], table: pl.DataFrame, places: Ints, *, by: str) -> pl.DataFrame:
        """What all shards return, in the order of the rows of the table, or with its rows in the column `query`."""
        parts = []
        for rows, _, result in self._parts(method, options, table, places):
            number = rows[result["query"].to_numpy()] if by == "query" else rows
            parts.append(result.with_columns(pl.Series(by, number)))
        if not parts:
            # A shard without anything to do says which columns there are.
            _, empty = unpack(self._result(self._shards[0].call(method, pack(options, table))))
            return empty
        together = pl.concat(parts)
        return together if by == "query" else together.sort("row").drop("row")

    def _tell(self, method: str, options: dict[str, Any], table: pl.DataFrame, places: Ints) -> None:
        """Call a method that returns nothing, and go on; an error is raised by a later call."""
        for number, shard in enumerate(self._shards):
            rows = np.flatnonzero(places == number)
            if len(rows):
                self._under_way.append(shard.call(method, pack(options, table[rows])))
        while len(self._under_way) > _AHEAD * len(self._shards):
            self._result(self._under_way.pop(0))

    def _settle(self) -> None:
        """Raise what went wrong in calls that returned nothing."""
        under_way, self._under_way = self._under_way, []
        for call in under_way:
            if call.done():
                self._result(call)
            else:
                self._under_way.append(call)

    @staticmethod
    def _result(call: Future[bytes]) -> bytes:
        try:
            return call.result()
        except WorkerLostError as error:
            raise ClusterLostError(f"a process that held memories was lost ({error.what.rstrip('.')}).") from error


_EMPTY = pl.DataFrame()


def shard_setup(embedder: str, dimension: int | None, spec: str | None) -> bytes:
    """What a `StreamPart` is made from."""
    return json.dumps({"embedder": embedder, "dimension": dimension, "spec": spec}).encode()
