"""The command that a form makes, beside it."""

from __future__ import annotations

from nicegui import ui

from populace.studio.shell.frame import test_id


def command_line(marker: str) -> ui.label:
    """A line for a command, with a button that copies it; returns the label to be filled."""
    with ui.row().classes("commandbar items-center no-wrap gap-1"):
        ui.label("$").classes("commandline soft").style("flex: 0 0 auto")
        line = ui.label("").classes("commandline").props('tabindex=0 aria-label="The same on the command line"')

        def copy() -> None:
            ui.clipboard.write(line.text)
            ui.notify("Copied")

        ui.button(on_click=copy).props('flat round dense size=sm icon=content_copy aria-label="Copy the command"')
    return test_id(line, marker)
