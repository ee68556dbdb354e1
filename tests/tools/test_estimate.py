from __future__ import annotations

import time

import pytest

from populace import simulate
from populace.base.errors import UnknownNameError
from populace.broker import Price
from populace.engine.observer import Observer
from populace.engine.simulation import Simulation
from populace.scenarios.discussion import Discussion
from populace.scenarios.norms import Norms
from populace.scenarios.party import Party
from populace.tools.estimate import estimate
from support.models import Counting


def test_an_estimate_is_a_range_that_holds_for_a_real_run() -> None:
    cost = estimate(Norms(workers=10, days=4), price=Price(1.0, 2.0))
    run = simulate(Norms(workers=10, days=4), model=Counting(), seed=9, keep="nothing")
    assert cost.decisions.low == cost.decisions.high == 40
    assert cost.calls.low <= run.usage().calls <= cost.calls.high
    assert cost.tokens.low <= run.usage().tokens <= cost.tokens.high
    assert cost.cost is not None
    assert 0 < cost.cost.low < cost.cost.high
    assert cost.seconds is None


def test_a_string_that_names_no_model_is_refused_before_a_trial_runs():
    with pytest.raises(UnknownNameError, match="Did you mean openai:gpt-4o"):
        estimate(Norms(workers=5, days=2), model="gpt-4o")


def test_a_long_run_is_estimated_from_its_first_steps_within_seconds() -> None:
    began = time.monotonic()
    cost = estimate(Party(), seeds=3)
    assert time.monotonic() - began < 8  # on a busy machine; a trial of all steps takes far longer
    assert cost.trial_steps is None or 0 < cost.trial_steps < 258


@pytest.mark.parametrize("steps", [24, 64, 97])
def test_a_range_holds_however_far_the_trial_came(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Deadline(Observer):
        def __init__(self, ends: float) -> None:
            pass

        def on_step(self, simulation: Simulation) -> None:
            if simulation.step == steps:
                simulation.halt()

    monkeypatch.setattr("populace.engine.trial._Deadline", Deadline)
    cost = estimate(Party(), seeds=3)
    assert (cost.trial_steps, cost.steps) == (steps, 258)
    assert cost.calls.low < 923 < cost.calls.high  # what the scripted cast takes
    assert cost.calls.low < 1817 < cost.calls.high  # what Qwen2.5-Coder-1.5B took


def test_the_embedder_of_a_run_is_not_loaded_for_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "populace.models.embedders.MiniLM.__init__", lambda *args, **settings: pytest.fail("MiniLM was opened")
    )
    assert estimate(Discussion(), seeds=1).decisions.low > 0
