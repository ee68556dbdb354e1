"""What goes between the processes: a short header as JSON, and bytes.

Only JSON and bytes are exchanged, never objects: nothing that another machine sends is unpickled by Populace.
"""

from __future__ import annotations

import json
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Protocol

from populace.base.errors import PopulaceError

_HEADER_SIZE = 4


class Message(NamedTuple):
    """A header and bytes."""

    header: dict[str, Any]
    content: bytes = b""

    def send(self, to: Connection) -> None:
        """Write it to a pipe."""
        header = json.dumps(self.header).encode()
        to.send_bytes(len(header).to_bytes(_HEADER_SIZE, "big") + header + self.content)

    @classmethod
    def receive(cls, source: Connection) -> Message:
        """Read one from a pipe; EOFError where the other side has ended."""
        data = source.recv_bytes()
        end = _HEADER_SIZE + int.from_bytes(data[:_HEADER_SIZE], "big")
        return cls(json.loads(data[_HEADER_SIZE:end]), data[end:])


class Origin(Protocol):
    """Reaches the process that started a part on the cluster."""

    def ask(self, name: str, content: bytes = b"") -> bytes:
        """Send a request and wait for the answer."""

    def tell(self, name: str, content: bytes = b"") -> None:
        """Send something that needs no answer; it arrives before whatever is sent later."""


def error_fields(error: BaseException) -> dict[str, str]:
    """An error as data."""
    if isinstance(error, PopulaceError):
        return {"code": error.code, "what": error.what, "hint": error.hint or ""}
    return {"code": "", "what": f"{type(error).__name__}: {error}", "hint": ""}


def error_of(fields: dict[str, str]) -> PopulaceError:
    """The error that `error_fields` described, of the class with its code."""
    kinds, error_class = [PopulaceError], PopulaceError
    while kinds:
        kind = kinds.pop()
        error_class = kind if kind.code == fields["code"] else error_class
        kinds += kind.__subclasses__()
    error = error_class.__new__(error_class)
    PopulaceError.__init__(error, fields["what"], fields["hint"] or None)
    return error
