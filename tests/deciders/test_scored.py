from __future__ import annotations

import pytest

from populace import People, Scenario, Scripted, simulate
from populace.questions import Choice


class Tea(Scenario):
    """People are asked once whether they want tea."""

    def setup(self) -> People:
        return People.named(3)

    def length(self) -> int:
        return 1

    async def step(self) -> None:
        await self.ask(self.people, Choice("Tea?", options=("yes", "no")))


@pytest.mark.parametrize(
    ("mass", "status", "low"),
    [(1.0, "ok", 0), (0.6, "ok", 0), (0.4, "ok", 3), (0.01, "ok", 3), (0.0001, "unparseable", 3)],
)
def test_little_mass_is_counted_and_only_none_at_all_makes_an_answer_invalid(
    mass: float, status: str, low: int
) -> None:
    model = Scripted(lambda request: {"yes": mass, "no": 0.0, "hm": 1 - mass}, spec=f"scripted:mass-{mass}")
    run = simulate(Tea(), model=model, keep="nothing")
    assert dict(run.statuses) == {status: 3}
    assert run.count("low_mass") == low
    assert run.prompts()["mass"].to_list() == pytest.approx([mass] * 3)
