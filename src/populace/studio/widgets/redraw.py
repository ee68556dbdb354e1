"""Drawing again when something changed: one at a time, and once more where it changed meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import Client, context

from populace.studio.shell.frame import notify_errors


class Redrawer:
    """Calls a function that draws, never twice at once.

    Args:
        draw: The function.

    Attributes:
        busy: Whether it is drawing now.
    """

    def __init__(self, draw: Callable[[], Awaitable[None]]) -> None:
        self._draw = draw
        self._client: Client = context.client
        self.busy = self._stale = False

    @property
    def gone(self) -> bool:
        """Whether the page was closed, so that there is nothing to draw on."""
        return self._client.is_deleted

    async def first(self) -> None:
        """Draw while the page is being built, where an error of ours takes the place of the page."""
        self.busy = True
        try:
            await self._draw()
        finally:
            self.busy = False
        if self._stale:
            await self()

    async def __call__(self) -> None:
        """Draw; where it is being drawn already, it is drawn once more after that."""
        self._stale = True
        if self.busy:
            return
        self.busy = True
        try:
            while self._stale and not self.gone:
                self._stale = False
                with self._client:
                    await notify_errors(self._again)()
        finally:
            self.busy = False

    async def _again(self) -> None:
        await self._draw()
