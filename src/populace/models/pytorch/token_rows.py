"""Prompts as tokens in columns: no object for each token, and beginnings that many prompts share stored once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
Tokens = npt.NDArray[np.int32]

_LARGE_GROUP = 4096
"""From how many own tokens on, prompts with the same beginning have batches of their own."""
_TOKENS_IN_ORDER = 48
"""By how many of its own tokens a prompt is put in order."""
_LONGEST_COMMON = 1024
"""How many tokens of different beginnings are compared."""


@dataclass(frozen=True)
class TokenLists:
    """Lists of tokens, one after the other.

    Attributes:
        tokens: The tokens of all lists.
        ends: Where each list ends.
    """

    tokens: Tokens
    ends: Indices

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> "TokenLists":
        """The same as columns."""
        ends = np.cumsum(np.fromiter(map(len, lists), np.int64, len(lists)))
        return cls(np.fromiter(chain.from_iterable(lists), np.int32), ends)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> Tokens:
        return self.tokens[self.ends[index - 1] if index else 0 : self.ends[index]]

    @cached_property
    def lengths(self) -> Indices:
        """How many tokens each list has."""
        return np.diff(self.ends, prepend=0)

    def extended(self, lists: Sequence[Sequence[int]]) -> "TokenLists":
        """These lists and others."""
        new = TokenLists.of(lists)
        ends = np.concatenate((self.ends, len(self.tokens) + new.ends))
        return TokenLists(np.concatenate((self.tokens, new.tokens)), ends)

    def join(self, which: Indices, ends: Indices) -> "TokenLists":
        """Lists joined to longer ones.

        Args:
            which: The lists that are joined, of all results one after the other.
            ends: Where each result ends among them.
        """
        lengths = self.lengths[which]
        places = np.cumsum(lengths)
        total = int(places[-1]) if len(places) else 0
        tokens = self.tokens[np.arange(total) + np.repeat(self.ends[which] - places, lengths)]
        return TokenLists(tokens, np.r_[0, places][ends])

    def table(self, which: Indices, first: Indices, width: int) -> npt.NDArray[np.int64]:
        """The tokens of lists from a place on; -1 where a list has none.

        Args:
            which: Which lists.
            first: The place of the first column in each list; it may lie before its beginning.
            width: How many columns.
        """
        places = first[:, None] + np.arange(width)
        lengths = self.lengths[which][:, None]
        inside = (places >= 0) & (places < lengths)
        places += (self.ends[which][:, None]) - lengths
        return np.where(inside, np.take(self.tokens, places, mode="clip") if len(self.tokens) else 0, -1)


@dataclass(frozen=True)
class TokenRows:
    """The tokens of prompts: each row is a beginning and then tokens of its own, at least one.

    Attributes:
        beginnings: The different beginnings.
        beginning: Which of them each row has.
        own: The own tokens of each row.
    """

    beginnings: TokenLists
    beginning: Indices
    own: TokenLists

    def __len__(self) -> int:
        return len(self.own)

    @cached_property
    def lengths(self) -> Indices:
        """How many tokens each row has."""
        return self.beginnings.lengths[self.beginning] + self.own.lengths

    def row(self, index: int) -> list[int]:
        """All tokens of a row."""
        return [*self.beginnings[int(self.beginning[index])].tolist(), *self.own[index].tolist()]

    def table(self, rows: Indices, skip: int) -> Tokens:
        """Rows without their first tokens, filled up at their end.

        Args:
            rows: Which rows.
            skip: How many tokens are left out, less than any of the rows has.
        """
        width = int(self.lengths[rows].max()) - skip
        beginning = self.beginning[rows]
        lengths = self.beginnings.lengths[beginning]
        own = self.own.table(rows, skip - lengths, width)
        if int(lengths.max()) > skip:
            own = np.maximum(own, self.beginnings.table(beginning, np.full(len(rows), skip), width))
        return np.maximum(own, 0).astype(np.int32)

    def common_length(self, rows: Indices) -> int:
        """How many tokens all of these rows begin with; at least one token of each is left."""
        numbers = np.unique(self.beginning[rows])
        most = int(self.lengths[rows].min()) - 1
        lists, which, before = self.own, rows, int(self.beginnings.lengths[numbers[0]])
        if len(numbers) > 1:
            lists, which, before = self.beginnings, numbers, 0
        width = min(int(lists.lengths[which].min()), _LONGEST_COMMON)
        columns = lists.table(which, np.zeros(len(which), np.int64), width)
        same = np.r_[(columns == columns[:1]).all(0), False]
        return min(most, before + int(np.argmin(same)))

    def groups(self, rows: Indices) -> Iterator[Indices]:
        """Rows that are computed together, in an order that does not depend on the order in which they are named.

        Many rows with the same beginning are a group; then come all others that have one, then those that have none.
        Within a group, rows are ordered by length, then by their tokens.
        """
        if not len(rows):
            return
        beginning = self.beginning[rows]
        texts = [self.beginnings[index].astype(">u4").tobytes() for index in range(len(self.beginnings))]
        ranks = np.empty(len(texts), np.int64)
        ranks[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
        is_large = np.bincount(beginning, self.own.lengths[rows], len(texts)) >= _LARGE_GROUP
        group = np.where(is_large, ranks, len(ranks) + (self.beginnings.lengths == 0))[beginning]
        first = self.own.table(rows, np.zeros(len(rows), np.int64), _TOKENS_IN_ORDER) + 1
        keys = first.astype(">u4").view(f"S{4 * _TOKENS_IN_ORDER}")[:, 0]
        order = np.lexsort((keys, ranks[beginning], self.lengths[rows], group))
        for part in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
            yield rows[part]
