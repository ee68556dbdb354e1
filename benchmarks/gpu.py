"""A model on PyTorch: 100,000 prompts with a shared beginning, beside transformers and the limit of the device.

    python benchmarks/gpu.py [--model FILE.gguf] [--device cuda] [--prompts 100000] [--seconds 80]
    python benchmarks/gpu.py --device cpu --prompts 200            a quick look without a GPU

The whole run goes through `simulate`, with journal and call store. transformers (eager) computes some of the same
prompts in the same process: whole, and with the shared beginning computed once. Each figure is printed as soon as it is
known, the one with the bar first; what would begin after the given seconds is left out, and said so.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import Result, Steps, peak_memory_gb, report

import populace as pc
from populace.models import SMOLLM2, Reply, Request
from populace.models.pytorch.scoring import Distributions
from populace.models.transformers_model import TransformersModel

RULES = (
    "You live in a small town by a river. Every spring the town council asks all residents how the money that is left "
    "from last year should be spent. The council has made clear that every voice counts the same, that nobody sees the "
    "answer of another resident, and that the result is binding for a year. "
) * 4 + (
    "Two projects are proposed this year: a new roof for the school, and a footbridge across the river. "
    "Both cost the same, and both could be ready by the autumn."
)
BAR = 36_000
TOLERANCES = {"float32": 0.001, "float16": 0.02, "": 0.06}
"""How far a distribution may depend on what else is in the batch, by type of number; the last is for bfloat16."""


class Council(pc.Scenario):
    """Residents choose a project; every prompt has about 40 tokens of its own after 300 that all share."""

    residents: int = pc.Field(100_000, ge=2, description="How many people are asked.")
    years: int = pc.Field(2, ge=1, description="How many times they are asked.")

    def setup(self) -> pc.People:
        return pc.People.named(self.residents, seed=self.rng)

    def profile(self) -> str:
        return RULES

    def length(self) -> int:
        return self.years

    async def step(self) -> None:
        year = (self.now - self.start).days
        question = pc.Choice("What do you choose?", options=["roof", "bridge"])
        await self.ask(self.people, question, given="Year {year}. You are {name}.", year=year)


def requests(count: int) -> list[Request]:
    """Prompts as `Council` writes them, or nearly so."""
    asked = "What do you choose?\nOptions: roof, bridge.\nAnswer with one of the options, nothing else."
    texts = [f"Year 7. You are Ann, number {n}.\n\n{asked}" for n in range(count)]
    options = ("roof", "bridge")
    return [Request((("system", RULES), ("user", text)), "Answer:", 1, 200, options=options) for text in texts]


async def answers(model: TransformersModel, wanted: list[Request]) -> list[Any]:
    found = {}
    async for batch in model.replies(wanted):
        found.update(batch)
    return [found[index] for index in range(len(wanted))]


def difference(one: Reply, other: Reply) -> float:
    """The total variation between two distributions of the first token, as far as both replies name the same tokens."""
    left, right = ({token: math.exp(p) for token, p in reply.tokens} for reply in (one, other))
    return sum(abs(left[token] - right[token]) for token in left.keys() & right.keys()) / 2


async def prepare(model: TransformersModel, count: int) -> None:
    """Load the model, and let the libraries prepare themselves."""
    await model.start()
    await answers(model, requests(min(count // 20, 4000)))


async def alone(model: TransformersModel, count: int) -> list[Result]:
    """The model without a run around it: distributions, and the effect of the batch."""
    wanted = requests(count)
    began = time.perf_counter()
    together = await answers(model, wanted)
    rate = count / (time.perf_counter() - began)
    small = count <= 1000
    few = range(0, count, max(1, count // (2 if small else 40)))
    apart = [difference(together[i], (await answers(model, [wanted[i]]))[0]) for i in few]
    limit = TOLERANCES[
        "float32" if "float32" in model.fingerprint else "float16" if "float16" in model.fingerprint else ""
    ]
    return [
        Result(
            "distributions, the model alone", rate, "decisions/s", detail=f"{together[0].prompt_tokens} tokens each"
        ),
        Result(
            "a prompt alone and in a batch", max(apart), "total variation", limit, at_most=True,
            detail=f"{len(few)} prompts, mean {sum(apart) / len(apart):.2g}",
        ),
    ]  # fmt: skip


async def by_itself(model: TransformersModel, count: int) -> Result:
    """How long the same takes if the device answers at once: reading prompts, making replies."""
    scorer, wanted = model._loaded().scorer, requests(min(count, 20_000))
    begin = scorer.begin
    parts = model._loaded()
    table = parts.option_tokens.table([wanted[0].options])
    example = begin(parts.tokenizer.rows(wanted[:1]), np.zeros(1, np.int64), 0, 200, table)
    while not example.are_ready:
        time.sleep(0.001)

    def at_once(rows: Any, which: Any, shared: int, most: int, options: Any) -> Distributions:
        rows.table(which, shared)
        values, places, counts = example._parts
        size = len(which)
        return Distributions(values.expand(size, -1), places.expand(size, -1), counts.expand(size), None)

    scorer.begin = at_once  # type: ignore[method-assign]
    try:
        clock = time.thread_time if model._device == "cuda" else time.process_time
        began = clock()
        await answers(model, wanted)
        seconds = clock() - began
    finally:
        scorer.begin = begin  # type: ignore[method-assign]
    kept = len((await answers(model, wanted[:1]))[0].tokens)
    bar = 15 if count >= 10_000 else None
    return Result(
        "around the network, on the processor", seconds / len(wanted) * 1e6, "µs a prompt", bar, at_most=True,
        detail=f"{kept} tokens in a reply",
    )  # fmt: skip


async def on_damaged_memory(model: TransformersModel, count: int) -> Result:
    """Distributions and written replies where all free memory of the GPU holds something that is no number."""
    import torch

    before = len(model.notes)
    if model._device == "cuda":
        sizes = [2**30] * 16 + [2**26] * 64 + [2**22] * 256 + [2**20] * 512 + [2**17] * 512
        blocks = [torch.full((size // 2,), torch.nan, dtype=torch.float16, device="cuda") for size in sizes]
        torch.cuda.synchronize()
        del blocks
    replies = await answers(model, [*requests(min(count, 2000)), *essays(2, 8)])
    bad = sum(not isinstance(reply, Reply) for reply in replies) + len(model.notes) - before
    return Result(
        "replies spoilt by memory of others", bad, "replies", 0, at_most=True, detail=f"{len(replies)} replies"
    )


def essays(rows: int, length: int) -> list[Request]:
    return [
        Request((("system", RULES), ("user", f"Write a long story about resident {n}.")), "", length, seed=n)
        for n in range(rows)
    ]


async def written(model: TransformersModel, count: int) -> list[Result]:
    """Replies written token by token."""
    length, rows = (8, 2) if count <= 1000 else (128, 32)
    wanted = essays(rows, length)
    first = await answers(model, wanted)
    began = time.perf_counter()
    await answers(model, wanted)
    seconds = time.perf_counter() - began
    longest = max(reply.completion_tokens for reply in first)
    solo = [(await answers(model, [essay]))[0].text for essay in wanted[: min(4, rows // 2)]]
    same = sum(text == reply.text for text, reply in zip(solo, first, strict=False)) / len(solo)
    return [
        Result(
            f"{rows} replies written side by side", seconds / longest * 1000, "ms a token", detail="with the prompts"
        ),
        Result("written alone and in a batch", same, "are the same"),
    ]


def through_a_run(model: TransformersModel, count: int, years: int) -> Result:
    observer = Steps()
    council = Council(residents=count, years=years)
    with tempfile.TemporaryDirectory() as folder:
        usage = pc.simulate(council, model=model, seed=1, workspace=folder, observer=observer).usage()
    assert (usage.calls, usage.reused) == (count * council.years, 0), f"the prompts are not all different: {usage}"
    rates = [count / seconds for seconds in observer.seconds]
    bar, steps = BAR if count >= 100_000 else None, ", ".join(f"{rate:,.0f}" for rate in rates)
    return Result(
        "distributions through a run", max(rates), "decisions/s", bar,
        detail=f"best of {steps}; journal and call store kept, {peak_memory_gb():.1f} GB",
    )  # fmt: skip


def by_transformers(path: Path, device: str, tokens: list[list[int]]) -> Iterator[Result]:
    """The same prompts with transformers, whole and with the shared beginning once; and what the device could do."""
    import torch

    try:
        from transformers import AutoModelForCausalLM
    except ImportError:
        print("  transformers is not installed: nothing is compared with it")
        return
    number_type = torch.bfloat16 if device == "cuda" else torch.float32
    place: dict[str, Any] = {"gguf_file": path.name} if path.is_file() else {}
    folder = str(path.parent if path.is_file() else path)
    network = AutoModelForCausalLM.from_pretrained(folder, dtype=number_type, **place).to(device).eval()
    width = max(map(len, tokens))
    table = torch.tensor([row + [0] * (width - len(row)) for row in tokens], device=device)
    last = torch.tensor([len(row) - 1 for row in tokens], device=device)
    size = 512 if device == "cuda" else 16
    shared = next(i for i, column in enumerate(zip(*tokens, strict=False)) if len(set(column)) > 1)

    def score(states: Any, places: Any) -> None:
        picked = states[torch.arange(len(places), device=device), places]
        torch.log_softmax(network.lm_head(picked).float(), -1).topk(20, -1)[0].cpu()

    def whole() -> None:
        for begin in range(0, len(tokens), size):
            states = network.model(input_ids=table[begin : begin + size], use_cache=False).last_hidden_state
            score(states, last[begin : begin + size])

    def with_prefix() -> None:
        for begin in range(0, len(tokens), size):
            cache = network.model(input_ids=table[:1, :shared], use_cache=True).past_key_values
            rows = table[begin : begin + size, shared:]
            cache.batch_repeat_interleave(len(rows))
            states = network.model(input_ids=rows, past_key_values=cache, use_cache=True).last_hidden_state
            score(states, last[begin : begin + size] - shared)

    with torch.inference_mode():
        for name, function in (("whole prompts", whole), ("shared beginning", with_prefix)):
            score(network.model(input_ids=table[:size], use_cache=False).last_hidden_state, last[:size])
            began = time.perf_counter()
            function()
            rate = len(tokens) / (time.perf_counter() - began)
            yield Result(f"transformers, eager, {name}", rate, "decisions/s", detail=f"batches of {size}")
        side = 8192 if device == "cuda" else 1024
        left, right = (torch.randn(side, side, device=device, dtype=number_type) for _ in range(2))
        for _ in range(3):
            product = left @ right
        product[0, 0].item()
        began = time.perf_counter()
        for _ in range(10):
            product = left @ right
        product[0, 0].item()
        flops = 20 * side**3 / (time.perf_counter() - began)
    weights = sum(p.numel() for name, p in network.model.named_parameters() if "embed" not in name)
    head = network.lm_head.weight.numel()
    needed = 2 * weights * (sum(map(len, tokens)) / len(tokens) - shared) + 2 * head
    yield Result(
        "limit by products of matrices", flops / needed, "decisions/s", detail=f"{flops / 1e12:.0f} TFLOP/s seen"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a GGUF file or a folder; SmolLM2-135M by default")
    parser.add_argument("--device", choices=("cuda", "cpu"))
    parser.add_argument("--prompts", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=80, help="what would begin after this time is left out")
    chosen = parser.parse_args()
    began = time.perf_counter()
    path, count = chosen.model or SMOLLM2.fetch(), chosen.prompts
    model = TransformersModel(path, device=chosen.device)
    gc.set_threshold(100_000, 50, 100)  # As a run does.

    def in_time(what: str, needed: float = 0.0) -> bool:
        late = time.perf_counter() - began + needed > chosen.seconds
        if late:
            print(f"  {what}: left out, {time.perf_counter() - began:.0f} s have passed", flush=True)
        return not late

    asyncio.run(prepare(model, count))
    print(f"  {model.fingerprint}\n  ready after {time.perf_counter() - began:.1f} s", flush=True)
    results = asyncio.run(alone(model, count))
    report(results)
    step = 2 * count / results[0].value
    if in_time("distributions through a run", 2 * step):
        report([through_a_run(model, count, 2 if count <= 1000 or not in_time("a third year", 3 * step + 20) else 3)])
    asyncio.run(model.start())  # A run closes its model.
    if in_time("around the network"):
        report([asyncio.run(by_itself(model, count))])
    if in_time("memory of others"):
        report([asyncio.run(on_damaged_memory(model, count))])
    if in_time("written replies"):
        report(asyncio.run(written(model, count)))
    if in_time("transformers", 15):
        tokens = model._loaded().tokenizer.prompts(requests(min(count, 2048)))
        for result in by_transformers(path, model._device, tokens):
            report([result])
            if not in_time("the rest"):
                break
    print(f"  {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
