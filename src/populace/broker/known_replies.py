"""Which replies to a batch of requests the call store holds already."""

import asyncio
from collections.abc import Sequence

from populace.broker.store import CallStore
from populace.models import Failure, Reply
from populace.models.reply_checks import verify_replies

_MANY = 512
"""From how many keys on they are looked up in another thread; to wake one takes as long as a hundred keys."""


class KnownReplies:
    """Finds replies in a call store; where there are many keys, other requests can be put together meanwhile.

    Large lookups take turns, so that requests reach the model in the order in which they came.

    Args:
        store: The call store.
    """

    def __init__(self, store: CallStore) -> None:
        self._store = store
        self._turn = asyncio.Lock()
        self._bought: list[Sequence[str]] = []

    async def among(self, keys: Sequence[str], *, at_once: bool = False) -> dict[str, Reply]:
        """The replies that are known at the moment when this returns, as far as this process can tell.

        Impossible ones, which an earlier version may have stored, are removed, so that they are asked for again.

        Args:
            keys: The keys of the requests.
            at_once: Whether nothing else is worth doing meanwhile, because no model is at work.
        """
        if at_once or len(keys) < _MANY or self._store.path is None:
            return self._possible(self._store.get(keys))
        async with self._turn:
            self._bought = []
            replies = await asyncio.get_running_loop().run_in_executor(None, self._store.get, keys)
            bought = {key for group in self._bought for key in group}
            # What was bought meanwhile is not under way any more, and the other thread may not have seen it yet.
            again = [key for key in keys if key in bought and key not in replies] if bought else []
            if again:
                replies |= self._store.get(again)
            return self._possible(replies)

    def note_bought(self, keys: Sequence[str]) -> None:
        """Requests that were under way are not under way any more, and their replies, if they have any, are stored."""
        if self._turn.locked():
            self._bought.append(keys)

    def _possible(self, replies: dict[str, Reply]) -> dict[str, Reply]:
        if replies:
            verdicts = verify_replies(list(replies.values()))
            impossible = [key for key, verdict in zip(replies, verdicts, strict=True) if isinstance(verdict, Failure)]
            if impossible:
                self._store.remove(impossible)
                replies = {key: reply for key, reply in replies.items() if key not in set(impossible)}
        return replies
