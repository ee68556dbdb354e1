"""How alike two texts are: the cosine of their vectors, kept in one byte a dimension.

A vector is kept as whole numbers from -127 to 127, its largest component being ±127. Products of such numbers add up
exactly in single precision for up to 1,040 dimensions, in any order; so a relevance is the same bit for bit alone or
in a batch, with the `fast` extra or without it, and on any machine. The rounding costs less than 0.003 of a cosine
at 384 dimensions.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from populace.minds.growable_arrays import Ints

Bytes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]

_EXACT = 1024
"""So many products of two bytes add up to less than 2²⁴, below which single precision is exact."""
_BLOCK = 256
"""Rows that are widened at a time: they then stay in the cache of a core."""


def quantize(vectors: npt.ArrayLike) -> tuple[Bytes, Floats]:
    """Vectors in one byte a dimension, and for each what makes its length 1 (0 for a vector of zeros).

    Example:
        >>> kept, factors = quantize([[0.0, 2.0], [0.3, -0.4]])
        >>> kept.tolist(), (1 / factors).round(2).tolist()
        ([[0, 127], [95, -127]], [127.0, 158.6])
    """
    wide = np.asarray(vectors, np.float32)
    largest = np.abs(wide).max(axis=-1, keepdims=True, initial=0.0)
    scaled = np.divide(wide, largest, out=np.zeros_like(wide), where=largest > 0)
    scaled *= np.float32(127)
    np.rint(scaled, out=scaled)
    kept = scaled.astype(np.int8)
    scaled *= scaled
    lengths = np.sqrt(scaled.sum(axis=-1, dtype=np.float64))
    return kept, np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def dots_by_row(kept: Bytes, slots: Ints, queries: Bytes) -> Floats:
    """For each query the products with its own row of places.

    Args:
        kept: All vectors.
        slots: A row of places for each query.
        queries: The queries.
    """
    count, width = slots.shape
    found = np.empty((count, width), np.float64)
    dimension = kept.shape[1]
    step = max(1, _BLOCK // width)
    narrow = np.empty((min(step, count), width, dimension), np.int8)
    wide = np.empty(narrow.shape, np.float32)
    columns = queries.astype(np.float32)[:, :, None]
    for begin in range(0, count, step):
        end = min(begin + step, count)
        here = slice(0, end - begin)
        np.take(kept, slots[begin:end], axis=0, out=narrow[here], mode="clip")
        np.copyto(wide[here], narrow[here])
        found[begin:end] = _exact(wide[here], columns[begin:end])[:, :, 0]
    return found


def dots_by_piece(kept: Bytes, pieces: list[tuple[int, int]], queries: Bytes) -> Floats:
    """For each query the products with the same contiguous pieces, joined: for one person with very many memories."""
    found = np.empty((sum(end - begin for begin, end in pieces), len(queries)), np.float64)
    columns = np.ascontiguousarray(queries.T, np.float32)
    wide = np.empty((_BLOCK, kept.shape[1]), np.float32)
    at, kernel = 0, _kernel()
    for begin, end in pieces:
        if kernel is not None:
            found[at : at + end - begin] = np.asarray(kernel(queries, kept[begin:end], metric="dot", threads=1)).T
            at += end - begin
            continue
        for start in range(begin, end, _BLOCK):
            rows = min(_BLOCK, end - start)
            np.copyto(wide[:rows], kept[start : start + rows])
            found[at : at + rows] = _exact(wide[:rows], columns)
            at += rows
    return found.T


@functools.cache
def _kernel() -> Any:
    """simsimd multiplies bytes without widening them, in half the time and with the same sums."""
    try:
        import simsimd
    except ImportError:
        return None
    return simsimd.cdist


def _exact(rows: npt.NDArray[np.float32], columns: npt.NDArray[np.float32]) -> npt.NDArray[np.floating]:
    dimension = rows.shape[-1]
    if dimension <= _EXACT:
        return rows @ columns
    total: Floats = np.zeros((*rows.shape[:-1], columns.shape[-1]))
    for begin in range(0, dimension, _EXACT):
        total += rows[..., begin : begin + _EXACT] @ columns[..., begin : begin + _EXACT, :]
    return total
