"""The same run, started by several processes at once."""

from __future__ import annotations

import traceback
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from populace import simulate
from populace.scenarios.norms import Norms


def start_rounds(home: str, rounds: int, barrier: Barrier, outcomes: Queue[tuple[int, str, str]]) -> None:
    """In each round, start the run at the same moment as all others; report its name and digest, or the error."""
    for number in range(rounds):
        place = Path(home) / str(number)
        barrier.wait(60)
        try:
            decider = "model" if number % 2 else "rule"
            run = simulate(Norms(workers=2, days=1), model="scripted:uniform", decider=decider, seed=1, workspace=place)
            outcomes.put((number, run.name, run.digest))
        except BaseException:  # noqa: BLE001 - whatever happened is what the test is about
            outcomes.put((number, "", traceback.format_exc()))
