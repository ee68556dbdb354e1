"""A part on a cluster that sends back what it gets, for tests of the connection."""

from __future__ import annotations

import os

from populace.base.errors import UsageError
from populace.cluster import Origin


class Echo:
    """Asks the process that started it, and returns the answer."""

    def __init__(self, setup: bytes, origin: Origin) -> None:
        self.setup, self.origin = setup, origin

    def ping(self, content: bytes) -> bytes:
        self.origin.tell("told", content)
        return self.setup + self.origin.ask("asked", content)

    def fail(self, content: bytes) -> bytes:
        raise UsageError("nothing can be done.", "Do something else.")

    def die(self, content: bytes) -> bytes:
        os._exit(1)
