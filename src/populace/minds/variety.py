"""Variety: of memories that are nearly the same, only the best comes to mind."""

import numpy as np

from populace.minds.growable_arrays import Ints
from populace.minds.similarity import QuantizedVectors


def varied_rows(query: Ints, vectors: QuantizedVectors, top: int, limit: float) -> Ints:
    """The rows to take, for many queries at once: the best of each, leaving out what is too much like a better one.

    Args:
        query: The query of each row, in order; the rows of a query follow each other, the best first.
        vectors: The vector of each row.
        top: How many rows of each query to take at most.
        limit: The highest cosine between two rows of one query.

    Example:
        >>> from populace.minds.similarity import quantize
        >>> vectors = QuantizedVectors(*quantize([[1.0, 0.0], [0.99, 0.14], [0.0, 1.0]]))
        >>> varied_rows(np.array([0, 0, 0]), vectors, 2, 0.9).tolist()
        [0, 2]
    """
    if not len(query):
        return np.zeros(0, np.int64)
    _, first, counts = np.unique(query, return_index=True, return_counts=True)
    taken = np.zeros((len(first), min(top, int(counts.max()))), np.int64)
    sizes = np.zeros(len(first), np.int64)
    units = np.zeros((*taken.shape, vectors.values.shape[1]))
    for rank in range(int(counts.max())):
        # Queries that have enough are left out, so that few of their rows are compared at all.
        lacking = np.flatnonzero((rank < counts) & (sizes < taken.shape[1]))
        if not len(lacking):
            break
        rows = first[lacking] + rank
        unit = vectors.floats(rows)
        unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
        alike = np.einsum("qd,qkd->qk", unit, units[lacking, : int(sizes.max())]) > limit
        free = ~(alike & (np.arange(alike.shape[1]) < sizes[lacking, None])).any(axis=1)
        chosen = lacking[free]
        taken[chosen, sizes[chosen]] = rows[free]
        units[chosen, sizes[chosen]] = unit[free]
        sizes[chosen] += 1
    return taken[np.arange(taken.shape[1]) < sizes[:, None]]
