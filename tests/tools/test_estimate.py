from __future__ import annotations

import pytest

from populace import simulate
from populace.base.errors import UnknownNameError
from populace.broker import Price
from populace.scenarios.norms import Norms
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
