"""A large batch of replies on its way to the call store, in another thread."""

import asyncio
from dataclasses import dataclass

import polars as pl

from populace.broker.store import CallStore
from populace.models import Reply, ReplyOrFailure
from populace.models.scored_replies import ScoredReplies

_MOST_LETTERS = 100_000_000
"""Of replies that one statement stores: SQLite takes texts of at most a billion bytes."""


@dataclass(frozen=True)
class BatchUnderWay:
    """A batch that another thread stores.

    Attributes:
        indices: The numbers of its requests.
        keys: Their keys.
        outcomes: Their replies and failures.
        future: Ends with the replies that another process had stored first.
    """

    indices: list[int]
    keys: list[str]
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
    texts = [reply.to_json().decode() for _, reply in rows]
    if not rows or sum(map(len, texts)) > _MOST_LETTERS:
        return store.put(model, rows, seconds) if rows else {}
    return store.put_contents(model, [key for key, _ in rows], pl.LazyFrame({"reply": texts}), seconds)
