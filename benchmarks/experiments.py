"""A thousand runs of norms over two processes, what an experiment adds to its runs, and whether pairing pays."""

from __future__ import annotations

import re
import tempfile
import time
from typing import Any

import numpy as np
from measure import Result, report

from populace import simulate
from populace.experiments import Experiment, Results
from populace.models import Request
from populace.scenarios.norms import Norms

RUNS, WORKERS, PLAIN, PAIRS = 1000, 2, 60, 200
_WORN = re.compile(r"Yesterday (\d+) of the (\d+) people")


def conformist(request: Request) -> dict[str, float]:
    """More likely to wear what more people wore yesterday."""
    found = _WORN.search(request.messages[-1][1])
    share = int(found[1]) / int(found[2]) if found else 0.5
    return {"blue": 0.1 + 0.8 * share, "green": 0.9 - 0.8 * share}


def norms(name: str, **changes: Any) -> Experiment:
    told: dict[str, Any] = {
        "name": name,
        "scenario": "norms",
        "factors": {"initial_share": [0.5, 0.6]},
        "model": "scripted:experiments:conformist",
        "outcomes": ["share_blue"],
    }
    return Experiment(**(told | changes))


def throughput(folder: str) -> list[Result]:
    experiment = norms("many", replicates=RUNS // 2)
    began = time.perf_counter()
    made = experiment.run(workspace=folder, workers=WORKERS, check=False)
    seconds = time.perf_counter() - began
    if made.runs.height != RUNS or made.failures.height:
        raise RuntimeError(f"{made.runs.height} runs, {made.failures.height} failed")
    began = time.perf_counter()
    Results.open("many", folder).runs  # noqa: B018 - reading is what is timed.
    reading = time.perf_counter() - began
    detail = f"{RUNS} runs, {WORKERS} processes, their start included"
    return [
        Result("experiment of norms, 20 people, 7 days", RUNS / seconds, "runs/s", 50.0, detail=detail),
        Result("its table of results", reading, "s", 2.0, at_most=True),
    ]


def overhead(folder: str) -> Result:
    """An experiment in one process beside the same runs by hand, turn by turn, so that both see the same machine."""
    plain = spent = 0.0
    for turn in range(3):
        experiment = norms(f"turn-{turn}", replicates=PLAIN // 2, seed=turn)
        began = time.perf_counter()
        for arm in experiment.arms():
            for replicate in range(experiment.replicates):
                seed = experiment.seed_of(replicate, arm)
                simulate(Norms(**arm.parameters), seed=seed, model=arm.model, keep="nothing")
        plain += time.perf_counter() - began
        began = time.perf_counter()
        experiment.run(workspace=folder, workers=1, check=False)
        spent += time.perf_counter() - began
    return Result("time of an experiment against its runs by hand", spent / plain, "times", detail="one process")


def pairing(folder: str) -> Result:
    """The variance of the effect with common random numbers against that without."""
    variances = []
    for pairing in (True, False):
        made = norms("paired" if pairing else "apart", replicates=PAIRS, pairing=pairing)
        runs = made.run(workspace=folder, workers=WORKERS).runs
        wide = runs.pivot(on="initial_share", index="replicate", values="share_blue")
        one, two = (wide[name].to_numpy() for name in wide.columns[1:])
        variances.append(float(np.var(two - one, ddof=1)))
    ratio = variances[0] / variances[1]
    detail = f"{PAIRS} replicates, initial share 0.5 against 0.6"
    return Result("variance of an effect, paired against not", ratio, "times", 0.5, at_most=True, detail=detail)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        report([*throughput(folder), overhead(folder), pairing(folder)])


if __name__ == "__main__":
    main()
