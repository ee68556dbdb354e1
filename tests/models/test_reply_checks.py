"""Whatever a model sends becomes a proper distribution, a status or a failure: never an exception, never a NaN."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from populace import Scripted, simulate
from populace.base.errors import ServiceError
from populace.deciders import apply_temperature, draw_options
from populace.models import Failure, Reply, Request
from populace.models.reply_checks import (
    MAX_TOKENS,
    ROUNDING,
    estimate_tokens,
    read_completion,
    read_vectors,
    reply_object,
    verify_replies,
)
from populace.questions import Choice, score
from support.fake_server import completion
from support.scenarios import Shirts

GOOD = Reply("blue", (("blue", -0.6), ("green", -0.8)), "length", 10, 1)
REQUEST = Request((("user", "Which shirt?\nOptions: blue, green."),), top=5)
quick = settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True
)

numbers = st.one_of(
    st.floats(-20, 0.001),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1e-7, 5.0, 709.0, 710.0, 1000.0, math.inf, -math.inf, math.nan, -745.2, -1e308]),
    st.integers(-(10**30), 10**30),
)
odd = st.one_of(
    st.none(), st.booleans(), st.text(max_size=5), st.binary(max_size=3), st.lists(st.integers(), max_size=2)
)
words = st.one_of(
    st.sampled_from(["blue", " Blue", "green", "bl", "gr", "A", "B", "I", "\ud83d", ""]), st.text(max_size=4)
)
tokens = st.lists(st.tuples(words, numbers), max_size=6).map(tuple)
odd_tokens = st.one_of(tokens, st.lists(st.tuples(st.one_of(words, odd), st.one_of(numbers, odd)), max_size=4), odd)
counts = st.one_of(st.integers(0, 100), st.integers(), st.floats(), odd)
replies = st.builds(
    Reply,
    st.one_of(st.text(max_size=8), st.just("a\udc80"), odd),
    odd_tokens,
    st.one_of(st.sampled_from(["stop", "length", "refusal"]), odd),
    counts,
    counts,
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=6,
)


def assert_proper(reply: Reply) -> None:
    reply.text.encode()
    assert all(isinstance(token, str) and type(logprob) in (int, float) for token, logprob in reply.tokens)
    total = sum(math.exp(logprob) for _, logprob in reply.tokens)
    assert total <= 1 + 2 * ROUNDING
    assert total > 0 or not reply.tokens
    assert 0 <= reply.prompt_tokens <= MAX_TOKENS
    assert 0 <= reply.completion_tokens <= MAX_TOKENS
    assert Reply.from_json(json.loads(reply.to_json())) == reply._replace(tokens=tuple(reply.tokens))


@quick
@given(replies)
@example(GOOD._replace(tokens=(("blue", math.inf),)))
@example(GOOD._replace(tokens=(("blue", 10**400),)))
def test_a_reply_is_proper_or_a_failure_whatever_it_holds_and_wherever_it_stands(reply: Reply) -> None:
    (alone,) = verify_replies([reply])
    in_company = verify_replies([GOOD, reply, GOOD])
    assert in_company[::2] == [GOOD, GOOD]
    if isinstance(alone, Failure):
        assert in_company[1] == alone
        assert "malformed" in alone.detail
    else:
        assert_proper(alone)
        assert in_company[1] == alone
        assert verify_replies([alone]) == [alone]


@quick
@given(tokens)
def test_any_log_probabilities_give_a_proper_distribution_or_none(some: tuple[tuple[str, float], ...]) -> None:
    question = Choice("Which shirt?", options=("blue", "green"))
    for mode in ("words", "labels"):
        probabilities, mass = score(question, (0, 1), mode, some)
        assert all(0 <= p <= 1 for p in probabilities)
        assert 0 <= mass <= 1
        assert sum(probabilities) == pytest.approx(1) if mass else probabilities == (0.0, 0.0)


@quick
@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=5).filter(lambda each: sum(each) > 1e-6),
    st.one_of(st.floats(0, 5), st.floats(0, allow_infinity=False, allow_nan=False)),
)
@example([0.5, 0.5], 5e-324)
@example([1.0, 1e-320], 1e308)
def test_any_temperature_leaves_a_distribution_from_which_possible_options_are_drawn(
    weights: list[float], temperature: float
) -> None:
    each = np.array([weights]) / sum(weights)
    result = apply_temperature(each, temperature)
    assert np.isfinite(result).all()
    assert result.sum() == pytest.approx(1)
    drawn = draw_options(result, np.zeros(3, np.int32), np.array([0.0, 0.5, np.nextafter(1.0, 0.0)]))
    assert (result[0, drawn] > 0).all()


@quick
@given(
    json_values,
    st.sampled_from(["choices", "usage", "model", "error", "choice", "message", "logprobs", "top", "whole"]),
)
def test_any_json_is_a_reply_or_malformed(value: Any, place: str) -> None:
    said: Any = completion(
        {"messages": [{"role": "user", "content": REQUEST.messages[0][1]}], "logprobs": True, "top_logprobs": 5}
    )
    if place == "whole":
        said = value
    elif place == "choice":
        said["choices"] = [value]
    elif place in ("message", "logprobs"):
        said["choices"][0][place] = value
    elif place == "top":
        said["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = value
    else:
        said[place] = value
    content = json.dumps(said).encode()
    for request in (REQUEST, REQUEST._replace(top=0)):
        try:
            reply = read_completion(reply_object(content), request)
        except ValueError:
            continue
        assert_proper(reply)


@quick
@given(json_values, st.integers(1, 3))
def test_any_json_is_a_vector_for_each_text_or_malformed(value: Any, count: int) -> None:
    for data in ({"data": value}, {"data": [{"index": 0, "embedding": value}] * count}, value):
        try:
            vectors = read_vectors(reply_object(json.dumps(data).encode()), count)
        except ValueError:
            continue
        assert vectors.shape[0] == count
        assert np.isfinite(vectors).all()


@settings(quick, max_examples=40)
@given(st.one_of(replies, st.builds(Reply, st.sampled_from(["blue", "I'm sorry, I can't answer."]), tokens)))
@example(Reply("blue", (("blue", math.inf),)))
@example(Reply("blue", (("blue", 1000.0),)))
@example(Reply("blue", (("blue", 1e-9), ("green", -math.inf))))
def test_a_run_stops_or_its_journal_holds_distributions(reply: Reply) -> None:
    model = Scripted(lambda request: reply, spec="scripted:odd")
    try:
        run = simulate(Shirts(people_count=2, groups=2, days=1), model=model, keep="nothing", seed=1)
    except ServiceError:
        assert isinstance(verify_replies([reply])[0], Failure)
        return
    prompts = run.prompts()
    values = prompts["probabilities"].explode().drop_nulls()
    assert values.is_finite().all()
    assert prompts["mass"].drop_nulls().is_between(0, 1).all()
    assert set(run.statuses) <= {"ok", "unparseable", "refused"}
    known = prompts.filter(pl.col("status") == "ok")["probabilities"].list.sum()
    assert ((known - 1).abs() < 1e-9).all()


@pytest.mark.parametrize(
    "text",
    [
        "You are Maria Keller. You are 43 years old and work as a nurse in a small town.",
        "Which shirt do you wear? Options: blue, green. Answer with one of the options, and nothing else.",
        "Der Gemeinderat hat beschlossen, die Straßenbeleuchtung nachts auszuschalten.",
        "3.14159 26535 89793, 1,000,000 people; $12.50 (+/- 5 %)",
        "我昨天穿了一件蓝色的衬衫。",
        "🙂🙃 naïve café — “quoted”",
        "def f(x):\n    return {k: v for k, v in x.items()}\n",
    ],
)
def test_an_estimate_of_tokens_is_not_below_what_a_tokeniser_counts(text: str) -> None:
    import tokenizers

    from populace.models.artifacts import MINILM_TOKENIZER

    tokenizer = tokenizers.Tokenizer.from_file(str(MINILM_TOKENIZER.fetch()))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    assert len(tokenizer.encode(text, add_special_tokens=False).ids) <= estimate_tokens(text) <= len(text.encode())


def test_deep_or_broken_json_is_malformed() -> None:
    for content in (b"[" * 100_000, b'{"a": ' * 100_000, b"", b"\xff", b"nul", b"[1]", b"{} {}", b'"text"'):
        with pytest.raises(ValueError, match="it is not JSON|nested too deeply|is no JSON object"):
            reply_object(content)
