from __future__ import annotations

import asyncio
import functools
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from populace.base.errors import ModelError
from populace.models import Failure, Reply, ReplyOrFailure, Request, Scripted, open_model
from populace.models.scripted import GARBAGE, REFUSAL, open_script


def shirt(number: int = 0, **changes: object) -> Request:
    return Request((("user", f"Person {number}: which shirt?"),), options=("blue", "green"), **changes)


def leaning(request: Request) -> Mapping[str, float]:
    return {"blue": 0.75, "green": 0.25}


def ask(model: Scripted, *requests: Request) -> list[ReplyOrFailure]:
    async def go() -> list[ReplyOrFailure]:
        outcomes = {index: outcome async for lot in model.replies(requests) for index, outcome in lot}
        return [outcomes[index] for index in range(len(requests))]

    return asyncio.run(go())


def test_a_distribution_comes_back_as_log_probabilities():
    (reply,) = ask(Scripted(leaning), shirt(top=20))
    assert {word: math.exp(logprob) for word, logprob in reply.tokens} == pytest.approx({"blue": 0.75, "green": 0.25})
    assert (reply.text, reply.completion_tokens) == ("blue", 1)


def test_an_option_that_is_never_taken_still_has_a_finite_log_probability():
    (reply,) = ask(open_script("first"), shirt(top=20))
    assert all(math.isfinite(logprob) for _, logprob in reply.tokens)


def test_a_distribution_is_drawn_from_by_seed_where_words_are_wanted():
    model = Scripted(leaning)
    texts = [reply.text for reply in ask(model, *(shirt(seed=seed) for seed in range(400)))]
    assert texts == [reply.text for reply in ask(model, *(shirt(seed=seed) for seed in range(400)))]
    assert 0.65 < texts.count("blue") / 400 < 0.85


def test_a_text_comes_back_as_it_is_with_its_first_word_as_the_token():
    words, scored = ask(Scripted(lambda request: "green, I think"), shirt(), shirt(top=20))
    assert (words.text, words.tokens) == ("green, I think", ())
    assert scored.tokens == (("green,", 0.0),)


@pytest.mark.parametrize("outcome", [Reply("as it is", (("a", -1.0),), "length", 3, 4), Failure("timeout", "too slow")])
def test_replies_and_failures_pass_through(outcome):
    assert ask(Scripted(lambda request: outcome), shirt()) == [outcome]


def test_replies_do_not_depend_on_the_order_of_requests():
    model = Scripted(leaning, failures=0.3, garbage=0.3)
    requests = [shirt(number, seed=number) for number in range(50)]
    assert ask(model, *requests) == list(reversed(ask(model, *reversed(requests))))


def test_troubles_strike_the_shares_that_were_asked_for():
    model = Scripted(leaning, failures=0.2, refusals=0.1, garbage=0.1)
    outcomes = ask(model, *(shirt(number, seed=1) for number in range(2000)))
    kinds = Counter("failure" if isinstance(outcome, Failure) else outcome.text for outcome in outcomes)
    shares = [kinds["failure"] / 2000, kinds[REFUSAL] / 2000, kinds[GARBAGE] / 2000]
    assert shares == pytest.approx([0.2, 0.1, 0.1], abs=0.03)


def test_latency_holds_for_as_many_as_may_be_under_way():
    start = time.monotonic()
    assert len(ask(Scripted(leaning, latency_s=0.02, concurrency=2), *map(shirt, range(8)))) == 8
    assert 0.07 < time.monotonic() - start < 5


def test_a_halt_lets_replies_under_way_end_and_begins_no_more():
    model = Scripted(leaning, latency_s=0.05, concurrency=2)

    async def halted() -> list[ReplyOrFailure]:
        asyncio.get_running_loop().call_later(0.02, setattr, model, "halted", True)
        return [outcome async for lot in model.replies([shirt(i) for i in range(6)]) for _, outcome in lot]

    assert Counter(type(outcome) for outcome in asyncio.run(halted())) == {Reply: 2, Failure: 4}


def with_share(share: float) -> Callable[[Request], Mapping[str, float]]:
    return lambda request: {"blue": share, "green": 1 - share}


def shared(share: float, request: Request) -> Mapping[str, float]:
    return {"blue": share, "green": 1 - share}


class Leaning:
    def __init__(self, share: float) -> None:
        self.share = share

    def __call__(self, request: Request) -> Mapping[str, float]:
        return {"blue": self.share, "green": 1 - self.share}


def test_a_script_with_other_code_is_another_model():
    assert Scripted(leaning, spec="one").fingerprint != Scripted(shared, spec="one").fingerprint
    assert Scripted(leaning, spec="one").fingerprint == Scripted(leaning, spec="one").fingerprint


@pytest.mark.parametrize(
    "make", [with_share, Leaning, lambda share: functools.partial(shared, share)], ids=["closure", "object", "partial"]
)
def test_a_script_with_other_values_is_another_model(make):
    assert Scripted(make(0.2)).fingerprint != Scripted(make(0.8)).fingerprint
    assert Scripted(make(0.2)).fingerprint == Scripted(make(0.2)).fingerprint


def test_other_troubles_make_another_model():
    assert Scripted(leaning).fingerprint != Scripted(leaning, garbage=0.1).fingerprint


def test_what_ships_can_be_opened_by_name():
    assert ask(open_script("uniform"), shirt(top=5))[0].tokens == (("blue", math.log(0.5)), ("green", math.log(0.5)))
    assert ask(open_script("first"), shirt(top=5))[0].text == "blue"
    assert open_script("slow").latency_s > 0


def test_a_function_of_a_module_can_be_opened_by_name(tmp_path, monkeypatch):
    (tmp_path / "my_scripts.py").write_text("def grumpy(request):\n    return 'no'\n")
    monkeypatch.syspath_prepend(tmp_path)
    model = open_model("scripted:my_scripts:grumpy", concurrency=3)
    assert (model.spec, model.concurrency) == ("scripted:my_scripts:grumpy", 3)
    assert ask(model, shirt())[0].text == "no"


def test_a_scripted_model_of_a_module_is_used_with_its_settings(tmp_path, monkeypatch):
    code = "from populace.models import Scripted\nmodel = Scripted(lambda request: 'no', garbage=1.0)\n"
    (tmp_path / "my_models.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    assert ask(open_script("my_models:model"), shirt())[0].text == GARBAGE


@pytest.mark.parametrize("name", ["unifrom", "math:no_such", "no_such_module:f", "math:", ":f", "math:pi", "broken:f"])
def test_what_cannot_be_opened_is_a_model_error(name, tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match=f"scripted:{name}"):
        open_script(name)
