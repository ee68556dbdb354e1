from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from support.fake_server import (
    FakeServer,
)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as server:
        yield server


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the adapter pauses, which then take no time."""
    delays: list[float] = []
    pause = asyncio.sleep

    async def sleep(seconds: float) -> None:
        if seconds != 0:
            delays.append(seconds)
        await pause(0)

    monkeypatch.setattr("populace.models.openai_compatible.asyncio.sleep", sleep)
    return delays
