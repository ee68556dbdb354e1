"""Models behind a fake server, and calls to them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from populace.models import OpenAICompatible, ReplyOrFailure, Request
from support.fake_server import (
    Act,
    FakeServer,
    Seen,
)

T = TypeVar("T")
KEY = "sk-planted-5f0c2a9d7e"
SCHEMA = '{"properties":{"age":{"minimum":18,"maximum":99,"type":"integer"}},"required":["age"],"type":"object"}'


def shirt(number: int = 0, top: int = 20, **changes: Any) -> Request:
    return Request((("user", f"Person {number}: which shirt?\nOptions: blue, green."),), top=top, **changes)


def make_model(server: FakeServer, name: str | None = "fake-1", **settings: Any) -> OpenAICompatible:
    return OpenAICompatible(
        server.url, name, spec=f"{server.url}#{name}", **{"timeout_s": 5.0, "retries": 2} | settings
    )


def using(model: OpenAICompatible, what: Callable[[OpenAICompatible], Awaitable[T]]) -> T:
    async def go() -> T:
        try:
            await model.start()
            return await what(model)
        finally:
            await model.close()

    return asyncio.run(go())


async def collect_replies(model: OpenAICompatible, *requests: Request) -> dict[int, ReplyOrFailure]:
    outcomes: dict[int, ReplyOrFailure] = {}
    async with contextlib.aclosing(model.replies(requests)) as lots:
        async for lot in lots:
            outcomes |= dict(lot)
    return outcomes


def ask(model: OpenAICompatible, *requests: Request) -> ReplyOrFailure:
    """The outcome of the last request."""
    return using(model, lambda model: collect_replies(model, *requests))[len(requests) - 1]


def started(model: OpenAICompatible) -> OpenAICompatible:
    """The model, after it has found out what its server can do."""
    using(model, collect_replies)
    return model


def by_person(acts: Mapping[int, Act]) -> Callable[[Seen], Act | None]:
    return lambda seen: acts.get(int(seen.text.split()[1].rstrip(":")))


def alternative(**entry: Any) -> dict[str, Any]:
    """A change to a reply: the one alternative of its first token."""
    return {"logprobs": {"content": [{"token": "blue", "logprob": 0.0, "top_logprobs": [entry]}]}}


async def eventually(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.005)
