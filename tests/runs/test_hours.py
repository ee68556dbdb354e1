from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from populace import People, Scenario, metric, simulate
from populace.runs.hours import hourly


class Clock(Scenario):
    """Nothing happens, every ten minutes."""

    ticks: int = 90
    tick: ClassVar[timedelta] = timedelta(minutes=10)

    def setup(self) -> People:
        return People.named(2, seed=self.rng)

    def length(self) -> int:
        return self.ticks

    async def step(self) -> None:
        pass

    @metric
    def number(self) -> int:
        return self.t


def test_a_long_run_has_a_row_for_each_simulated_hour() -> None:
    run = simulate(Clock(), decider="rule", keep="nothing")
    rows = hourly(run, run.metrics)
    assert rows.height == 16
    assert rows.columns == ["step", "time", "number"]
    assert rows["step"].to_list()[-1] == 90
    assert rows["time"][1] == "day 1, 09:50"


def test_a_short_run_has_a_row_for_each_step() -> None:
    run = simulate(Clock(ticks=10), decider="rule", keep="nothing")
    assert hourly(run, run.metrics).equals(run.metrics)
