"""A desk at the keyboard: somebody reads what a person is told and asked, and types the answer."""

import asyncio
import io
import json
import os
import select
import sys
import threading

from rich.panel import Panel
from rich.text import Text

from populace.base.errors import InterruptedRunError
from populace.base.foreign import for_line, for_terminal
from populace.cli.output import bold, dim, err
from populace.cli.progress import RunDisplay
from populace.deciders import Desk, DeskQuestion

_CHECK_S = 0.1


class KeyboardDesk(Desk):
    """A desk at the terminal that runs the command; one question at a time.

    Args:
        display: The display of the run, which waits while a question is open.
    """

    def __init__(self, display: RunDisplay) -> None:
        self._display = display
        self._lines = LineReader()
        self._turn = asyncio.Lock()

    async def reply(self, question: DeskQuestion) -> str:
        """Show the question, and return the line that was typed; the fields of a form are asked one by one."""
        async with self._turn:
            with self._display.hidden():
                _show(question)
                if question.columns:
                    return await self._rows(question)
                if not question.fields:
                    return await self._line("> ", question)
                values = {name: await self._line(f"{name}: {hint}\n> ", question) for name, hint in question.fields}
                return json.dumps(values, ensure_ascii=False)

    async def _rows(self, question: DeskQuestion) -> str:
        """Lines until an empty one."""
        err.print_line(dim("An empty line ends the list."))
        lines: list[str] = []
        while (line := await self._line("> ", question)).strip():
            lines.append(line)
        return "\n".join(lines)

    async def _line(self, prompt: str, question: DeskQuestion) -> str:
        err.print(Text(for_terminal(prompt)), end="")
        line = await self._lines.next_line()
        if line is None:
            raise InterruptedRunError(f"the input ended before {question.name} had answered.")
        return line


class LineReader:
    """Reads lines of standard input without blocking the event loop; waiting for one can be cancelled."""

    def __init__(self) -> None:
        self._bytes = b""

    async def next_line(self) -> str | None:
        """The next line without its end; None at the end of the input."""
        cancelled = threading.Event()
        try:
            return await asyncio.to_thread(self.read_line, cancelled)
        finally:
            cancelled.set()

    def read_line(self, cancelled: threading.Event | None = None) -> str | None:
        """The next line, read in the calling thread."""
        try:
            file = sys.stdin.fileno()
        except (io.UnsupportedOperation, ValueError):
            # Standard input is an object of a test.
            text = sys.stdin.readline()
            return text.removesuffix("\n") if text else None
        while b"\n" not in self._bytes:
            if cancelled is not None and cancelled.is_set():
                return None
            if not select.select([file], [], [], _CHECK_S)[0]:
                continue
            more = os.read(file, 65_536)
            if not more:
                line, self._bytes = self._bytes, b""
                return line.decode(errors="replace") or None
            self._bytes += more
        line, _, self._bytes = self._bytes.partition(b"\n")
        return line.decode(errors="replace").removesuffix("\r")


def _show(question: DeskQuestion) -> None:
    if question.problem:
        err.print_line(bold(question.problem), " Once more.")
        return
    body = Text()
    if question.profile:
        body.append(for_terminal(f"{question.profile}\n\n"), style="cyan")
    if question.situation:
        body.append(for_terminal(f"{question.situation}\n\n"))
    body.append(for_terminal(question.wording), style="bold")
    title = Text(for_line(f"You are {question.name} ({question.path})"))
    err.print(Panel(body, title=title, title_align="left"), soft_wrap=False)
    for number, option in enumerate(question.options, 1):
        err.print_line(f"{number:>3}  {option}")
    if question.instruction:
        err.print_line(dim(question.instruction))
