"""The turning points of one way in a town."""

from __future__ import annotations

import numpy as np

from populace.worlds.town.spots import Floats, Spots
from populace.worlds.town.streets import Ways


def corners(ways: Ways, a: Spots, b: Spots) -> Floats:
    """The points at which the way from the one point of `a` to that of `b` begins, turns and ends."""
    paths = ways.paths(a, b)
    return distinct(np.stack([paths.x[0], paths.y[0]], axis=1))


def distinct(points: Floats) -> Floats:
    """Points without those that repeat the one before."""
    return points[np.concatenate([[True], (np.abs(np.diff(points, axis=0)) > 1e-9).any(axis=1)])]
