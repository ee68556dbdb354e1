from __future__ import annotations

import asyncio
import functools
import math
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from populace import simulate
from populace.base.errors import BudgetError, InterruptedRunError, ModelError, ServiceError, UsageError
from populace.broker import Broker, CallSettings, CallStore, MemoryCallStore, Price, Usage, price_file, price_of
from populace.journal import OnFailure
from populace.models import Capabilities, Failure, Model, Reply, ReplyOrFailure, Request, Scripted
from populace.scenarios.norms import Norms

T = TypeVar("T")
DOWN = Failure("unanswered", "the server is down")


def ask(number: int = 0, **changes: Any) -> Request:
    return Request((("user", f"Person {number:04}: which shirt?"),), options=("blue", "green"), **changes)


def asks(count: int, first: int = 0) -> list[Request]:
    return [ask(number) for number in range(first, first + count)]


class Recorder(Model):
    """A model that says `said`, one request after the other, and keeps a list of what it was asked."""

    def __init__(
        self,
        reply: Callable[[Request], ReplyOrFailure] = lambda request: Reply("blue", (), "stop", 10, 2),
        *,
        spec: str = "one",
    ) -> None:
        self.spec = self.fingerprint = spec
        self.capabilities = Capabilities()
        self.reply = reply
        self.requests: list[Request] = []
        self.started = self.closed = 0

    async def start(self, facts: Mapping[str, Any] | None = None) -> None:
        self.started += 1
        await asyncio.sleep(0)

    async def close(self) -> None:
        self.closed += 1

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        for index, request in enumerate(requests):
            if self.halted:
                return
            self.requests.append(request)
            await asyncio.sleep(0.002)
            yield [(index, self.reply(request))]


def using(what: Callable[[Broker], Awaitable[T]], store: CallStore | None = None, **limits: Any) -> T:
    async def go() -> T:
        broker = Broker(
            MemoryCallStore() if store is None else store,
            settings=CallSettings(**{f"max_{name}": value for name, value in limits.items()}),
        )
        try:
            return await what(broker)
        finally:
            await broker.close()

    return asyncio.run(go())


def fetched(
    model: Model,
    requests: Sequence[Request],
    store: CallStore | None = None,
    *,
    on_failure: OnFailure = "stop",
    **limits: Any,
) -> Broker:
    """The broker after one fetch."""

    async def fetch(broker: Broker) -> Broker:
        await broker.fetch(await broker.model(model), requests, "test", on_failure=on_failure)
        return broker

    return using(fetch, store, **limits)


@pytest.fixture
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A price table in which a token read costs one unit of money, and a token written two."""
    path = tmp_path / "prices.toml"
    path.write_text('["one*"]\nprompt = 1e6\ncompletion = 2e6\n')
    monkeypatch.setenv("POPULACE_PRICES", str(path))
    return path


def test_equal_requests_are_asked_once_and_answered_for_everyone():
    async def fetch(broker: Broker) -> tuple[list[str], list[ReplyOrFailure]]:
        return await broker.fetch(await broker.model(model), [ask(0), ask(1), ask(0), ask(0)], "test")

    model = Recorder(lambda request: Reply(request.messages[0][1]))
    keys, outcomes = using(fetch)
    assert model.requests == [ask(0), ask(1)]
    assert [outcome.text[:11] for outcome in outcomes] == ["Person 0000", "Person 0001", "Person 0000", "Person 0000"]
    assert (keys[0] == keys[2] == keys[3], keys[0] == keys[1]) == (True, False)


@pytest.mark.parametrize(
    "change", [{"seed": 2}, {"temperature": 0.5}, {"top": 5}, {"lead": "Answer:"}, {"schema": "{}"}]
)
def test_requests_that_differ_in_what_can_change_a_reply_are_not_shared(change):
    model = Recorder()
    fetched(model, [ask(seed=1), ask(**{"seed": 1} | change)])
    assert len(model.requests) == 2


def test_a_hint_that_changes_no_reply_does_not_keep_requests_apart():
    model = Recorder()
    fetched(model, [ask(), ask()._replace(options=("green", "blue"))])
    assert len(model.requests) == 1


def test_what_one_model_said_is_not_taken_for_the_words_of_another():
    store, one, two = MemoryCallStore(), Recorder(spec="one"), Recorder(spec="two")
    fetched(one, asks(2), store)
    fetched(two, asks(2), store)
    assert (len(one.requests), len(two.requests), len(store)) == (2, 2, 4)


def test_a_reply_that_is_stored_is_not_bought_again(tmp_path):
    model = Recorder()
    for _ in range(2):
        broker = fetched(model, asks(5), CallStore(tmp_path / "calls.sqlite"))
    assert len(model.requests) == 5
    assert (broker.usage.calls, broker.usage.reused, broker.usage.tokens) == (0, 5, 0)


def test_a_request_under_way_is_shared_and_not_sent_twice():
    async def both(broker: Broker) -> tuple[Any, Any, Usage]:
        running_model = await broker.model(model)
        one, other = await asyncio.gather(
            broker.fetch(running_model, asks(3), "test"), broker.fetch(running_model, asks(3, first=1), "test")
        )
        return one, other, broker.usage

    model = Recorder(lambda request: Reply(request.messages[0][1]))
    one, other, usage = using(both)
    assert sorted(model.requests) == asks(4)
    assert one[1][1:] == other[1][:2]
    assert (usage.calls, usage.reused) == (4, 2)


def test_one_who_waits_for_a_request_of_another_and_is_cancelled_spoils_it_for_nobody():
    async def three(broker: Broker) -> list[Any]:
        running_model = await broker.model(model)
        buyer, leaving, staying = (asyncio.create_task(broker.fetch(running_model, [ask()], "test")) for _ in range(3))
        while not model.requests:
            await asyncio.sleep(0)
        leaving.cancel()
        return await asyncio.gather(buyer, leaving, staying, return_exceptions=True)

    model = Recorder()
    buyer, leaving, staying = using(three)
    assert isinstance(leaving, asyncio.CancelledError)
    assert buyer == staying and len(model.requests) == 1


def test_those_who_share_a_request_share_its_failure_and_may_ask_again():
    async def both(broker: Broker) -> list[Any]:
        running_model = await broker.model(model)
        fetch = functools.partial(broker.fetch, running_model, [ask()], "test", on_failure="record")
        return [*await asyncio.gather(fetch(), fetch()), await fetch()]

    model = Recorder(lambda request: DOWN)
    assert [outcomes for _, outcomes in using(both)] == [[DOWN]] * 3
    assert len(model.requests) == 2


def test_a_failure_that_is_recorded_is_counted_and_not_stored():
    store, model = MemoryCallStore(), Recorder(lambda request: DOWN if request == ask(1) else Reply("blue"))
    broker = fetched(model, asks(3), store, on_failure="record")
    assert (len(store), broker.usage.calls, broker.usage.failures) == (2, 2, 1)
    fetched(model, asks(3), store, on_failure="record")
    assert Counter(model.requests)[ask(1)] == 2


@pytest.mark.parametrize("count", [1, 2, 50])
def test_one_failure_of_the_service_stops_with_its_reason_and_begins_no_further_call(count):
    model = Recorder(lambda request: DOWN)
    with pytest.raises(ServiceError, match=r"the service of one failed: the server is down"):
        fetched(model, asks(count))
    assert len(model.requests) == 1


def test_everybody_who_waits_for_a_call_gets_the_failure_and_not_an_interruption():
    async def both(broker: Broker) -> list[Any]:
        running_model, other_model = await broker.model(model), await broker.model(other)
        one = broker.fetch(running_model, asks(5), "test")
        return await asyncio.gather(one, broker.fetch(other_model, asks(50), "test"), return_exceptions=True)

    model, other = Recorder(lambda request: DOWN), Recorder(spec="other")
    assert [type(error) for error in using(both)] == [ServiceError, ServiceError]
    assert len(other.requests) < 50


def test_a_budget_that_one_question_spends_stops_the_others_for_the_same_reason():
    async def both(broker: Broker) -> list[Any]:
        models = [await broker.model(model) for model in (Recorder(spec="one"), Recorder(spec="two"))]
        fetches = (broker.fetch(model, asks(50), "test") for model in models)
        return await asyncio.gather(*fetches, return_exceptions=True)

    assert {type(error) for error in using(both, tokens=60)} == {BudgetError}


def test_a_prompt_that_the_model_rejects_stops_nothing():
    too_long = Failure("rejected", "the prompt is too long")
    model = Recorder(lambda request: too_long if request == ask(1) else Reply("blue"))
    broker = fetched(model, asks(30))
    assert (broker.usage.calls, broker.usage.failures) == (29, 1)


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), TimeoutError(), OSError("no route")])
def test_a_model_that_raises_an_error_of_the_system_is_a_service_that_failed(error):
    def broken(request: Request) -> Reply:
        raise error

    with pytest.raises(ServiceError, match=type(error).__name__):
        fetched(Recorder(broken), asks(3))


@pytest.mark.parametrize(
    "reply",
    [
        Reply("blue", (("blue", 5.0),)),
        Reply("blue", (("blue", 1000.0),)),
        Reply("blue", (("blue", math.inf),)),
        Reply("blue", (("blue", math.nan),)),
        Reply("blue", (("blue", -math.inf), ("green", -math.inf))),
        Reply("blue", (("blue", -0.1), ("green", -0.1))),
        Reply("blue", (("blue", "-0.1"),)),
        Reply("blue", (("blue",),)),
        Reply("blue", ((b"blue", -0.1),)),
        Reply("blue", 7),
        Reply(None),
        Reply(b"blue"),
        Reply("blue", (), "eaten"),
        Reply("blue", (), []),
        Reply("blue", (), "stop", -5, 1),
        Reply("blue", (), "stop", 10**12, 1),
        Reply("blue", (), "stop", 1.5, 1),
        Reply("blue", (), "stop", True, 1),
        Reply("blue", (), "stop", 1, None),
        "blue",
        None,
    ],
)
def test_a_reply_that_cannot_be_true_is_a_failure_of_the_service_and_is_not_stored(reply):
    store = MemoryCallStore()
    with pytest.raises(ServiceError, match="malformed"):
        fetched(Recorder(lambda request: reply if request == ask(1) else Reply("green")), asks(3), store)
    assert len(store) == 1


def test_what_an_engine_rounds_or_lists_twice_is_used():
    tokens = (("blue", 1e-7), ("green", -14.0), ("\ud83d", -20.0), ("impossible", -math.inf))
    twice = (("blue", -0.1), ("blue", -0.1), ("green", -3.0))

    async def fetch(broker: Broker) -> list[ReplyOrFailure]:
        return (await broker.fetch(await broker.model(model), [ask(0), ask(1)], "test"))[1]

    model = Recorder(lambda request: Reply("x", tokens if request == ask(0) else twice, "length", 5, 1))
    one, two = using(fetch)
    assert one.tokens == (("blue", 1e-7), ("green", -14.0), ("?", -20.0), ("impossible", -math.inf))
    assert two.tokens == (("blue", -0.1), ("green", -3.0))


@pytest.mark.parametrize("file", [True, False], ids=["file", "memory"])
def test_an_impossible_reply_that_an_earlier_version_stored_is_asked_for_again(file, tmp_path):
    store = CallStore(tmp_path / "calls.sqlite") if file else MemoryCallStore()
    bad = [(ask(number).key("one"), Reply("blue", (("blue", 1000.0),))) for number in range(2)]
    store.put("one", [*bad, (ask(2).key("one"), Reply("blue", (("blue", -0.5),)))])

    async def twice(broker: Broker) -> list[list[ReplyOrFailure]]:
        running_model = await broker.model(model)
        return [(await broker.fetch(running_model, asks(3), "test"))[1] for _ in range(2)]

    model = Recorder(lambda request: Reply("green", (("green", -0.5),), "length", 5, 1))
    first, second = using(twice, store)
    assert [reply.text for reply in first] == [reply.text for reply in second] == ["green", "green", "blue"]
    assert model.requests == asks(2)


class Careless(Recorder):
    """Yields whatever it is told to."""

    def __init__(self, *batches: list[Any]) -> None:
        super().__init__()
        self.batches = batches

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        for batch in self.batches:
            yield batch


def test_a_model_that_leaves_a_request_out_is_a_service_that_failed():
    with pytest.raises(ServiceError, match="gave no result"):
        fetched(Careless([(0, Reply("blue"))]), asks(2))


def test_of_two_replies_to_one_request_the_first_counts():
    store = MemoryCallStore()
    model = Careless([(1, Reply("a")), (1, Reply("b"))], [(1, Reply("c")), (0, Reply("d"))])
    assert fetched(model, asks(2), store).usage.calls == 2
    assert [reply.text for reply in store.get([request.key("one") for request in asks(2)]).values()] == ["d", "a"]


@pytest.mark.parametrize("index", [-1, 2, 99])
def test_a_reply_to_a_request_that_nobody_made_stops_with_words(index):
    with pytest.raises(ModelError, match="did not get"):
        fetched(Careless([(index, Reply("blue"))]), asks(2))


def test_twenty_failures_in_a_row_stop_a_run_that_records_failures():
    model = Recorder(lambda request: DOWN)
    with pytest.raises(ServiceError, match=r"20 calls to one failed .*the server is down"):
        fetched(model, asks(50), on_failure="record")
    assert len(model.requests) == 20


def test_nineteen_failures_and_a_reply_do_not_stop_a_run_that_records_them():
    model = Recorder(lambda request: Reply("blue") if request in (ask(19), ask(39)) else DOWN)
    assert fetched(model, asks(58), on_failure="record").usage.failures == 56


def test_failures_in_a_row_are_counted_over_questions():
    async def often(broker: Broker) -> None:
        for number in range(30):
            await broker.fetch(await broker.model(model), [ask(number)], "test", on_failure="record")

    model = Recorder(lambda request: DOWN)
    with pytest.raises(ServiceError):
        using(often)
    assert len(model.requests) == 20


@pytest.mark.parametrize(
    ("limits", "kept"), [({"calls": 3}, 3), ({"tokens": 30}, 3), ({"money": 40.0}, 3), ({"seconds": 0.1}, None)]
)
def test_at_a_limit_the_run_stops_and_what_was_bought_is_kept(limits, kept, prices, tmp_path):
    path, model = tmp_path / "calls.sqlite", Recorder()
    with pytest.raises(BudgetError) as caught:
        fetched(model, asks(100), CallStore(path), **limits)
    assert caught.value.limit == next(iter(limits))
    store = CallStore(path)
    call_count = len(store)
    assert call_count == kept if kept else 0 < call_count <= len(model.requests) < 100
    assert fetched(Recorder(), asks(100), store).usage.calls == 100 - call_count


@pytest.mark.parametrize("limits", [{"calls": 5}, {"tokens": 61}, {"money": 71.0}, {"seconds": 30}])
def test_a_run_that_stays_within_its_budget_is_not_stopped(limits, prices):
    assert fetched(Recorder(), asks(5), **limits).usage.calls == 5


def test_what_is_stored_costs_nothing_of_the_budget(tmp_path):
    fetched(Recorder(), asks(5), CallStore(tmp_path / "calls.sqlite"))
    assert fetched(Recorder(), asks(6), CallStore(tmp_path / "calls.sqlite"), calls=1).usage.calls == 1


def test_questions_asked_at_the_same_time_share_one_budget_of_calls():
    async def both(broker: Broker) -> Any:
        running_model = await broker.model(model)
        pair = (broker.fetch(running_model, asks(5, first), "test") for first in (0, 5))
        return await asyncio.gather(*pair, return_exceptions=True)

    model = Recorder()
    assert any(isinstance(outcome, BudgetError) for outcome in using(both, calls=5))
    assert len(model.requests) == 5


def test_a_failure_among_the_last_calls_of_a_budget_still_ends_in_words():
    model = Recorder(lambda request: DOWN if request == ask(1) else Reply("blue"))
    with pytest.raises(BudgetError, match="the budget of 5 calls is reached"):
        fetched(model, asks(10), on_failure="record", calls=5)


def test_tokens_that_a_service_does_not_count_are_estimated_marked_and_spend_the_budget():
    usage = fetched(Recorder(lambda request: Reply("blue")), asks(3)).usage
    assert (usage.calls, usage.estimated) == (3, 3)
    assert usage.prompt_tokens >= 3 * len("Person 0000: which shirt?") / 4
    assert usage.completion_tokens == 3 * 2
    model = Recorder(lambda request: Reply("blue"))
    with pytest.raises(BudgetError, match="tokens"):
        fetched(model, asks(1000), tokens=200)
    assert 2 <= len(model.requests) <= 10


def test_a_tokeniser_counts_where_the_model_has_one():
    class Counted(Recorder):
        def count_tokens(self, texts: Sequence[str]) -> list[int]:
            return [len(text.split()) for text in texts]

    usage = fetched(Counted(lambda request: Reply("light blue")), [ask()]).usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (4 + 2 * 8, 2)


def test_an_estimate_is_marked_in_the_store_too(tmp_path):
    store = CallStore(tmp_path / "calls.sqlite")
    fetched(Recorder(lambda request: Reply("blue")), [ask()], store)
    reply = CallStore(tmp_path / "calls.sqlite").get([ask().key("one")])[ask().key("one")]
    assert (reply.estimated, reply.prompt_tokens > 0) == (True, True)


def test_a_halt_keeps_what_has_arrived_and_begins_no_more():
    async def halted(broker: Broker) -> None:
        running_model = await broker.model(model)
        broker.on_replies = lambda: broker.halt() if len(model.requests) == 3 else None
        await broker.fetch(running_model, asks(10), "test")

    store, model = MemoryCallStore(), Recorder()
    with pytest.raises(InterruptedRunError):
        using(halted, store)
    assert len(store) == len(model.requests) == 3


def test_a_model_that_was_halted_can_be_used_by_the_next_run():
    model = Recorder()
    model.halted = True
    assert fetched(model, asks(2)).usage.calls == 2


def test_a_reply_is_in_the_store_before_anybody_hears_of_it():
    async def watched(broker: Broker) -> None:
        running_model = await broker.model(model)
        broker.on_replies = lambda: store_sizes.append(len(broker.store))
        await broker.fetch(running_model, asks(4), "test")

    store_sizes, model = [], Recorder()
    using(watched)
    assert store_sizes == [1, 2, 3, 4]


def test_a_reply_that_another_process_stored_first_is_the_one_that_counts(tmp_path):
    path = tmp_path / "calls.sqlite"

    def late(request: Request) -> Reply:
        other = CallStore(path)
        other.put("one", [(request.key("one"), Reply("theirs"))])
        other.close()
        return Reply("ours")

    async def fetch(broker: Broker) -> list[ReplyOrFailure]:
        return (await broker.fetch(await broker.model(Recorder(late)), [ask()], "test"))[1]

    assert using(fetch, CallStore(path)) == [Reply("theirs")]


def test_usage_counts_calls_tokens_money_and_purposes(prices):
    async def twice(broker: Broker) -> Usage:
        running_model = await broker.model(Recorder())
        await broker.fetch(running_model, asks(3), "decision")
        await broker.fetch(running_model, asks(4), "interview")
        return broker.usage

    usage = using(twice)
    assert (usage.calls, usage.reused, usage.prompt_tokens, usage.completion_tokens) == (4, 3, 40, 8)
    assert (usage.cost, dict(usage.purposes)) == (56.0, {"decision": 3, "interview": 1})
    assert usage.reused_share == pytest.approx(3 / 7)
    assert Usage.from_json(usage.to_json()) == usage


def test_attempts_that_were_repeated_are_counted_once_whoever_waits_for_them():
    async def both(broker: Broker) -> int:
        running_model = await broker.model(model)
        await asyncio.gather(*(broker.fetch(running_model, asks(3, first), "test") for first in (0, 3)))
        return broker.usage.retried

    def again(request: Request) -> Reply:
        model.retry_count += 1
        return Reply("blue")

    model = Recorder(again)
    assert using(both) == model.retry_count == 6


def test_nothing_is_counted_as_under_way_once_a_fetch_is_over():
    async def fetch(broker: Broker) -> int:
        running_model = await broker.model(Recorder(lambda request: DOWN))
        with pytest.raises(ServiceError):
            await broker.fetch(running_model, asks(30), "test")
        return broker.under_way

    assert using(fetch) == 0


def test_a_model_that_two_ask_for_at_once_is_started_once():
    recorders: list[Recorder] = []

    async def both() -> None:
        broker = Broker(MemoryCallStore(), opener=lambda spec: recorders.append(Recorder(spec=spec)) or recorders[-1])
        one, other = await asyncio.gather(broker.model("one"), broker.model("one"))
        await broker.close()
        assert one is other

    asyncio.run(both())
    assert [(model.started, model.closed) for model in recorders] == [(1, 1)]


def test_a_store_is_closed_even_if_a_model_does_not_close(tmp_path):
    class Stuck(Recorder):
        async def close(self) -> None:
            raise ModelError("it would not end.")

    store = CallStore(tmp_path / "calls.sqlite")
    with pytest.raises(ModelError, match="would not end"):
        fetched(Stuck(), asks(1), store)
    assert not (tmp_path / "calls.sqlite-wal").exists()


def test_a_run_can_be_started_from_inside_an_event_loop(tmp_path):
    async def notebook() -> str:
        return simulate(Norms(workers=2, days=1), model="scripted:uniform").manifest.status.state

    assert asyncio.run(notebook()) == "complete"


@pytest.mark.parametrize("spec", ["embedded", "embedded:x.gguf", "scripted:uniform"])
def test_what_runs_on_this_machine_is_free(spec):
    assert price_of(spec) == Price(0.0, 0.0)


def test_without_a_price_table_other_models_have_no_price():
    assert price_of("openai:gpt-4o") is None


def test_the_first_pattern_that_fits_gives_the_price(prices):
    prices.write_text('["openai:gpt-4*"]\nprompt = 3\ncompletion = 12.5\n\n["openai:*"]\nprompt = 9\ncompletion = 9\n')
    assert price_of("openai:gpt-4o") == Price(3.0, 12.5)
    assert price_of("openai:other") == Price(9.0, 9.0)
    assert price_of("http://127.0.0.1/v1#other") is None
    assert price_of("openai:gpt-4o").of([Reply("a", (), "stop", 2_000_000, 1_000_000)]) == 18.5


@pytest.mark.parametrize(
    "table",
    [
        "not toml at all [",
        '["one"]\nprompt = 1',
        'one = "cheap"',
        "one = 3",
        '["one"]\nprompt = "a little"\ncompletion = 1',
        '["one"]\nprompt = nan\ncompletion = 1',
        '["one"]\nprompt = -1\ncompletion = 1',
        b"\xff\xfe",
    ],
    ids=["no toml", "half", "text", "number", "words", "nan", "negative", "no text"],
)
def test_a_price_table_that_cannot_be_read_is_named(prices, table):
    prices.write_bytes(table if isinstance(table, bytes) else table.encode())
    with pytest.raises(UsageError, match=str(prices)):
        price_of("one")


def test_a_broken_price_table_does_not_trouble_what_is_free(prices):
    prices.write_text("not toml at all [")
    assert price_of("embedded") == Price(0.0, 0.0)


def test_a_budget_in_money_needs_a_price_before_anything_is_started():
    model = Recorder(spec="unpriced")
    with pytest.raises(UsageError, match="no price is known for unpriced"):
        fetched(model, asks(1), money=1.0)
    assert model.started == 0


def test_the_price_table_is_where_the_environment_says(monkeypatch, tmp_path):
    assert price_file() == tmp_path / "config" / "populace" / "prices.toml"
    monkeypatch.setenv("POPULACE_PRICES", str(tmp_path / "mine.toml"))
    assert price_file() == tmp_path / "mine.toml"


def test_a_scripted_crowd_is_bought_once_for_all_who_share_a_prompt():
    model = Scripted(lambda request: {"blue": 0.5, "green": 0.5})
    broker = fetched(model, [ask(number % 7, top=20) for number in range(10_000)])
    assert (model.request_count, broker.usage.calls) == (7, 7)
