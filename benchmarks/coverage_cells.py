"""Cells of the audit of intervals and tests: one procedure on one kind of data, over many simulated data sets."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SIZES = (5, 10, 20, 40)
LEAST = 0.93
MOST = 0.07
WARNED = 0.9
"""A cell in which a larger share of data sets is warned counts as warned."""

Outcome = tuple[bool, bool]
"""Of one data set: whether the interval holds the truth (or the test finds something), and whether it warns."""


@dataclass(frozen=True)
class Cell:
    """One procedure on one kind of data.

    Attributes:
        procedure: What was computed.
        data: The kind of data.
        n: Runs of each arm, or pairs.
        kind: `coverage` of an interval, or `size` of a test.
        sets: The number of data sets.
        actual: How often the interval held the truth, or the test found something.
        warned: The share of data sets with a warning.
        unwarned: The same as `actual`, among data sets without a warning; None where there are hardly any.
    """

    procedure: str
    data: str
    n: str
    kind: str
    sets: int
    actual: float
    warned: float
    unwarned: float | None

    @property
    def holds(self) -> bool:
        """Whether the bar is met, or a warning stands beside the interval."""
        if self.unwarned is None:
            return True
        return self.unwarned >= LEAST if self.kind == "coverage" else self.unwarned <= MOST


def cell(
    procedure: str,
    data: str,
    n: object,
    one: Callable[[np.random.Generator], Outcome],
    sets: int,
    kind: str = "coverage",
) -> Cell:
    """Run one cell; its random numbers depend on its names alone."""
    return cells({procedure: kind}, data, n, lambda rng: [one(rng)], sets)[0]


def cells(
    procedures: dict[str, str],
    data: str,
    n: object,
    several: Callable[[np.random.Generator], list[Outcome]],
    sets: int,
) -> list[Cell]:
    """Run several procedures, given with their kinds, on the same data sets."""
    rng = np.random.default_rng(zlib.crc32(f"{next(iter(procedures))}/{data}/{n}".encode()))
    outcomes = np.array([several(rng) for _ in range(sets)])  # sets × procedures × (hit, warned)
    found = []
    for place, (procedure, kind) in enumerate(procedures.items()):
        hits, warned = outcomes[:, place, 0], outcomes[:, place, 1]
        share = float(warned.mean())
        unwarned = float(hits[~warned].mean()) if share < WARNED else None
        found.append(Cell(procedure, data, str(n), kind, sets, float(hits.mean()), share, unwarned))
    return found
