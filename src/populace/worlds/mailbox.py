"""Agent mode: a message wakes its receiver, in waves, until there are no messages or a limit is reached.

All people woken in a wave act at the same time on the messages sent before it; what they send arrives with the next
wave. So the result does not depend on whose answer came first.
"""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from populace.base.errors import UnknownNameError, WorldError
from populace.people import Id

ItemT = TypeVar("ItemT")


class ScopeRunner(Protocol):
    """Runs coroutines at the same time, each in a scope of its own; every scenario is one."""

    async def each(self, items: Iterable[ItemT], body: Callable[[ItemT], Coroutine[Any, Any, Any]]) -> list[Any]:
        """Run a coroutine for each item, each in a scope of its own."""


class Message(NamedTuple):
    """A text that one person sent to another.

    Attributes:
        number: The number of the message in this mailbox, from 0.
        wave: The wave in which it was sent; 0 before the first.
        sender: Who sent it; None for the world.
        receiver: Who gets it.
        text: The text.
    """

    number: int
    wave: int
    sender: Id | None
    receiver: Id
    text: str


Receive = Callable[[Id, Sequence[Message]], Coroutine[Any, Any, Any]]


class Mailbox:
    """The messages between people that have not been read yet.

    Args:
        ids: The people who can receive messages.
        waves: The most waves.
        messages: The number of messages at which it ends.

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
            raise WorldError(
                f"a mailbox of {waves} waves and {messages} messages lets nobody speak.", "Give 1 or more of both."
            )
        self._waiting: dict[Id, list[Message]] = {who: [] for who in ids}
        self.sent: list[Message] = []
        self.waves = waves
        self.messages = messages
        self._wave = 0

    @property
    def waiting(self) -> list[Id]:
        """The people with unread messages, in the order of the population."""
        return [who for who, messages in self._waiting.items() if messages]

    def send(self, sender: Id | None, receivers: Iterable[Id], text: str) -> None:
        """Send a text that arrives with the next wave. The sender does not get it."""
        for receiver in receivers:
            if receiver not in self._waiting:
                raise UnknownNameError("receiver", str(receiver), map(str, self._waiting))
            if receiver != sender:
                message = Message(len(self.sent), self._wave, sender, receiver, text)
                self.sent.append(message)
                self._waiting[receiver].append(message)

    async def until_quiet(self, runner: ScopeRunner, receive: Receive) -> str:
        """Let everybody with messages act, wave after wave.

        Args:
            runner: The scenario.
            receive: What a person does with the messages that arrived; it may send others.

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
            await runner.each(woken, lambda item: receive(*item))
        return "quiet" if not self.waiting else "waves"
