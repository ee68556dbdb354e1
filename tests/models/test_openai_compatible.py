"""What a server offers is used, and what it does not offer is noted."""

from __future__ import annotations

import asyncio
import math

import pytest

from populace import simulate
from populace.base.errors import (
    ModelError,
)
from populace.broker import Broker, CallStore
from populace.models import Reply
from populace.scenarios.norms import Norms
from support.fake_server import (
    BROKEN,
    OVERLOADED,
    RESET,
    TRUNCATED,
    WRONG_SCHEMA,
    FakeServer,
    distribution,
    rate_limited,
)
from support.server_models import (
    SCHEMA,
    ask,
    collect_replies,
    make_model,
    shirt,
    started,
    using,
)


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


NUMBERS = [str(number) for number in range(11)]
WHOLE = [f" {number}" for number in NUMBERS]
SPLIT = [piece for number in NUMBERS for piece in ("▁", *number)]


def told(owner: str, pieces: list[str]) -> dict[str, object]:
    return {"token_strs": pieces} if owner == "vllm" else {"tokens": [{"id": 1, "piece": piece} for piece in pieces]}


@pytest.mark.parametrize(
    ("owner", "pieces", "firsts"),
    [
        ("llamacpp", WHOLE, WHOLE),
        ("vllm", WHOLE, WHOLE),
        ("llamacpp", SPLIT, ["▁"] * 11),
        ("vllm", SPLIT, None),
        ("openai", WHOLE, None),
        ("llamacpp", WHOLE[:9], None),
        ("llamacpp", ["", *WHOLE, "x" * 100_000], None),
    ],
)
def test_a_server_with_a_tokeniser_is_asked_once_how_it_writes_numbers_to_ten(owner, pieces, firsts):
    with FakeServer(models={"fake-1": owner}, tokenised=told(owner, pieces)) as server:
        model = started(make_model(server))
        assert model.first_tokens(NUMBERS) == firsts
        assert model.first_tokens(["yes", "10"]) is model.first_tokens(NUMBERS[:5]) is None
        again = make_model(server)

        async def go_on() -> None:
            await again.start(model.facts)
            await again.close()

        asyncio.run(go_on())
        assert again.first_tokens(NUMBERS) == firsts
        assert server.tokenisations == (owner != "openai")


@pytest.mark.parametrize("said", [[], {}, {"tokens": 3}, {"tokens": [1, 2]}, {"tokens": [{"piece": [32]}]}, "no"])
def test_what_is_no_list_of_tokens_leaves_letters(said):
    with FakeServer(models={"fake-1": "llamacpp"}, tokenised=said) as server:
        assert started(make_model(server)).first_tokens(NUMBERS) is None


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
