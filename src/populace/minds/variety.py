"""Variety: of memories that are nearly the same, only the best comes to mind."""

import numpy as np
import numpy.typing as npt

from populace.minds.growable_arrays import Ints


def varied_rows(query: Ints, vectors: npt.NDArray[np.float64], top: int, limit: float) -> Ints:
    """The rows to take, for many queries at once: the best of each, leaving out what is too much like a better one.

    Args:
        query: The query of each row, in order; the rows of a query follow each other, the best first.
        vectors: The vector of each row.
        top: How many rows of each query to take at most.
        limit: The highest cosine between two rows of one query.

    Example:
        >>> vectors = np.array([[1.0, 0.0], [0.99, 0.14], [0.0, 1.0]])
        >>> varied_rows(np.array([0, 0, 0]), vectors, 2, 0.9).tolist()
        [0, 2]
    """
    if not len(query):
        return np.zeros(0, np.int64)
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    unit = vectors / lengths
    _, first, counts = np.unique(query, return_index=True, return_counts=True)
    width = int(counts.max())
    grid = np.minimum(first[:, None] + np.arange(width), len(query) - 1)
    there = np.arange(width) < counts[:, None]
    alike = np.einsum("qid,qjd->qij", unit[grid], unit[grid]) > limit
    taken = np.zeros_like(there)
    for rank in range(width):
        free = there[:, rank] & (taken.sum(axis=1) < top) & ~(alike[:, rank] & taken).any(axis=1)
        taken[:, rank] = free
    return np.asarray(grid[taken], np.int64)
