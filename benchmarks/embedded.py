"""The embedded model beside a hand-written xllamacpp loop over the same prompts, in one run."""

from __future__ import annotations

import tempfile
import time
from typing import Any

from llama_loop import ask_one_by_one
from measure import Result, report

from populace import simulate
from populace.models import EmbeddedModel
from populace.scenarios.norms import Norms

WORKERS, DAYS = 20, 7


def ours() -> tuple[float, Any]:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run = simulate(Norms(workers=WORKERS, days=DAYS), model="embedded", seed=1, workspace=folder)
        return time.perf_counter() - began, run.prompts()


def main() -> None:
    first, prompts = ours()
    distinct = prompts.unique(["system", "user"], maintain_order=True)
    threads = EmbeddedModel().threads
    hand = [ask_one_by_one(distinct, threads, cache=True)[0]]
    second, _ = ours()
    hand.append(ask_one_by_one(distinct, threads, cache=True)[0])
    mine, theirs = min(first, second), min(hand)
    detail = f"{distinct.height} distinct prompts: {mine:.1f} s, by hand {theirs:.1f} s"
    report([Result("embedded model beside a hand-written loop", theirs / mine, "times as fast", 1.0, detail=detail)])


if __name__ == "__main__":
    main()
