"""Which prompts are scored together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from populace.models.pytorch.token_rows import Indices, TokenRows

Options = Sequence[tuple[str, ...]]
_MOST_ROWS = 32_768
"""How many prompts are computed in one batch at most, whatever their length."""


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
    rows: TokenRows, which: Indices, tops: Indices, options: Options, first: int, most: int
) -> Iterator[Batch]:
    """Batches of prompts of about the same length.

    Args:
        rows: Prompts.
        which: Those of them that are scored.
        tops: How many tokens are wanted after each row.
        options: The options of the question of each row.
        first: The number of the request of the first row.
        most: How many tokens a batch has at most, those that all share left out, and those that fill it up included.
    """
    for group in rows.groups(which):
        shared = rows.common_length(group) if len(group) > 1 else 0
        sizes = rows.lengths[group] - shared
        begin = 0
        while begin < len(group):
            # Rows are ordered by length, so the last one of a batch says how wide it is.
            totals = np.arange(1, len(group) - begin + 1) * sizes[begin:]
            count = max(1, int(np.searchsorted(totals, most, "right")))
            end = begin + min(count, _MOST_ROWS)
            yield Batch(rows, group[begin:end], tops, options, first, shared)
            begin = end
