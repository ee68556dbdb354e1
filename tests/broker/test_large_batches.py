"""Large batches of replies are stored in another thread, and are in the store before anybody uses them."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from populace.base.errors import BudgetError, ModelError, ServiceError, StorageError
from populace.base.sqlite import SharedDatabase
from populace.broker import Broker, CallSettings, CallStore
from populace.broker.batch_storage import reply_contents
from populace.models import Capabilities, Failure, Model, ModelTraits, Reply, ReplyOrFailure, Request
from populace.models.scored_replies import ScoredReplies, TokenTexts

TEXTS = TokenTexts(["roof", " bridge", 'é"', "日本"])
REQUESTS = [Request((("user", f"Person {number}: roof or bridge?"),), "Answer:", 1, 20) for number in range(1300)]


def scored(first: int, count: int) -> Any:
    tokens = (np.arange(2 * count) + first) % len(TEXTS.texts)
    logprobs = np.round(-1.0 - (np.arange(2 * count) + first) % 997 / 100, 5)
    lengths = 300 + (np.arange(count) + first) % 7
    return ScoredReplies.of(range(first, first + count), TEXTS, tokens, logprobs, np.full(count, 2), lengths)


class Batches(Model):
    """Answers in batches of 600; what comes after the last one is up to the test."""

    spec = fingerprint = "batches"
    capabilities = Capabilities(top_tokens=20)
    traits = ModelTraits(local=True)

    def __init__(self, error: BaseException | None = None, pause_s: float = 0.0) -> None:
        self.error, self.pause_s = error, pause_s

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        for first in range(0, len(requests), 600):
            yield scored(first, min(600, len(requests) - first))
        await asyncio.sleep(self.pause_s)
        if self.error:
            raise self.error


def fetch(model: Model, path: Path, **limits: Any) -> tuple[Broker, list[ReplyOrFailure] | BaseException]:
    async def all_of_it() -> tuple[Broker, list[ReplyOrFailure] | BaseException]:
        broker = Broker(CallStore(path), settings=CallSettings(**limits))
        try:
            return broker, (await broker.fetch(await broker.model(model), REQUESTS, "test"))[1]
        except (BudgetError, ModelError, ServiceError, StorageError) as error:
            return broker, error
        finally:
            await broker.close()

    return asyncio.run(all_of_it())


def stored(path: Path) -> dict[str, str]:
    with sqlite3.connect(path) as connection:
        return dict(connection.execute("SELECT key, call FROM calls"))


def test_what_is_stored_in_columns_is_what_is_stored_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 12.5)
    broker, replies = fetch(Batches(), tmp_path / "calls.sqlite")
    expected = [reply for first, count in ((0, 600), (600, 600), (1200, 100)) for _, reply in scored(first, count)]
    assert replies == expected
    assert (broker.usage.calls, broker.usage.reused, broker.under_way) == (1300, 0, 0)
    assert broker.usage.prompt_tokens == sum(reply.prompt_tokens for reply in expected)
    calls = stored(tmp_path / "calls.sqlite")
    other = CallStore(tmp_path / "other.sqlite")
    keys = [request.key("batches") for request in REQUESTS]
    other.put("batches", list(zip(keys, expected, strict=True)))
    other.close()
    ours = {key: call.split("],")[:-1] for key, call in calls.items()}
    assert ours == {key: call.split("],")[:-1] for key, call in stored(tmp_path / "other.sqlite").items()}
    assert all(call.endswith(",12.500]") for call in calls.values())
    again, replies = fetch(Batches(ModelError("not asked again")), tmp_path / "calls.sqlite")
    assert replies == expected and again.usage.reused == 1300


def test_a_reply_that_another_process_stored_first_counts(tmp_path, monkeypatch):
    path, first = tmp_path / "calls.sqlite", Reply("bridge", (("bridge", -0.5),), "stop", 9, 1)

    def put_before(store: CallStore, model: str, keys: list[str], *others: Any) -> dict[str, Reply]:
        with monkeypatch.context() as patch:
            patch.setattr(CallStore, "put_contents", put_contents)
            if REQUESTS[3].key("batches") in keys:
                store.put(model, [(REQUESTS[3].key("batches"), first)])
            return store.put_contents(model, keys, *others)

    put_contents = CallStore.put_contents
    monkeypatch.setattr(CallStore, "put_contents", put_before)
    _, replies = fetch(Batches(), path)
    assert isinstance(replies, list) and replies[3] == first and replies[4] == scored(0, 600)[4][1]


def test_a_large_batch_is_stored_in_another_thread(tmp_path, monkeypatch):
    threads, put_contents = [], CallStore.put_contents

    def put(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return put_contents(*arguments)

    monkeypatch.setattr(CallStore, "put_contents", put)
    fetch(Batches(), tmp_path / "calls.sqlite")
    assert len(threads) == 3 and threading.main_thread() not in threads


PLAIN: list[ReplyOrFailure] = [
    Reply('an "é"\n日本\x00' * (number % 3), (), "length", number % 5, 3) for number in range(len(REQUESTS))
]
"""Written replies; a fifth of them come without the number of tokens read."""


class Plain(Batches):
    """Answers all requests in one batch, with replies that are not in columns; the eighth is a failure."""

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        outcomes = [*PLAIN[:7], Failure("rejected", "too long"), *PLAIN[8:]]
        yield list(enumerate(outcomes[: len(requests)]))


@pytest.mark.parametrize("most", [100_000_000, 1000], ids=["one statement", "row by row"])
def test_a_large_batch_of_plain_replies_is_checked_and_stored_in_another_thread(tmp_path, monkeypatch, most):
    threads, write = [], SharedDatabase._write

    def note_thread(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return write(*arguments)

    monkeypatch.setattr(SharedDatabase, "_write", note_thread)
    monkeypatch.setattr("populace.broker.batch_storage._MOST_LETTERS", most)
    broker, replies = fetch(Plain(), tmp_path / "calls.sqlite")
    assert isinstance(replies, list) and len(threads) == 1 and threading.main_thread() not in threads
    assert replies[7] == Failure("rejected", "too long")
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == [
        reply.text for number, reply in enumerate(PLAIN) if number != 7 and isinstance(reply, Reply)
    ]
    marked = [number for number, reply in enumerate(replies) if isinstance(reply, Reply) and reply.estimated]
    assert marked == list(range(0, len(PLAIN), 5))
    store = CallStore(tmp_path / "calls.sqlite")
    keys = [request.key("batches") for request in REQUESTS]
    assert store.get(keys) == {key: reply for key, reply in zip(keys, replies, strict=True) if isinstance(reply, Reply)}
    store.close()
    assert (broker.usage.calls, broker.usage.failures, broker.under_way) == (1299, 1, 0)


def test_an_impossible_reply_in_a_large_batch_is_not_stored(tmp_path):
    class Impossible(Batches):
        async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
            yield [
                (index, Reply("roof", (("roof", 5.0 if index == 9 else -0.5),), "stop", 9, 1)) for index in range(1300)
            ]

    _, error = fetch(Impossible(), tmp_path / "calls.sqlite")
    assert isinstance(error, ServiceError) and "log-probability of 'roof' is 5.0" in str(error)
    assert len(stored(tmp_path / "calls.sqlite")) == 1299


def test_of_two_replies_to_one_request_the_first_counts_also_while_it_is_being_stored(tmp_path):
    class Twice(Batches):
        async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
            async for batch in super().replies(requests):
                yield batch
                yield [(index, Reply("second", (), "stop", 1, 1)) for index, _ in batch]

    broker, replies = fetch(Twice(), tmp_path / "calls.sqlite")
    assert isinstance(replies, list) and "second" not in {reply.text for reply in replies}
    assert broker.usage.calls == len(stored(tmp_path / "calls.sqlite")) == 1300 and broker.under_way == 0


@pytest.mark.parametrize(
    ("model", "limits"),
    [(Batches(ModelError("broken")), {}), (Batches(pause_s=30.0), {"max_seconds": 0.5})],
    ids=["error", "time"],
)
def test_what_was_being_stored_when_a_model_fails_is_kept_and_counted(tmp_path, model, limits, monkeypatch):
    monkeypatch.setattr(f"{__name__}.REQUESTS", REQUESTS[:600])
    broker, error = fetch(model, tmp_path / "calls.sqlite", **limits)
    assert isinstance(error, BudgetError | ModelError)
    assert broker.usage.calls == len(stored(tmp_path / "calls.sqlite")) == 600 and broker.under_way == 0


def slow_put(monkeypatch: pytest.MonkeyPatch, seconds: float, failing: frozenset[str] = frozenset()) -> None:
    """Storing takes a while; a batch with one of the keys cannot be stored."""
    put_contents = CallStore.put_contents

    def put(store: CallStore, model: str, keys: list[str], *others: Any) -> Any:
        time.sleep(seconds)
        if failing.intersection(keys):
            raise StorageError("the disk is full")
        return put_contents(store, model, keys, *others)

    monkeypatch.setattr(CallStore, "put_contents", put)


@pytest.mark.parametrize("times", [1, 2])
def test_batches_that_are_being_stored_when_a_run_is_cancelled_are_kept_and_counted(tmp_path, times, monkeypatch):
    slow_put(monkeypatch, 0.3)

    async def cancelled() -> Broker:
        broker = Broker(CallStore(tmp_path / "calls.sqlite"))
        task = asyncio.create_task(broker.fetch(Batches(), REQUESTS, "test"))
        for _ in range(times):
            await asyncio.sleep(0.1)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await broker.close()
        return broker

    broker = asyncio.run(cancelled())
    assert broker.usage.calls == len(stored(tmp_path / "calls.sqlite")) == 1300 and broker.under_way == 0


class Steady(Batches):
    """Answers in thirteen batches of 100 and counts what it has given."""

    def __init__(self, traits: ModelTraits) -> None:
        super().__init__()
        self.traits, self.given = traits, 0

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        for first in range(0, len(requests), 100):
            await asyncio.sleep(0.02)
            self.given += 100
            yield [(index, Reply("roof", (), "stop", 9, 1)) for index in range(first, first + 100)]


def test_no_batch_that_arrived_is_lost_when_a_run_is_cancelled(tmp_path, monkeypatch):
    slow_put(monkeypatch, 0.1)
    model = Steady(ModelTraits(local=True))

    async def cancelled() -> Broker:
        broker = Broker(CallStore(tmp_path / "calls.sqlite"))
        task = asyncio.create_task(broker.fetch(model, REQUESTS, "test"))
        while model.given < 500:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await broker.close()
        return broker

    broker = asyncio.run(cancelled())
    assert 500 <= model.given < 1300, "it is cancelled while batches wait to be stored"
    assert broker.usage.calls == len(stored(tmp_path / "calls.sqlite")) == model.given


def test_a_reply_of_a_service_is_stored_before_the_next_one_is_taken(tmp_path, monkeypatch):
    """A process that is killed must not lose replies that were paid for."""
    path, counts = tmp_path / "calls.sqlite", []

    class Watched(Steady):
        async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
            async for batch in super().replies(requests):
                counts.append(len(stored(path)))
                yield batch

    fetch(Watched(ModelTraits()), path)
    assert counts == list(range(0, 1300, 100))


def test_a_batch_that_cannot_be_stored_is_an_error_and_the_others_are_kept_and_counted(tmp_path, monkeypatch):
    slow_put(monkeypatch, 0.1, frozenset([REQUESTS[0].key("batches")]))
    broker, error = fetch(Batches(), tmp_path / "calls.sqlite")
    assert isinstance(error, StorageError)
    assert broker.usage.calls == len(stored(tmp_path / "calls.sqlite")) == 700 and broker.under_way == 0


def test_a_store_is_closed_after_what_another_thread_is_writing(tmp_path):
    database = CallStore(tmp_path / "calls.sqlite")._db
    begun = threading.Event()

    def write() -> None:
        begun.set()
        time.sleep(0.1)
        database.connection.execute("INSERT INTO calls VALUES ('a', 'b')")

    thread = threading.Thread(target=database._write, args=(write,))
    thread.start()
    begun.wait()
    database.close()
    thread.join()
    assert stored(tmp_path / "calls.sqlite") == {"a": "b"}


def test_a_limit_of_tokens_stops_a_model_after_the_batch_that_reaches_it(tmp_path):
    class Halting(Batches):
        async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
            async for batch in super().replies(requests):
                if self.halted:
                    return
                yield batch

    broker, error = fetch(Halting(), tmp_path / "calls.sqlite", max_tokens=1000)
    assert isinstance(error, BudgetError) and broker.usage.calls == len(stored(tmp_path / "calls.sqlite")) == 600


def test_time_that_ends_while_the_last_replies_are_stored_does_not_make_them_fail(tmp_path, monkeypatch):
    slow_put(monkeypatch, 0.6)
    _, replies = fetch(Batches(), tmp_path / "calls.sqlite", max_seconds=0.5)
    assert isinstance(replies, list) and len(replies) == 1300


@pytest.mark.parametrize("count", [0, 1, 511, 512, 513, 1300])
def test_many_replies_are_written_as_each_of_them(count):
    texts = ["blue", ",{},", "{}", '",{},"', "],{},[", 'a "quote"', "\\", "\n", "日本", ""]
    replies = [
        Reply(texts[n % 10 if n > 600 else 0], (("a", -0.5), (texts[n % 7], float("-inf"))), "stop", n, 1, n % 3 == 1)
        for n in range(count)
    ]
    assert reply_contents(replies) == [reply.to_json().decode() for reply in replies]
