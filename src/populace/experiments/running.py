"""Running an experiment: what is left to do, over processes, until it is enough."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from populace.broker import Budget
from populace.errors import InterruptedRunError, StoppedError, UsageError
from populace.experiments.arms import Arm
from populace.experiments.bench import Bench, Job, Made, open_bench, run_here
from populace.experiments.experiment import Experiment
from populace.experiments.folder import Folder, Row
from populace.experiments.results import Results
from populace.workspace import Workspace

_SECONDS_A_BATCH = 0.5
_MOST_IN_A_BATCH = 32


class Onlooker:
    """Somebody who looks on while an experiment runs; every method may be left out."""

    def began(self, experiment: Experiment, folder: Path, total: int, done: int) -> None:
        """Runs begin; `done` of them were there already."""

    def moved(self, rows: Sequence[Row]) -> None:
        """Runs ended."""

    def ended(self) -> None:
        """No more runs come, for whatever reason."""


def run_experiment(
    experiment: Experiment,
    *,
    workspace: str | Path | None = None,
    workers: int | None = None,
    retry: bool = False,
    check: bool = True,
    watch: Onlooker | None = None,
) -> Results:
    """Run what is not run yet; see `Experiment.run`."""
    arms = experiment.arms()
    place = Workspace(workspace)
    folder = Folder.make(experiment, arms, place)
    look = watch or Onlooker()
    with folder.locked():
        folder.write(state="running", reason="")
        crew = Crew(folder, place.folder, keep_of(experiment, arms), workers or workers_for(arms))
        try:
            reason = _to_the_end(experiment, arms, folder, crew, retry, look)
        except StoppedError as stop:
            folder.write(state="stopped", reason=stop.what)
            raise
        finally:
            crew.close()
            look.ended()
        folder.write(state="complete", reason=reason)
    return Results(folder)


def keep_of(experiment: Experiment, arms: Sequence[Arm]) -> str:
    """What outlives a run: what was asked for, or the calls that cost something."""
    free = all(arm.decider == "rule" or arm.model.startswith("scripted") for arm in arms)
    return experiment.keep or ("nothing" if free else "calls")


def workers_for(arms: Sequence[Arm]) -> int:
    """How many processes by default: one where a model fills this machine, else one for each of two processors."""
    if any(arm.model.startswith("embedded") and arm.decider == "model" for arm in arms):
        return 1
    return min(2, os.cpu_count() or 1)


def _to_the_end(
    experiment: Experiment, arms: Sequence[Arm], folder: Folder, crew: Crew, retry: bool, look: Onlooker
) -> str:
    done = folder.rows()
    finished = {key for key, row in done.items() if not (retry and row["status"] == "failed")}
    replicates = experiment.replicates
    jobs = _jobs(experiment, arms, range(replicates), finished)
    total = replicates * len(arms)
    look.began(experiment, folder.path, total, total - sum(len(job.arms) for job in jobs))
    for made in crew.run(jobs):
        look.moved(made.rows)
        if made.stopped == "interrupted":
            raise InterruptedRunError("the experiment was interrupted.")
    return f"all {replicates} replicates of {len(arms)} arms are done"


def _jobs(
    experiment: Experiment, arms: Sequence[Arm], replicates: Sequence[int], finished: set[tuple[int, int]]
) -> list[Job]:
    """What is left to do, replicate by replicate, so that a stop leaves arms of equal size."""
    left = [
        (replicate, [arm.number for arm in arms if (arm.number, replicate) not in finished])
        for replicate in replicates
    ]
    if experiment.fork_at:
        return [Job(replicate, tuple(numbers)) for replicate, numbers in left if numbers]
    return [Job(replicate, (number,)) for replicate, numbers in left for number in numbers]


class Crew:
    """The processes that run jobs; with one worker it is this process."""

    def __init__(self, folder: Folder, workspace: Path, keep: str, workers: int) -> None:
        if workers < 1:
            raise UsageError(f"workers is {workers}; at least one is needed.")
        self._arguments = (str(folder.path), str(workspace), keep)
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._bench: Bench | None = None
        self._seconds: float | None = None

    def run(self, jobs: Sequence[Job], budget: Budget | None = None) -> Iterator[Made]:
        """Run jobs, in lots as they end."""
        if self.workers == 1 or len(jobs) < 2:
            self._bench = self._bench or Bench(*map(Path, self._arguments[:2]), self._arguments[2])
            for job in jobs:
                yield self._bench.run([job], budget)
            return
        yield from self._in_processes(list(jobs), budget)

    def _in_processes(self, jobs: list[Job], budget: Budget | None) -> Iterator[Made]:
        pool = self._open()
        waiting = iter(jobs)
        under_way: set[Future[Made]] = set()
        try:
            while True:
                while len(under_way) < 2 * self.workers and (batch := self._batch(waiting)):
                    limits = (budget.calls, budget.money) if budget else (None, None)
                    under_way.add(pool.submit(run_here, [tuple(job) for job in batch], *limits))  # type: ignore[misc]
                if not under_way:
                    return
                ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for future in ended:
                    made = future.result()
                    self._pace(made)
                    yield made
        finally:
            self._stop.set()

    def _batch(self, waiting: Iterator[Job]) -> list[Job]:
        size = 1 if self._seconds is None else int(_SECONDS_A_BATCH / max(self._seconds, 1e-6))
        return list(itertools.islice(waiting, min(max(size, 1), _MOST_IN_A_BATCH)))

    def _pace(self, made: Made) -> None:
        if made.rows:
            self._seconds = sum(row["seconds"] for row in made.rows) / len(made.rows)

    def _open(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._stop = context.Event()
            self._pool = ProcessPoolExecutor(
                self.workers, context, initializer=open_bench, initargs=(*self._arguments, self._stop)
            )
        return self._pool

    def close(self) -> None:
        """Let the processes go, after the runs under way."""
        if self._bench is not None:
            self._bench.lines.close()
        if self._pool is not None:
            self._stop.set()
            self._pool.shutdown(wait=True, cancel_futures=True)
