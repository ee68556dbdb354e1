"""What every benchmark shares: a result with its bar, repetition, and the machine it was seen on."""

from __future__ import annotations

import itertools
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from populace.engine.simulation import Observer, Simulation

HERE = Path(__file__).parent
RESULTS = HERE / "results"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where files are in memory, on systems that have such a folder: figures from there show Populace alone, and not the
state of a disk (docs/design/speed.md, What a new file costs)."""


@dataclass(frozen=True)
class Result:
    """One figure beside its bar; a bar that is None only informs."""

    what: str
    value: float
    unit: str
    bar: float | None = None
    at_most: bool = False
    detail: str = ""

    @property
    def holds(self) -> bool | None:
        if self.bar is None:
            return None
        return self.value <= self.bar if self.at_most else self.value >= self.bar

    def line(self) -> str:
        mark = {True: "holds", False: "MISSED", None: ""}[self.holds]
        bar = "" if self.bar is None else f"{'≤' if self.at_most else '≥'} {self.bar:,.4g}"
        return f"  {self.what:<52} {self.value:>14,.4g} {self.unit:<14} {bar:>12}  {mark:<7} {self.detail}"


class Steps(Observer):
    """Notes when each step was done, and the last one written, by the clock and in processor time.

    A large step is written during the next one, so all that is written lies between two of these times.
    """

    def __init__(self) -> None:
        self.times: list[float] = []
        self.processor_times: list[float] = []

    def on_start(self, simulation: Simulation) -> None:
        self.times.append(time.perf_counter())

    def on_step(self, simulation: Simulation) -> None:
        self.times.append(time.perf_counter())
        self.processor_times.append(time.process_time())

    def on_end(self, simulation: Simulation) -> None:
        self.times[-1], self.processor_times[-1] = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> list[float]:
        """How long each step took, the beginning left out."""
        return [after - before for before, after in zip(self.times[1:], self.times[2:], strict=False)]

    @property
    def processor_seconds(self) -> list[float]:
        """How much processor time each step took, the beginning left out."""
        return [after - before for before, after in itertools.pairwise(self.processor_times)]


def report(results: list[Result]) -> None:
    """Print results, and leave them as JSON for whoever started this benchmark."""
    for result in results:
        print(result.line(), flush=True)
    target = os.environ.get("POPULACE_BENCHMARK_RESULTS")
    if target:
        with open(target, "a") as file:
            file.writelines(json.dumps(asdict(result)) + "\n" for result in results)


def peak_memory_gb() -> float:
    """The most memory that this process held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def held_memory_gb() -> float:
    """The memory that this process holds now; where the system does not say, the most that it held."""
    pages = Path("/proc/self/statm")
    if not pages.is_file():
        return peak_memory_gb()
    return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e9


def machine() -> str:
    """The machine, in a line."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, {platform.system()}"


def quickest(repeat: int, action: Callable[[], Any]) -> float:
    """The shortest of several times; other work on the machine only ever adds."""
    best = float("inf")
    for _ in range(repeat):
        began = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - began)
    return best


@contextmanager
def fake_server(folder: Path, *arguments: str) -> Iterator[str]:
    """The tests' OpenAI-compatible server in a process of its own."""
    port = folder / "port"
    script = HERE.parent / "tests" / "support" / "fake_server.py"
    with subprocess.Popen([sys.executable, str(script), "--port-file", str(port), *arguments]) as process:
        try:
            while not port.is_file():
                time.sleep(0.01)
            yield f"http://127.0.0.1:{port.read_text()}/v1"
        finally:
            process.kill()
