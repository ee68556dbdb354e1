"""Scripted models for people who plan, talk and reflect, and a scenario to test one part of a mind in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

import polars as pl

from populace import People, Run, Scenario, simulate
from populace.models import Request, Scripted

NEWS = "Come to the party at the café!"
WEATHER = "It is cold for February."


def chance(request: Request, salt: str = "") -> float:
    """A number in [0, 1) that depends on the request alone."""
    text = f"{salt}{request.messages}{request.seed}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little") / 2**32


def resident(passes: float = 0.5, *, invents: bool = False, talks: float = 0.5) -> Scripted:
    """A resident who passes on recalled news with a chance."""

    def reply(request: Request) -> dict[str, float] | str:
        if request.top:
            return {"yes": talks, "no": 1 - talks}
        asked = request.messages[-1][1]
        if '"say"' in asked:
            known = "party" in asked.split("What was said")[0].lower()
            says = invents or (known and chance(request) < passes)
            return json.dumps(
                {"say": NEWS if says else WEATHER, "end": "yes" if chance(request, "end") < 0.3 else "no"}
            )
        if '"plan"' in asked:
            work, lunch = {"where": "work", "doing": "work"}, {"where": "Kettle & Crumb", "doing": "eat"}
            day = [
                ("09:00", work),
                ("12:00", lunch),
                ("13:30", work),
                ("17:00", lunch),
                ("20:00", work | {"where": "home"}),
            ]
            return json.dumps({"plan": [{"at": at, **what} for at, what in day]})
        if '"questions"' in asked:
            return json.dumps({"questions": ["What matters to me?"]})
        if '"insights"' in asked:
            return json.dumps({"insights": [{"insight": "I like company.", "because": [1]}]})
        if '"actions"' in asked:
            return json.dumps({"actions": [{"minutes": 30, "doing": "begin"}, {"minutes": 300, "doing": "go on"}][:1]})
        return "yes"

    return Scripted(reply, spec=f"scripted:resident-{passes}-{invents}-{talks}")


def debater() -> Scripted:
    """A member of a discussion: all options are equally likely, and every utterance is the same."""

    def reply(request: Request) -> dict[str, float] | str:
        if request.options:
            return {option: 1 / len(request.options) for option in request.options}
        return json.dumps({"say": "Cars are loud.", "stance": "for"})

    return Scripted(reply, spec="scripted:debater")


def run_in_step(body: Callable[[Any], Awaitable[Any]], reply: Callable[[Request], Any]) -> tuple[Any, Run]:
    """Run a coroutine inside a step on a scripted model; returns its result and the run."""
    results: list[Any] = []

    class OneStep(Scenario):
        """Three people, and one coroutine that is given the scenario."""

        def setup(self) -> People:
            return People(pl.DataFrame({"id": [0, 1, 2], "name": ["Ann", "Bo", "Cy"]}))

        def length(self) -> int:
            return 1

        async def step(self) -> None:
            results.append(await body(self))

    run = simulate(OneStep(), model=Scripted(reply, spec="scripted:trying"), seed=1, keep="nothing")
    return results[0], run
