"""The part of a page that shows a run or an experiment, and what stands there while its folder is gone."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from populace.base.errors import PopulaceError, RunNotFoundError
from populace.studio.library import Library
from populace.studio.shell.frame import empty_state, error_card, test_id
from populace.studio.widgets.elements import refill


class RunContent:
    """A container for what a page shows of a run or an experiment.

    An error while it is drawn is shown above it. Where the folder was deleted or moved, one line takes its place until
    the folder is back.

    Args:
        library: The runs and experiments of the workspace.
        name: The run; `experiments/NAME` for an experiment.

    Attributes:
        element: The container.
        gone: Whether the folder is not there.
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
            was_gone, self.gone = self.gone, not self._is_there()
            if not (self.gone and was_gone):
                with refill(self._alert):
                    self._show_gone() if self.gone else error_card(error)
        else:
            self.gone = False
            self._alert.clear()
        self._alert.set_visibility(bool(self._alert.default_slot.children))
        self.element.set_visibility(not self.gone)

    def _show_gone(self) -> None:
        noun = "experiment" if self._name.startswith("experiments/") else "run"
        undo = "" if noun == "experiment" else " The list of runs can undo a deletion."
        text = f"This {noun} was deleted or moved while it was open. When it is back, it appears here again.{undo}"
        with test_id(ui.column().classes("panel").props("role=alert"), "gone"):
            empty_state(text, "All runs", "/")

    def _is_there(self) -> bool:
        if self._name.startswith("experiments/"):
            return (self._library.workspace.folder / self._name).is_dir()
        try:
            self._library.folder(self._name)
        except RunNotFoundError:
            return False
        return True
