from __future__ import annotations

from populace import Choice, People, Scenario, Text, simulate
from populace.models import Request, Scripted
from populace.runs.purposes import invalid_by_purpose, invalid_text


class Visit(Scenario):
    """Everybody is asked for a word and for a choice."""

    def setup(self) -> People:
        return People.named(4, seed=self.rng)

    def length(self) -> int:
        return 2

    async def step(self) -> None:
        await self.ask(self.people, Text("How are you?"), purpose="greeting")
        await self.ask(self.people, Choice("Do you stay?", options=("yes", "no")), purpose="staying")


def refusing(request: Request) -> dict[str, float] | str:
    return {"yes": 1.0, "no": 0.0} if request.options else "I'm sorry, but I can't answer that."


def test_invalid_answers_are_counted_by_purpose() -> None:
    run = simulate(Visit(), model=Scripted(refusing), seed=1, keep="nothing")
    assert invalid_by_purpose(run).rows() == [("greeting", 8, 8)]
    assert invalid_text(run) == "greeting 8 of 8"


def test_a_run_without_invalid_answers_has_no_row() -> None:
    run = simulate(Visit(), model="scripted:cast", seed=1, keep="nothing")
    assert invalid_by_purpose(run).height == 0
    assert invalid_text(run) == ""
