"""A form that asks a model outside of the run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nicegui import ui

from populace.studio.jobs import Jobs, command
from populace.studio.shell.frame import CommandLine, section
from populace.studio.widgets.elements import action, disable_during, note


class SideForm:
    """A panel with a form, its command, and a button that runs the command; a subclass has the fields."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def arguments(self) -> tuple[str, ...]:
        """The command of the form."""
        raise NotImplementedError

    @contextmanager
    def _panel(self, title: str, text: str) -> Iterator[None]:
        with section(title) as panel:
            panel.classes("aside")
            with ui.row().classes("items-center gap-2"):
                ui.label("On the side").classes("chip aside-note")
                note(text, classes="small")
            yield

    def _button(self, text: str, on_click: Callable[..., Any], name: str) -> None:
        self.send = action(text, on_click, name, look="")
        self._busy = ui.spinner(size="sm")
        self._busy.set_visibility(False)

    def _follow(self, name: str, *fields: Any) -> None:
        """Add the command line, which follows the fields."""
        self._line = CommandLine(name)
        for field in fields:
            field.on_value_change(self._show_command)
        self._show_command()

    def _show_command(self) -> None:
        self._line.show(command(*self.arguments()))

    async def _call(self) -> Any:
        with disable_during(self.send, self._busy):
            return await self._jobs.call(*self.arguments())
