"""Of what several bodies of text speak: topics found in all of them together, and their share in each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from populace.models import Embedder

Floats = np.ndarray[Any, np.dtype[np.float64]]
Whole = np.ndarray[Any, np.dtype[np.int64]]

_SWEEPS = 20


class Topics:
    """Texts grouped by their vectors; the same texts give the same groups.

    Args:
        bodies: The texts of each body.
        embedder: Makes the vectors.
        count: How many topics there are at most.

    Attributes:
        shares: For each body, the share of each topic.
        typical: For each topic, the text nearest to its centre.

    Example:
        >>> from populace.models import HashingEmbedder
        >>> found = Topics([["a cup of tea", "a cup of tea please"], ["the late train"]], HashingEmbedder(), 2)
        >>> found.shares.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, bodies: Sequence[Sequence[str]], embedder: Embedder, count: int) -> None:
        texts = [text for body in bodies for text in body]
        self.shares: Floats = np.zeros((len(bodies), 0))
        self.typical: list[str] = []
        if not texts:
            return
        vectors = embedder.embed(texts).astype(np.float64)
        label, centre = _grouped(vectors, count)
        ends = np.cumsum([0, *(len(body) for body in bodies)]).tolist()
        parts = [
            np.bincount(label[first:last], minlength=len(centre)) / max(1, last - first)
            for first, last in itertools.pairwise(ends)
        ]
        self.shares = np.array(parts)
        nearest = [
            int(np.where(label == topic, vectors @ middle, -np.inf).argmax()) for topic, middle in enumerate(centre)
        ]
        self.typical = [texts[row] for row in nearest]


def _grouped(vectors: Floats, count: int) -> tuple[Whole, Floats]:
    """Unit vectors around centres: begin with those farthest apart, then move until nothing changes."""
    chosen = [int((vectors @ vectors.mean(axis=0)).argmax())]
    while len(chosen) < min(count, len(vectors)):
        nearest = (vectors @ vectors[chosen].T).max(axis=1)
        if nearest.min() > 1 - 1e-9:
            break
        chosen.append(int(nearest.argmin()))
    centre = vectors[chosen]
    label = (vectors @ centre.T).argmax(axis=1)
    for _ in range(_SWEEPS):
        sums = np.zeros_like(centre)
        np.add.at(sums, label, vectors)
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        centre = np.where(length > 0, sums / np.where(length > 0, length, 1.0), centre)
        again = (vectors @ centre.T).argmax(axis=1)
        if (again == label).all():
            break
        label = again
    return label.astype(np.int64), centre
