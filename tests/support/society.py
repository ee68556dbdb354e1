"""Scripted models for people who plan, talk and reflect, and a scenario to test one part of a mind in."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import polars as pl

from populace import People, Run, Scenario, simulate
from populace.models import Request, Scripted
from support.benchmark_modules import benchmark_module

NEWS = "There is a party at Kettle & Crumb on 14 February at 17:00, do come!"
OPENINGS, CLOSINGS = benchmark_module("town_replies").OPENINGS, benchmark_module("town_replies").CLOSINGS


def day_plan(asked: str) -> list[dict[str, str]]:
    """A valid plan from now to bedtime: work, lunch, work, something at a place that one knows, home."""
    now, bedtime = re.search(r"from now, (\d\d:\d\d), until you go to bed at (\d\d:\d\d)", asked).groups()  # type: ignore[union-attr]
    places = re.search(r"Places that you know: (.*)\.\n", asked)[1].split("; ")  # type: ignore[index]
    lunch = "Kettle & Crumb" if "Kettle & Crumb" in places else places[-1]
    work = "work" if "work" in places else "home"
    rows = [
        ("08:30", work, "work"),
        ("12:00", lunch, "eat"),
        ("13:30", work, "work"),
        ("17:00", lunch, "eat"),
        ("20:00", "home", "read"),
    ]
    first = "have breakfast" if now < "10:00" else "rest"
    late = [row for row in rows if row[0] > now and (row[0] < bedtime or bedtime < "05:00")]
    return [{"at": at, "where": where, "doing": doing} for at, where, doing in [(now, "home", first), *late]]


def chance(request: Request, salt: str = "") -> float:
    """A number in [0, 1) that depends on the request alone."""
    text = f"{salt}{request.messages}{request.seed}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little") / 2**32


def resident(passes: float = 0.5, *, invents: bool = False, talks: float = 0.5) -> Scripted:
    """A resident who passes on recalled news with a chance."""

    def reply(request: Request) -> dict[str, float] | str:
        if request.options and set(request.options) == set(map(str, range(1, 11))):
            asked = next(text for role, text in request.messages if role == "user")
            return {"8" if "party" in asked else str(2 + int(3 * chance(request, "rating"))): 1.0}
        if set(request.options) == {"answer", "end it"}:
            return {"answer": 0.7, "end it": 0.3}
        if set(request.options) == {"yes", "no"}:
            return {"yes": talks, "no": 1 - talks}
        if request.options:
            return {option: 1 / len(request.options) for option in request.options}
        asked = next(text for role, text in request.messages if role == "user")
        if "next line that you say" in asked:
            known = "party" in asked.split("The conversation so far")[0].lower()
            says = invents or (known and chance(request) < passes)
            opening = OPENINGS[int(chance(request, "opening") * len(OPENINGS))]
            closing = CLOSINGS[int(chance(request, "closing") * len(CLOSINGS))]
            return f"{opening} {NEWS} {closing}" if says else f"{opening} {closing}"
        if '"plan"' in asked:
            return json.dumps({"plan": day_plan(asked)})
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
