"""The HTTP path beside a bare loop over the openai client: the same requests, server and concurrency, in turns."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import openai
import polars as pl
from measure import Result, fake_server, report

from populace import simulate
from populace.models import OpenAICompatible
from populace.models.base import Request
from populace.scenarios.norms import Norms

PEOPLE = 2_000
CONCURRENCY = 32
ROUNDS = 3


def ours(url: str, round_number: int) -> tuple[float, pl.DataFrame]:
    with tempfile.TemporaryDirectory() as folder:
        scenario = Norms(workers=PEOPLE, days=1, personas="none")
        began = time.perf_counter()
        run = simulate(scenario, model=url, seed=round_number, workspace=folder, concurrency=CONCURRENCY)
        seconds = time.perf_counter() - began
        prompts = run.prompts()
    name = run.manifest.models[url].partition("#")[2]
    return prompts.height / seconds, prompts.with_columns(name=pl.lit(name))


async def bare(url: str, prompts: pl.DataFrame) -> float:
    """What somebody would write by hand: a semaphore, and the client."""
    model = OpenAICompatible(url, prompts["name"][0], spec=url)
    bodies = [
        model._body(Request((("system", row["system"]), ("user", row["user"])), row["lead"], 1, 20))
        for row in prompts.iter_rows(named=True)
    ]
    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0)
    gate = asyncio.Semaphore(CONCURRENCY)

    async def one(body: dict[str, Any]) -> None:
        async with gate:
            reply = await client.chat.completions.create(**body)
            assert reply.choices[0].logprobs is not None

    began = time.perf_counter()
    await asyncio.gather(*(one(body) for body in bodies))
    seconds = time.perf_counter() - began
    await client.close()
    return len(bodies) / seconds


def main() -> None:
    pairs = []
    with tempfile.TemporaryDirectory() as folder, fake_server(Path(folder)) as url:
        for number in range(ROUNDS):
            mine, prompts = ours(url, number)
            theirs = asyncio.run(bare(url, prompts))
            pairs.append((mine, theirs))
    ratio = statistics.median(mine / theirs for mine, theirs in pairs)
    detail = ", ".join(f"{mine:,.0f} to {theirs:,.0f} calls/s" for mine, theirs in pairs)
    report([Result("HTTP path beside a bare openai loop", ratio, "of its rate", 0.8, detail=detail)])


if __name__ == "__main__":
    main()
