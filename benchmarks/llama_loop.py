"""A loop as a careful person would write it: one prompt after the other through llama.cpp's Python binding."""

from __future__ import annotations

import time

import polars as pl

from populace.models import SMOLLM2


def ask_one_by_one(prompts: pl.DataFrame, threads: int, *, cache: bool) -> tuple[float, float]:
    """Load the model and ask for the first token after each prompt.

    Args:
        prompts: The columns `system`, `user` and `lead`, in the order in which they are asked.
        threads: How many threads compute.
        cache: Whether what a prompt shares with the one before is computed once.

    Returns:
        The seconds and the processor time that it took, loading included.
    """
    import xllamacpp

    began, spent = time.perf_counter(), time.process_time()
    params = xllamacpp.CommonParams()
    params.model.path = str(SMOLLM2.fetch())
    params.n_ctx = 4096
    params.n_parallel = 1
    params.verbosity = -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    for row in prompts.iter_rows(named=True):
        messages = [
            {"role": "system", "content": row["system"]},
            {"role": "user", "content": row["user"]},
            {"role": "assistant", "content": row["lead"]},
        ]
        body = {"messages": messages, "max_tokens": 1, "logprobs": True, "top_logprobs": 20, "temperature": 0.0}
        assert server.handle_chat_completions(body | {"cache_prompt": cache})["choices"]
    return time.perf_counter() - began, time.process_time() - spent
