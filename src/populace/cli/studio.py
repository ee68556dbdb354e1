"""studio: the web application."""

from __future__ import annotations

import importlib.util

import click

from populace.base.errors import UsageError
from populace.cli.options import command, workspace_option


@command("studio")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address to listen on; any other needs a token."
)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8642, show_default=True, help="The port; 0 takes a free one."
)
@click.option("--token", help="The token that visitors need; made at random if --host needs one and none is given.")
@click.option("--open/--no-open", "browse", default=True, help="Open a browser.")
@workspace_option
def studio_command(host: str, port: int, token: str | None, browse: bool, workspace: str | None) -> None:
    if importlib.util.find_spec("nicegui") is None:
        raise UsageError("Studio needs NiceGUI.", "Install it with: pip install 'populace[studio]'")
    from populace.studio.server import serve

    serve(workspace, host=host, port=port, token=token, browser=browse, print_line=click.echo)
