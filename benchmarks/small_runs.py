"""Many small runs: norms with twenty workers for seven days, on a scripted model, as an experiment makes them."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor

from measure import MEMORY, Result, Steps, report

from populace import Scripted, simulate
from populace.engine.run import Keep
from populace.models import Request
from populace.scenarios.norms import Norms

RUNS = 1000
LOT = 25
PROCESSES = 2


def follow(request: Request) -> Mapping[str, float]:
    """Whoever conforms leans to blue."""
    return {"blue": 0.55, "green": 0.45} if "conformist" in request.messages[0][1] else {"blue": 0.5, "green": 0.5}


def small(first: int, count: int, keep: Keep, folder: str) -> dict[str, float]:
    """Seconds that some runs took, by the clock and of the processor, and what they went into."""
    spent = {"wall": -time.perf_counter(), "cpu": -time.process_time(), "setup": 0.0, "steps": 0.0, "step_cpu": 0.0}
    for seed in range(first, first + count):
        observer = Steps()
        simulate(Norms(), model=Scripted(follow), seed=seed, keep=keep, workspace=folder, observer=observer)
        spent["setup"] += observer.times[1] - observer.times[0]
        spent["steps"] += sum(observer.seconds)
        spent["step_cpu"] += sum(observer.processor_seconds) / len(observer.seconds)
    spent["wall"] += time.perf_counter()
    spent["cpu"] += time.process_time()
    return spent


def alone(runs: int, keep: Keep, place: str | None = None) -> list[Result]:
    """Milliseconds of the processor for a run and for a step in this process: the quickest lot.

    Args:
        runs: How many runs are made.
        keep: What they write.
        place: Where they write it; by default, where temporary files go.
    """
    with tempfile.TemporaryDirectory(dir=place) as folder:
        small(0, 3, keep, folder)
        lots = [small(first, LOT, keep, folder) for first in range(3, 3 + runs, LOT)]
        file_us = new_file_us(folder)
    best = min(lots, key=lambda lot: lot["cpu"])
    wall, setup, steps = (best[name] / LOT * 1e3 for name in ("wall", "setup", "steps"))
    rate = len(lots) * LOT / sum(lot["wall"] for lot in lots)
    step = min(lot["step_cpu"] for lot in lots) / LOT * 1e3
    bar = 3.0 if keep == "run" else None
    where = "" if keep != "run" else f", files in {'memory' if place else 'the temporary folder'}"
    files = f"; a new file costs {file_us:.0f} μs of it, and a step makes eight" if keep == "run" else ""
    return [
        Result(f"small runs, one process, keep={keep}: processor time", best["cpu"] / LOT * 1e3, "ms a run",
               detail=f"{rate:.1f} runs/s over {len(lots) * LOT}; of {wall:.1f} ms by the clock: "
               f"setup {setup:.1f}, seven steps {steps:.1f}, start and end {wall - setup - steps:.1f}"),
        Result(f"… a step of 20 people, keep={keep}", step, "ms a step", bar, at_most=True,
               detail=f"processor time{where}{files}"),
    ]  # fmt: skip


def new_file_us(folder: str, count: int = 100) -> float:
    """Microseconds of the processor for an empty file, in a folder of its own. It depends on the file system: ext4
    without a journal passes over every file that was removed in the last minutes."""
    os.mkdir(f"{folder}/new-files")
    began = time.process_time()
    for number in range(count):
        os.close(os.open(f"{folder}/new-files/{number}", os.O_WRONLY | os.O_CREAT))
    return (time.process_time() - began) / count * 1e6


def side_by_side(runs: int) -> Result:
    """Runs a second over two processes, their start left out."""
    # Each process keeps to one core: threads that wait for a core that the other process holds only cost time.
    os.environ["POLARS_MAX_THREADS"] = "1"
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        list(pool.map(_warm, range(PROCESSES * 2)))
        began = time.perf_counter()
        jobs = [pool.submit(small, first, LOT, "nothing", folder) for first in range(0, runs, LOT)]
        cpu = sum(job.result()["cpu"] for job in jobs)
        wall = time.perf_counter() - began
    return Result(f"small runs, {PROCESSES} processes", runs / wall, "runs/s", 120,
                  detail=f"{runs} runs in {wall:.1f} s, {cpu / runs * 1e3:.1f} ms of processor each")  # fmt: skip


def _warm(_: int) -> None:
    small(0, 2, "nothing", ".")


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    few = max(LOT, runs // 10)
    alone_results = [*alone(few, "nothing"), *alone(few, "calls"), *alone(few, "run")]
    if MEMORY:
        alone_results += alone(few, "run", MEMORY)
    report([side_by_side(runs), *alone_results])


if __name__ == "__main__":
    main()
