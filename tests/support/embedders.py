"""Embedders for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from populace.models import HashingEmbedder


class CountingEmbedder:
    """HashingEmbedder that counts."""

    name = "counting"

    def __init__(self, dimension: int = 8) -> None:
        self.dimension = dimension
        self.requests: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.requests += texts
        return HashingEmbedder(self.dimension).embed(texts)
