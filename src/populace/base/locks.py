"""Locks between processes.

The process that writes a folder holds its lock; a process that only asks whether it is held must not disturb it.
"""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_ATTEMPTS, _ATTEMPT_S = 10, 0.01


def acquire(file: IO[str]) -> None:
    """Take the lock of an open file until it is closed, or raise BlockingIOError if another process holds it.

    `is_locked` takes the lock for a moment, so several attempts are made.
    """
    for _ in range(_ATTEMPTS):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(_ATTEMPT_S)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of a file, and hold it for the length of a `with` block."""
    with path.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock of a file now."""
    if not path.is_file():
        return False
    try:
        with path.open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except PermissionError:  # A lock that cannot even be read is not held by a process of this user.
        return False
    return False
