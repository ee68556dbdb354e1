"""A day of messages among people who remember: each reads, remembers, is asked what to do, and answers.

python benchmarks/people_with_memories.py [people ...]      10,000 and 100,000 by default
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

import numpy as np
import polars as pl
from measure import Result, peak_memory_gb, report

import populace as pc
from populace.models import HashingEmbedder, Request

SIZES = (10_000, 100_000)
HOURS = 4
NEWS = (
    "the bakery opens again on Sunday",
    "the bridge is closed until Friday",
    "there is a concert in the park",
    "the school looks for helpers",
    "a dog was found near the mill",
)


class Messages(pc.Scenario):
    """Every hour each person gets a message, remembers it, and says whether to pass it on to somebody they know."""

    people_count: int = pc.Field(1_000, ge=10, description="How many people.")

    def setup(self) -> pc.People:
        self.mind = pc.Mind("You are {name}.", memory=pc.Memory(HashingEmbedder(64)), recalled=3)
        count = self.people_count
        names = pl.Series([f"Person {number}" for number in range(count)])
        self.friends = self.rng.integers(1, count, (count, 4)) + np.arange(count)[:, None]
        self.news = self.rng.integers(0, len(NEWS), count)
        self.senders = self.friends[:, 0] % count
        return pc.People(pl.DataFrame({"name": names}))

    def length(self) -> int:
        return HOURS

    async def step(self) -> None:
        count, names = self.people_count, self.people["name"]
        sender, news = names.gather(self.senders), pl.Series(NEWS).gather(self.news)
        letters = pl.select(pl.concat_str([sender, pl.lit(" wrote to you: "), news, pl.lit(".")])).to_series()
        await self.remember(self.people, letters.to_list(), kind="observation")
        answers = await self.ask(
            self.people,
            pc.Choice("Do you pass it on?", options=("yes", "no")),
            given="{letter}",
            letter=letters,
            about=news.to_list(),
        )
        passed = (answers.values == "yes").to_numpy()
        deeds = pl.select(
            pl.when(pl.Series(passed)).then(pl.lit("You passed on: ")).otherwise(pl.lit("You kept to yourself: "))
            + news
        ).to_series()
        await self.remember(self.people, deeds.to_list(), kind="deed")
        # Whoever got nothing new this hour hears from another friend; what was passed on travels.
        targets = self.friends[np.arange(count), self.t % 4] % count
        self.senders = self.friends[:, self.t % 4] % count
        self.senders[targets[passed]] = np.flatnonzero(passed)
        self.news = self.news[self.senders]

    @pc.metric
    def share_bakery(self) -> float:
        """The share of people whose last news was that of the bakery."""
        return float((self.news == 0).mean())


def answer(request: Request) -> Mapping[str, float]:
    """Whoever remembers a concert or a bakery likes to pass things on."""
    told = request.messages[-1][1]
    chance = 0.3 + 0.3 * ("concert" in told) + 0.2 * ("bakery" in told)
    return {"yes": chance, "no": 1 - chance}


def day(people: int) -> dict[str, float]:
    """A day of so many people, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        began, cpu = time.perf_counter(), time.process_time()
        run = pc.simulate(Messages(people_count=people), model=pc.Scripted(answer), seed=1, workspace=folder)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        assert run.statuses == {"ok": people * HOURS}
        shown = run.decisions(HOURS, 0)[0].prompts[0]["user"]
        calls = run.usage().calls
    assert shown.count("wrote to you") > 1, shown
    return {"people": people, "seconds": seconds, "cpu": cpu, "memory": peak_memory_gb(), "calls": calls}


def in_process(people: int) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, "--day", str(people)], stdout=subprocess.PIPE, check=True)
    days: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return days


def main() -> None:
    if sys.argv[1:2] == ["--day"]:
        print(json.dumps(day(int(sys.argv[2]))))
        return
    sizes = [int(each) for each in sys.argv[1:]] or list(SIZES)
    days = [in_process(people) for people in sizes]
    last = days[-1]
    detail = "; ".join(
        f"{each['people']:,.0f}: {each['seconds']:.0f} s, {each['cpu']:.0f} s of processor" for each in days
    )
    what = f"a day of messages among {sizes[-1]:,} people who remember"
    results = [
        Result(what, last["seconds"] / 60, "minutes", 30, at_most=True, detail=detail),
        Result("… peak memory", last["memory"], "GB", 8, at_most=True, detail=f"{last['calls']:,.0f} distinct prompts"),
    ]
    if len(days) > 1:
        times = np.log([each["cpu"] for each in days])
        slope = float(np.polyfit(np.log(sizes), times, 1)[0])
        results.append(Result("… growth of its processor time", slope, "", 1.1, at_most=True, detail="exponent"))
    report(results)


if __name__ == "__main__":
    main()
