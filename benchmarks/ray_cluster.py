"""A thousand small runs on a Ray cluster of two nodes beside two processes, and two copies of a model beside one.

Both sides take turns, so that they see the same machine. Their start is left out: it is measured from the first run
that ended to the last. Linux divides a busy machine among sessions of processes, and Ray's are others than ours, so
that the ratio of rates only counts on an idle one; the ratio of processor times counts on any. The copies are of a
stand-in for a model on a device of its own: an answer takes 50 ms in which the device does nothing else. `--model
'embedded?threads=1'` takes a real model in its place, on a machine with two free cores.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import psutil
from measure import HERE, Result, report

from experiments import norms
from populace.experiments import ExperimentObserver
from populace.models import Request, open_model

sys.path.append(str(HERE.parent / "tests"))
from support.ray_cluster import RayCluster

RUNS, TURNS, NODES, QUESTIONS = 1000, 2, 2, 96


class Pace(ExperimentObserver):
    """Runs a second, and processor time for each, from the first that ended to the last."""

    def __init__(self) -> None:
        self.began = self.ended = self.spent = 0.0
        self.first = self.count = 0

    def on_progress(self, rows: Sequence[dict[str, Any]], total: int) -> None:
        self.ended = time.perf_counter()
        self.count += len(rows)
        if not self.began:
            self.began, self.first, self.spent = self.ended, self.count, -processor_time()
        elif self.count == total:
            self.spent += processor_time()

    @property
    def rate(self) -> float:
        return (self.count - self.first) / (self.ended - self.began)

    @property
    def cost(self) -> float:
        """Milliseconds of processor time for a run, of all processes together."""
        return 1e3 * self.spent / (self.count - self.first)


_RAYS_OWN = re.compile(r"^ray::|gcs_server|raylet|default_worker\.py")


def processor_time() -> float:
    """The processor time of this process, of those that descend from it, and of Ray's own, which do not."""
    this = psutil.Process()
    processes = {this, *this.children(recursive=True)}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.create_time() > this.create_time() and _RAYS_OWN.search(" ".join(process.cmdline())):
                processes.add(process)
    total = 0.0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            total += sum(process.cpu_times()[:2])
    return total


def experiments(cluster: RayCluster) -> list[Result]:
    address = cluster.address
    rates: dict[str, list[float]] = {"processes": [], "Ray": []}
    costs: dict[str, list[float]] = {"processes": [], "Ray": []}
    digests = set()
    places: dict[str, dict[str, Any]] = {"processes": {"workers": NODES}, "Ray": {"on": address}}
    for _ in range(TURNS):
        for name, where in places.items():
            with tempfile.TemporaryDirectory() as folder:
                pace = Pace()
                experiment = norms("many", replicates=RUNS // TURNS // 2)
                made = experiment.run(workspace=folder, check=False, observer=pace, **where)
                digests.add(made.digest)
                rates[name].append(pace.rate)
                costs[name].append(pace.cost)
    if len(digests) != 1:
        raise RuntimeError(f"{len(digests)} different tables")
    here, there = (sum(rates[name]) / TURNS for name in places)
    turns = "; ".join(f"{name} {', '.join(f'{rate:.0f}' for rate in each)} runs/s" for name, each in rates.items())
    what = f"{RUNS} small runs, Ray with {NODES} nodes against {NODES} processes"
    detail = f"{turns}; equal tables; load {os.getloadavg()[0]:.1f}"
    least = {name: min(each) for name, each in costs.items()}
    cost = f"{least['processes']:.1f} ms a run over processes, {least['Ray']:.1f} ms on Ray, all processes together"
    return [
        Result(what, there / here, "times", 0.8, detail=detail),
        Result("… by processor time, processes to Ray", least["processes"] / least["Ray"], "times", 0.8, detail=cost),
    ]


async def seconds(spec: str, turn: int) -> float:
    """How long a model takes for some questions, its start left out."""
    model = open_model(spec)
    await model.start()
    try:
        texts = [f"Turn {turn}, question {number}: do you drink tea? Answer yes or no." for number in range(QUESTIONS)]
        requests = [Request((("user", text),), max_tokens=1, top=5, options=("yes", "no")) for text in texts]
        began = time.perf_counter()
        async for _ in model.replies(requests):
            pass
        return time.perf_counter() - began
    finally:
        await model.close()


def copies(address: str, spec: str) -> list[Result]:
    os.environ["RAY_ADDRESS"] = address
    taken: dict[int, list[float]] = {1: [], 2: []}
    for turn in range(TURNS):
        for count in taken:
            taken[count].append(asyncio.run(seconds(f"ray:{spec}*{count}", turn)))
    one, two = (min(each) for each in taken.values())
    cores = len(os.sched_getaffinity(0))
    detail = (
        f"{QUESTIONS} questions to {spec}: {one:.2f} s and {two:.2f} s; {cores} cores, load {os.getloadavg()[0]:.1f}"
    )
    return [Result("two copies of a model against one", one / two, "times", 1.6 if cores > 1 else None, detail=detail)]


def main() -> None:
    if importlib.util.find_spec("ray") is None:
        print("  Ray is not installed: pip install 'populace[ray]'")
        return
    spec = sys.argv[sys.argv.index("--model") + 1] if "--model" in sys.argv else "scripted:ray_cluster:device"
    with RayCluster(NODES, apart=False) as cluster:
        report([*experiments(cluster), *copies(cluster.address, spec)])


def device(request: Request) -> dict[str, float]:
    """An answer that occupies a device for 50 ms."""
    time.sleep(0.05)
    return {"yes": 0.5, "no": 0.5}


if __name__ == "__main__":
    main()
