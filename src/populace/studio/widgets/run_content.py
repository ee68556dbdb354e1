"""The part of a page that shows a run, and what stands there while the run is gone."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from populace.base.errors import PopulaceError, RunNotFoundError
from populace.studio.library import Library
from populace.studio.shell.frame import empty_state, error_card, test_id
from populace.studio.widgets.elements import refill


class RunContent:
    """A container for what a page shows of a run.

    An error while it is drawn is shown above it. A run that was deleted or moved hides it until the run is back.

    Args:
        library: The runs of the workspace.
        name: The run.

    Attributes:
        element: The container.
        gone: Whether the run is not there.
    """

    def __init__(self, library: Library, name: str) -> None:
        self._library, self._name = library, name
        self.gone = False
        self._alert = ui.column().classes("w-full")
        self._alert.set_visibility(False)
        self.element = ui.column().classes("w-full gap-4")

    async def draw(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run a task that draws."""
        try:
            await work()
        except PopulaceError as error:
            self.gone = not self._is_there()
            with refill(self._alert):
                if self.gone:
                    text = "This run was deleted or moved while it was open. When it is back, it appears here again."
                    test_id(ui.label(text).classes("panel-title"), "gone")
                error_card(error)
                if self.gone:
                    empty_state("The list of runs can undo a deletion.", "All runs", "/")
        else:
            self.gone = False
            self._alert.clear()
        self._alert.set_visibility(bool(self._alert.default_slot.children))
        self.element.set_visibility(not self.gone)

    def _is_there(self) -> bool:
        try:
            self._library.folder(self._name)
        except RunNotFoundError:
            return False
        return True
