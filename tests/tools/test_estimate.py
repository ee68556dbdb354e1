from __future__ import annotations

from populace import simulate
from populace.broker import Price
from populace.scenarios.norms import Norms
from populace.tools.estimate import estimate
from support.models import Counting


def test_an_estimate_is_a_range_that_holds_for_a_real_run() -> None:
    found = estimate(Norms(workers=10, days=4), price=Price(1.0, 2.0))
    run = simulate(Norms(workers=10, days=4), model=Counting(), seed=9, keep="nothing")
    assert found.decisions.low == found.decisions.high == 40
    assert found.calls.low <= run.usage().calls <= found.calls.high
    assert found.tokens.low <= run.usage().tokens <= found.tokens.high
    assert found.cost is not None
    assert 0 < found.cost.low < found.cost.high
    assert found.seconds is None
