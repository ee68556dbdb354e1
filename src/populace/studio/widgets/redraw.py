"""Redraws a part of a page when something changed, never twice at once."""

from collections.abc import Awaitable, Callable

from nicegui import Client, context, ui

from populace.studio.shell.frame import error_notification


class ChangingParts:
    """Containers that are drawn again only where what they show is another.

    Drawing a part again closes its menus and loses the click on a button that is just being replaced.
    """

    def __init__(self) -> None:
        self._contents: dict[int, object] = {}

    def show(self, place: ui.element, content: object, draw: Callable[[], object]) -> None:
        """Draw into a container, unless it shows this content already."""
        if place.id in self._contents and self._contents[place.id] == content:
            return
        self._contents[place.id] = content
        place.clear()
        with place:
            draw()


class Redrawer:
    """Calls a function that draws; a call while it is drawing, which `busy` tells, makes it draw once more."""

    def __init__(self, draw: Callable[[], Awaitable[None]]) -> None:
        self._draw = draw
        self._client: Client = context.client
        self.busy = self._stale = False

    @property
    def gone(self) -> bool:
        """Whether the page was closed, so that there is nothing to draw on."""
        return self._client.is_deleted

    async def first(self) -> None:
        """Draw while the page is being built; a PopulaceError is left to the frame of the page."""
        self.busy = True
        try:
            await self._draw()
        finally:
            self.busy = False
        if self._stale:
            await self()

    async def __call__(self) -> None:
        """Draw, or draw once more after the drawing that is in progress."""
        self._stale = True
        if self.busy:
            return
        self.busy = True
        try:
            while self._stale and not self.gone:
                self._stale = False
                with self._client, error_notification():
                    await self._draw()
        finally:
            self.busy = False
