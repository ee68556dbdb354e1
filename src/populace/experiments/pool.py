"""The pool of worker processes that execute the runs of an experiment."""

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
_MAX_IN_A_BATCH = 32
_AHEAD = 2

Allowance = Callable[[], CallSettings | None]
"""Returns the remaining budget, or None if it is spent; called before every batch."""


class WorkerPool:
    """Runs jobs in several processes; with one worker, in this one.

    Batches grow until they take half a second, so that the overhead of passing them is small. A job whose process dies
    is tried once more alone; if that process dies too, its runs count as failed.

    Args:
        folder: The experiment's folder.
        workspace: Where the call store is.
        keep: What is kept of a run.
        workers: How many processes.
    """

    def __init__(self, folder: ExperimentFolder, workspace: Path, keep: Keep, workers: int) -> None:
        if workers < 1:
            raise UsageError(f"workers is {workers}; at least one is needed.")
        self._folder, self._workspace, self._keep = folder, workspace, keep
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._worker: Worker | None = None
        self._rows: RowWriter | None = None
        self._seconds: float | None = None
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.Event()

    def run(self, jobs: Sequence[RunJob], allowance: Allowance) -> Iterator[BatchResult]:
        """Run jobs while the budget lasts; yields batches of results as they end."""
        if self.workers == 1 or (len(jobs) == 1 and self._pool is None):
            self._worker = self._worker or Worker(self._folder.path, self._workspace, self._keep, self._stop.is_set)
            for job in jobs:
                budget = allowance()
                if budget is None:
                    return
                yield self._worker.run([job], budget)
            return
        lost_jobs: list[RunJob] = []
        yield from self._run_in_pool(jobs, allowance, lost_jobs)
        for job in lost_jobs:
            yield self._retry_job(job, allowance)

    def halt(self) -> None:
        """Let the runs under way end at their next step."""
        self._stop.set()

    def close(self) -> None:
        """End the processes."""
        for resource in (self._worker, self._rows):
            if resource is not None:
                resource.close()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _run_in_pool(
        self, jobs: Sequence[RunJob], allowance: Allowance, lost_jobs: list[RunJob]
    ) -> Iterator[BatchResult]:
        waiting = iter(jobs)
        under_way: dict[Future[BatchResult], list[RunJob]] = {}
        pool = self._open_pool()
        while True:
            while len(under_way) < _AHEAD * self.workers:
                budget = allowance()
                batch = self._batch(waiting) if budget is not None else []
                if not batch or budget is None:
                    break
                try:
                    under_way[self._submit(pool, batch, budget)] = batch
                except BrokenProcessPool:
                    lost_jobs += batch
                    break
            if not under_way:
                return
            ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in ended:
                batch = under_way.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    result, remaining = self._rows_of_dead_worker(batch)
                    lost_jobs += remaining
                    pool = self._open_pool(restart=not under_way)
                if result.rows:
                    self._seconds = sum(row["seconds"] for row in result.rows) / len(result.rows)
                yield result

    def _retry_job(self, job: RunJob, allowance: Allowance) -> BatchResult:
        """Run a job again whose process died, alone."""
        budget = allowance()
        if budget is None:
            return BatchResult([])
        try:
            return self._submit(self._open_pool(), [job], budget).result()
        except BrokenProcessPool:
            self._open_pool(restart=True)
            saved, remaining = self._rows_of_dead_worker([job])
            rows = list(saved.rows)
            self._rows = self._rows or RowWriter(self._folder.path)
            experiment, arms = self._folder.experiment, self._folder.arms
            for number in [arm for each in remaining for arm in each.arms]:
                seed = experiment.seed_of(job.replicate, arms[number])
                row = {"arm": number, "replicate": job.replicate, "seed": seed, "seconds": 0.0}
                rows.append(row | failure_fields("the process that ran it died, twice"))
                self._rows.write(rows[-1])
            self._rows.flush()
            return BatchResult(rows)

    def _rows_of_dead_worker(self, batch: Sequence[RunJob]) -> tuple[BatchResult, list[RunJob]]:
        """The rows that a process had written before it died, and the remaining jobs of its batch."""
        written, rows, remaining = self._folder.rows(), [], []
        for job in batch:
            rows += [written[arm, job.replicate] for arm in job.arms if (arm, job.replicate) in written]
            missing = tuple(arm for arm in job.arms if (arm, job.replicate) not in written)
            remaining += [RunJob(job.replicate, missing)] if missing else []
        return BatchResult(rows), remaining

    def _batch(self, waiting: Iterator[RunJob]) -> list[RunJob]:
        size = 1 if self._seconds is None else int(_SECONDS_A_BATCH / max(self._seconds, 1e-6))
        return list(itertools.islice(waiting, min(max(size, 1), _MAX_IN_A_BATCH)))

    @staticmethod
    def _submit(pool: ProcessPoolExecutor, batch: Sequence[RunJob], limits: CallSettings) -> Future[BatchResult]:
        jobs = [(job.replicate, job.arms) for job in batch]
        return pool.submit(run_in_worker, jobs, limits.model_dump(exclude_defaults=True))

    def _open_pool(self, *, restart: bool = False) -> ProcessPoolExecutor:
        if restart and self._pool is not None:
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
