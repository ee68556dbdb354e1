"""The most likely first tokens of many replies in columns, which are read as pairs only where somebody wants pairs.

A reply holds a dozen tokens. For a hundred thousand replies, pairs of a text and a number take longer to make than all
that is computed with them, and columns are computed with at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, overload

import numpy as np
import numpy.typing as npt

Pair = tuple[str, float]


class TokenColumns:
    """The tokens of some replies.

    Args:
        texts: The text of every token of the model.
        tokens: The tokens of all replies, one reply after the other.
        logprobs: Their log-probabilities.
        ends: Where each reply ends among them.
    """

    __slots__ = ("ends", "logprobs", "texts", "tokens")

    def __init__(
        self,
        texts: Sequence[str],
        tokens: npt.NDArray[Any],
        logprobs: npt.NDArray[np.float64],
        ends: npt.NDArray[np.int64],
    ) -> None:
        self.texts, self.tokens, self.logprobs, self.ends = texts, tokens, logprobs, ends

    def rows(self) -> list[TokenRow]:
        """The tokens of each reply."""
        return list(map(TokenRow, repeat(self), range(len(self.ends))))

    def pairs(self, number: int) -> tuple[Pair, ...]:
        """The tokens of one reply with their log-probabilities."""
        begin, end = int(self.ends[number - 1]) if number else 0, int(self.ends[number])
        texts = map(self.texts.__getitem__, self.tokens[begin:end].tolist())
        return tuple(zip(texts, self.logprobs[begin:end].tolist(), strict=True))


class TokenRow(Sequence[Pair]):
    """The tokens of one reply in columns, in place of a tuple of pairs, to which it is equal.

    Args:
        columns: The columns.
        number: The number of the reply in them.

    Example:
        >>> columns = TokenColumns(["no", "yes"], np.array([1, 0]), np.array([-0.1, -2.5]), np.array([2]))
        >>> TokenRow(columns, 0)
        (('yes', -0.1), ('no', -2.5))
    """

    __slots__ = ("columns", "number")

    def __init__(self, columns: TokenColumns, number: int) -> None:
        self.columns, self.number = columns, number

    @property
    def _pairs(self) -> tuple[Pair, ...]:
        return self.columns.pairs(self.number)

    def __len__(self) -> int:
        return len(self._pairs)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Pair, ...]: ...
    def __getitem__(self, index: int | slice) -> Pair | tuple[Pair, ...]:
        return self._pairs[index]

    def __iter__(self) -> Iterator[Pair]:
        return iter(self._pairs)

    def __eq__(self, other: object) -> bool:
        return self._pairs == (other._pairs if isinstance(other, TokenRow) else other)

    def __hash__(self) -> int:
        return hash(self._pairs)

    def __repr__(self) -> str:
        return repr(self._pairs)

    def __reduce__(self) -> tuple[type, tuple[tuple[Pair, ...]]]:
        # Another process gets the pairs of this reply, and not the columns of all.
        return tuple, (self._pairs,)
