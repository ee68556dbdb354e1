"""Prompts in lists: the same replies as one by one with fewer requests, and only where that is certain."""

from __future__ import annotations

from typing import Any

import pytest

from populace import simulate
from populace.base.errors import BudgetError
from populace.models import Failure, Reply, Request
from populace.scenarios.norms import Norms
from support.fake_server import OVERLOADED, TOO_LONG, Act, FakeServer, chat_prompt
from support.server_models import by_person, collect_replies, make_model, shirt, using

KINDS = ["llamacpp", "vllm"]


def fake(kind: str, acts: Any = (), **settings: Any) -> FakeServer:
    return FakeServer(acts, models={"fake-1": kind}, **{"lists": kind} | settings)


def outcomes(server: FakeServer, requests: list[Request], **settings: Any) -> dict[int, Any]:
    return using(make_model(server, **settings), lambda model: collect_replies(model, *requests))


def led(number: int) -> Request:
    return Request((("system", "You are Ann."), *shirt(number).messages), "Answer:", 1, 20)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ask", [shirt, led])
def test_a_list_gives_the_replies_that_each_prompt_gets_alone(kind, ask):
    requests = [ask(number) for number in range(40)]
    with fake(kind) as server:
        together = outcomes(server, requests)
        assert (server.list_requests, server.chats) == (1 + 5, 40)
    with fake(kind, lists=None) as server:
        alone = outcomes(server, requests)
        assert server.list_requests == 0
    counts = {name: [sum(getattr(each, name) for each in many.values()) for many in (together, alone)]
              for name in ("prompt_tokens", "completion_tokens")}  # fmt: skip
    assert all(one == other for one, other in counts.values()), "and the tokens add up to the same"
    assert {n: (each.tokens, each.finish) for n, each in together.items()} == {
        n: (each.tokens, each.finish) for n, each in alone.items()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_with_lists_is_the_run_without(kind):
    scenario = Norms(workers=20, days=2, personas="none")
    with fake(kind) as server, fake(kind, lists=None) as plain:
        listed, alone = (simulate(scenario, model=each.url, seed=1) for each in (server, plain))
        assert server.list_requests > 0
    assert listed.record.people(2).equals(alone.record.people(2))
    assert listed.usage().calls == alone.usage().calls
    assert listed.usage().estimated == 0


@pytest.mark.parametrize("text", ["a <think> b", "use [x]", "{json}", "go /no_think", " space before", "space after\n"])
def test_a_text_to_which_a_template_may_react_goes_alone(text):
    odd = shirt(7)._replace(messages=(("system", text), *shirt(7).messages))
    plain = [shirt(number)._replace(messages=(("system", "x"), *shirt(number).messages)) for number in range(20)]
    with fake("llamacpp") as server:
        replies = outcomes(server, [*plain, odd])
        assert {type(each) for each in replies.values()} == {Reply}
        assert [seen.body["messages"][0]["content"] for seen in server.seen] == [text]


def shouting(messages: list[dict[str, str]]) -> str:
    return chat_prompt([{**each, "content": each["content"].replace("Tea", "TEA")} for each in messages])


def reacting(messages: list[dict[str, str]]) -> str:
    """A template with a word of its own, which the fake template names."""
    return chat_prompt([{**each, "content": each["content"].replace("Result:", "")} for each in messages])


def losing(messages: list[dict[str, str]]) -> str:
    return chat_prompt([each for each in messages if each["role"] != "system"])


@pytest.mark.parametrize("template", [shouting, reacting, losing])
def test_a_template_that_changes_texts_gets_each_conversation_alone(template):
    with fake("llamacpp", template=template) as server:
        replies = outcomes(server, [led(number) for number in range(12)])
        assert (len(replies), server.chats, server.list_requests) == (12, 12, 0)


def test_a_server_that_reads_lists_in_another_way_gets_each_conversation_alone():
    def twice_as_sure(reply: Any) -> Any:
        for row in reply["choices"]:
            row["logprobs"]["top_logprobs"][0] = {"yes": -0.01}
        return reply

    server = fake("vllm")
    server.acts = lambda seen: None
    original = server._completions
    server._completions = lambda asked, digest: _edited(original(asked, digest), twice_as_sure)  # type: ignore[method-assign]
    with server:
        replies = outcomes(server, [shirt(number) for number in range(12)])
        assert {type(each) for each in replies.values()} == {Reply}
        assert server.list_requests == 1


def _edited(answer: Any, edit: Any) -> Any:
    import json

    act, content, digest = answer
    return act, json.dumps(edit(json.loads(content))).encode(), digest


@pytest.mark.parametrize("kind", KINDS)
def test_a_prompt_that_is_too_long_takes_none_of_its_list_with_it(kind):
    with fake(kind, by_person({5: TOO_LONG})) as server:
        replies = outcomes(server, [shirt(number) for number in range(16)])
    assert [number for number, each in replies.items() if isinstance(each, Failure)] == [5]
    assert replies[5].status == "rejected"


@pytest.mark.parametrize(
    "act",
    [Act(body=b"[1, 2]"), Act(body={"choices": []}), Act(body=b"nonsense"), Act(body=[]), Act(body=[{"index": 0}] * 8)],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_list_that_is_answered_with_garbage_is_asked_one_by_one(kind, act, waits):
    with fake(kind) as server:
        original = server._completions
        count = [0]

        def garbage(asked: Any, digest: str) -> Any:
            count[0] += 1
            return original(asked, digest) if count[0] == 1 else (act, _bytes(act), None)

        server._completions = garbage  # type: ignore[method-assign]
        replies = outcomes(server, [shirt(number) for number in range(10)], retries=0)
    assert {type(each) for each in replies.values()} == {Reply}


def _bytes(act: Act) -> bytes:
    import json

    return act.body if isinstance(act.body, bytes) else json.dumps(act.body).encode()


def test_a_server_that_is_down_fails_each_prompt_of_the_list(waits):
    with fake("vllm", lambda seen: OVERLOADED) as server:
        replies = outcomes(server, [shirt(number) for number in range(10)], retries=0)
    assert set(replies.values()) == {Failure("unanswered", "the server answered 503")}


def test_no_more_prompts_are_under_way_in_lists_than_requests_may_be():
    with fake("llamacpp", latency_s=0.01) as server:
        outcomes(server, [shirt(number) for number in range(60)], concurrency=6)
        assert server.most_in_list == 3
    with fake("llamacpp") as server:
        outcomes(server, [shirt(number) for number in range(12)], concurrency=1)
        assert server.list_requests == 1, "only the sample"


def test_few_prompts_or_a_server_of_another_kind_are_asked_as_before():
    with fake("llamacpp") as server:
        outcomes(server, [shirt(number) for number in range(5)])
        assert server.list_requests == 0
    with FakeServer() as server:
        outcomes(server, [shirt(number) for number in range(20)])
        assert (server.chats, server.list_requests) == (20, 0)


def test_a_budget_of_calls_counts_the_prompts_of_lists():
    with fake("llamacpp") as server, pytest.raises(BudgetError):
        simulate(Norms(workers=20, days=2, personas="none"), model=server.url, seed=1, max_calls=13)
    assert server.chats == 13
