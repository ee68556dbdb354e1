"""The demand study: 500 shoppers, 40 products, 11 prices: all prompts differ, call store and journal are written."""

from __future__ import annotations

import tempfile

from measure import Result, Steps, peak_memory_gb, report

from populace import Scripted, simulate
from populace.models import Reply, Request
from populace.scenarios.demand import Demand

DECISIONS = 40 * 500
REPLY = Reply("yes", (("yes", -0.6), ("no", -0.8)), "length", 100, 1)


def answer(request: Request) -> Reply:
    return REPLY


def main() -> None:
    observer = Steps()
    with tempfile.TemporaryDirectory() as folder:
        scenario = Demand(products=40, shoppers=500, design="blind")
        run = simulate(scenario, model=Scripted(answer), seed=1, workspace=folder, observer=observer)
        calls = run.usage().calls
    rates = [DECISIONS / seconds for seconds in observer.seconds]
    report(
        [
            Result("demand study, 40 x 11 x 500: decisions a second", max(rates), "decisions/s", 50_000,
                   detail=f"best of {len(rates)} prices (mean {sum(rates) / len(rates):,.0f}), {calls:,} calls"),
            Result("demand study: peak memory", peak_memory_gb(), "GB"),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
