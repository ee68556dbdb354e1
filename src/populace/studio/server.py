"""Serving Studio: one process on one address, until Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path

from populace.base.errors import UsageError

PORT = 8642
_TOKEN = re.compile(r"[A-Za-z0-9._~-]{16,}")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    workspace: str | Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str | None = None,
    browse: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve Studio until it is interrupted.

    Args:
        workspace: The folder with the runs.
        host: Where to listen; any other than this machine's own needs a token.
        port: On which port; 0 takes a free one.
        token: What visitors from elsewhere must show; one is made up where it is needed and not given.
        browse: Open a browser.
        say: Told the address.
    """
    local = host in _LOOPBACK
    if token is not None and not _TOKEN.fullmatch(token):
        raise UsageError(
            "the token must have at least 16 letters, digits or any of . _ ~ -.",
            "Leave it out, and one is made up.",
        )
    if not local and token is None:
        token = secrets.token_urlsafe(24)
    # NiceGUI would keep a folder of its own where it is started, though nothing is put there.
    os.environ.setdefault("NICEGUI_STORAGE_PATH", os.devnull)
    import uvicorn

    from populace.studio.app import application
    from populace.studio.shell.guard import Guard
    from populace.studio.studio import Studio

    taken = _listening(host, port)
    studio = Studio(workspace)
    address = f"http://{_shown(host)}:{taken.getsockname()[1]}/"
    say(f"Studio shows {studio.workspace.folder} at {address}{f'?token={token}' if token else ''}")
    if not local:
        say("Whoever has this address can start runs as you; nothing encrypts what is sent, unless a proxy does.")
    app = Guard(application(studio), token)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2, ws_ping_timeout=60)
    if browse:
        webbrowser.open(f"{address}?token={token}" if token else address)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[taken])
    say("Studio is closed. Runs that it started go on.")


def _listening(host: str, port: int) -> socket.socket:
    """A socket on the address, or the error that says who may have it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
        # From here on visitors wait in line while the pages are being made.
        taken.listen()
    except OSError as error:
        taken.close()
        raise UsageError(
            f"Studio cannot listen at {host}:{port}: {error.strerror or error}.",
            "Another one may be open there already; --port takes another port, and 0 any that is free.",
        ) from error
    return taken


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
