"""The columns of all memories: a memory is one slot in every column."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import MemoryStreamError
from populace.minds.growable_arrays import Extents, GrowableArray, Ints, RaggedArray
from populace.minds.similarity import Bytes, quantize

KINDS = (
    "observation",
    "dialogue",
    "plan",
    "reflection",
    "told",
    "deed",
    "speech",
    "hearing",
    "thought",
    "announcement",
)
"""The kinds of memories: what one saw, planned, concluded, did, said, heard from others, thought, and heard announced.

`dialogue` and `told` are those of scenarios that do not tell speech and hearing apart. Streams store the place of a
kind in this list, so new kinds go to its end.
"""

FRAME = ("memory", "owner", "text", "kind", "time", "importance", "last_access", "evidence")
"""The columns of a table of memories."""
_PART = 16_384
_COLUMNS: dict[str, npt.DTypeLike] = {
    "memory": np.int64,
    "owner": np.int64,
    "kind": np.int8,
    "time": np.int64,
    "importance": np.float64,
    "last_access": np.int64,
    "factor": np.float64,
    "text_at": np.int64,
    "text_size": np.int32,
    "evidence_at": np.int64,
    "evidence_size": np.int32,
}


class MemoryColumns:
    """The memories of a population in columns; what is added here was checked before.

    Args:
        dimension: The size of a vector.

    Attributes:
        extents: The slots of each person.
        size: How many memories there are.
        next_id: The id that the next memory gets.
    """

    def __init__(self, dimension: int) -> None:
        self.extents = Extents()
        self.size = 0
        self._columns = {name: GrowableArray(dtype) for name, dtype in _COLUMNS.items()}
        self._vectors = GrowableArray(np.int8, (dimension,))
        self._texts = RaggedArray(np.uint8)
        self._evidence = RaggedArray(np.int64)
        self._slot_of = GrowableArray(np.int64)
        self.next_id = 0

    @property
    def vectors(self) -> Bytes:
        """All vectors by slot, one byte for each dimension."""
        return self._vectors.values

    @property
    def nbytes(self) -> int:
        """The memory that all columns take in bytes, including the room at their ends."""
        arrays = [*self._columns.values(), self._vectors, self._slot_of]
        return sum(array.values.nbytes for array in arrays) + self._texts.nbytes + self._evidence.nbytes

    def put(
        self,
        columns: Mapping[str, npt.NDArray[Any]],
        texts: pl.Series,
        vectors: npt.NDArray[np.floating],
        evidence: tuple[Ints, Ints],
        ids: Ints | None = None,
    ) -> Ints:
        """Add memories and return their ids.

        Args:
            columns: Owner, kind, time and importance.
            texts: The texts.
            vectors: A vector for each.
            evidence: The number of ids of each memory, and all ids in one array.
            ids: Ascending ids from `next_id` on, where other stores hold the ids between them; the next ones if left
                out.
        """
        owners = columns["owner"]
        if ids is None:
            ids = np.arange(self.next_id, self.next_id + len(owners))
        if not len(owners):
            return ids
        slots = self.extents.add(owners)
        for array in (*self._columns.values(), self._vectors):
            array.reserve(self.extents.end)
        first, self.next_id = self.next_id, int(ids[-1]) + 1
        self.size += len(ids)
        self._slot_of.reserve(self.next_id)
        self._slot_of.values[first : self.next_id] = -1
        self._slot_of.values[ids] = slots
        sizes = texts.str.len_bytes().to_numpy().astype(np.int64)
        filled = dict(columns) | {
            "memory": ids,
            "last_access": columns["time"],
            "text_at": self._texts.append(sizes, np.frombuffer("".join(texts.to_list()).encode(), np.uint8)),
            "text_size": sizes,
            "evidence_at": self._evidence.append(*evidence),
            "evidence_size": evidence[0],
        }
        for name, values in filled.items():
            self.set(name, slots, values)
        for begin in range(0, len(ids), _PART):
            part = slice(begin, begin + _PART)
            self._vectors.values[slots[part]], factors = quantize(vectors[part])
            self.set("factor", slots[part], factors)
        return ids

    def get(self, name: str, slots: Ints) -> npt.NDArray[Any]:
        """The values of a column at these slots."""
        return self._columns[name].values[slots]

    def set(self, name: str, slots: Ints, values: npt.ArrayLike) -> None:
        """Set the values of a column at these slots."""
        self._columns[name].values[slots] = values

    def slots(self, ids: Ints) -> Ints:
        """The slots of memories by id."""
        known = (ids >= 0) & (ids < self.next_id)
        if known.all():
            slots: Ints = self._slot_of.values[ids]
            known = slots >= 0
            if known.all():
                return slots
        missing = int(ids[int(np.argmin(known))])
        raise MemoryStreamError(
            f"there is no memory with the id {missing}.",
            "It was forgotten." if 0 <= missing < self.next_id else f"Ids run from 0 to {self.next_id - 1}.",
        )

    def frame(self, slots: Ints, names: Sequence[str] = FRAME) -> pl.DataFrame:
        """Memories as a table.

        Args:
            slots: Where they lie.
            names: The columns of the table; texts and evidence take much longer than the others.
        """
        return pl.DataFrame({name: self._column(name, slots) for name in names})

    def _column(self, name: str, slots: Ints) -> pl.Series:
        if name == "text":
            return self._texts.texts(self.get("text_at", slots), self.get("text_size", slots))
        if name == "evidence":
            return self._evidence.lists(self.get("evidence_at", slots), self.get("evidence_size", slots))
        if name == "kind":
            return pl.Series(np.array(KINDS, object)[self.get("kind", slots)], dtype=pl.String)
        return pl.Series(self.get(name, slots))

    def drop(self, slots: Ints) -> None:
        """Remove memories and close the gaps; the slots of other memories of the same people change."""
        slots = np.unique(slots)
        if not len(slots):
            return
        people = np.unique(self.get("owner", slots))
        gone = np.zeros(self.extents.end, np.bool_)
        gone[slots] = True
        self._slot_of.values[self.get("memory", slots)] = -1
        self.size -= len(slots)
        due = [
            self._texts.drop(int(self.get("text_size", slots).sum())),
            self._evidence.drop(int(self.get("evidence_size", slots).sum())),
        ]
        ends = np.cumsum(self.extents.counts(people))
        cuts = np.unique(np.searchsorted(ends, np.arange(_PART, ends[-1], _PART), side="right"))
        for part in np.split(people, cuts):
            if len(part):
                self._close_up(part, gone)
        if any(due):
            self._pack()

    def _close_up(self, people: Ints, gone: npt.NDArray[np.bool_]) -> None:
        old, rows = self.extents.flat(people)
        stay = ~gone[old]
        counts = np.bincount(rows[stay], minlength=len(people))
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        before = self.extents.counts(people)
        new = old[np.repeat(np.cumsum(before) - before, counts) + within]
        source = old[stay]
        changed = source != new
        source, new = source[changed], new[changed]
        for array in (*self._columns.values(), self._vectors):
            array.values[new] = array.values[source]
        self._slot_of.values[self.get("memory", new)] = new
        self.extents.shrink(people, counts)

    def _pack(self) -> None:
        slots, _ = self.extents.flat(self.extents.owners_with_memories())
        self._texts, starts = self._texts.packed(self.get("text_at", slots), self.get("text_size", slots))
        self.set("text_at", slots, starts)
        self._evidence, starts = self._evidence.packed(self.get("evidence_at", slots), self.get("evidence_size", slots))
        self.set("evidence_at", slots, starts)
