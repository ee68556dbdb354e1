"""Where a cluster is: one that is started here for a command, or one that runs already."""

from __future__ import annotations

import socket
from typing import NamedTuple

from populace.base.errors import ClusterError, UsageError

LOCAL = "ray"
"""The name of a cluster that is started on this machine and ends with the command."""
_CLIENT = "ray://"
_PATIENCE_S = 5.0


class ClusterAddress(NamedTuple):
    """The address of a Ray cluster.

    Attributes:
        text: As the user wrote it.
        host: The host; empty for a cluster that is started here.
        port: The port.

    Example:
        >>> ClusterAddress.parse("ray://head:10001").host, ClusterAddress.parse("ray").local
        ('head', True)
    """

    text: str
    host: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> ClusterAddress:
        """An address from `ray`, `ray://HOST:PORT` or `HOST:PORT`; UsageError for anything else."""
        if text == LOCAL:
            return cls(text)
        host, colon, port = text.removeprefix(_CLIENT).rpartition(":")
        whole = host and colon and not host.startswith("//") and "/" not in host and not any(map(str.isspace, host))
        if not whole or not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 65536:
            raise UsageError(
                f"{text!r} is no address of a cluster.",
                "Write `ray` for a cluster on this machine, ray://HOST:PORT for the client port of a cluster, or "
                "HOST:PORT where this machine is one of its nodes.",
            )
        return cls(text, host.strip("[]"), int(port))

    @property
    def local(self) -> bool:
        """Whether the cluster is started here."""
        return not self.host

    @property
    def through_client(self) -> bool:
        """Whether it is reached through the client port, from a machine that is no node."""
        return self.text.startswith(_CLIENT)

    def check(self) -> None:
        """Raise ClusterError if nothing listens there. Ray itself would try for minutes."""
        if self.local:
            return
        try:
            socket.create_connection((self.host, self.port), timeout=_PATIENCE_S).close()
        except OSError as error:
            why = "no answer within 5 seconds" if isinstance(error, TimeoutError) else error.strerror or str(error)
            raise ClusterError(
                f"no Ray cluster answers at {self.text}: {why}.",
                "`ray status` on the head node shows whether it runs; `--on ray` starts one on this machine.",
            ) from error
