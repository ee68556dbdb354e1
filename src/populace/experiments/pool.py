"""The processes that make the runs."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from populace.base.errors import UsageError
from populace.broker import CallSettings
from populace.experiments.folder import ExperimentFolder, RowWriter
from populace.experiments.plan import Keep
from populace.experiments.worker import BatchResult, RunJob, Worker, failure_fields, run_in_worker, start_worker

_SECONDS_A_BATCH = 0.5
_MOST_IN_A_BATCH = 32
_AHEAD = 2

Allowance = Callable[[], CallSettings | None]
"""What is left to spend, asked before every batch; None where nothing is."""


class WorkerPool:
    """Runs jobs in several processes; with one worker, in this one.

    Batches grow until they take half a second, so that handing them over costs nothing beside them. A job whose
    process dies is tried once more on its own; if that process dies too, its runs are rows that failed.

    Args:
        folder: The experiment's folder.
        workspace: Where the call store is.
        keep: What outlives a run.
        workers: How many processes.
    """

    def __init__(self, folder: ExperimentFolder, workspace: Path, keep: Keep, workers: int) -> None:
        if workers < 1:
            raise UsageError(f"workers is {workers}; at least one is needed.")
        self._folder, self._workspace, self._keep = folder, workspace, keep
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._worker: Worker | None = None
        self._lines: RowWriter | None = None
        self._seconds: float | None = None
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.Event()

    def run(self, jobs: Sequence[RunJob], allowance: Allowance) -> Iterator[BatchResult]:
        """Run jobs, in lots as they end, for as long as there is something left to spend."""
        if self.workers == 1 or (len(jobs) == 1 and self._pool is None):
            self._worker = self._worker or Worker(self._folder.path, self._workspace, self._keep, self._stop.is_set)
            for job in jobs:
                budget = allowance()
                if budget is None:
                    return
                yield self._worker.run([job], budget)
            return
        lost: list[RunJob] = []
        yield from self._together(jobs, allowance, lost)
        for job in lost:
            yield self._alone(job, allowance)

    def halt(self) -> None:
        """Let the runs under way end at their next step."""
        self._stop.set()

    def close(self) -> None:
        """Let the processes go."""
        for held in (self._worker, self._lines):
            if held is not None:
                held.close()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _together(self, jobs: Sequence[RunJob], allowance: Allowance, lost: list[RunJob]) -> Iterator[BatchResult]:
        waiting = iter(jobs)
        under_way: dict[Future[BatchResult], list[RunJob]] = {}
        pool = self._open()
        while True:
            while len(under_way) < _AHEAD * self.workers:
                budget = allowance()
                batch = self._batch(waiting) if budget is not None else []
                if not batch or budget is None:
                    break
                try:
                    under_way[self._hand(pool, batch, budget)] = batch
                except BrokenProcessPool:
                    lost += batch
                    break
            if not under_way:
                return
            ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in ended:
                batch = under_way.pop(future)
                try:
                    made = future.result()
                except BrokenProcessPool:
                    made, left = self._saved(batch)
                    lost += left
                    pool = self._open(anew=not under_way)
                if made.rows:
                    self._seconds = sum(row["seconds"] for row in made.rows) / len(made.rows)
                yield made

    def _alone(self, job: RunJob, allowance: Allowance) -> BatchResult:
        """Run a job again whose process died, with nothing beside it."""
        budget = allowance()
        if budget is None:
            return BatchResult([])
        try:
            return self._hand(self._open(), [job], budget).result()
        except BrokenProcessPool:
            self._open(anew=True)
            saved, left = self._saved([job])
            rows = list(saved.rows)
            self._lines = self._lines or RowWriter(self._folder.path)
            experiment, arms = self._folder.experiment, self._folder.arms
            for number in [arm for each in left for arm in each.arms]:
                seed = experiment.seed_of(job.replicate, arms[number])
                row = {"arm": number, "replicate": job.replicate, "seed": seed, "seconds": 0.0}
                rows.append(row | failure_fields("the process that ran it died, twice"))
                self._lines.write(rows[-1])
            self._lines.flush()
            return BatchResult(rows)

    def _saved(self, batch: Sequence[RunJob]) -> tuple[BatchResult, list[RunJob]]:
        """What a process had written before it died, and what is left of its batch."""
        there = self._folder.rows()
        rows = [there[arm, job.replicate] for job in batch for arm in job.arms if (arm, job.replicate) in there]
        left = [RunJob(job.replicate, tuple(a for a in job.arms if (a, job.replicate) not in there)) for job in batch]
        return BatchResult(rows), [job for job in left if job.arms]

    def _batch(self, waiting: Iterator[RunJob]) -> list[RunJob]:
        size = 1 if self._seconds is None else int(_SECONDS_A_BATCH / max(self._seconds, 1e-6))
        return list(itertools.islice(waiting, min(max(size, 1), _MOST_IN_A_BATCH)))

    @staticmethod
    def _hand(pool: ProcessPoolExecutor, batch: Sequence[RunJob], limits: CallSettings) -> Future[BatchResult]:
        return pool.submit(
            run_in_worker, [(job.replicate, job.arms) for job in batch], limits.model_dump(exclude_defaults=True)
        )

    def _open(self, *, anew: bool = False) -> ProcessPoolExecutor:
        if anew and self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        if self._pool is None:
            arguments = (str(self._folder.path), str(self._workspace), self._keep, self._stop)
            self._pool = ProcessPoolExecutor(self.workers, self._context, initializer=start_worker, initargs=arguments)
            try:
                self._pool.submit(os.getpid).result()
            except BrokenProcessPool:
                raise UsageError(
                    "the processes of the experiment could not start.",
                    'A script that runs an experiment does so below `if __name__ == "__main__":`; or give workers=1.',
                ) from None
        return self._pool
