"""The actor that holds a part of Populace on a node of a cluster."""

from __future__ import annotations

import importlib
import json
import os
import queue
import sys
import threading
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from populace.base.errors import ClusterError
from populace.cluster.messages import error_fields, error_of

_WAIT_S = 10.0
_MOST_AT_ONCE = 256

Letter = tuple[int, str, bytes]
"""The number of a request, or 0 where no answer is expected; its name; its content."""


class Host:
    """Makes a part from its class and calls its methods; several of its methods run at the same time.

    Args:
        target: `module:Class` of the part; it is called with `setup` and an `Origin`.
        setup: What the part is made from.
        surroundings: Where modules are found, the version of Populace, and settings from the environment.
    """

    def __init__(self, target: str, setup: bytes, surroundings: dict[str, Any]) -> None:
        self._target, self._setup, self._surroundings = target, setup, surroundings
        self._part: Any = None
        self._outbox: queue.SimpleQueue[Letter] = queue.SimpleQueue()
        self._answers: dict[int, queue.SimpleQueue[tuple[bool, bytes]]] = {}
        self._number = 0
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def call(self, method: str, content: bytes) -> tuple[bool, bytes]:
        """Call a method of the part: whether it ended without an error, and what it returned, or the error."""
        try:
            return True, getattr(self._opened_part(), method)(content)
        except Exception as error:  # noqa: BLE001 - errors travel as data.
            return False, json.dumps(error_fields(error)).encode()

    def _opened_part(self) -> Any:
        """The part, made with the first call: Ray lets a constructor neither send letters nor fail with words."""
        with self._making:
            if self._part is None:
                _settle_in(self._surroundings)
                module, _, name = self._target.partition(":")
                self._part = getattr(importlib.import_module(module), name)(self._setup, self)
            return self._part

    def take(self) -> list[Letter]:
        """The letters of the part since the last call; waits a while for the first."""
        try:
            letters = [self._outbox.get(timeout=_WAIT_S)]
        except queue.Empty:
            return []
        while len(letters) < _MOST_AT_ONCE and not self._outbox.empty():
            letters.append(self._outbox.get())
        return letters

    def answer(self, answers: Iterable[tuple[int, bool, bytes]]) -> None:
        """Pass on answers to requests of the part."""
        for number, good, content in answers:
            self._answers[number].put((good, content))

    def ask(self, name: str, content: bytes = b"") -> bytes:
        """Send a request to the process that started the part, and wait for the answer."""
        with self._lock:
            self._number += 1
            number = self._number
            answer = self._answers[number] = queue.SimpleQueue()
            self._outbox.put((number, name, content))
        good, reply = answer.get()
        del self._answers[number]
        if not good:
            raise error_of(json.loads(reply))
        return reply

    def tell(self, name: str, content: bytes = b"") -> None:
        """Send something that needs no answer."""
        with self._lock:
            self._outbox.put((0, name, content))


def _settle_in(surroundings: dict[str, Any]) -> None:
    """Look for modules where the process that started this one does, and check that it is the same Populace."""
    own = version("populace")
    if surroundings["version"] != own:
        raise ClusterError(
            f"a node has Populace {own}; this is {surroundings['version']}.",
            "Install the same version on every node: results would not be equal.",
        )
    sys.path += [folder for folder in surroundings["path"] if folder not in sys.path]
    os.environ |= surroundings["environment"]
    if Path(surroundings["folder"]).is_dir():
        os.chdir(surroundings["folder"])
