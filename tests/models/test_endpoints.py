"""Several servers behind one name: the least busy one is asked, and one that fails is left out for a while."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from populace import simulate
from populace.base.errors import ModelError, ModelUnreachableError
from populace.models import Failure, OpenAICompatible, Reply, open_model
from populace.models.endpoints import Endpoints
from populace.scenarios.norms import Norms
from support.fake_server import (
    BROKEN,
    HANG,
    KEY_REFUSED,
    NO_CREDIT,
    OVERLOADED,
    RESET,
    TOO_LONG,
    TRUNCATED,
    UNKNOWN,
    Act,
    FakeServer,
    failing,
    rate_limited,
)
from support.server_models import ask, collect_replies, shirt, started, using

A, B = "http://a/v1", "http://b/v1"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def pair() -> tuple[Endpoints, Clock]:
    clock = Clock()
    endpoints = Endpoints([A, B], clock=clock)
    for each in endpoints.all:
        endpoints.admit(each)
    return endpoints, clock


def both(*servers: FakeServer, **settings: Any) -> OpenAICompatible:
    spec = f"http://{','.join(f'127.0.0.1:{each.port}' for each in servers)}/v1#fake-1"
    model = open_model(spec, **{"timeout_s": 5.0, "retries": 0} | settings)
    assert isinstance(model, OpenAICompatible)
    return model


def test_the_least_busy_server_is_asked_and_in_a_tie_the_one_that_answered_less():
    endpoints, _ = pair()
    a, b = endpoints.all
    a.under_way = 2
    assert endpoints.pick() is b
    b.under_way = 2
    endpoints.succeed(b)
    assert endpoints.pick() is a


def test_a_server_whose_connection_broke_rests_longer_each_time_and_a_reply_ends_that():
    endpoints, clock = pair()
    a, b = endpoints.all
    rests = []
    b.under_way = 9
    for _ in range(7):
        start = clock.now
        endpoints.fail(a, dead=True)
        while endpoints.pick() is b:
            clock.now += 0.5
        rests.append(clock.now - start)
    assert rests == [1, 2, 4, 8, 16, 30, 30]
    endpoints.succeed(a)
    endpoints.fail(a, dead=True)
    clock.now += 1
    assert endpoints.pick() is a


def test_a_server_that_only_answers_badly_rests_after_three_times_in_a_row():
    endpoints, _ = pair()
    a, b = endpoints.all
    b.under_way = 9
    endpoints.fail(a, dead=False)
    endpoints.fail(a, dead=False)
    assert endpoints.pick() is a
    endpoints.fail(a, dead=False)
    assert endpoints.pick() is b


def test_where_all_rest_the_one_that_is_ready_first_is_asked():
    endpoints, _ = pair()
    a, b = endpoints.all
    endpoints.rest(a, 5)
    endpoints.rest(b, 2)
    assert endpoints.pick() is b


def test_two_servers_share_the_work_and_give_the_run_that_one_alone_gives():
    with FakeServer(latency_s=0.002) as one, FakeServer(latency_s=0.002) as other:
        together = simulate(Norms(workers=20, days=2), model=both(one, other), seed=1)
        assert min(one.chats, other.chats) > 0.25 * (one.chats + other.chats)
        alone = simulate(Norms(workers=20, days=2), model=one.url, seed=1)
    assert together.record.people(2).equals(alone.record.people(2))
    assert together.usage().calls == alone.usage().calls


def test_the_order_in_which_servers_are_named_does_not_matter_to_the_call_store(server):
    with FakeServer() as other:
        assert started(both(server, other)).fingerprint == started(both(other, server)).fingerprint
        assert started(both(server)).fingerprint == f"{server.url}#fake-1"


@pytest.mark.parametrize("act", [RESET, BROKEN, OVERLOADED, TRUNCATED, rate_limited(30), HANG])
def test_work_goes_on_where_one_of_two_servers_dies_answers_garbage_or_late(act, server):
    with FakeServer(lambda seen: act) as bad:
        outcomes = using(
            both(server, bad, timeout_s=0.3, concurrency=4),
            lambda model: collect_replies(model, *map(shirt, range(20))),
        )
        assert all(isinstance(each, Reply) for each in outcomes.values())
        assert bad.chats < 10


def test_a_server_that_goes_away_and_comes_back_is_used_again():
    async def go(model: OpenAICompatible) -> None:
        away.acts = lambda seen: RESET
        away.listing = RESET
        assert {type(each) for each in (await collect_replies(model, *map(shirt, range(8)))).values()} == {Reply}
        away.acts, away.listing = (lambda seen: None), failing(404)
        answered = away.answered
        for endpoint in model._endpoints.all:
            endpoint._rest_until = 0.0
        await collect_replies(model, *map(shirt, range(8, 40)))
        assert away.answered > answered

    with FakeServer(latency_s=0.002) as steady, FakeServer(latency_s=0.002) as away:
        using(both(steady, away), go)


def test_a_server_that_comes_back_with_another_model_stays_out(server):
    async def go(model: OpenAICompatible) -> None:
        other.acts = lambda seen: RESET
        await collect_replies(model, *map(shirt, range(8)))
        other.acts, other.models = (lambda seen: None), {"fake-2": "fake"}
        seen = other.chats
        for endpoint in model._endpoints.all:
            endpoint._rest_until = 0.0
        outcomes = await collect_replies(model, *map(shirt, range(8, 30)))
        assert {type(each) for each in outcomes.values()} == {Reply}
        assert other.chats == seen

    with FakeServer() as other:
        using(both(server, other), go)


def test_where_every_server_is_down_the_request_fails(server, waits):
    async def go(model: OpenAICompatible) -> Any:
        server.stop()
        other.stop()
        return (await collect_replies(model, shirt()))[0]

    with FakeServer() as other:
        outcome = using(both(server, other, retries=2), go)
    assert isinstance(outcome, Failure)


def test_a_server_that_does_not_answer_at_the_start_is_noted_and_left_out(server):
    with FakeServer() as gone:
        model = both(gone, server)
    assert isinstance(ask(model, shirt()), Reply)
    assert f"no server answered at http://127.0.0.1:{gone.port}/v1" in model.notes[0]
    with pytest.raises(ModelUnreachableError):
        started(both(gone))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"models": {"fake-2": "fake"}}, "does not know the model 'fake-1'"),
        ({"logprobs": "ignored"}, "cannot do the same"),
    ],
)
def test_servers_that_do_not_answer_alike_are_refused(other, words, server):
    with FakeServer(**other) as odd, pytest.raises(ModelError, match=words):
        started(both(server, odd))


@pytest.mark.parametrize("act", [UNKNOWN, KEY_REFUSED, failing(403, "No access."), NO_CREDIT])
@pytest.mark.parametrize("kind", ["fake", "llamacpp", "vllm"])
def test_a_server_that_refuses_the_model_the_key_or_has_no_credit_is_left_out_while_another_answers(act, kind):
    lists: Any = None if kind == "fake" else kind
    settings: dict[str, Any] = {"models": {"fake-1": kind}, "lists": lists}
    with FakeServer(**settings) as well, FakeServer(lambda seen: act, **settings) as odd:
        outcomes = using(both(well, odd, concurrency=4), lambda model: collect_replies(model, *map(shirt, range(40))))
        assert {type(each) for each in outcomes.values()} == {Reply}
        assert odd.chats < 20


@pytest.mark.parametrize(("act", "words"), [(UNKNOWN, "does not know"), (KEY_REFUSED, "key"), (NO_CREDIT, "no credit")])
def test_where_every_server_refuses_the_run_stops_with_what_the_last_one_says(act, words):
    with FakeServer(lambda seen: act) as one, FakeServer(lambda seen: act) as other:
        with pytest.raises(ModelError, match=words):
            using(both(one, other), lambda model: collect_replies(model, *map(shirt, range(8))))


def test_a_server_that_refuses_stops_the_run_where_the_other_is_gone(server, waits):
    async def go(model: OpenAICompatible) -> Any:
        gone.stop()
        return await collect_replies(model, shirt())

    server.acts = lambda seen: NO_CREDIT
    with FakeServer() as gone, pytest.raises(ModelError, match="no credit"):
        using(both(server, gone, retries=2), go)


def test_a_server_that_refused_is_asked_again_later():
    async def go(model: OpenAICompatible) -> None:
        away.acts = lambda seen: NO_CREDIT
        await collect_replies(model, *map(shirt, range(8)))
        away.acts = lambda seen: None
        answered = away.answered
        for endpoint in model._endpoints.all:
            endpoint._rest_until = 0.0
        await collect_replies(model, *map(shirt, range(8, 40)))
        assert away.answered > answered

    with FakeServer(latency_s=0.002) as steady, FakeServer(latency_s=0.002) as away:
        using(both(steady, away), go)


@pytest.mark.parametrize(
    "settings",
    [
        {"listing": KEY_REFUSED},
        {"listing": failing(403), "probing": lambda seen: failing(403)},
        {"probing": lambda seen: KEY_REFUSED},
        {"probing": lambda seen: NO_CREDIT},
        {"probing": lambda seen: UNKNOWN},
        {"probing": lambda seen: BROKEN},
    ],
)
def test_a_server_that_refuses_at_the_first_contact_is_noted_and_left_out(settings, server, waits):
    with FakeServer(**settings) as odd:
        model = both(odd, server)
        assert isinstance(ask(model, shirt()), Reply)
        assert f"127.0.0.1:{odd.port}/v1" in model.notes[0]
        assert odd.chats == 0
        with pytest.raises(ModelError):
            started(both(odd))


@pytest.mark.parametrize("act", [TOO_LONG, failing(413, "Payload too large."), failing(400, "No such thing.")])
@pytest.mark.parametrize("kind", ["fake", "llamacpp", "vllm"])
def test_a_prompt_that_one_server_rejects_is_answered_by_another_one(act, kind):
    lists: Any = None if kind == "fake" else kind
    settings: dict[str, Any] = {"models": {"fake-1": kind}, "lists": lists}
    with FakeServer(**settings) as large, FakeServer(lambda seen: act, **settings) as small:
        outcomes = using(both(large, small), lambda model: collect_replies(model, *map(shirt, range(40))))
        assert {type(each) for each in outcomes.values()} == {Reply}
        assert small.chats > 5


def test_a_prompt_that_every_server_rejects_is_rejected_and_each_was_asked_once(server):
    server.acts = lambda seen: TOO_LONG
    with FakeServer(lambda seen: TOO_LONG) as other:
        outcome = ask(both(server, other, retries=3), shirt())
        assert (server.chats, other.chats) == (1, 1)
    assert isinstance(outcome, Failure)
    assert outcome.status == "rejected"


@pytest.mark.parametrize("act", [BROKEN, RESET, OVERLOADED])
def test_a_prompt_that_one_server_rejects_while_the_other_is_away_is_a_failure_of_the_service(act, server, waits):
    server.acts = lambda seen: TOO_LONG
    with FakeServer(lambda seen: act) as other:
        outcome = ask(both(server, other, retries=2), shirt())
        assert server.chats == 1
    assert isinstance(outcome, Failure)
    assert outcome.of_service


def test_a_prompt_that_one_server_rejects_waits_for_the_other_one(server, waits):
    server.acts = lambda seen: TOO_LONG
    with FakeServer([rate_limited(7)]) as other:
        assert isinstance(ask(both(server, other, retries=2), shirt()), Reply)
    assert 6 < sum(waits) < 9


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("http://a:8000,/v1#m", "not the address of a server"),
        ("http://a:8000,a:8000/v1#m", "twice"),
        ("http://a:8000/v1,b:8000/v1#m", "share one"),
        ("http://a:8000/v1,http://b:8000/v1#m", "share one"),
        ("http://a:8000,me:s3cret@b:8000/v1#m", "user name or password"),
        ("http://a:8000,b:port/v1#m", "not a valid address"),
    ],
)
def test_a_list_of_servers_that_cannot_be_one_is_refused(spec, words):
    with pytest.raises(ModelError, match=words) as caught:
        open_model(spec)
    assert "s3cret" not in str(caught.value)


def test_a_reply_that_comes_late_and_twice_is_not_taken_for_the_next_one():
    """A second copy that arrives while the connection is idle must not answer the request that follows."""

    async def go(model: OpenAICompatible) -> None:
        for number in range(6):
            reply = (await collect_replies(model, shirt(number)))[0]
            assert reply == alone[number]
            for connection in server.connections:
                connection.transport.write(stray)
            await asyncio.sleep(0.01)

    with FakeServer() as server:
        alone = using(both(server), lambda model: collect_replies(model, *map(shirt, range(6))))
        body = (
            b'{"model": "fake-1", "choices": [{"index": 0, "message": {"content": "wrong"}, "finish_reason": "stop"}]}'
        )
        stray = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        using(both(server, retries=2), go)


@pytest.mark.parametrize("headers", [{f"X-{n}": "x" * 1000 for n in range(100)}, {"X-Long": "x" * 100_000}])
def test_a_head_without_an_end_is_broken_off(headers):
    with FakeServer([Act(headers=headers)]) as server:
        outcome = ask(both(server), shirt())
    assert outcome == Failure("unanswered", "the head of the reply is too large")
