"""Serves Studio: one process on one address, until Ctrl-C."""

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
    browser: bool = True,
    print_line: Callable[[str], None] = print,
) -> None:
    """Serve Studio until it is interrupted.

    Args:
        workspace: The folder with the runs.
        host: The address to listen on; any other than this machine's own needs a token.
        port: The port; 0 takes a free one.
        token: What requests must carry; generated where the host needs one and none is given.
        browser: Whether to open a browser.
        print_line: Prints the address and what the user must know.
    """
    local = host in _LOOPBACK
    if token is not None and not _TOKEN.fullmatch(token):
        raise UsageError(
            "the token must have at least 16 letters, digits or any of . _ ~ -.",
            "Leave it out, and one is generated.",
        )
    if not local and token is None:
        token = secrets.token_urlsafe(24)
    # NiceGUI would create a folder in the current one, although nothing is stored there.
    os.environ.setdefault("NICEGUI_STORAGE_PATH", os.devnull)
    import uvicorn

    from populace.studio.app import application
    from populace.studio.shell.guard import Guard
    from populace.studio.studio import Studio

    listener = _listener(host, port)
    studio = Studio(workspace)
    address = f"http://{_url_host(host)}:{listener.getsockname()[1]}/"
    print_line(f"Studio shows {studio.workspace.folder} at {address}{f'?token={token}' if token else ''}")
    if not local:
        print_line(
            "Anybody with this address can start runs as you. The connection is not encrypted unless a proxy does it."
        )
    app = Guard(application(studio), token)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2, ws_ping_timeout=60)
    if browser:
        webbrowser.open(f"{address}?token={token}" if token else address)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
    print_line("Studio is closed. The runs that it started go on.")


def _listener(host: str, port: int) -> socket.socket:
    """A socket that listens on the address; UsageError where it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # From here on requests queue while the application is being built.
        listener.listen()
    except OSError as error:
        listener.close()
        raise UsageError(
            f"Studio cannot listen at {host}:{port}: {error.strerror or error}.",
            "Another Studio may be open there. Take another port with --port; 0 takes a free one.",
        ) from error
    return listener


def _url_host(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
