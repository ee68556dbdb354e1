"""Arrays that grow, and the slots of each person's memories in them.

The memories of a person lie in extents, each twice as long as the one before: 8 slots, 16, 32, … So adding a memory
moves no other, and the memories of a person are a few contiguous pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.lists import list_column

Ints = npt.NDArray[np.int64]

_FIRST = 8
_MANY = 1 << 20


class GrowableArray:
    """An array with room at its end.

    Args:
        dtype: The type of an element.
        shape: The shape of one entry.

    Example:
        >>> column = GrowableArray(np.int64)
        >>> column.reserve(3)
        >>> column.values[:3] = [4, 5, 6]
        >>> column.values[1].item()
        5
    """

    def __init__(self, dtype: npt.DTypeLike, shape: tuple[int, ...] = ()) -> None:
        self.values: npt.NDArray[Any] = np.zeros((0, *shape), dtype)

    def reserve(self, count: int) -> None:
        """Make room for at least this many entries; new ones are 0."""
        have = len(self.values)
        if count > have:
            room = max(count, 64, 2 * have if have < _MANY else have + have // 4)
            # In place: the allocator can then enlarge large blocks without holding two copies.
            self.values.resize((room, *self.values.shape[1:]), refcheck=False)


class RaggedArray:
    """Pieces of different lengths in one array: the bytes of texts, or lists of ids.

    Args:
        dtype: The type of an element.

    Example:
        >>> lists = RaggedArray(np.int64)
        >>> starts = lists.append(np.array([2, 0, 1]), np.array([7, 8, 9]))
        >>> lists.lists(starts, np.array([2, 0, 1])).to_list()
        [[7, 8], [], [9]]
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._column = GrowableArray(dtype)
        self._end = 0
        self._dropped = 0

    def append(self, lengths: Ints, flat: npt.NDArray[Any]) -> Ints:
        """Add pieces, given as lengths and one flat array; returns where each begins."""
        self._column.reserve(self._end + len(flat))
        self._column.values[self._end : self._end + len(flat)] = flat
        ends: Ints = self._end + np.cumsum(lengths, dtype=np.int64)
        self._end += len(flat)
        return ends - lengths

    @property
    def nbytes(self) -> int:
        """The memory taken, room at the end included."""
        return self._column.values.nbytes

    def lists(self, starts: Ints, lengths: Ints) -> pl.Series:
        """Pieces as a column of lists."""
        return list_column(pl.Series(self._column.values[_indices(starts, lengths)]), lengths)

    def texts(self, starts: Ints, lengths: Ints) -> pl.Series:
        """Pieces as a column of texts, where the elements are the bytes of texts."""
        content = self._column.values.data
        spans = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
        return pl.Series([str(content[begin:end], "utf-8") for begin, end in spans], dtype=pl.String)

    def drop(self, count: int) -> bool:
        """Note that this many elements are no longer needed; returns whether packing is due."""
        self._dropped += count
        return self._dropped > max(_MANY, self._end // 2)

    def packed(self, starts: Ints, lengths: Ints) -> tuple[RaggedArray, Ints]:
        """A copy of these pieces without the dropped ones, and where each begins in it."""
        packed = RaggedArray(self._column.values.dtype)
        new = np.empty_like(starts)
        for begin in range(0, len(starts), 100_000):
            part = slice(begin, begin + 100_000)
            sizes = lengths[part]
            new[part] = packed.append(sizes, self._column.values[_indices(starts[part], sizes)])
        return packed, new


def _indices(starts: Ints, lengths: Ints) -> Ints:
    """The indices of all elements of pieces, one piece after the other."""
    offsets = np.cumsum(lengths) - lengths
    indices: Ints = np.repeat(starts - offsets, lengths) + np.arange(int(lengths.sum()))
    return indices


class Extents:
    """The slots of the memories of each person.

    Example:
        >>> extents = Extents()
        >>> extents.add(np.array([5, 5, 2])).tolist()
        [8, 9, 0]
        >>> extents.counts(np.array([2, 5, 99])).tolist()
        [1, 2, 0]
    """

    def __init__(self) -> None:
        self._starts = np.full((0, 0), -1, np.int64)
        self._counts = GrowableArray(np.int64)
        self._free: dict[int, list[int]] = {}
        self.end = 0

    @property
    def owners(self) -> int:
        """One more than the largest owner that there is room for."""
        return len(self._counts.values)

    def counts(self, owners: Ints) -> Ints:
        """How many memories each of these people has."""
        if not self.owners:
            return np.zeros(len(owners), np.int64)
        known = owners < self.owners
        counts: Ints = np.where(known, self._counts.values[np.where(known, owners, 0)], 0)
        return counts

    def owners_with_memories(self) -> Ints:
        """The people who have a memory, ascending."""
        return np.flatnonzero(self._counts.values)

    def add(self, owners: Ints) -> Ints:
        """Allocate a slot for one more memory of each of these people, and return the slots in their order."""
        self._make_room(int(owners.max()) + 1)
        order = np.argsort(owners, kind="stable")
        ordered = owners[order]
        leads = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        sizes = np.diff(np.r_[leads, len(ordered)])
        positions = np.empty(len(owners), np.int64)
        positions[order] = np.arange(len(owners)) - np.repeat(leads, sizes) + self._counts.values[ordered]
        self._allocate(owners, positions)
        self._counts.values[ordered[leads]] += sizes
        return self._places(owners, positions)

    def slots(self, owners: Ints, counts: Ints) -> Ints:
        """The slots of the memories of these people, oldest id first: a row for each person, padded with 0."""
        if len(owners) and (owners == owners[0]).all():
            places = np.concatenate([np.arange(*piece) for piece in self.pieces(int(owners[0]))])
            return np.broadcast_to(places, (len(owners), len(places)))
        positions = np.arange(int(counts.max(initial=0)))
        extent, within = _extent(positions)
        places = self._starts[owners][:, extent] + within
        return places if counts.min(initial=0) == len(positions) else np.where(positions < counts[:, None], places, 0)

    def flat(self, owners: Ints) -> tuple[Ints, Ints]:
        """All slots of these people in one array, and for each slot the row of its person in `owners`."""
        counts = self.counts(owners)
        rows = np.repeat(np.arange(len(owners)), counts)
        positions = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self._places(owners[rows], positions), rows

    def pieces(self, owner: int) -> list[tuple[int, int]]:
        """The contiguous pieces of one person's memories, as begin and end."""
        left, pieces = int(self._counts.values[owner]), []
        for extent, start in enumerate(self._starts[owner].tolist()):
            size = min(left, _FIRST << extent)
            if size <= 0:
                break
            pieces.append((start, start + size))
            left -= size
        return pieces

    def shrink(self, owners: Ints, counts: Ints) -> None:
        """Give these distinct people fewer memories, and free the extents that they no longer need."""
        self._counts.values[owners] = counts
        needed = np.where(counts > 0, _extent(np.maximum(counts - 1, 0))[0] + 1, 0)
        for extent in range(self._starts.shape[1]):
            unneeded = owners[(needed <= extent) & (self._starts[owners, extent] >= 0)]
            self._free.setdefault(extent, []).extend(self._starts[unneeded, extent].tolist())
            self._starts[unneeded, extent] = -1

    def _places(self, owners: Ints, positions: Ints) -> Ints:
        extent, within = _extent(positions)
        places: Ints = self._starts[owners, extent] + within
        return places

    def _make_room(self, owners: int, extents: int = 1) -> None:
        self._counts.reserve(owners)
        rows, columns = self._starts.shape
        shape = (self.owners, max(columns, extents))
        if (rows, columns) != shape:
            larger = np.full(shape, -1, np.int64)
            larger[:rows, :columns] = self._starts
            self._starts = larger

    def _allocate(self, owners: Ints, positions: Ints) -> None:
        extent, _ = _extent(positions)
        self._make_room(0, int(extent.max()) + 1)
        new = self._starts[owners, extent] < 0
        pairs = np.unique(owners[new] * 64 + extent[new])
        for which in np.unique(pairs % 64).tolist():
            people = pairs[pairs % 64 == which] // 64
            size, free = _FIRST << which, self._free.get(which, [])
            used = min(len(free), len(people))
            reused = [free.pop() for _ in range(used)]
            self._starts[people[:used], which] = reused
            self._starts[people[used:], which] = self.end + size * np.arange(len(people) - used)
            self.end += size * (len(people) - used)


def _extent(positions: Ints) -> tuple[npt.NDArray[np.int32], Ints]:
    """The extent in which the n-th memory of a person lies, and the offset in that extent."""
    extent = np.frexp(positions // _FIRST + 1.0)[1] - 1
    return extent, positions - _FIRST * ((1 << extent.astype(np.int64)) - 1)


def to_ints(values: Sequence[int] | npt.ArrayLike) -> Ints:
    """Integers as a one-dimensional array."""
    return np.atleast_1d(np.asarray(values)).astype(np.int64, copy=False)
