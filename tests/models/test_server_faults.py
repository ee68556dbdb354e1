"""Trouble of a server: what is tried again, what is a failure, and what stops a run."""

from __future__ import annotations

import math
import time

import pytest

from populace.base.errors import (
    ModelError,
)
from populace.broker import CallStore
from populace.models import Failure, Reply
from support.fake_server import (
    BROKEN,
    CUT,
    DECLINED,
    DRIP,
    FILTERED,
    HANG,
    NO_CREDIT,
    OVERLOADED,
    PROMPT_FILTERED,
    RESET,
    RESET_MIDWAY,
    TOO_LONG,
    TRUNCATED,
    UNKNOWN,
    WRONG_SCHEMA,
    Act,
    FakeServer,
    rate_limited,
)
from support.server_models import (
    alternative,
    ask,
    by_person,
    collect_replies,
    make_model,
    shirt,
    using,
)


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
    assert time.monotonic() - start < 6


def test_a_timeout_is_tried_again(waits):
    with FakeServer([HANG]) as server:
        assert isinstance(ask(make_model(server, timeout_s=0.2), shirt()), Reply)
