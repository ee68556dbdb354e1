"""Locks between processes: who writes a folder holds one, and whoever only looks disturbs nobody."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import IO

_LOOKS, _A_LOOK_S = 10, 0.01


def take(file: IO[str]) -> None:
    """Take the lock of an open file for as long as it is open, or raise BlockingIOError where another holds it.

    `held` takes the lock for a moment to look, so it is tried for longer than a look takes.
    """
    for _ in range(_LOOKS):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(_A_LOOK_S)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def held(path: Path) -> bool:
    """Whether some process holds the lock of a file now."""
    if not path.is_file():
        return False
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
