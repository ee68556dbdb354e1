"""Replies to a batch of scored prompts, made from columns.

A reply of a scored prompt holds a dozen tokens with their log-probabilities. To check them and to write them as JSON
takes longer one by one than in columns, and columns leave the interpreter to other threads.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import pydantic_core

from populace.base.token_columns import TokenColumns
from populace.models.base import Reply, ReplyOrFailure
from populace.models.reply_checks import are_possible

DECIMALS = 5
"""Of log-probabilities: more would be noise, and take as much room again in the call store."""
_SCALE = 10**DECIMALS
_MOST = 1024
"""From this size on, a log-probability is written one by one."""
_WHOLES = pl.Series([f"-{whole}" for whole in range(_MOST)] + [str(whole) for whole in range(_MOST)])
_BREAK = "\n"
"""What stands between replies; JSON without gaps has no line break."""
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


class TokenTexts:
    """The texts of all tokens of a model.

    Args:
        texts: The text of every token.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.column = np.array(texts, np.object_)

    @cached_property
    def beginnings(self) -> pl.Series:
        """How the JSON of a token begins: as one of several, for every token, and then as the first of a reply."""
        names = [pydantic_core.to_json(text).decode() for text in self.texts]
        return pl.Series([f",[{name}," for name in names] + [f"[{name},[[{name}," for name in names])

    @cached_property
    def fractions(self) -> pl.Series:
        """How the JSON of a token ends, by the decimals of its log-probability."""
        return pl.Series([pydantic_core.to_json(part / _SCALE).decode()[1:] + "]" for part in range(_SCALE)])


class ScoredReplies(list[tuple[int, ReplyOrFailure]]):
    """Replies with the numbers of their requests; `of` makes them, and checks them as `verify_replies` would.

    Attributes:
        texts: The texts of all tokens.
        columns: The tokens of all replies.
        lengths: How many tokens each prompt has.
    """

    texts: TokenTexts
    columns: TokenColumns
    lengths: Indices

    @classmethod
    def of(
        cls,
        numbers: Sequence[int],
        texts: TokenTexts,
        tokens: npt.NDArray[Any],
        logprobs: Floats,
        counts: Indices,
        lengths: Indices,
    ) -> Self | list[tuple[int, ReplyOrFailure]]:
        """Replies from columns; a plain list where they are not possible ones, which then are checked one by one.

        Args:
            numbers: The number of each request.
            texts: The texts of all tokens.
            tokens: The tokens of all replies, one reply after the other.
            logprobs: Their log-probabilities, rounded to `DECIMALS`.
            counts: How many tokens each reply has, at least one.
            lengths: How many tokens each prompt has.
        """
        ends = np.cumsum(counts)
        columns = TokenColumns(texts.texts, tokens, logprobs, ends)
        firsts = texts.column.take(tokens[ends - counts]).tolist()
        fields = zip(firsts, columns.rows(), repeat("stop"), lengths.tolist(), repeat(1), repeat(False))
        replies = cls(zip(numbers, map(tuple.__new__, repeat(Reply), fields), strict=True))
        if not are_possible(logprobs, counts, lengths):
            return list(replies)
        replies.texts, replies.columns, replies.lengths = texts, columns, lengths
        return replies

    def contents(self) -> pl.LazyFrame:
        """Each reply as `Reply.to_json` writes it, in a column `reply`."""
        if not np.abs(self.columns.logprobs).max() < _MOST:
            return pl.LazyFrame({"reply": [reply.to_json().decode() for _, reply in self if isinstance(reply, Reply)]})
        sizes, which = np.unique(self.lengths, return_inverse=True)
        endings = pl.Series(["", *(f'],"stop",{size},1]{_BREAK}' for size in sizes.tolist())])
        first, ending = np.zeros((2, len(self.columns.tokens)), np.int32)
        first[np.r_[0, self.columns.ends[:-1]]] = len(self.texts.texts)
        ending[self.columns.ends - 1] = which + 1
        number, is_below = pl.col("logprob").abs() * _SCALE, (1 / pl.col("logprob") < 0) | (pl.col("logprob") < 0)
        part = number.round().cast(pl.Int64)
        pieces = (
            pl.lit(self.texts.beginnings).gather(pl.col("token") + pl.col("first")),
            pl.lit(_WHOLES).gather(part // _SCALE + pl.when(is_below).then(0).otherwise(_MOST)),
            pl.lit(self.texts.fractions).gather(part % _SCALE),
            pl.lit(endings).gather("ending"),
        )
        # One query, since every return to the interpreter waits for the other threads.
        columns = {"token": self.columns.tokens, "first": first, "logprob": self.columns.logprobs, "ending": ending}
        replies = pl.concat_str(pieces).str.join("").str.strip_suffix(_BREAK).str.split(_BREAK)
        return pl.LazyFrame(columns).select(reply=replies).explode("reply")
