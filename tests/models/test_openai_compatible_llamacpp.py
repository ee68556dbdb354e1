"""The adapter against a real OpenAI-compatible server: llama.cpp's own, on loopback."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from populace.base.errors import ModelFileError, ModelKeyError
from populace.models import SMOLLM2, EmbeddedModel, Failure, Model, OpenAICompatible, Reply, ReplyOrFailure, Request
from populace.models.base import Capabilities

pytestmark = [pytest.mark.embedded, pytest.mark.xdist_group("embedded")]

KEY = "sk-llamacpp-91c4"
ASKED = "Which shirt do you wear to work today?\nOptions: blue, green.\nAnswer with one of the options."
SHIRT = Request((("system", "You are Ann, a conformist person."), ("user", ASKED)), "Answer:", 1, 20)
SCHEMA = '{"properties": {"vote": {"enum": ["yes", "no"], "type": "string"}}, "required": ["vote"], "type": "object"}'


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    xllamacpp = pytest.importorskip("xllamacpp")
    try:
        path = SMOLLM2.fetch()
    except ModelFileError as error:
        pytest.skip(f"the embedded model cannot be fetched: {error}")
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel, params.verbosity = str(path), 1024, 1, -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.n_ubatch = 1  # A reply then does not depend on how much of its prompt was known from another.
    params.api_keys = [KEY]
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPULACE_API_KEY", KEY)


def ask(model: Model, *requests: Request) -> list[ReplyOrFailure]:
    async def go() -> list[ReplyOrFailure]:
        try:
            await model.start()
            outcomes = {index: outcome async for lot in model.replies(requests) for index, outcome in lot}
            return [outcomes[index] for index in range(len(requests))]
        finally:
            await model.close()

    return asyncio.run(go())


def served(address: str, name: str | None = None, **settings: Any) -> OpenAICompatible:
    return OpenAICompatible(address, name, spec=address, retries=0, **settings)


def spread(reply: ReplyOrFailure) -> dict[str, float]:
    assert isinstance(reply, Reply)
    return {token: math.exp(logprob) for token, logprob in reply.tokens}


def test_llama_cpp_is_known_by_its_list_of_models_and_can_be_led(address):
    model = served(address)
    ask(model)
    assert model.capabilities == Capabilities(top_tokens=20, lead=True, schema=True, seed=True)
    assert model.notes == ()


def test_llama_cpp_tells_how_it_writes_numbers_and_goes_on_after_a_space(address):
    numbers = [str(number) for number in range(11)]
    model = served(address)
    asked = (("user", "How sure are you?\nScale: a whole number from 0 to 10.\nAnswer with the number only."),)
    first, following = ask(model, Request(asked, "Answer: ", 1, 20), Request(asked, "Answer: 1", 1, 20))
    assert model.first_tokens(numbers) == [" "] * 11
    assert sum(p for token, p in spread(first).items() if token in numbers[:10]) > 0.5
    assert spread(following)["0"] > 0.01


def test_a_distribution_comes_back_and_goes_on_from_the_lead(address):
    (reply,) = ask(served(address), SHIRT)
    probabilities = spread(reply)
    assert len(probabilities) == 20
    assert probabilities[" blue"] + probabilities[" green"] > 0.3
    assert (reply.completion_tokens, reply.prompt_tokens > 20) == (1, True)


def test_the_distribution_is_that_of_the_embedded_model(address):
    far, near = spread(ask(served(address), SHIRT)[0]), spread(ask(EmbeddedModel(threads=1, context=1024), SHIRT)[0])
    assert {word: far.get(word, 0.0) for word in near} == pytest.approx(near, abs=0.05)


def test_requests_at_the_same_time_get_the_replies_that_each_gets_alone(address):
    requests = [SHIRT._replace(messages=(("system", f"You are person {i}."), ("user", ASKED))) for i in range(4)]
    together = ask(served(address, concurrency=4), *requests)
    alone = ask(served(address, concurrency=1), *reversed(requests))
    assert [spread(reply) for reply in together] == [spread(reply) for reply in reversed(alone)]
    assert len({reply.tokens for reply in together}) == 4


def test_a_reply_can_be_held_to_a_schema(address):
    request = Request((("user", "Will you vote? Answer as JSON."),), max_tokens=30, seed=3, schema=SCHEMA)
    (reply,) = ask(served(address), request)
    assert json.loads(reply.text)["vote"] in ("yes", "no")


def test_a_text_repeats_with_its_seed(address):
    request = Request((("user", "Tell me about your day."),), max_tokens=10, seed=3)
    one, same = ask(served(address, concurrency=1), request, request)
    assert one.text == same.text != ""


def test_a_prompt_that_is_too_long_is_rejected_in_the_words_of_the_server(address):
    (outcome,) = ask(served(address), Request((("user", "very " * 2000),), top=5))
    assert isinstance(outcome, Failure)
    assert "context size" in outcome.detail


def test_a_wrong_key_is_named_by_its_variable(address, monkeypatch):
    monkeypatch.setenv("POPULACE_API_KEY", "another")
    with pytest.raises(ModelKeyError, match="POPULACE_API_KEY"):
        ask(served(address), SHIRT)


def test_a_server_that_answers_to_any_name_is_not_taken_for_the_model_that_was_named(address):
    model = served(address, "another-model")
    (outcome,) = ask(model, SHIRT)
    assert isinstance(outcome, Failure)
    assert "another model answered" in outcome.detail
    assert any("does not list another-model" in note for note in model.notes)


def test_prompts_in_lists_get_the_distributions_of_the_conversations(address):
    people = [Request((("user", f"Person {i}: tea?"),), "Answer:", 1, 20) for i in range(8)]
    model = served(address, concurrency=8)
    together = ask(model, *people)
    before = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    user = "<|im_start|>user\nPerson 3: tea?<|im_end|>\n<|im_start|>assistant\nAnswer:"
    assert model._lists.prompt(people[3]) == before + user
    (alone,) = ask(served(address), people[3])
    assert spread(together[3]) == pytest.approx(spread(alone), abs=0.01)
    assert (together[3].prompt_tokens, together[3].completion_tokens) == (alone.prompt_tokens, alone.completion_tokens)
