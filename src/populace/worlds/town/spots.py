"""Points of a town from which people can walk, as columns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Spots:
    """Points, and how each is connected to the streets.

    Args:
        x: Metres to the east.
        y: Metres to the north.
        section: The street section that the point is on or leads to; -1 where there are no streets.
        offset: Metres from the first end of that section.
        access: Metres between the point and the street.
        building: The building on whose path to the street the point is; -1 on the street itself.

    Example:
        >>> Spots.at(np.array([3.0, 5.0]), np.array([4.0, 5.0])).take(np.array([1])).x.tolist()
        [5.0]
    """

    x: Floats
    y: Floats
    section: Ints
    offset: Floats
    access: Floats
    building: Ints

    @classmethod
    def at(cls, x: Floats, y: Floats) -> Self:
        """Points that belong to no street and no building."""
        nowhere, zero = np.full(len(x), -1, dtype=np.int64), np.zeros(len(x))
        return cls(x.astype(float), y.astype(float), nowhere, zero, zero.copy(), nowhere.copy())

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: Ints | Bools) -> Spots:
        """The points in these rows."""
        return Spots(*(getattr(self, column.name)[rows] for column in fields(self)))

    def followed_by(self, other: Spots) -> Spots:
        """These points and then the others."""
        return Spots(
            *(np.concatenate([getattr(self, column.name), getattr(other, column.name)]) for column in fields(self))
        )

    def put(self, rows: Ints | Bools, other: Spots) -> None:
        """Write other points into these rows."""
        for column in fields(self):
            getattr(self, column.name)[rows] = getattr(other, column.name)


def interpolate(start: Floats, end: Floats, share: Floats) -> Floats:
    """The coordinate that lies the given share of the way from start to end."""
    return start + (end - start) * share


def share_of(part: Floats, whole: Floats) -> Floats:
    """part / whole within [0, 1]; 0 where the whole is 0."""
    share: Floats = np.divide(part, whole, out=np.zeros_like(whole, dtype=float), where=whole > 0)
    return np.clip(share, 0.0, 1.0)
