"""The embedded model beside a hand-written xllamacpp loop over the same prompts, in one run."""

from __future__ import annotations

import tempfile
import time
from typing import Any

from measure import Result, report

from populace import simulate
from populace.models import SMOLLM2, EmbeddedModel
from populace.scenarios.norms import Norms

WORKERS, DAYS = 20, 7


def ours() -> tuple[float, Any]:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run = simulate(Norms(workers=WORKERS, days=DAYS), model="embedded", seed=1, workspace=folder)
        return time.perf_counter() - began, run.prompts()


def by_hand(prompts: Any) -> float:
    """What a careful person would write: load, and ask for each prompt in the order in which it came."""
    import xllamacpp

    began = time.perf_counter()
    params = xllamacpp.CommonParams()
    params.model.path = str(SMOLLM2.fetch())
    params.n_ctx = 4096
    params.n_parallel = 1
    params.verbosity = -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = EmbeddedModel().threads
    server = xllamacpp.Server(params)
    for row in prompts.iter_rows(named=True):
        messages = [
            {"role": "system", "content": row["system"]},
            {"role": "user", "content": row["user"]},
            {"role": "assistant", "content": row["lead"]},
        ]
        body = {"messages": messages, "max_tokens": 1, "logprobs": True, "top_logprobs": 20, "temperature": 0.0}
        assert server.handle_chat_completions(body)["choices"]
    return time.perf_counter() - began


def main() -> None:
    first, prompts = ours()
    distinct = prompts.unique(["system", "user"], maintain_order=True)
    hand = [by_hand(distinct)]
    second, _ = ours()
    hand.append(by_hand(distinct))
    mine, theirs = min(first, second), min(hand)
    detail = f"{distinct.height} distinct prompts: {mine:.1f} s, by hand {theirs:.1f} s"
    report([Result("embedded model beside a hand-written loop", theirs / mine, "times as fast", 1.0, detail=detail)])


if __name__ == "__main__":
    main()
