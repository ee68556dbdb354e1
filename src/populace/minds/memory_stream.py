"""The memories of a whole population in one store.

A memory has an id that is never used again. Time is simulated time, in seconds since the start.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import EmbeddingError, MemoryStreamError, UnknownNameError
from populace.minds.growable_arrays import Ints, to_ints
from populace.minds.memory_columns import FRAME, KINDS, MemoryColumns
from populace.minds.retrieval import Mask, Retrieval, retrieval_preset
from populace.minds.similarity import Bytes, Floats, QuantizedVectors, dots_by_piece, dots_by_row, quantize

_TOGETHER = 16_384
"""The most candidates that are scored at once."""
_SHARED = 16
"""The most queries of one person with very many memories that are scored at once."""
_COLUMNS = ("query", "rank", "memory", "recency", "importance", "relevance", "score")
PRESENTED = ("text", "kind", "time")
"""What is added to retrieved memories when they are shown to a model."""


class _Group(NamedTuple):
    """Some queries of a batch with their candidates, a row for each."""

    rows: Ints
    slots: Ints
    among: Mask | None


class MemoryStream:
    """The memories of a whole population. Not safe for several threads at a time.

    Args:
        embedder: The name of the embedder of all its vectors.
        dimension: The size of a vector; without one, that of the first vectors.

    Example:
        >>> stream = MemoryStream(embedder="by hand", dimension=2)
        >>> texts = ["It rained.", "Bo fell.", "Tea with Al."]
        >>> stream.append([0, 1, 0], texts, kind="observation", time=60, importance=[2, 8, 5],
        ...               embeddings=[[1, 0], [0, 1], [0, 1]]).tolist()
        [0, 1, 2]
        >>> nearest = stream.retrieve([0], [[0, 1]], now=120, how="park2023", top=1)
        >>> stream.rows(nearest["memory"])["text"].to_list()
        ['Tea with Al.']
    """

    embeds = False
    """Whether the stream embeds texts itself, which then take the place of vectors."""

    def __init__(self, *, embedder: str, dimension: int | None) -> None:
        if dimension is not None and dimension < 1:
            raise MemoryStreamError(f"a vector cannot have {dimension} dimensions.", "Give the embedder's dimension.")
        self.embedder = embedder
        self.dimension = dimension
        self._store = MemoryColumns(dimension or 1)

    def __len__(self) -> int:
        return self._store.size

    @property
    def nbytes(self) -> int:
        """The memory that the stream takes, in bytes."""
        return self._store.nbytes

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
        """Add memories; returns their ids.

        Args:
            owners: The person of each memory, as a number.
            texts: The text of each memory.
            kind: One of `KINDS`, for all or for each.
            time: The simulated time in seconds, for all or for each.
            importance: From 1 to 10, NaN where it was not rated, for all or for each.
            embeddings: A vector for each text.
            evidence: For each memory, the ids of the memories that it rests on.
            embedder: The name of the embedder of these vectors; another one than the stream's is an error.
            ids: Their ids, ascending and higher than all before, where several streams hold the memories of one
                population; the next ones if left out.
        """
        columns, series = self._columns(owners, texts, kind, time, importance)
        count = series.len()
        vectors = self._vectors(embeddings, count, embedder)  # The first vectors make the store.
        end = self._store.next_id if ids is None or not len(ids) else int(ids[0])
        return self._store.put(columns, series, vectors, check_evidence(evidence, count, end), ids)

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
        """The best memories for each query, for many people at once.

        Args:
            owners: Whose memories are searched; a person may occur several times.
            queries: A vector for each.
            now: The simulated time in seconds; a later memory counts as new.
            how: How memories are ranked, or the name of a preset.
            top: How many to return for each query; as many as `how` says if left out.
            kinds: The kinds of memories to search; all if left out.
            touch: Whether later calls see what is returned as accessed now.
            embedder: The name of the embedder of these vectors; another one than the stream's is an error.

        Returns:
            A table ordered by query and rank: query (the row in the batch), rank (from 1), memory, the scaled recency,
            importance and relevance, and score. Ties go to the newest, then to the highest id.
        """
        way = retrieval_preset(how) if isinstance(how, str) else how
        people = check_owners(owners)
        query_vectors, factors = quantize(self._vectors(queries, len(people), embedder))
        parts, store = [], self._store
        for group in self._groups(people, None if kinds is None else kind_codes(kinds, len(kinds))):
            cosine = self._cosine(group, people, query_vectors, factors)
            if way.nearest is not None:
                rows, _, columns = self._best(group, cosine, way.nearest)
                among = np.zeros(cosine.shape, np.bool_)
                among[rows, columns] = True
                group = group._replace(among=among)
            ages = now - store.get(way.since, group.slots)
            scored = way.components(ages, store.get("importance", group.slots), cosine, group.among)
            rows, ranks, columns = self._best(group, scored.score, way.top if top is None else top)
            scores = (part[rows, columns] for part in scored)
            parts.append((group.rows[rows], ranks, group.slots[rows, columns], *scores))
        table = _by_query(parts)
        slots = table["memory"]
        if touch:
            store.set("last_access", slots, np.maximum(store.get("last_access", slots), now))
        return pl.DataFrame(table | {"memory": store.get("memory", slots)})

    def present(self, retrieved: pl.DataFrame, how: Retrieval | str = "park2023") -> pl.DataFrame:
        """The retrieved memories with text, kind and time, in the order in which `how` shows them to a model."""
        way = retrieval_preset(how) if isinstance(how, str) else how
        presented = retrieved.hstack(self.rows(retrieved["memory"], PRESENTED))
        return in_order(presented, "query", *(("time", "memory") if way.presented == "by time" else ("rank",)))

    def rows(self, ids: Sequence[int] | npt.ArrayLike | pl.Series, columns: Sequence[str] = FRAME) -> pl.DataFrame:
        """Memories by id, in the order of the ids.

        Args:
            ids: The ids.
            columns: The columns of the table; all if left out.
        """
        return self._store.frame(self._store.slots(to_ints(ids)), columns)

    def vectors(self, ids: Sequence[int] | npt.ArrayLike | pl.Series) -> QuantizedVectors:
        """The vectors of memories by id, a row each."""
        slots = self._store.slots(to_ints(ids))
        return QuantizedVectors(self._store.vectors[slots], self._store.get("factor", slots))

    def of(self, owner: int) -> pl.DataFrame:
        """All memories of one person, in the order in which they were added."""
        return self._store.frame(self._store.extents.flat(check_owners([owner]))[0])

    def recent(self, owners: Sequence[int] | npt.ArrayLike, count: int) -> pl.DataFrame:
        """The newest memories of each person, newest first; the column `query` is the row in `owners`."""
        query, slots = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for group in self._groups(check_owners(owners), None):
            times = self._store.get("time", group.slots).astype(np.float64)
            rows, _, columns = self._best(group, times, count)
            query.append(group.rows[rows])
            slots.append(group.slots[rows, columns])
        frame = self._store.frame(np.concatenate(slots))
        return frame.insert_column(0, pl.Series("query", np.concatenate(query))).sort("query", maintain_order=True)

    def touch(self, ids: Sequence[int] | npt.ArrayLike | pl.Series, now: int) -> None:
        """Count memories as accessed now."""
        slots = self._store.slots(to_ints(ids))
        self._store.set("last_access", slots, np.maximum(self._store.get("last_access", slots), now))

    def forget(self, ids: Sequence[int] | npt.ArrayLike | pl.Series) -> None:
        """Drop memories; memories that rest on them keep their ids as evidence."""
        self._store.drop(self._store.slots(to_ints(ids)))

    def count(self, owner: int) -> int:
        """How many memories a person has."""
        return int(self.counts([owner])[0])

    def counts(self, owners: Sequence[int] | npt.ArrayLike) -> Ints:
        """How many memories each of these people has."""
        return self._store.extents.counts(check_owners(owners))

    def unrated(self, owner: int | None = None) -> int:
        """How many memories have no importance, of one person or of all."""
        extents = self._store.extents
        people = extents.owners_with_memories() if owner is None else check_owners([owner])
        return int(np.isnan(self._store.get("importance", extents.flat(people)[0])).sum())

    def columns(self, *names: str) -> pl.DataFrame:
        """Numeric columns of all memories, ordered by owner and id, for policies that look at everybody at once.

        Args:
            names: Some of memory, owner, time, importance and last_access.
        """
        slots, _ = self._store.extents.flat(self._store.extents.owners_with_memories())
        return pl.DataFrame({name: self._store.get(name, slots) for name in names})

    def _columns(
        self,
        owners: Sequence[int] | npt.ArrayLike,
        texts: Sequence[str] | pl.Series,
        kind: str | Sequence[str],
        time: int | npt.ArrayLike,
        importance: float | npt.ArrayLike,
    ) -> tuple[dict[str, npt.NDArray[Any]], pl.Series]:
        """Owner, kind, time and importance of new memories, checked, and their texts."""
        people = check_owners(owners)
        count = len(people)
        series = texts if isinstance(texts, pl.Series) else pl.Series("text", list(texts), dtype=pl.String)
        if len(series) != count or series.null_count():
            raise MemoryStreamError(
                f"there are {count} owners and {len(series) - series.null_count()} texts.",
                "Give one text for each owner.",
            )
        columns: dict[str, npt.NDArray[Any]] = {
            "owner": people,
            "kind": np.repeat(kind_codes([kind], 1), count) if isinstance(kind, str) else kind_codes(kind, count),
            "time": _each(time, count, np.int64, "times"),
            "importance": _each(importance, count, np.float64, "importances"),
        }
        self._check(columns["time"], columns["importance"])
        return columns, series

    def _groups(self, people: Ints, allowed: npt.NDArray[np.int8] | None) -> Iterator[_Group]:
        """The queries in groups with similar numbers of candidates, to pad little; queries without any are left out."""
        counts = self._store.extents.counts(people)
        order = np.lexsort((people, -counts))
        begin, end = 0, int(np.count_nonzero(counts))
        while begin < end:
            width = int(counts[order[begin]])
            rows = order[begin : min(end, begin + max(_SHARED, _TOGETHER // width))]
            if width > _TOGETHER // _SHARED:
                rows = rows[people[rows] == people[rows[0]]]
            slots, among = self._store.extents.slots(people[rows], counts[rows]), None
            if counts[rows[-1]] < width:
                among = np.arange(width) < counts[rows, None]
            if allowed is not None:
                fits = np.isin(self._store.get("kind", slots), allowed)
                among = fits if among is None else among & fits
            yield _Group(rows, slots, among)
            begin += len(rows)

    def _cosine(self, group: _Group, people: Ints, query_vectors: Bytes, factors: Floats) -> Floats:
        store, queries, owners = self._store, query_vectors[group.rows], people[group.rows]
        if (owners == owners[0]).all():
            cosine = dots_by_piece(store.vectors, store.extents.pieces(int(owners[0])), queries)
        else:
            cosine = dots_by_row(store.vectors, group.slots, queries)
        cosine *= store.get("factor", group.slots)
        cosine *= factors[group.rows, None]
        return cosine

    def _best(self, group: _Group, scores: Floats, count: int) -> tuple[Ints, Ints, Ints]:
        if group.among is not None:
            scores = np.where(group.among, scores, -np.inf)
        width = scores.shape[1]
        if count < width:
            least = np.partition(scores, width - count, axis=1)[:, width - count, None]
            rows, columns = np.nonzero(scores >= least)
        else:
            rows, columns = np.nonzero(scores > -np.inf)
        good = scores[rows, columns]
        size = min(count, width)
        if len(rows) == size * len(scores):
            order = np.argsort(-good.reshape(-1, size), axis=1)
            ordered = np.take_along_axis(good.reshape(-1, size), order, axis=1)
            if (ordered[:, 1:] < ordered[:, :-1]).all():
                order = (order + size * np.arange(len(scores))[:, None]).ravel()
                return rows, np.tile(np.arange(1, size + 1), len(scores)), columns[order]
        slots = group.slots[rows, columns]
        order = np.lexsort((-self._store.get("memory", slots), -self._store.get("time", slots), -good, rows))
        order = order[good[order] > -np.inf]
        rows, columns = rows[order], columns[order]
        ranks = np.arange(1, len(rows) + 1) - np.searchsorted(rows, rows)
        first = ranks <= count
        return rows[first], ranks[first], columns[first]

    def _vectors(self, vectors: npt.ArrayLike, count: int, embedder: str | None) -> npt.NDArray[np.float32]:
        if embedder is not None and embedder != self.embedder:
            raise EmbeddingError(
                f"the vectors come from {embedder!r}, and the memory stream holds those of {self.embedder!r}.",
                "Embed with the stream's own embedder, or begin a new stream.",
            )
        array = np.asarray(vectors, np.float32)
        if not count and not array.size:
            return np.zeros((0, self.dimension or 1), np.float32)
        if self.dimension is None and array.ndim == 2 and array.shape[1]:
            self.dimension = array.shape[1]
            self._store = MemoryColumns(self.dimension)
        if array.shape != (count, self.dimension):
            raise EmbeddingError(
                f"vectors of the shape {array.shape} were given; the memory stream ({self.embedder}) takes "
                f"({count}, {self.dimension}).",
                "Embed with the stream's own embedder, one text for each row.",
            )
        if not np.isfinite(array).all():
            raise EmbeddingError("a vector holds NaN or infinity.", "Check the embedder.")
        return array

    def _check(self, times: npt.NDArray[Any], rated: npt.NDArray[Any]) -> None:
        if (times < 0).any():
            raise MemoryStreamError(f"the time {times.min()} is before the start.", "Time is in simulated seconds.")
        wrong = (rated < 1) | (rated > 10)
        if wrong.any():
            raise MemoryStreamError(
                f"the importance {rated[wrong][0]:g} is not between 1 and 10.", "Give NaN where it was not rated."
            )


def check_evidence(evidence: Sequence[Sequence[int]] | None, count: int, end: int) -> tuple[Ints, Ints]:
    """The number of ids that each memory rests on, and all of them in one array.

    Args:
        evidence: The ids for each memory; None where there are none.
        count: How many memories there are.
        end: The lowest id that is not there yet.
    """
    if evidence is None:
        return np.zeros(count, np.int64), np.zeros(0, np.int64)
    if len(evidence) != count:
        raise MemoryStreamError(f"there are {count} memories and evidence for {len(evidence)}.")
    flat = to_ints([memory for basis in evidence for memory in basis])
    if len(flat) and not 0 <= flat.min() <= flat.max() < end:
        raise MemoryStreamError(
            f"a memory rests on {int(flat.max() if flat.min() >= 0 else flat.min())}, which is not there.",
            "Evidence names the ids of earlier memories.",
        )
    return to_ints([len(basis) for basis in evidence]), flat


def in_order(table: pl.DataFrame, *names: str) -> pl.DataFrame:
    """The rows of a table in the order of some whole numbers; a table that is in order is returned as it is."""
    order = np.lexsort([table[name].to_numpy() for name in reversed(names)])
    return table if (order[1:] > order[:-1]).all() else table[order]


def _by_query(parts: list[tuple[npt.NDArray[Any], ...]]) -> dict[str, npt.NDArray[Any]]:
    """The parts as columns, ordered by query and rank; the column `memory` holds slots."""
    empty = [np.zeros(0, np.int64)] * 3 + [np.zeros(0)] * 4
    columns = [np.concatenate(column) for column in zip(empty, *parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return {name: column[order] for name, column in zip(_COLUMNS, columns, strict=True)}


def check_owners(owners: Sequence[int] | npt.ArrayLike) -> Ints:
    """People as whole numbers of at least 0."""
    array = np.atleast_1d(np.asarray(owners))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu") or (array.size and array.min() < 0):
        raise MemoryStreamError("owners are whole numbers of at least 0.", "Give each person's row at setup.")
    return array.astype(np.int64)


def _each(value: npt.ArrayLike, count: int, dtype: npt.DTypeLike, what: str) -> npt.NDArray[Any]:
    array = np.asarray(value)
    if array.ndim and array.shape != (count,):
        raise MemoryStreamError(f"there are {count} memories and {array.size} {what}.", "Give one for all or for each.")
    if np.dtype(dtype).kind == "i" and array.size and array.dtype.kind not in "iu":
        raise MemoryStreamError(f"{what} are whole numbers of simulated seconds.")
    return np.broadcast_to(array.astype(dtype), (count,))


def kind_codes(kinds: Sequence[str], count: int) -> npt.NDArray[np.int8]:
    """The places of kinds in the list of all kinds."""
    for kind in dict.fromkeys(kinds):
        if kind not in KINDS:
            raise UnknownNameError("kind of memory", kind, KINDS)
    if len(kinds) != count:
        raise MemoryStreamError(f"there are {count} memories and {len(kinds)} kinds.", "Give one for all or for each.")
    return np.array([KINDS.index(kind) for kind in kinds], np.int8)
