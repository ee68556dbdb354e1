"""Starting a command from a page: what it says until its run has a folder, and why it never got one."""

from __future__ import annotations

import asyncio

from nicegui import ui

from populace.errors import PopulaceError
from populace.studio.frame import error_card, tested
from populace.studio.jobs import Job
from populace.studio.text import shown

_LOOKS_A_SECOND = 4


class Starter:
    """The place on a page that shows how a start goes.

    Args:
        waiting: What is said while the command says nothing yet.
    """

    def __init__(self, waiting: str) -> None:
        self._waiting = waiting
        self._place = tested(ui.column().classes("w-full gap-2").props("aria-live=polite"), "starting")

    async def named(self, job: Job) -> str | None:
        """Wait until the run has a name; None if it never gets one, which is then told here."""
        self._place.clear()
        with self._place, ui.row().classes("items-center gap-2 w-full no-wrap"):
            ui.spinner(size="sm")
            line = ui.label(self._waiting).classes("foreign")
        naming = asyncio.ensure_future(job.named())
        try:
            while not (await asyncio.wait({naming}, timeout=1 / _LOOKS_A_SECOND))[0]:
                line.set_text(f"{self._waiting} {shown(last_line(job.said), 300)}".strip())
            name = naming.result()
        except PopulaceError as error:
            self.tell(error)
            return None
        finally:
            # The page may be gone before the run has a name; the run goes on.
            naming.cancel()
        line.set_text(f"{name} has begun.")
        return name

    def tell(self, error: PopulaceError) -> None:
        """Show why nothing was started."""
        self._place.clear()
        with self._place:
            error_card(error)

    def clear(self) -> None:
        """Show nothing."""
        self._place.clear()


def last_line(said: str) -> str:
    """The last thing that a command said; progress that is drawn over itself counts once.

    Example:
        >>> last_line("fetching\\n 10 %\\r 20 %")
        '20 %'
    """
    lines = [part.strip() for part in said.replace("\r", "\n").split("\n") if part.strip()]
    return lines[-1] if lines else ""
