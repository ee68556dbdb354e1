"""Topics of several sets of texts: found in all texts together, with their share in each set.

The grouping is k-means on the unit sphere, with centres that start far apart instead of at random.
scipy's `kmeans2` could replace half of it, but scipy is an optional dependency, and comparing runs
of a forum must work without it.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from populace.models import Embedder

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

_ITERATIONS = 20


class Topics:
    """Texts grouped by their vectors; the same texts give the same groups.

    Args:
        bodies: The sets of texts.
        embedder: Makes the vectors.
        count: The most topics.

    Attributes:
        shares: For each set, the share of each topic.
        typical: For each topic, the text nearest to its centre.

    Example:
        >>> from populace.models import HashingEmbedder
        >>> topics = Topics([["a cup of tea", "a cup of tea please"], ["the late train"]], HashingEmbedder(), 2)
        >>> topics.shares.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, bodies: Sequence[Sequence[str]], embedder: Embedder, count: int) -> None:
        texts = [text for body in bodies for text in body]
        self.shares: Floats = np.zeros((len(bodies), 0))
        self.typical: list[str] = []
        if not texts:
            return
        vectors = embedder.embed(texts).astype(np.float64)
        labels, centres = _groups(vectors, count)
        bounds = np.cumsum([0, *(len(body) for body in bodies)]).tolist()
        shares = [
            np.bincount(labels[start:end], minlength=len(centres)) / max(1, end - start)
            for start, end in itertools.pairwise(bounds)
        ]
        self.shares = np.array(shares)
        nearest = [
            int(np.where(labels == topic, vectors @ centre, -np.inf).argmax()) for topic, centre in enumerate(centres)
        ]
        self.typical = [texts[row] for row in nearest]


def _groups(vectors: Floats, count: int) -> tuple[Integers, Floats]:
    starts = [int((vectors @ vectors.mean(axis=0)).argmax())]
    while len(starts) < min(count, len(vectors)):
        nearest = (vectors @ vectors[starts].T).max(axis=1)
        if nearest.min() > 1 - 1e-9:
            break
        starts.append(int(nearest.argmin()))
    centres = vectors[starts]
    labels = (vectors @ centres.T).argmax(axis=1)
    for _ in range(_ITERATIONS):
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, vectors)
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(length > 0, sums / np.where(length > 0, length, 1.0), centres)
        previous, labels = labels, (vectors @ centres.T).argmax(axis=1)
        if (labels == previous).all():
            break
    return labels.astype(np.int64), centres
