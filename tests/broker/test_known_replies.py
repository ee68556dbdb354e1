"""Many known replies are looked up in another thread, and nothing is bought twice meanwhile."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from populace.base.errors import CallStoreError
from populace.broker import Broker, CallStore, Usage
from populace.models import Capabilities, Failure, Model, Reply, ReplyOrFailure, Request

T = TypeVar("T")
REQUESTS = [Request((("user", f"Person {number}: which shirt?"),)) for number in range(2000)]
MANY = REQUESTS[:1000]


class Counting(Model):
    """Replies with what it was asked, after a while; it counts how often it was asked what."""

    spec = fingerprint = "counting"
    capabilities = Capabilities()

    def __init__(self, seconds: float = 0.0, failing: bool = False) -> None:
        self.seconds, self.failing = seconds, failing
        self.asked: list[str] = []

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        self.asked += [request.messages[0][1] for request in requests]
        await asyncio.sleep(self.seconds)
        if self.failing:
            yield [(index, Failure("rejected", "too long")) for index in range(len(requests))]
        else:
            yield [(index, reply(request)) for index, request in enumerate(requests)]


def reply(request: Request) -> Reply:
    return Reply(request.messages[0][1], (), "stop", 9, 1)


def texts(requests: Sequence[Request]) -> list[str]:
    return [request.messages[0][1] for request in requests]


class Busy(Model):
    """Is at work until the test ends; only then are other lookups worth another thread."""

    spec = fingerprint = "busy"
    capabilities = Capabilities()

    def __init__(self) -> None:
        self.end = asyncio.Event()

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        await self.end.wait()
        yield [(0, Reply("done", (), "stop", 1, 1))]


def using(path: Path, what: Callable[[Broker], Awaitable[T]], *, busy: bool = True) -> T:
    async def go() -> T:
        broker, model = Broker(CallStore(path / "calls.sqlite")), Busy()
        other = asyncio.create_task(broker.fetch(model, REQUESTS[:1], "test")) if busy else None
        await asyncio.sleep(0)
        try:
            return await what(broker)
        finally:
            model.end.set()
            if other is not None:
                await other
            assert broker.under_way == 0
            await broker.close()

    return asyncio.run(go())


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """Large lookups see the store as it is now, and end after a while; the threads of all lookups."""
    threads: list[threading.Thread] = []
    get = CallStore.get

    def slow_get(store: CallStore, keys: Sequence[str]) -> dict[str, Reply]:
        threads.append(threading.current_thread())
        replies = get(store, keys)
        if len(keys) > 500:
            time.sleep(0.2)
        return replies

    monkeypatch.setattr(CallStore, "get", slow_get)
    return threads


@pytest.mark.parametrize(("count", "busy", "elsewhere"), [(40, True, False), (1000, True, True), (1000, False, False)])
def test_large_lookups_are_in_another_thread_while_a_model_is_at_work(
    tmp_path: Path, slow: list[threading.Thread], count: int, busy: bool, elsewhere: bool
) -> None:
    using(tmp_path, lambda broker: broker.fetch(Counting(), REQUESTS[:count], "test"), busy=busy)
    assert [thread is not threading.main_thread() for thread in slow][-1:] == [elsewhere]


@pytest.mark.parametrize("seconds", [0.0, 0.5], ids=["ends before the lookup", "is under way after the lookup"])
@pytest.mark.parametrize("other", [MANY[990:] + REQUESTS[1000:1010], MANY[400:] + REQUESTS[1000:1400]])
@pytest.mark.usefixtures("slow")
def test_what_others_buy_during_a_lookup_is_not_bought_again(
    tmp_path: Path, seconds: float, other: list[Request]
) -> None:
    model = Counting(seconds)

    async def both(broker: Broker) -> tuple[Any, ...]:
        first = asyncio.create_task(broker.fetch(model, MANY, "test"))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(broker.fetch(model, other, "test"))
        return (await first)[1], (await second)[1], broker.usage - Usage()

    ours, theirs, usage = using(tmp_path, both)
    assert (ours, theirs) == (list(map(reply, MANY)), list(map(reply, other)))
    distinct = {*texts(MANY), *texts(other)}
    assert Counter(model.asked) == dict.fromkeys(distinct, 1)
    assert (usage.calls, usage.reused) == (len(distinct), len(MANY) + len(other) - len(distinct))


@pytest.mark.usefixtures("slow")
def test_what_failed_during_a_lookup_is_asked_again(tmp_path: Path) -> None:
    failing, model = Counting(failing=True), Counting()

    async def both(broker: Broker) -> Any:
        task = asyncio.create_task(broker.fetch(model, MANY, "test"))
        await asyncio.sleep(0.01)
        _, failures = await broker.fetch(failing, MANY[:5], "test", on_failure="record")
        return failures, (await task)[1], broker.usage - Usage()

    failures, replies, usage = using(tmp_path, both)
    assert set(map(type, failures)) == {Failure} and replies == list(map(reply, MANY))
    assert (usage.calls, usage.reused, usage.failures) == (1000, 0, 5)


@pytest.mark.usefixtures("slow")
def test_a_lookup_that_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    model = Counting()

    async def twice(broker: Broker) -> Any:
        task = asyncio.create_task(broker.fetch(model, MANY, "test"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (model.asked, broker.under_way, broker.usage.calls) == ([], 1, 0)
        return (await broker.fetch(model, MANY, "test"))[1]

    assert using(tmp_path, twice) == list(map(reply, MANY))
    assert model.asked == texts(MANY)


def test_a_lookup_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Counting()

    async def twice(broker: Broker) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(CallStore, "get", lambda *_: (_ for _ in ()).throw(CallStoreError("the store is locked.")))
            with pytest.raises(CallStoreError, match="locked"):
                await broker.fetch(model, MANY, "test")
        assert (model.asked, broker.under_way) == ([], 1)
        return (await broker.fetch(model, MANY, "test"))[1]

    assert using(tmp_path, twice) == list(map(reply, MANY))


def test_large_batches_reach_the_model_in_the_order_in_which_they_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, get = Counting(), CallStore.get

    def slower_at_first(store: CallStore, keys: Sequence[str]) -> dict[str, Reply]:
        time.sleep(0.2 if REQUESTS[0].key("counting") in keys else 0.0)
        return get(store, keys)

    monkeypatch.setattr(CallStore, "get", slower_at_first)

    async def lots(broker: Broker) -> None:
        await asyncio.gather(*[broker.fetch(model, REQUESTS[first : first + 600], "test") for first in (0, 600, 1200)])

    using(tmp_path, lots)
    assert model.asked == texts(REQUESTS[:1800])


def test_known_replies_are_counted_once_each_and_impossible_ones_are_asked_for_again(tmp_path: Path) -> None:
    model = Counting()
    keys = [request.key("counting") for request in MANY]
    store = CallStore(tmp_path / "calls.sqlite")
    store.put("counting", [(key, reply(request)) for key, request in zip(keys, MANY, strict=True) if key != keys[3]])
    store.put("counting", [(keys[3], Reply("blue", (("blue", 5.0),)))])
    store.close()

    async def again(broker: Broker) -> Any:
        return await broker.fetch(model, [*MANY, *MANY[:7]], "test"), broker.usage - Usage()

    (found, replies), usage = using(tmp_path, again)
    assert found == [*keys, *keys[:7]] and replies == list(map(reply, [*MANY, *MANY[:7]]))
    assert model.asked == texts(MANY[3:4]) and (usage.calls, usage.reused) == (1, 999)
