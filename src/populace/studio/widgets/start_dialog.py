"""The dialog after a command was started, until its run has a folder."""

import asyncio
from collections.abc import Callable

from nicegui import ui

from populace.studio.jobs import CommandError, CommandJob, command
from populace.studio.shell.addresses import run_address
from populace.studio.shell.frame import error_card, test_id
from populace.studio.shell.text import display_text

_POLLS_A_SECOND = 4


async def show_start(job: CommandJob, target: Callable[[str], str] = run_address) -> None:
    """Show the progress of a command until its run has a folder, then go to the run; or show its error.

    Args:
        job: The command.
        target: The address to go to, by the name of the run.
    """
    with ui.dialog(value=True).props("persistent") as dialog, ui.card().classes("w-full max-w-xl") as card:
        with ui.row().classes("items-center gap-3 no-wrap"):
            ui.spinner()
            ui.label("Starting").classes("panel-title")
        ui.label(display_text(command(*job.arguments), 400)).classes("commandline foreign")
        line = ui.label("The model is being loaded.").classes("soft small foreign")
        ui.label("It goes on by itself: this page may be closed.").classes("soft small")
    test_id(card, "starting")
    while job.state == "starting":
        last_line = job.output.replace("\r", "\n").rpartition("\n")[2]
        line.set_text(display_text(last_line, 300) or "The model is being loaded.")
        await asyncio.sleep(1 / _POLLS_A_SECOND)
    try:
        name = await job.wait_for_run()
    except CommandError as error:
        card.clear()
        with card:
            ui.label("It could not be started").classes("panel-title")
            error_card(error)
            test_id(ui.button("Close", on_click=dialog.close).props("no-caps flat"), "starting-close")
        return
    dialog.close()
    ui.navigate.to(target(name))
