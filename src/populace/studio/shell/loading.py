"""Work for a page in a thread; the page may be closed before it is done."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from nicegui import Client, context

P = ParamSpec("P")
ValueT = TypeVar("ValueT")


class PageClosed(Exception):  # noqa: N818  Nothing went wrong: there is just nobody to show anything to.
    """The page was closed while data were loaded for it, so that there is nothing to draw on."""


async def load(function: Callable[P, ValueT], *args: P.args, **kwargs: P.kwargs) -> ValueT:
    """Call a function in a thread and return its result.

    Raises:
        PageClosed: The page was closed meanwhile; whoever draws it ends without a message.
    """
    client = _client()
    result = await asyncio.to_thread(function, *args, **kwargs)
    if client is not None and client.is_deleted:
        raise PageClosed
    return result


def _client() -> Client | None:
    """The page for which this runs; None where the button that was pressed has been replaced since."""
    try:
        return context.client
    except RuntimeError:
        return None
