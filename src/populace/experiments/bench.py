"""Where runs of an experiment are made, one after the other, in whatever process."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import Any, NamedTuple

from populace.broker import Budget
from populace.errors import BudgetError, InterruptedRunError, PopulaceError
from populace.experiments.arms import Arm
from populace.experiments.folder import Folder, Lines, Row
from populace.reading import Reading
from populace.run import Run, simulate
from populace.simulation import Simulation, Watch


class Job(NamedTuple):
    """A replicate of one arm, or of several that share a history."""

    replicate: int
    arms: tuple[int, ...]


class Made(NamedTuple):
    """What came of some jobs: rows, and why it broke off, where it did."""

    rows: list[Row]
    stopped: str = ""


class Bench:
    """Makes runs, and writes a line for each as it ends.

    Args:
        folder: The experiment's folder.
        workspace: Where the call store is.
        keep: What outlives a run.
        halting: Says whether to end soon.
    """

    def __init__(
        self, folder: Path, workspace: Path, keep: str, halting: Callable[[], bool] = lambda: False
    ) -> None:
        opened = Folder.open(folder)
        self.experiment, self.arms = opened.experiment, opened.arms
        self.folder, self.workspace, self.keep = folder, workspace, keep
        self.halting = halting
        self.lines = Lines(folder)

    def run(self, jobs: Sequence[Job], budget: Budget | None = None) -> Made:
        """Make the runs of some jobs; a run that fails is a row like any other."""
        rows: list[Row] = []
        try:
            for job in jobs:
                if self.halting():
                    return Made(rows, "interrupted")
                for row in self._forks(job) if self.experiment.fork_at else self._runs(job, budget):
                    self.lines.write(row)
                    rows.append(row)
        except InterruptedRunError:
            return Made(rows, "interrupted")
        except BudgetError as error:
            return Made(rows, error.what)
        finally:
            self.lines.flush()
        return Made(rows)

    def _runs(self, job: Job, budget: Budget | None) -> Iterator[Row]:
        for number in job.arms:
            arm = self.arms[number]
            seed = self.experiment.seed_of(job.replicate, arm)

            def go(arm: Arm = arm, seed: int = seed) -> Reading:
                return simulate(
                    arm.build(),
                    seed=seed,
                    budget=budget,
                    workspace=self._place,
                    keep=self.keep,  # type: ignore[arg-type]
                    watch=_Halting(self.halting),
                    **arm.settings(),
                )

            yield self._row(arm, job.replicate, seed, go)

    def _forks(self, job: Job) -> Iterator[Row]:
        raise NotImplementedError

    @property
    def _place(self) -> Path:
        return self.folder if self.keep == "run" else self.workspace

    def _row(self, arm: Arm, replicate: int, seed: int, go: Callable[[], Reading]) -> Row:
        began = time.monotonic()
        row: Row = {"arm": arm.number, "replicate": replicate, "seed": seed, "status": "complete", "failure": ""}
        try:
            run = go()
            usage = run.usage()
            row |= {
                "outcomes": {outcome.name: outcome.of(run) for outcome in self.experiment.outcomes},
                "answers": dict(run.statuses),
                "steps": run.steps[-1],
                "decisions": usage.decisions,
                "calls": usage.calls,
                "reused": usage.reused,
                "tokens": usage.tokens,
                "cost": usage.cost,
                "run": run.name if self.keep == "run" else "",
            }
        except (InterruptedRunError, BudgetError):
            raise
        except Exception as error:  # noqa: BLE001 - one failed run must never stop the others; its text is its row.
            said = error.what if isinstance(error, PopulaceError) else f"{type(error).__name__}: {error}"
            row |= {"status": "failed", "failure": said}
        return row | {"seconds": round(time.monotonic() - began, 4)}


class _Halting(Watch):
    """Ends a run soon where somebody asked for it."""

    def __init__(self, halting: Callable[[], bool]) -> None:
        self._halting = halting

    def stepped(self, simulation: Simulation) -> None:
        """Look whether to go on."""
        if self._halting():
            simulation.halt()


_here: Bench | None = None


def open_bench(folder: str, workspace: str, keep: str, stop: Any) -> None:
    """Make this process a worker; it ends when the process that started it does."""
    global _here
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    _here = Bench(Path(folder), Path(workspace), keep, stop.is_set)


def run_here(jobs: list[tuple[int, tuple[int, ...]]], calls: int | None, money: float | None) -> Made:
    """Make runs in this worker."""
    if _here is None:
        raise RuntimeError("this process is no worker")
    return _here.run([Job(*job) for job in jobs], Budget(calls=calls, money=money))


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
