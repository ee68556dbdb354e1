"""Calls under way at the same time: how many, and what becomes of them when a run ends."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from populace import simulate
from populace.base.errors import (
    BudgetError,
    ModelError,
    ModelKeyError,
    PopulaceError,
    UnknownModelError,
)
from populace.broker import Broker, CallSettings, CallStore, MemoryCallStore
from populace.models import OpenAICompatible, ReplyOrFailure
from populace.scenarios.norms import Norms
from support import fake_server
from support.fake_server import (
    BROKEN,
    HANG,
    KEY_REFUSED,
    NO_CREDIT,
    OVERLOADED,
    RESET,
    TRUNCATED,
    WELL,
    Act,
    FakeServer,
    rate_limited,
)
from support.server_models import (
    by_person,
    collect_replies,
    eventually,
    make_model,
    shirt,
    using,
)


def test_no_more_requests_are_under_way_than_allowed():
    with FakeServer(latency_s=0.02) as server:
        using(make_model(server, concurrency=3), lambda model: collect_replies(model, *map(shirt, range(12))))
    assert (server.most_under_way, server.answered) == (3, 12)


def test_questions_asked_at_the_same_time_share_the_limit_on_requests_under_way():
    async def both(model: OpenAICompatible) -> None:
        await asyncio.gather(
            collect_replies(model, *map(shirt, range(6))), collect_replies(model, *map(shirt, range(6, 12)))
        )

    with FakeServer(latency_s=0.02) as server:
        using(make_model(server, concurrency=3), both)
    assert (server.most_under_way, server.answered) == (3, 12)


def test_a_halt_lets_calls_under_way_end_and_begins_no_more():
    is_halted = threading.Event()

    async def halted(model: OpenAICompatible) -> dict[int, ReplyOrFailure]:
        asking = asyncio.create_task(collect_replies(model, *map(shirt, range(6))))
        await eventually(lambda: server.chats == 2)
        model.halted = True
        is_halted.set()
        return await asking

    with FakeServer(lambda seen: Act(until=is_halted.is_set)) as server:
        outcomes = using(make_model(server, concurrency=2), halted)
        assert (len(outcomes), server.chats, server.answered) == (2, 2, 2)


def test_a_halt_also_keeps_those_from_beginning_who_wait_for_their_turn():
    is_halted = threading.Event()

    async def halted(model: OpenAICompatible) -> None:
        asking = asyncio.gather(collect_replies(model, shirt(0)), collect_replies(model, shirt(1)))
        await eventually(lambda: server.chats == 1)
        model.halted = True
        is_halted.set()
        await asking

    with FakeServer(lambda seen: Act(until=is_halted.is_set)) as server:
        using(make_model(server, concurrency=1), halted)
        assert server.chats == 1


def test_a_halt_ends_the_wait_for_another_attempt():
    async def halted(model: OpenAICompatible) -> None:
        asking = asyncio.create_task(collect_replies(model, shirt()))
        await eventually(lambda: server.answered == 1)
        model.halted = True
        async with asyncio.timeout(20):
            await asking

    with FakeServer(lambda seen: rate_limited(60)) as server:
        using(make_model(server), halted)
        assert server.chats == 1


def test_replies_that_arrived_before_an_error_are_handed_over_before_it():
    indices: set[int] = set()

    async def slowly(model: OpenAICompatible) -> None:
        async for lot in model.replies([shirt(0), shirt(1), shirt(2)]):
            indices.update(index for index, _ in lot)
            await eventually(lambda: server.answered == 3)
            await asyncio.sleep(0.05)

    acts = {1: Act(pause_s=0.05), 2: replace(KEY_REFUSED, pause_s=0.1)}
    with FakeServer(by_person(acts)) as server, pytest.raises(ModelKeyError):
        using(make_model(server), slowly)
    assert indices == {0, 1}


def kept_after(
    acts: Mapping[int, Act], calls: CallSettings, stop: type[PopulaceError], tmp_path: Path, timeout_s: float = 60
) -> tuple[int, int]:
    """How many of four calls at once the server saw, and how many replies the store holds, once all had to stop.

    The first is answered when all are under way, and the others when it is.
    """

    async def go() -> tuple[int, int]:
        store = CallStore(tmp_path / "calls.sqlite")
        broker = Broker(store, settings=calls, opener=lambda spec: make_model(server, timeout_s=timeout_s, retries=0))
        try:
            with pytest.raises(stop):
                await broker.fetch(await broker.model("fake"), [shirt(i) for i in range(4)], "test")
            return server.chats, len(store)
        finally:
            await broker.close()

    first = replace(acts[0], until=lambda: server.chats == 4)
    others = {person: replace(act, until=lambda: server.answered > 0) for person, act in acts.items() if person}
    with FakeServer(by_person({0: first} | others)) as server:
        return asyncio.run(go())


def test_calls_under_way_when_a_budget_is_reached_are_kept(tmp_path):
    slow = {0: Act()} | dict.fromkeys((1, 2, 3), Act(pause_s=0.2))
    assert kept_after(slow, CallSettings(max_tokens=1), BudgetError, tmp_path) == (4, 4)


def test_calls_under_way_when_the_credit_ends_are_kept(tmp_path):
    slow = {0: NO_CREDIT} | dict.fromkeys((1, 2, 3), Act(pause_s=0.2))
    assert kept_after(slow, CallSettings(), ModelError, tmp_path) == (4, 3)


def test_a_budget_of_seconds_also_ends_the_wait_for_a_server_that_hangs(tmp_path):
    # Without the budget the requests would end after a minute, as a failure of the service and not of the budget.
    hanging, budget = dict.fromkeys(range(4), HANG), CallSettings(max_seconds=0.8)
    assert kept_after(hanging, budget, BudgetError, tmp_path, timeout_s=60)[1] == 0


def test_a_model_that_does_not_start_gives_its_connections_back(server):
    async def start() -> None:
        broker = Broker(MemoryCallStore(), opener=lambda spec: make_model(server, "another"))
        with pytest.raises(UnknownModelError):
            await broker.model("fake")
        await broker.close()
        await eventually(lambda: not server.connections)

    asyncio.run(start())


def test_a_server_in_a_process_of_its_own_sees_every_request_once(tmp_path):
    port, log = tmp_path / "port", tmp_path / "log"
    program = [sys.executable, fake_server.__file__, "--port-file", str(port), "--log", str(log)]
    with subprocess.Popen(program) as process:
        try:
            asyncio.run(eventually(port.exists))
            run = simulate(Norms(workers=4, days=2), model=f"http://127.0.0.1:{port.read_text()}/v1")
        finally:
            process.kill()
    lines = Counter(log.read_text().splitlines())
    assert set(lines.values()) == {1}
    assert len(lines) == 2 * sum(step["calls"] for step in run.record.usage())


def test_the_same_prompts_get_the_same_replies_from_a_server_that_fails_now_and_then(waits):
    troubles = [BROKEN, WELL, RESET, rate_limited(0), TRUNCATED, WELL, OVERLOADED]
    with FakeServer() as well, FakeServer(troubles) as shaky:
        runs = [simulate(Norms(workers=6, days=2), model=make_model(server), seed=3) for server in (well, shaky)]
    assert runs[0].record.people(2).equals(runs[1].record.people(2))
