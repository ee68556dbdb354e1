"""A large batch of replies on its way to the call store, in another thread."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pydantic_core

from populace.broker.store import CallStore
from populace.models import Reply, ReplyOrFailure
from populace.models.scored_replies import ScoredReplies

_MOST_LETTERS = 100_000_000
"""Of replies that one statement stores: SQLite takes texts of at most a billion bytes."""

_PIECE = 512
"""Of how many replies the JSON is written together: few enough to reuse the same memory."""
_BETWEEN: dict[str, str] = {}
_GAP = ",{},"
"""What stands between replies in their JSON: an object, since they hold none."""


@dataclass(frozen=True)
class BatchUnderWay:
    """A batch that another thread stores.

    Attributes:
        indices: The numbers of its requests.
        outcomes: Their replies and failures.
        future: Ends with the replies that another process had stored first.
    """

    indices: Sequence[int]
    outcomes: list[ReplyOrFailure]
    future: asyncio.Future[dict[str, Reply]]


def store_batch(
    store: CallStore, model: str, keys: list[str], replies: ScoredReplies | list[ReplyOrFailure], seconds: float
) -> dict[str, Reply]:
    """Store replies by one statement, which lets other threads run meanwhile; failures are not stored.

    Args:
        store: The call store.
        model: Who replied.
        keys: The key of each reply or failure.
        replies: The replies, in columns where the model gave them so.
        seconds: How long each took.

    Returns:
        The replies that another process had stored first.
    """
    if isinstance(replies, ScoredReplies):
        return store.put_contents(model, keys, replies.contents(), seconds)
    rows = [(key, each) for key, each in zip(keys, replies, strict=True) if isinstance(each, Reply)]
    texts = reply_contents([reply for _, reply in rows])
    if not rows or sum(map(len, texts)) > _MOST_LETTERS:
        return store.put(model, rows, seconds) if rows else {}
    return store.put_contents(model, [key for key, _ in rows], pl.LazyFrame({"reply": texts}), seconds)


def reply_contents(replies: Sequence[Reply]) -> list[str]:
    """Each reply as `Reply.to_json` writes it; many are written by one call.

    Example:
        >>> reply_contents([Reply("blue"), Reply("green")])
        ['["blue",[],"stop",0,0]', '["green",[],"stop",0,0]']
    """
    texts: list[str] = []
    for begin in range(0, len(replies), _PIECE):
        piece = replies[begin : begin + _PIECE]
        members: list[Any] = [_BETWEEN] * (2 * len(piece) - 1)
        members[::2] = [reply if reply.estimated else reply[:-1] for reply in piece]
        parts = pydantic_core.to_json(members, inf_nan_mode="null", fallback=tuple).decode()[1:-1].split(_GAP)
        # Every reply ends with a bracket, so no gap can be missed; there are more parts where a text holds one.
        texts += parts if len(parts) == len(piece) else [reply.to_json().decode() for reply in piece]
    return texts
