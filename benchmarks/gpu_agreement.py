"""How far two models that should be the same differ: 1,000 prompts of norms, each answered by both.

    python benchmarks/gpu_agreement.py MODEL --write FILE          on one machine
    python benchmarks/gpu_agreement.py MODEL --compare FILE        on the same machine or on another one

For example `embedded:FILE.gguf` where llama.cpp is installed, and `transformers:FILE.gguf` on a machine with a GPU. The
first differences are those of all first tokens, the second those of the answers that a run draws from.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import tempfile
from pathlib import Path

import numpy as np
from measure import Result, report

from populace import Scripted, simulate
from populace.models import Reply, Request, open_model
from populace.scenarios.norms import Norms

OPTIONS = ("blue", "green")


def prompts(count: int) -> list[Request]:
    """Different prompts of norms, in which the shares of both colours change from day to day."""
    seen: dict[Request, None] = {}

    def note(request: Request) -> dict[str, float]:
        seen[request._replace(top=200, lead="Answer:")] = None
        return {"blue": 0.3, "green": 0.7}

    with tempfile.TemporaryDirectory() as folder:
        simulate(Norms(workers=100, days=-(-count // 100)), model=Scripted(note), seed=1, workspace=folder)
    return list(seen)[:count]


async def replies(spec: str, requests: list[Request]) -> list[Reply]:
    model = open_model(spec)
    await model.start()
    found = {}
    async for batch in model.replies(requests):
        found.update(batch)
    await model.close()
    return [found[index] for index in range(len(requests))]


def differences(ours: list[dict[str, float]], theirs: list[dict[str, float]]) -> np.ndarray:
    """The total variation for each prompt, over the tokens that both name: how many they name is up to each model."""
    pairs = zip(ours, theirs, strict=True)
    return np.array([sum(abs(a[t] - b[t]) for t in a.keys() & b.keys()) / 2 for a, b in pairs])


def answers(tokens: dict[str, float]) -> dict[str, float]:
    """The probabilities of the options alone."""
    masses = {word: sum(p for token, p in tokens.items() if token.strip().lower() == word) for word in OPTIONS}
    whole = sum(masses.values())
    return {word: mass / whole for word, mass in masses.items()} if whole else masses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--prompts", type=int, default=1000)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--compare", type=Path)
    chosen = parser.parse_args()
    requests = prompts(chosen.prompts)
    found = asyncio.run(replies(chosen.model, requests))
    mine = [{"tokens": {t: math.exp(p) for t, p in reply.tokens}, "length": reply.prompt_tokens} for reply in found]
    if chosen.write:
        chosen.write.write_text(json.dumps(mine))
        print(f"wrote the distributions of {len(mine)} prompts to {chosen.write}")
    if chosen.compare:
        theirs = json.loads(chosen.compare.read_text())[: len(mine)]
        mine = mine[: len(theirs)]
        lengths = sum(a["length"] != b["length"] for a, b in zip(mine, theirs, strict=True))
        tokens = differences([each["tokens"] for each in mine], [each["tokens"] for each in theirs])
        drawn = differences([answers(each["tokens"]) for each in mine], [answers(each["tokens"]) for each in theirs])
        report(
            [
                Result("prompts with another number of tokens", lengths, "prompts", 0, at_most=True),
                Result("first tokens, largest difference", float(tokens.max()), "total variation"),
                Result("first tokens, mean difference", float(tokens.mean()), "total variation"),
                Result("answers, largest difference", float(drawn.max()), "total variation", 0.01, at_most=True),
                Result("answers, mean difference", float(drawn.mean()), "total variation"),
            ]
        )


if __name__ == "__main__":
    main()
