"""The HTTP path beside a bare loop over the openai client: the same server, prompts and concurrency, in turns."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import openai
import polars as pl
from measure import Result, fake_server, report

from populace import simulate
from populace.models import OpenAICompatible
from populace.models.base import Request
from populace.scenarios.norms import Norms

PEOPLE = 8_000
BARE_PEOPLE = 1_000
CONCURRENCY = 64
ROUNDS = 3


class Pace(NamedTuple):
    """Decisions a second, and microseconds of the processor for each."""

    rate: float
    cpu_us: float


def ours(url: str, round_number: int) -> tuple[Pace, pl.DataFrame]:
    """A whole run: people, prompts, calls, call store, answers, journal."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Norms(workers=PEOPLE, days=1, personas="none")
        began, cpu = time.perf_counter(), time.process_time()
        run = simulate(scenario, model=url, seed=round_number, workspace=folder, concurrency=CONCURRENCY)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        prompts = run.prompts()
    name = run.manifest.models[url].partition("#")[2]
    pace = Pace(prompts.height / seconds, cpu / prompts.height * 1e6)
    return pace, prompts.head(BARE_PEOPLE).with_columns(name=pl.lit(name))


def requests_of(prompts: pl.DataFrame) -> list[Request]:
    return [
        Request((("system", row["system"]), ("user", row["user"])), row["lead"], 1, 20)
        for row in prompts.iter_rows(named=True)
    ]


async def calls_alone(url: str, prompts: pl.DataFrame) -> Pace:
    """Only the calls, through our adapter: no run around them."""
    model = OpenAICompatible(url, prompts["name"][0], spec=url, concurrency=CONCURRENCY)
    await model.start()
    requests = requests_of(prompts)
    began, cpu = time.perf_counter(), time.process_time()
    count = 0
    async for batch in model.replies(requests):
        count += len(batch)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    await model.close()
    return Pace(count / seconds, cpu / count * 1e6)


async def bare(url: str, prompts: pl.DataFrame) -> Pace:
    """What somebody would write by hand: a semaphore, and the client."""
    model = OpenAICompatible(url, prompts["name"][0], spec=url)
    bodies = [model._body(request) for request in requests_of(prompts)]
    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0)
    gate = asyncio.Semaphore(CONCURRENCY)

    async def one(body: dict[str, Any]) -> None:
        async with gate:
            reply = await client.chat.completions.create(**body)
            assert reply.choices[0].logprobs is not None

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one(body) for body in bodies))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    await client.close()
    return Pace(len(bodies) / seconds, cpu / len(bodies) * 1e6)


def main() -> None:
    rounds, in_lists = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as other,
        fake_server(Path(folder)) as url,
        fake_server(Path(other), "--lists", "llamacpp") as list_url,
    ):
        for number in range(ROUNDS):
            run, prompts = ours(url, number)
            rounds.append((run, asyncio.run(calls_alone(url, prompts)), asyncio.run(bare(url, prompts))))
            in_lists.append(ours(list_url, number)[0])
    share = statistics.median(run.cpu_us / theirs.cpu_us for run, _, theirs in rounds)
    times = ", ".join(f"{run.cpu_us:,.0f} to {theirs.cpu_us:,.0f} µs" for run, _, theirs in rounds)
    calls = statistics.median(alone.cpu_us / theirs.cpu_us for _, alone, theirs in rounds)
    alone_times = ", ".join(f"{alone.cpu_us:,.0f} µs" for _, alone, _ in rounds)
    rates = ", ".join(f"{run.rate:,.0f}" for run, _, _ in rounds)
    theirs_rates = ", ".join(f"{theirs.rate:,.0f}" for _, _, theirs in rounds)
    report(
        [
            Result("HTTP: processor time of a decision, whole run", share, "of openai's", 1 / 8, at_most=True,
                   detail=f"run, to calls of a bare openai loop: {times}"),
            Result("HTTP: processor time of a call", calls, "of openai's", 1 / 8, at_most=True, detail=alone_times),
            Result("HTTP: decisions a second, whole run", max(run.rate for run, _, _ in rounds), "decisions/s", 3_000,
                   detail=f"best of {ROUNDS} ({rates}); bare openai loop {theirs_rates}"),
            Result("HTTP: … with prompts in lists", max(each.rate for each in in_lists), "decisions/s",
                   detail=f"{min(each.cpu_us for each in in_lists):.0f} µs of processor each"),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
