"""A model on PyTorch: 100,000 prompts with a shared beginning, beside transformers and the limit of the device.

    python benchmarks/gpu.py [--model FILE.gguf] [--device cuda] [--prompts 100000]
    python benchmarks/gpu.py --device cpu --prompts 200            a quick look without a GPU

The whole run goes through `simulate`, with journal and call store. transformers (eager) computes some of the same
prompts in the same process: whole, and with the shared beginning computed once.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import Result, Steps, peak_memory_gb, report

import populace as pc
from populace.models import SMOLLM2, Reply, Request
from populace.models.transformers_model import TransformersModel

RULES = (
    "You live in a small town by a river. Every spring the town council asks all residents how the money that is left "
    "from last year should be spent. The council has made clear that every voice counts the same, that nobody sees the "
    "answer of another resident, and that the result is binding for a year. "
) * 4 + "Two projects are proposed this year: a new roof for the school, and a footbridge across the river."
BAR = 36_000


class Council(pc.Scenario):
    """Residents choose a project; every prompt is different after a shared beginning of about 300 tokens."""

    residents: int = pc.Field(100_000, ge=2, description="How many people are asked.")
    years: int = pc.Field(2, ge=1, description="How many times they are asked.")

    def setup(self) -> pc.People:
        return pc.People.named(self.residents, seed=self.rng).with_columns(number=list(range(self.residents)))

    def profile(self) -> str:
        return RULES

    def length(self) -> int:
        return self.years

    async def step(self) -> None:
        year = (self.now - self.start).days
        question = pc.Choice("What do you choose?", options=["roof", "bridge"])
        await self.ask(self.people, question, given="You are {name}, number {number}. Year {year}.", year=year)


def requests(count: int) -> list[Request]:
    """Prompts as `Council` writes them, or nearly so."""
    asked = "What do you choose?\nOptions: roof, bridge.\nAnswer with one of the options, nothing else."
    texts = [f"You are Ann, number {n}. Year 7.\n\n{asked}" for n in range(count)]
    return [Request((("system", RULES), ("user", text)), "Answer:", 1, 200) for text in texts]


async def answers(model: TransformersModel, wanted: list[Request]) -> list[Any]:
    found = {}
    async for batch in model.replies(wanted):
        found.update(batch)
    return [found[index] for index in range(len(wanted))]


def difference(one: Reply, other: Reply) -> float:
    """The total variation between two distributions of the first token."""
    import math

    left, right = ({token: math.exp(p) for token, p in reply.tokens} for reply in (one, other))
    return sum(abs(left.get(token, 0) - right.get(token, 0)) for token in left.keys() | right.keys()) / 2


async def alone(model: TransformersModel, count: int) -> list[Result]:
    """The model without a run around it: distributions, the effect of the batch, and written replies."""
    import torch

    await model.start()
    await answers(model, requests(min(count // 20, 4000)))  # Libraries prepare themselves.
    wanted = requests(count)
    began = time.perf_counter()
    together = await answers(model, wanted)
    rate = count / (time.perf_counter() - began)
    small = count <= 1000
    few = range(0, count, max(1, count // (2 if small else 20)))
    apart = max([difference(together[i], (await answers(model, [wanted[i]]))[0]) for i in few])
    results = [
        Result(
            "distributions, the model alone", rate, "decisions/s", detail=f"{together[0].prompt_tokens} tokens each"
        ),
        Result(
            "a prompt alone and in a batch", apart, "total variation", 0.02, at_most=True, detail=f"{len(few)} prompts"
        ),
    ]
    length, rows = (8, 2) if small else (128, 32)
    essays = [
        Request((("system", RULES), ("user", f"Write a long story about resident {n}.")), "", length, seed=n)
        for n in range(rows)
    ]
    first = await answers(model, essays)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    began = time.perf_counter()
    await answers(model, essays)
    seconds = time.perf_counter() - began
    longest = max(reply.completion_tokens for reply in first)
    solo = [(await answers(model, [essay]))[0].text for essay in essays[: rows // 4 or 1]]
    same = sum(text == reply.text for text, reply in zip(solo, first, strict=False)) / len(solo)
    results += [
        Result(
            f"{rows} replies written side by side", seconds / longest * 1000, "ms a token", detail="with the prompts"
        ),
        Result("written alone and in a batch", same, "are the same"),
    ]
    return results


def through_a_run(model: TransformersModel, count: int) -> Result:
    observer = Steps()
    council = Council(residents=count, years=2 if count <= 1000 else 3)
    with tempfile.TemporaryDirectory() as folder:
        usage = pc.simulate(council, model=model, seed=1, workspace=folder, observer=observer).usage()
    assert (usage.calls, usage.reused) == (count * council.years, 0), f"the prompts are not all different: {usage}"
    rates = [count / seconds for seconds in observer.seconds]
    bar = BAR if count >= 100_000 else None
    return Result(
        "distributions through a run", max(rates), "decisions/s", bar,
        detail=f"best of {len(rates)} steps, journal and call store kept, {peak_memory_gb():.1f} GB",
    )  # fmt: skip


def by_transformers(path: Path, device: str, tokens: list[list[int]]) -> list[Result]:
    """The same prompts with transformers, whole and with the shared beginning once; and what the device could do."""
    import torch

    try:
        from transformers import AutoModelForCausalLM
    except ImportError:
        print("  transformers is not installed: nothing is compared with it")
        return []
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

    results = []
    with torch.inference_mode():
        for name, function in (("whole prompts", whole), ("shared beginning", with_prefix)):
            function()
            began = time.perf_counter()
            function()
            rate = len(tokens) / (time.perf_counter() - began)
            results.append(Result(f"transformers, eager, {name}", rate, "decisions/s", detail=f"batches of {size}"))
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
    results.append(
        Result(
            "limit by products of matrices", flops / needed, "decisions/s", detail=f"{flops / 1e12:.0f} TFLOP/s seen"
        )
    )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a GGUF file or a folder; SmolLM2-135M by default")
    parser.add_argument("--device", choices=("cuda", "cpu"))
    parser.add_argument("--prompts", type=int, default=100_000)
    parser.add_argument("--fuse", action="store_true", help="compile the steps between products of matrices")
    chosen = parser.parse_args()
    path = chosen.model or SMOLLM2.fetch()
    model = TransformersModel(path, device=chosen.device)
    model.fuse_from = 1000 if chosen.fuse else None
    report(asyncio.run(alone(model, chosen.prompts)))
    print(f"  {model.fingerprint}")
    tokens = model._loaded().tokenizer.prompts(requests(min(chosen.prompts, 4096)))
    report([through_a_run(model, chosen.prompts)])
    report(by_transformers(path, model._device, tokens))


if __name__ == "__main__":
    main()
