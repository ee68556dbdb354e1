from __future__ import annotations

from populace import simulate
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
