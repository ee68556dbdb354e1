"""Agent mode: a message wakes its receiver, in waves, until all is quiet or a limit is reached.

Everybody woken in a wave acts side by side on what they had received before it; what they send
arrives with the next. So the order of things does not depend on who was answered first.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from populace.base.errors import UnknownNameError, WorldError
from populace.people import Id

ItemT = TypeVar("ItemT")


class ScopeRunner(Protocol):
    """Whoever can run things side by side: a scenario."""

    async def each(self, items: Iterable[ItemT], body: Callable[[ItemT], Coroutine[Any, Any, Any]]) -> list[Any]:
        """Run a coroutine for each item, each in a scope of its own."""


class Message(NamedTuple):
    """Something that one person sent to another.

    Attributes:
        number: Counts the messages of this mailbox.
        wave: The wave in which it was sent; 0 before the first.
        sender: Who sent it; None for the world.
        receiver: Whom it wakes.
        text: What it says.
    """

    number: int
    wave: int
    sender: Id | None
    receiver: Id
    text: str


Receive = Callable[[Id, Sequence[Message]], Coroutine[Any, Any, Any]]


class Mailbox:
    """Messages under way between people.

    Args:
        ids: Who has a box.
        waves: How many waves at most.
        messages: How many messages at most.

    Attributes:
        sent: Every message, in the order in which it was sent.

    Example:
        >>> mailbox = Mailbox(["ann", "bo"])
        >>> mailbox.send(None, ["ann"], "Good morning.")
        >>> mailbox.waiting
        ['ann']
    """

    def __init__(self, ids: Sequence[Id], *, waves: int = 20, messages: int = 10_000) -> None:
        if waves < 1 or messages < 1:
            raise WorldError(f"a mailbox of {waves} waves and {messages} messages lets nobody speak.")
        self._waiting: dict[Id, list[Message]] = {who: [] for who in ids}
        self.sent: list[Message] = []
        self.waves = waves
        self.messages = messages
        self._wave = 0

    @property
    def waiting(self) -> list[Id]:
        """Who has messages that nobody has read, in the order of the people."""
        return [who for who, messages in self._waiting.items() if messages]

    def send(self, sender: Id | None, receivers: Iterable[Id], text: str) -> None:
        """Send a text; it arrives with the next wave. Nobody is woken by their own words."""
        for receiver in receivers:
            if receiver not in self._waiting:
                raise UnknownNameError("receiver", str(receiver), map(str, self._waiting))
            if receiver != sender:
                message = Message(len(self.sent), self._wave, sender, receiver, text)
                self.sent.append(message)
                self._waiting[receiver].append(message)

    async def until_quiet(self, runs: ScopeRunner, receive: Receive) -> str:
        """Let everybody with messages act, wave after wave.

        Args:
            runs: The scenario.
            receive: What somebody does with what arrived; it may send.

        Returns:
            Why it ended: `quiet`, `waves` or `messages`.
        """
        for wave in range(1, self.waves + 1):
            self._wave = wave
            woken = [(who, tuple(self._waiting[who])) for who in self.waiting]
            if not woken:
                return "quiet"
            if len(self.sent) >= self.messages:
                return "messages"
            for who, _ in woken:
                self._waiting[who] = []
            await runs.each(woken, lambda item: receive(*item))
        return "quiet" if not self.waiting else "waves"
