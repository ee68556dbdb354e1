"""Designs: which combinations of levels are run.

A point holds for every factor the index of a level, or, if the factor is a range, a number from 0 (low) to 1 (high).
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import numpy as np
import pydantic

from populace.base.errors import UsageError
from populace.base.randomness import stream
from populace.statistics import sobol_sample

DesignKind = Literal["full", "fractional", "one-at-a-time", "latin-hypercube", "sobol"]
Point = tuple[float, ...]
SAMPLED = ("latin-hypercube", "sobol")
"""Designs that draw points, and so take ranges."""

_MAX_ARMS = 100_000


class Design(pydantic.BaseModel):
    """How the levels of the factors are combined.

    Attributes:
        kind: All combinations (`full`); a regular fraction of them, for factors of two levels (`fractional`); the
            first levels and each other level in turn (`one-at-a-time`); or points spread over ranges
            (`latin-hypercube`, `sobol`).
        points: How many points are sampled; for `sobol` the base number, of which (factors + 2) times as many are run.
        resolution: Of a fraction: with 4, no main effect is confounded with an interaction of two factors.

    Example:
        >>> Design(kind="sobol", points=64).sampled
        True
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    kind: DesignKind = "full"
    points: Annotated[int, pydantic.Field(ge=2)] = 16
    resolution: Annotated[int, pydantic.Field(ge=3)] = 4

    @property
    def sampled(self) -> bool:
        """Whether points are sampled rather than levels combined."""
        return self.kind in SAMPLED


def design_points(design: Design, levels: Sequence[int | None], seed: int) -> list[Point]:
    """The points of a design.

    Args:
        design: The design.
        levels: How many levels each factor has; None for a range.
        seed: The seed of sampled points.

    Example:
        >>> design_points(Design(kind="one-at-a-time"), [2, 3], seed=0)
        [(0, 0), (1, 0), (0, 1), (0, 2)]
        >>> len(design_points(Design(kind="fractional"), [2, 2, 2, 2], seed=0))
        8
    """
    if design.kind == "latin-hypercube":
        return _level_points(_latin(design.points, len(levels), seed), levels)
    if design.kind == "sobol":
        bounds = {f"factor {place}": (0.0, 1.0) for place in range(len(levels))}
        return _level_points(sobol_sample(bounds, design.points, seed).select(list(bounds)).to_numpy(), levels)
    counts = [count for count in levels if count is not None]
    if len(counts) < len(levels):
        raise UsageError(
            f"a factor is a range, and the design is {design.kind}.",
            "List its levels, or use the design latin-hypercube or sobol.",
        )
    if design.kind == "fractional":
        return _fraction(counts, design.resolution)
    if design.kind == "one-at-a-time":
        first = (0,) * len(counts)
        others = [(place, level) for place, count in enumerate(counts) for level in range(1, count)]
        return [first, *((*first[:place], level, *first[place + 1 :]) for place, level in others)]
    if np.prod([float(count) for count in counts]) > _MAX_ARMS:
        raise UsageError(f"all combinations of the levels are more than {_MAX_ARMS:,} arms.", "Use fewer factors.")
    return [tuple(point) for point in itertools.product(*(range(count) for count in counts))]


def _latin(points: int, factors: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """A Latin hypercube sample: in every column, one point in each of `points` equal strips."""
    rng = stream(seed, "design")
    strips = np.column_stack([rng.permutation(points) for _ in range(factors)])
    return np.asarray((strips + rng.random((points, factors))) / points, dtype=np.float64)


def _level_points(unit: np.ndarray[tuple[int, int], np.dtype[np.float64]], levels: Sequence[int | None]) -> list[Point]:
    """Points of the unit cube, with columns of factors that have levels converted to indices of levels."""
    columns = [
        unit[:, place] if count is None else np.minimum((unit[:, place] * count).astype(int), count - 1)
        for place, count in enumerate(levels)
    ]
    return [tuple(column[row].item() for column in columns) for row in range(len(unit))]


def _fraction(counts: Sequence[int], resolution: int) -> list[Point]:
    """The smallest regular fraction of this resolution that the search finds."""
    wrong = next((count for count in counts if count != 2), None)
    if wrong is not None:
        raise UsageError(
            f"a fractional design takes factors of two levels, and one has {wrong}.",
            "Use two levels for each, or the design full or one-at-a-time.",
        )
    base, generators = next(
        (base, generators)
        for base in range(1, len(counts) + 1)
        if (generators := _generators(base, len(counts) - base, resolution)) is not None
    )
    # A generated column is the parity of its base columns, counted so that the first levels make the first point.
    return [
        (*bits, *(sum(bits[place] for place in columns) % 2 for columns in generators))
        for bits in itertools.product((0, 1), repeat=base)
    ]


def _generators(base: int, added: int, resolution: int) -> list[tuple[int, ...]] | None:
    """Base columns for each added column, such that no word of the defining relation is shorter than the resolution."""
    candidates = [c for size in range(resolution - 1, base + 1) for c in itertools.combinations(range(base), size)]
    # Long words first resolve the most; short ones leave room for more columns.
    return _first_generators(reversed(candidates), base, added, resolution) or _first_generators(
        candidates, base, added, resolution
    )


def _first_generators(
    candidates: Iterable[tuple[int, ...]], base: int, added: int, resolution: int
) -> list[tuple[int, ...]] | None:
    words: list[int] = []
    generators: list[tuple[int, ...]] = []
    for candidate in candidates:
        if len(generators) == added:
            break
        word = sum(1 << place for place in candidate) | 1 << base + len(generators)
        new_words = [word, *(word ^ other for other in words)]
        if min(each.bit_count() for each in new_words) >= resolution:
            words += new_words
            generators.append(candidate)
    return generators if len(generators) == added else None
