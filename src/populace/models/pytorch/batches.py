"""Which prompts are scored together."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from populace.models.pytorch.token_rows import Indices, TokenRows

Options = Sequence[tuple[str, ...]]
_MOST_ROWS = 32_768
"""How many prompts are computed in one batch at most, whatever their length."""
_MOST_CUTS = 64
"""At how many places a group may be cut at most."""


@dataclass(frozen=True)
class Batch:
    """Prompts that are scored together.

    Attributes:
        rows: Prompts, these among them.
        which: The places of these.
        tops: How many tokens are wanted after each row.
        options: The options of the question of each row.
        first: The number of the request of the first row.
        shared: How many tokens they begin with in common.
    """

    rows: TokenRows
    which: Indices
    tops: Indices
    options: Options
    first: int
    shared: int

    @property
    def numbers(self) -> list[int]:
        """The numbers of the requests."""
        numbers: list[int] = (self.which + self.first).tolist()
        return numbers

    def halves(self) -> list["Batch"]:
        """The batch in two parts."""
        middle = len(self.which) // 2
        return [replace(self, which=part) for part in (self.which[:middle], self.which[middle:])]


def scored_batches(
    rows: TokenRows, which: Indices, tops: Indices, options: Options, first: int, most: int, launch: int
) -> Iterator[Batch]:
    """Batches of prompts of about the same length.

    Args:
        rows: Prompts.
        which: Those of them that are scored.
        tops: How many tokens are wanted after each row.
        options: The options of the question of each row.
        first: The number of the request of the first row.
        most: How many tokens a batch has at most, those that all share left out, and those that fill it up included.
        launch: How many tokens could be computed in the time that it takes to begin a batch.
    """
    for group in rows.groups(which):
        shared = rows.common_length(group) if len(group) > 1 else 0
        ends = batch_ends(rows.lengths[group] - shared, most, launch)
        for begin, end in itertools.pairwise([0, *ends]):
            yield Batch(rows, group[begin:end], tops, options, first, shared)


def batch_ends(sizes: Indices, most: int, launch: int) -> list[int]:
    """Where to cut rows into batches so that filling them up and beginning them costs least.

    Args:
        sizes: How many tokens each row has, in rising order: the last row of a batch says how wide it is.
        most: How many tokens a batch has at most.
        launch: What it costs to begin a batch, in tokens.

    Example:
        >>> batch_ends(np.array([4, 4, 4, 4, 4, 4, 9]), most=100, launch=20)
        [6, 7]
        >>> batch_ends(np.array([4, 4, 4, 4, 4, 4, 9]), most=100, launch=40)
        [7]
        >>> batch_ends(np.array([4, 4, 4, 4, 4, 4, 4]), most=20, launch=20)
        [3, 7]
    """
    cuts = np.flatnonzero(np.diff(sizes)) + 1
    if len(cuts) > _MOST_CUTS:
        cuts = cuts[np.linspace(0, len(cuts) - 1, _MOST_CUTS).astype(np.int64)]
    cuts = np.r_[0, cuts, len(sizes)]
    least, best = np.zeros(len(cuts)), np.zeros(len(cuts), np.int64)
    for end in range(1, len(cuts)):
        counts = cuts[end] - cuts[:end]
        width = int(sizes[cuts[end] - 1])
        costs = least[:end] + counts * width + launch * -(-counts // _most_rows(width, most))
        best[end] = np.argmin(costs)
        least[end] = costs[best[end]]
    ends: list[int] = []
    last = len(cuts) - 1
    while last:
        begin, end = int(cuts[best[last]]), int(cuts[last])
        parts = -(-(end - begin) // _most_rows(int(sizes[end - 1]), most))
        # Parts of the same size: a small one takes as long to begin as a large one.
        ends += [begin + (end - begin) * part // parts for part in range(parts, 0, -1)]
        last = int(best[last])
    return ends[::-1]


def _most_rows(width: int, most: int) -> int:
    return min(max(1, most // width), _MOST_ROWS)
