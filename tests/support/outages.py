"""A scripted model whose service fails, or whose process is killed, at a chosen call."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path

from populace.base.errors import ModelUnreachableError
from populace.models import Failure, Request
from support.models import varied


def answer(request: Request) -> Mapping[str, float] | str | Failure:
    """The answer of `varied`, if the file `calls_left` in the current folder allows another call."""
    file = Path("calls_left")
    if file.is_file():
        left, end = file.read_text().split()
        if int(left) <= 0:
            if end == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if end == "failure":
                return Failure("unanswered", "the service is overloaded")
            raise ModelUnreachableError("no server answers at http://127.0.0.1:9.", "Start it.")
        file.write_text(f"{int(left) - 1} {end}")
    return varied(request)


def allow(calls: int | None, end: str = "outage") -> None:
    """Let so many more calls be answered, or any number."""
    file = Path("calls_left")
    if calls is None:
        file.unlink(missing_ok=True)
    else:
        file.write_text(f"{calls} {end}")
