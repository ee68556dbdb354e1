from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import socket
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from populace import simulate
from populace.base.errors import (
    BudgetError,
    ModelError,
    ModelKeyError,
    ModelUnreachableError,
    PopulaceError,
    ServiceError,
    UnknownModelError,
)
from populace.broker import Broker, CallSettings, CallStore, MemoryCallStore
from populace.models import Failure, OpenAICompatible, Reply, ReplyOrFailure, Request
from populace.scenarios.norms import Norms
from support import fake_server
from support.fake_server import (
    BROKEN,
    CUT,
    DECLINED,
    DRIP,
    FILTERED,
    HANG,
    KEY_REFUSED,
    NO_CREDIT,
    OVERLOADED,
    PROMPT_FILTERED,
    RESET,
    RESET_MIDWAY,
    TOO_LONG,
    TRUNCATED,
    UNKNOWN,
    WELL,
    WRONG_SCHEMA,
    Act,
    FakeServer,
    Seen,
    distribution,
    failing,
    rate_limited,
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
    async with asyncio.timeout(5):
        while not true():
            await asyncio.sleep(0.005)


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


def test_log_probabilities_are_used_where_the_server_offers_them(server):
    assert started(make_model(server)).capabilities.top_tokens == 20
    reply = ask(make_model(server), shirt())
    expected = distribution([{"role": "user", "content": shirt().messages[0][1]}], ["blue", "green"])
    assert {token: math.exp(logprob) for token, logprob in reply.tokens} == pytest.approx(expected)


def test_a_server_that_offers_fewer_alternatives_is_asked_for_fewer():
    with FakeServer(most_top=5) as server:
        assert started(make_model(server)).capabilities.top_tokens == 5


@pytest.mark.parametrize("offer", ["ignored", "refused"])
def test_a_model_without_log_probabilities_says_so(offer):
    with FakeServer(logprobs=offer) as server:
        model = started(make_model(server))
    assert model.capabilities.top_tokens == 0
    assert "fake-1 gives no log-probabilities" in model.notes[0]


def test_a_run_without_log_probabilities_samples_and_notes_it_in_the_manifest():
    with FakeServer(logprobs="ignored") as server:
        run = simulate(Norms(workers=4, days=1), model=server.url)
    assert any("no log-probabilities" in note for note in run.manifest.status.notes)
    assert set(run.record.table(1, "prompts")["method"]) == {"sampled"}
    assert set(run.record.table(1, "answers")["status"]) == {"ok"}


def test_log_probabilities_and_samples_tell_apart_in_the_journal(server):
    run = simulate(Norms(workers=4, days=1), model=server.url)
    assert run.manifest.status.notes == []
    assert set(run.record.table(1, "prompts")["method"]) == {"scored"}


def test_a_model_that_wants_the_limit_under_its_newer_name_gets_it():
    with FakeServer(limit_field="max_completion_tokens") as server:
        model = make_model(server)
        reply = using(model, lambda model: collect_replies(model, shirt(top=0, max_tokens=9)))[0]
        assert reply.text in ("blue", "green")
        assert server.seen[-1].body["max_completion_tokens"] == 9


@pytest.mark.parametrize(("owner", "lead"), [("llamacpp", True), ("vllm", True), ("openai", False)])
def test_replies_are_led_only_where_the_server_is_known_to_go_on_from_a_lead(owner, lead):
    with FakeServer(models={"fake-1": owner}) as server:
        assert started(make_model(server)).capabilities.lead is lead


def test_vllm_is_told_to_go_on_with_the_last_message():
    with FakeServer(models={"fake-1": "vllm"}) as server:
        using(make_model(server), lambda model: collect_replies(model, shirt(lead="Answer:")))
        body = server.seen[-1].body
    assert body["messages"][-1] == {"role": "assistant", "content": "Answer:"}
    assert (body["add_generation_prompt"], body["continue_final_message"]) == (False, True)


def test_a_schema_reaches_the_server_and_text_comes_back(server):
    reply = ask(make_model(server), shirt(top=0, schema=SCHEMA))
    assert reply.text.startswith('{"age": ')
    assert server.seen[-1].body["response_format"]["json_schema"]["strict"] is True


def test_tokens_read_and_written_are_counted(server):
    reply = ask(make_model(server), shirt(top=0))
    assert (reply.prompt_tokens, reply.completion_tokens) == (len(shirt().messages[0][1]) // 4, 1)


def test_a_server_is_probed_once_and_the_call_store_remembers(server, tmp_path):
    async def start() -> int:
        broker = Broker(CallStore(tmp_path / "calls.sqlite"))
        top = (await broker.model(f"{server.url}#fake-1")).capabilities.top_tokens
        await broker.close()
        return top

    assert [asyncio.run(start()), asyncio.run(start())] == [20, 20]
    assert (server.listed, server.probes) == (2, 1)


def test_what_was_learned_of_one_model_is_not_believed_of_the_next_at_the_same_address(server, tmp_path):
    async def start() -> int:
        broker = Broker(CallStore(tmp_path / "calls.sqlite"))
        try:
            return (await broker.model(server.url)).capabilities.top_tokens
        finally:
            await broker.close()

    assert asyncio.run(start()) == 20
    server.models, server.logprobs = {"fake-2": "fake"}, "ignored"
    assert asyncio.run(start()) == 0


@pytest.mark.parametrize("act", [BROKEN, OVERLOADED, RESET, TRUNCATED, WRONG_SCHEMA, rate_limited(0)])
def test_trouble_of_the_moment_while_probing_changes_nothing_that_is_learned(act, waits):
    with FakeServer(probing=[act]) as server:
        model = make_model(server)
        assert isinstance(ask(model, shirt(top=0, max_tokens=9)), Reply)
        assert model.capabilities.top_tokens == 20
        assert server.seen[0].body["max_tokens"] == 9


def test_a_server_that_fails_while_it_is_probed_is_not_recorded_as_one_without_log_probabilities(tmp_path, waits):
    with FakeServer(probing=lambda seen: BROKEN) as server:
        store = CallStore(tmp_path / "calls.sqlite")

        name = f"{server.url}#fake-1"

        async def start() -> int:
            broker = Broker(store)
            await broker.model(name)
            top_tokens = [model.capabilities.top_tokens for model in broker.models]
            for model in broker.models:
                await model.close()
            return top_tokens[0]

        with pytest.raises(ModelError, match="does not answer"):
            asyncio.run(start())
        assert store.recall(name) is None
        server.probing = lambda seen: None
        assert asyncio.run(start()) == 20
        assert (store.recall(name) or {})["top_tokens"] == 20
        store.close()


@pytest.mark.parametrize(
    "act", [BROKEN, OVERLOADED, RESET, RESET_MIDWAY, CUT, TRUNCATED, WRONG_SCHEMA, rate_limited(0)]
)
def test_trouble_that_passes_is_tried_again(act, waits):
    with FakeServer([act]) as server:
        model = make_model(server)
        assert isinstance(ask(model, shirt()), Reply)
        assert (server.chats, model.retry_count) == (2, 1)
    assert 0 < sum(waits) < 1


def test_pauses_grow_and_attempts_are_counted_until_the_adapter_gives_up(waits):
    with FakeServer(lambda seen: BROKEN) as server:
        model = make_model(server, retries=4)
        assert ask(model, shirt()) == Failure("unanswered", "the server answered 500")
        assert (server.chats, model.retry_count) == (5, 4)
    assert 0.5 <= sum(waits) / (0.25 + 0.5 + 1 + 2) <= 1.5


def test_the_wait_that_a_server_asks_for_is_kept(waits):
    with FakeServer([rate_limited(7)]) as server:
        assert isinstance(ask(make_model(server), shirt()), Reply)
    assert sum(waits) == pytest.approx(7.0)


def test_a_wait_longer_than_the_adapter_waits_is_given_up_on_at_once(waits):
    with FakeServer([rate_limited(3600)]) as server:
        outcome = ask(make_model(server), shirt())
        assert server.chats == 1
    assert isinstance(outcome, Failure)
    assert "asked to wait 3600 s" in outcome.detail
    assert waits == []


@pytest.mark.parametrize("after", ["Wed, 21 Oct 2043 07:28:00 GMT", "soon", "nan", "-5", ""])
def test_a_wait_that_is_no_number_of_seconds_is_a_short_one(after, waits):
    with FakeServer([rate_limited(after)]) as server:
        assert isinstance(ask(make_model(server), shirt()), Reply)
    assert 0 < sum(waits) <= 2


def test_a_request_that_the_server_rejects_is_not_repeated(waits):
    with FakeServer([TOO_LONG]) as server:
        outcome = ask(make_model(server), shirt())
        assert server.chats == 1
    assert isinstance(outcome, Failure)
    assert "maximum context length is 10 tokens" in outcome.detail


def test_one_failure_does_not_touch_the_requests_beside_it(waits):
    with FakeServer(by_person({1: TOO_LONG})) as server:
        outcomes = using(make_model(server), lambda model: collect_replies(model, *map(shirt, range(4))))
    assert [isinstance(outcomes[person], Reply) for person in range(4)] == [True, False, True, True]


def test_a_model_that_vanishes_stops_the_run_with_its_name(waits):
    with FakeServer([UNKNOWN]) as server, pytest.raises(ModelError, match="does not know the model 'fake-1'"):
        ask(make_model(server), shirt())


def test_an_account_without_credit_stops_the_run_instead_of_trying_again(waits):
    with FakeServer([NO_CREDIT]) as server:
        with pytest.raises(ModelError, match="no credit left"):
            ask(make_model(server), shirt())
        assert server.chats == 1


@pytest.mark.parametrize(("act", "text"), [(FILTERED, ""), (DECLINED, "I'm sorry, no."), (PROMPT_FILTERED, "")])
def test_what_a_service_declines_is_a_refusal_and_not_a_failure(act, text):
    with FakeServer([act]) as server:
        reply = ask(make_model(server), shirt())
        assert (reply.finish, reply.text, reply.tokens) == ("refusal", text, ())
        assert server.chats == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"message": None},
        {"message": {"role": "assistant", "content": ["blue"]}},
        {"logprobs": None},
        {"logprobs": {"content": [{"token": "blue", "logprob": 0.0}]}},
        alternative(token="blue", logprob=None),
        alternative(token=5, logprob=-0.1),
        alternative(token="blue", logprob=math.nan),
    ],
    ids=["no message", "content", "no logprobs", "no alternatives", "no number", "no token", "nan"],
)
def test_valid_json_of_the_wrong_schema_is_a_failure(changes):
    with FakeServer(lambda seen: Act(changes=changes)) as server:
        outcome = ask(make_model(server, retries=0), shirt())
    assert isinstance(outcome, Failure)
    assert "malformed" in outcome.detail


def test_half_a_character_in_a_reply_can_be_kept(tmp_path):
    half = Act(changes={"message": {"role": "assistant", "content": "blue \ud83d"}})
    with FakeServer([half]) as server:
        reply = ask(make_model(server), shirt(top=0))
    store = CallStore(tmp_path / "calls.sqlite")
    store.put("fake", [("key", reply)])
    assert store.get(["key"])["key"].text.startswith("blue")
    store.close()


@pytest.mark.parametrize("act", [HANG, DRIP], ids=["hangs", "drips"])
def test_an_attempt_ends_at_the_timeout_however_the_server_keeps_it_waiting(act):
    with FakeServer([act]) as server:
        start = time.monotonic()
        assert ask(make_model(server, timeout_s=0.15, retries=0), shirt()) == Failure(
            "timeout", "no reply within 0.15 s"
        )
    assert time.monotonic() - start < 1.5


def test_a_timeout_is_tried_again(waits):
    with FakeServer([HANG]) as server:
        assert isinstance(ask(make_model(server, timeout_s=0.2), shirt()), Reply)


def test_a_refused_key_is_named_by_its_variable(monkeypatch):
    monkeypatch.setenv("POPULACE_API_KEY", KEY)
    with FakeServer(key="another") as server, pytest.raises(ModelKeyError, match=r"refuses the key.*POPULACE_API_KEY"):
        started(make_model(server))


def test_a_missing_key_is_asked_for_by_its_variable():
    with FakeServer(key="wanted") as server, pytest.raises(ModelKeyError, match=r"none is set.*OPENAI_API_KEY"):
        started(make_model(server, key_variables=("OPENAI_API_KEY",)))


def test_a_key_that_is_refused_later_stops_the_run(waits):
    with FakeServer([KEY_REFUSED]) as server, pytest.raises(ModelKeyError):
        ask(make_model(server), shirt())


def test_the_key_reaches_the_server_and_nothing_else(monkeypatch, server):
    monkeypatch.setenv("POPULACE_API_KEY", KEY)
    model = started(make_model(server))
    assert server.keys == {KEY}
    assert KEY not in repr(vars(model)) + repr(model.describe()) + model.fingerprint


def test_a_key_with_a_line_break_at_its_end_is_used_without_it(monkeypatch, server):
    monkeypatch.setenv("POPULACE_API_KEY", f"{KEY}\r\n")
    started(make_model(server))
    assert server.keys == {KEY}


@pytest.mark.parametrize("key", [f"{KEY}\nsecond line", f"{KEY}-“quoted”"])
def test_a_key_that_no_header_can_hold_is_named_by_its_variable(key, monkeypatch, server):
    monkeypatch.setenv("POPULACE_API_KEY", key)
    with pytest.raises(ModelKeyError, match="POPULACE_API_KEY") as caught:
        started(make_model(server))
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_an_error_never_repeats_the_key_even_if_the_server_does(monkeypatch):
    monkeypatch.setenv("POPULACE_API_KEY", KEY)
    with FakeServer(key="another") as server, pytest.raises(ModelKeyError) as caught:
        started(make_model(server))
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("status", [400, 404])
def test_words_of_the_server_are_passed_on_without_the_key(status, monkeypatch, waits):
    monkeypatch.setenv("POPULACE_API_KEY", KEY)
    with FakeServer(lambda seen: failing(status, f"{KEY} may not do this")) as server:
        try:
            text = str(ask(make_model(server, retries=0), shirt()))
        except ModelError as error:
            text = "".join(traceback.format_exception(error))
    assert "may not do this" in text
    assert KEY not in text


def test_a_run_leaves_the_key_in_no_file_and_no_log(monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("POPULACE_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    with FakeServer(key=KEY) as server:
        simulate(Norms(workers=4, days=2), model=server.url)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"manifest.json", "calls.sqlite", "COMMIT"} <= {path.name for path in files}
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in caplog.text


def test_a_run_that_fails_leaves_the_key_in_no_file(monkeypatch, tmp_path, waits):
    monkeypatch.setenv("POPULACE_API_KEY", KEY)
    monkeypatch.setattr("populace.broker.broker.FAILURES_IN_A_ROW", 3)
    limit = failing(400, f"{KEY} is over its limit")
    with (
        FakeServer(lambda seen: limit if seen.number else None) as server,
        pytest.raises(ServiceError) as caught,
    ):
        simulate(Norms(workers=8, days=1), model=server.url)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_an_unreachable_server_is_named_and_leaves_no_run_behind(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with pytest.raises(ModelUnreachableError, match=address):
            simulate(Norms(workers=2, days=1), model=f"{address}#any")
    assert list((tmp_path / "runs").glob("*")) == []


def test_a_server_that_accepts_and_says_nothing_is_unreachable():
    with FakeServer(listing=HANG) as server, pytest.raises(ModelUnreachableError):
        started(make_model(server, timeout_s=0.15))


def test_a_server_that_goes_away_in_the_middle_of_a_run_is_a_broken_connection(waits):
    async def leave(model: OpenAICompatible) -> ReplyOrFailure:
        await collect_replies(model, shirt())
        server.stop()
        return (await collect_replies(model, shirt(1)))[0]

    with FakeServer() as server:
        outcome = using(make_model(server), leave)
    assert outcome == Failure("unanswered", "the connection broke")


def test_an_unknown_model_is_refused_with_the_nearest():
    models = {"llama-3-8b": "fake", "qwen-2-7b": "fake"}
    with (
        FakeServer(models=models) as server,
        pytest.raises(UnknownModelError, match=r"Did you mean .*#llama-3-8b\?") as caught,
    ):
        started(make_model(server, "llama-3-8"))
    assert caught.value.nearest == "llama-3-8b"
    assert server.probes == 1
    assert server.chats == 0


def test_an_unknown_model_is_refused_before_the_run_begins_also_where_models_are_not_listed(tmp_path):
    with FakeServer(listing=failing(404)) as server, pytest.raises(PopulaceError, match="fake-9"):
        simulate(Norms(workers=2, days=1), model=f"{server.url}#fake-9")
    assert list((tmp_path / "runs").glob("*")) == []


@pytest.mark.parametrize("listing", [failing(404), BROKEN, TRUNCATED, WRONG_SCHEMA, Act(body={"data": [{"x": 1}]})])
def test_a_server_without_a_list_of_models_is_trusted_with_the_name(listing):
    with FakeServer(listing=listing) as server:
        assert started(make_model(server)).capabilities.top_tokens == 20


def test_the_only_model_served_needs_no_name(server):
    model = started(make_model(server, None))
    assert (model.name, model.fingerprint) == ("fake-1", f"{server.url}#fake-1")


def test_one_of_several_models_must_be_named():
    models = {"big": "fake", "small": "fake"}
    with FakeServer(models=models) as server, pytest.raises(ModelError, match=r"serves 2 models.*one of: big, small"):
        started(make_model(server, None))


def test_a_model_must_be_named_where_none_is_listed():
    with FakeServer(listing=failing(404)) as server, pytest.raises(ModelError, match="must be named"):
        started(make_model(server, None))


@pytest.mark.parametrize("inside", ["ann:s3cret-word@", "s3cret-word@", ":s3cret-word@"])
def test_credentials_in_the_address_are_refused_and_not_repeated(inside, tmp_path):
    with pytest.raises(ModelKeyError, match="POPULACE_API_KEY") as caught:
        simulate(Norms(workers=2, days=1), model=f"http://{inside}127.0.0.1:9/v1#any")
    assert "s3cret-word" not in "".join(traceback.format_exception_only(caught.value))
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]


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
    async def halted(model: OpenAICompatible) -> dict[int, ReplyOrFailure]:
        asking = asyncio.create_task(collect_replies(model, *map(shirt, range(6))))
        await eventually(lambda: server.chats == 2)
        model.halted = True
        return await asking

    with FakeServer(latency_s=0.25) as server:
        outcomes = using(make_model(server, concurrency=2), halted)
        assert (len(outcomes), server.chats, server.answered) == (2, 2, 2)


def test_a_halt_also_keeps_those_from_beginning_who_wait_for_their_turn():
    async def halted(model: OpenAICompatible) -> None:
        asking = asyncio.gather(collect_replies(model, shirt(0)), collect_replies(model, shirt(1)))
        await eventually(lambda: server.chats == 1)
        model.halted = True
        await asking

    with FakeServer(latency_s=0.25) as server:
        using(make_model(server, concurrency=1), halted)
        assert server.chats == 1


def test_a_halt_ends_the_wait_for_another_attempt():
    async def halted(model: OpenAICompatible) -> None:
        asking = asyncio.create_task(collect_replies(model, shirt()))
        await eventually(lambda: server.answered == 1)
        model.halted = True
        async with asyncio.timeout(1):
            await asking

    with FakeServer(lambda seen: rate_limited(2)) as server:
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
    acts: Mapping[int, Act], calls: CallSettings, stop: type[PopulaceError], tmp_path: Path, timeout_s: float = 3
) -> tuple[int, int]:
    """How many of four calls at once the server saw, and how many replies the store holds, once all had to stop."""

    async def go() -> tuple[int, int]:
        store = CallStore(tmp_path / "calls.sqlite")
        broker = Broker(store, settings=calls, opener=lambda spec: make_model(server, timeout_s=timeout_s, retries=0))
        try:
            with pytest.raises(stop):
                await broker.fetch(await broker.model("fake"), [shirt(i) for i in range(4)], "test")
            return server.chats, len(store)
        finally:
            await broker.close()

    with FakeServer(by_person(acts)) as server:
        return asyncio.run(go())


def test_calls_under_way_when_a_budget_is_reached_are_kept(tmp_path):
    slow = {0: Act(pause_s=0.2)} | dict.fromkeys((1, 2, 3), Act(pause_s=0.4))
    assert kept_after(slow, CallSettings(max_tokens=1), BudgetError, tmp_path) == (4, 4)


def test_calls_under_way_when_the_credit_ends_are_kept(tmp_path):
    slow = {0: replace(NO_CREDIT, pause_s=0.2)} | dict.fromkeys((1, 2, 3), Act(pause_s=0.4))
    assert kept_after(slow, CallSettings(), ModelError, tmp_path) == (4, 3)


def test_a_budget_of_seconds_also_ends_the_wait_for_a_server_that_hangs(tmp_path):
    # Without the budget the requests would end after a minute, as a failure of the service and not of the budget.
    hanging, budget = dict.fromkeys(range(4), HANG), CallSettings(max_seconds=0.8)
    assert kept_after(hanging, budget, BudgetError, tmp_path, timeout_s=60)[1] == 0


def test_a_model_that_does_not_start_gives_its_connections_back(server):
    async def start() -> int:
        broker = Broker(MemoryCallStore(), opener=lambda spec: make_model(server, "another"))
        with pytest.raises(UnknownModelError):
            await broker.model("fake")
        await broker.close()
        await asyncio.sleep(0.05)
        return len(server.connections)

    assert asyncio.run(start()) == 0


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
