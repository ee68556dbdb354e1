"""What weakens a result is said: failures of a service, rejected prompts, refusals, estimates."""

from __future__ import annotations

import pytest

from populace import Scripted, SwapModel, simulate
from populace.base.errors import UsageError
from populace.experiments.validation import validity
from populace.experiments.validation.basis import validity_basis
from populace.experiments.validation.checks import answer_checks, mass_check
from populace.models import Failure, Reply, ReplyOrFailure, Request
from populace.models.scripted import REFUSAL
from populace.runs.caveats import basis_caveats, caveats, run_basis
from support.scenarios import Shirts

DOWN = Failure("unanswered", "the server is down")
TOO_LONG = Failure("rejected", "the prompt is too long")


def run_with(*troubles: ReplyOrFailure, people: int = 6) -> object:
    """A run in which the first groups meet trouble, each of its own, and the others answer."""

    def script(request: Request) -> object:
        group = int(request.messages[0][1].split("group ")[1].rstrip("."))
        return troubles[group] if group < len(troubles) else {"blue": 0.7, "green": 0.2}

    scenario = Shirts(people_count=people, groups=people, days=1)
    return simulate(scenario, model=Scripted(script, spec="scripted:some"), on_failure="record", seed=1, keep="nothing")


def test_answers_without_a_reply_do_not_count_as_scored() -> None:
    run = run_with(DOWN, DOWN, TOO_LONG)
    assert (run.count("scored"), run.count("low_mass"), run.count("rejected")) == (3, 0, 1)
    assert "low-mass" not in {caveat.id for caveat in basis_caveats(run_basis(run))}
    check = mass_check(validity_basis(run))
    assert (check.verdict, check.n) == ("pass", 3)


def test_an_answer_on_other_words_still_counts_as_scored_with_little_mass() -> None:
    run = run_with(Reply("Perhaps", (("Perhaps", -0.1),), "length", 9, 1), DOWN)
    assert (run.count("scored"), run.count("low_mass")) == (5, 1)
    assert "in 1 of 5 scored answers less than half" in str(caveats(run))


def test_a_refusal_is_a_refusal_where_options_are_scored() -> None:
    run = run_with(Reply(REFUSAL, (("I'm", -0.01),), "stop", 9, 9), Reply("", (), "refusal", 9, 0))
    assert run.statuses == {"ok": 4, "refused": 2}
    assert (run.count("scored"), run.count("low_mass")) == (4, 0)
    _, refusals = answer_checks(validity_basis(run))
    assert "The model declined to answer" in refusals.reason


def test_the_card_does_not_say_that_nobody_refused_where_it_cannot_know() -> None:
    run = run_with(Reply("I", (("I", -0.01),), "length", 9, 1))
    assert run.statuses == {"ok": 5, "unparseable": 1}
    _, refusals = answer_checks(validity_basis(run))
    assert "1 answers could not be read and may be refusals" in refusals.reason
    _, refusals = answer_checks(validity_basis(run_with()))
    assert "a refusal does not show there" in refusals.reason
    assert "could not be read" not in refusals.reason


def test_failures_and_rejections_are_named_apart_in_caveats_and_on_the_card() -> None:
    run = run_with(DOWN, DOWN, TOO_LONG)
    assert run.statuses == {"ok": 3, "unanswered": 3}
    text = str(caveats(run))
    assert "2 answers are missing because the service of the model failed" in text
    assert "1 answers are missing because the model rejected the prompt" in text
    card = str(validity(run).table()) + str(validity(run).warnings)
    assert 'on_failure="record"' in card


def test_a_run_without_trouble_has_none_of_these_caveats() -> None:
    scenario = Shirts(people_count=6, groups=6, days=1)
    run = simulate(scenario, model="scripted:uniform", seed=1, keep="nothing")
    assert {caveat.id for caveat in basis_caveats(run_basis(run))} == {"scripted-model"}


def test_a_budget_in_money_is_refused_before_the_first_call_where_a_later_model_has_no_price() -> None:
    model = Scripted(lambda request: {"blue": 1.0}, spec="scripted:one")
    with pytest.raises(UsageError, match=r"no price is known for http://127.0.0.1:9/v1#later"):
        simulate(
            Shirts(),
            model=model,
            interventions=[SwapModel(at=3, model="http://127.0.0.1:9/v1#later")],
            max_money=1.0,
            keep="nothing",
        )
    assert model.request_count == 0
