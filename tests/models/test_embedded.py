from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from populace.base.errors import ModelFileError
from populace.models import SMOLLM2, EmbeddedModel, Failure, Reply, ReplyOrFailure, Request

pytestmark = [pytest.mark.embedded, pytest.mark.xdist_group("embedded")]

SCHEMA = {
    "type": "object",
    "properties": {"age": {"type": "integer"}, "vote": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["age", "vote"],
    "additionalProperties": False,
}


def shirt(who: str, **changes: object) -> Request:
    text = "Which shirt do you wear to work today?\nOptions: blue, green.\nAnswer with one of the options."
    return Request((("system", f"You are {who}."), ("user", text)), **{"lead": "Answer:", "top": 20} | changes)


@pytest.fixture(scope="module")
def path() -> Path:
    try:
        return SMOLLM2.fetch()
    except ModelFileError as error:
        pytest.skip(f"the embedded model cannot be fetched: {error}")


@pytest.fixture(scope="module")
def model(path: Path) -> Iterator[EmbeddedModel]:
    model = EmbeddedModel(threads=1, context=1024)
    asyncio.run(model.start())
    yield model
    asyncio.run(model.close())


def ask(model: EmbeddedModel, *requests: Request) -> list[ReplyOrFailure]:
    async def go() -> list[ReplyOrFailure]:
        outcomes = {index: outcome async for lot in model.replies(requests) for index, outcome in lot}
        return [outcomes[index] for index in sorted(outcomes)]

    return asyncio.run(go())


def load_error(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        asyncio.run(EmbeddedModel(path, threads=1).start())
    return str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    assert str(tmp_path / "none.gguf") in load_error(tmp_path / "none.gguf")
    assert "there is no model file" in load_error(tmp_path)


@pytest.mark.parametrize("content", [b"", b"GG", b"PK\x03\x04 a zip file", b"<html>not found</html>"])
def test_a_file_of_another_kind_is_no_model(tmp_path, content):
    (tmp_path / "other.gguf").write_bytes(content)
    assert "is not a GGUF file" in load_error(tmp_path / "other.gguf")


def test_a_gguf_file_with_nonsense_inside_is_refused(tmp_path):
    (tmp_path / "bad.gguf").write_bytes(b"GGUF\x03\x00\x00\x00" + b"\xff" * 4096)
    assert "could not be loaded as a model" in load_error(tmp_path / "bad.gguf")


@pytest.mark.parametrize("kept", [4096, 20_000_000], ids=["in the header", "in the weights"])
def test_a_truncated_file_is_refused(path, tmp_path, kept):
    with path.open("rb") as whole:
        (tmp_path / "cut.gguf").write_bytes(whole.read(kept))
    assert "could not be loaded as a model" in load_error(tmp_path / "cut.gguf")


def test_the_options_get_most_of_the_probability(model):
    (reply,) = ask(model, shirt("Ann"))
    probabilities = {token.strip(): math.exp(logprob) for token, logprob in reply.tokens}
    assert len(reply.tokens) == 20
    assert probabilities["blue"] > 0.05
    assert probabilities["green"] > 0.01
    assert sum(probabilities.values()) <= 1.0001


def test_replies_do_not_depend_on_order_or_on_what_was_asked_before(model):
    requests = [shirt(who) for who in ("Ann", "Bo", "Ann, a conformist", "a", "Zoë", "Ann Bo Cy Di " * 20)]
    first = [ask(model, request)[0] for request in requests]
    ask(model, shirt("Ann", top=0, lead="", max_tokens=12, seed=1))
    again = [ask(model, request)[0] for request in reversed(requests)]
    assert all(isinstance(reply, Reply) for reply in first)
    assert [reply.tokens for reply in first] == [reply.tokens for reply in reversed(again)]


def test_replies_to_many_are_those_to_each(model):
    requests = [shirt("Cy"), shirt("Ann"), shirt("Bo")]
    assert ask(model, *requests) == [ask(model, request)[0] for request in requests]


def test_a_text_repeats_with_its_seed_and_differs_with_another(model):
    text = Request((("user", "Tell me about your day."),), max_tokens=12, seed=1)
    one, same, other = (ask(model, request)[0].text for request in (text, text, text._replace(seed=2)))
    assert one == same != other


def test_a_text_does_not_repeat_the_lead(model):
    (reply,) = ask(model, shirt("Ann", top=0, max_tokens=4, seed=1))
    assert not reply.text.startswith("Answer:")
    assert reply.completion_tokens <= 4


def test_first_tokens_are_those_that_the_model_would_write(model):
    blue, green, long = model.first_tokens(["blue", "green", "unbelievably"])
    assert (blue, green) == (" blue", " green")
    assert " unbelievably".startswith(long)
    assert long != " unbelievably"


def test_a_reply_can_be_held_to_a_schema(model):
    request = Request((("user", "Fill in the form as JSON."),), max_tokens=60, seed=3, schema=json.dumps(SCHEMA))
    answer = json.loads(ask(model, request)[0].text)
    assert isinstance(answer["age"], int)
    assert answer["vote"] in ("yes", "no")


def test_a_schema_that_the_engine_does_not_know_is_a_failure(model):
    (outcome,) = ask(model, Request((("user", "Say something."),), max_tokens=4, schema='{"type": "nonsense"}'))
    assert isinstance(outcome, Failure)


def test_a_prompt_that_is_too_long_is_a_failure_and_harms_no_other(model):
    before = ask(model, shirt("Ann"))
    outcome, after = ask(model, shirt("very " * 2000 + "tired"), shirt("Ann"))
    assert isinstance(outcome, Failure)
    assert "context size" in outcome.detail
    assert [after] == before


def test_a_halted_model_begins_nothing(model):
    model.halted = True
    try:
        assert ask(model, shirt("Ann")) == []
    finally:
        model.halted = False


def test_the_fingerprint_is_of_the_file_and_not_of_its_name(model, path, tmp_path):
    (tmp_path / "renamed.gguf").symlink_to(path)
    renamed = EmbeddedModel(tmp_path / "renamed.gguf", threads=1, context=1024)
    asyncio.run(renamed.start())
    assert renamed.fingerprint == model.fingerprint
    assert ask(renamed, shirt("Ann")) == ask(model, shirt("Ann"))
    asyncio.run(renamed.close())
