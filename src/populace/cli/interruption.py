"""Commands that go on when they are given again: how an interruption ends them, and what it says."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

from populace.base.errors import InterruptedRunError, StoppedError
from populace.cli import ARGUMENTS

KEPT = "Replies that were paid for are kept."
"""What a command keeps whose calls are stored."""


@contextmanager
def repeatable_command(what: str, kept: str) -> Iterator[None]:
    """End in order on Ctrl-C and on SIGTERM; the error says what is kept and with which command it goes on.

    Args:
        what: What is interrupted, for the error.
        kept: A sentence about what is kept.
    """
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    except (KeyboardInterrupt, InterruptedRunError):
        raise InterruptedRunError(f"{what} was interrupted.", f"{kept} Go on with: {running_command()}") from None
    except StoppedError as error:
        error.hint = f"{kept} Go on with: {running_command()}"
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does now: a simulation ends after the calls under way, all else at once."""
    if callable(signal.getsignal(signal.SIGINT)):
        signal.raise_signal(signal.SIGINT)
    else:  # Shells start background processes without Ctrl-C.
        raise KeyboardInterrupt


def running_command() -> str:
    """The command that is running, as it was given."""
    words: list[str] = click.get_current_context().meta.get(ARGUMENTS, [])
    return shlex.join(["populace", *words])
