"""Work for a page in a thread; the page may be closed before it is done."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from nicegui import Client, context

from populace.base.errors import PopulaceError

P = ParamSpec("P")
ValueT = TypeVar("ValueT")


class PageClosed(Exception):  # noqa: N818  Nothing went wrong: there is just nobody to show anything to.
    """The page was closed while data were loaded for it, so that there is nothing to draw on."""


async def load(function: Callable[P, ValueT], *args: P.args, **kwargs: P.kwargs) -> ValueT:
    """Call a function in a thread and return its result.

    Raises:
        PageClosed: The page was closed meanwhile; whoever draws it ends without a message.
    """
    return await wait_for(asyncio.to_thread(function, *args, **kwargs))


async def wait_for(work: Awaitable[ValueT]) -> ValueT:
    """Wait for work of a page and return its result.

    Raises:
        PageClosed: The page was closed meanwhile, also where the work failed.
    """
    client = _client()
    try:
        result = await work
    except PopulaceError:
        _check_open(client)
        raise
    _check_open(client)
    return result


def _check_open(client: Client | None) -> None:
    if client is not None and client.is_deleted:
        raise PageClosed


def _client() -> Client | None:
    """The page for which this runs; None where the button that was pressed has been replaced since."""
    try:
        return context.client
    except RuntimeError:
        return None
