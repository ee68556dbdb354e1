"""The pool of worker processes that execute the runs of an experiment."""

import multiprocessing
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from populace.base.errors import UsageError
from populace.experiments.budget import ExperimentBudget, Lease
from populace.experiments.folder import ExperimentFolder, RowWriter, RunRow
from populace.experiments.plan import Keep
from populace.experiments.worker import BatchResult, RunJob, Worker, failure_fields, run_in_worker, start_worker

_SECONDS_A_BATCH = 0.5
_MAX_IN_A_BATCH = 32
_AHEAD = 2


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
        self._folder, self._workspace, self.keep = folder, workspace, keep
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._worker: Worker | None = None
        self._rows: RowWriter | None = None
        self._seconds: float | None = None
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.Event()

    def run(self, jobs: Sequence[RunJob], budget: ExperimentBudget) -> Iterator[BatchResult]:
        """Run jobs while the budget lasts; yields batches of results as they end."""
        if self.workers == 1 or (len(jobs) == 1 and self._pool is None):
            self._worker = self._worker or Worker(self._folder.path, self._workspace, self.keep, self._stop.is_set)
            for job in jobs:
                lease = budget.lease(job.keys, (), alone=True)
                if lease is None:
                    return
                yield self._worker.run([job], lease.limits)
            return
        lost_jobs: list[RunJob] = []
        yield from self._run_in_pool(jobs, budget, lost_jobs)
        for job in lost_jobs:
            yield self._retry_job(job, budget)

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
        self, jobs: Sequence[RunJob], budget: ExperimentBudget, lost_jobs: list[RunJob]
    ) -> Iterator[BatchResult]:
        waiting = deque(jobs)
        under_way: dict[Future[BatchResult], tuple[list[RunJob], Lease]] = {}
        pool = self._open_pool()
        # With a limit, jobs are given out one by one, each with its part of the budget.
        ahead = self.workers if budget.limited else _AHEAD * self.workers
        while True:
            while waiting and len(under_way) < ahead:
                batch = [waiting.popleft() for _ in range(min(self._batch_size(budget), len(waiting)))]
                keys = [key for job in batch for key in job.keys]
                lease = budget.lease(keys, [lease for _, lease in under_way.values()], alone=batch[0].again)
                if lease is None:
                    waiting.extendleft(reversed(batch))
                    break
                try:
                    under_way[self._submit(pool, batch, lease)] = batch, lease
                except BrokenProcessPool:
                    lost_jobs += batch
                    break
            if not under_way:
                return
            ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in ended:
                batch, lease = under_way.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    result, remaining = self._rows_of_dead_worker(batch)
                    lost_jobs += remaining
                    pool = self._open_pool(restart=not under_way)
                if result.stop is not None and result.stop.kind == "budget" and not lease.whole:
                    # Its part of the budget was too small: it goes on alone, with all that is left.
                    waiting.extendleft(reversed(_remaining(batch, result.rows)))
                    result = BatchResult(result.rows)
                if result.rows:
                    self._seconds = sum(row["seconds"] for row in result.rows) / len(result.rows)
                yield result

    def _retry_job(self, job: RunJob, budget: ExperimentBudget) -> BatchResult:
        """Run a job again whose process died, alone."""
        lease = budget.lease(job.keys, (), alone=True)
        if lease is None:
            return BatchResult([])
        try:
            return self._submit(self._open_pool(), [job], lease).result()
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
        written = self._folder.rows()
        rows = [written[key] for job in batch for key in job.keys if key in written]
        return BatchResult(rows), _remaining(batch, rows)

    def _batch_size(self, budget: ExperimentBudget) -> int:
        if self._seconds is None or budget.limited:
            return 1
        return min(max(int(_SECONDS_A_BATCH / max(self._seconds, 1e-6)), 1), _MAX_IN_A_BATCH)

    @staticmethod
    def _submit(pool: ProcessPoolExecutor, batch: Sequence[RunJob], lease: Lease) -> Future[BatchResult]:
        jobs = [tuple(job) for job in batch]
        return pool.submit(run_in_worker, jobs, lease.limits.model_dump(exclude_defaults=True))

    def _open_pool(self, *, restart: bool = False) -> ProcessPoolExecutor:
        if restart and self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        if self._pool is None:
            arguments = (str(self._folder.path), str(self._workspace), self.keep, self._stop)
            self._pool = ProcessPoolExecutor(self.workers, self._context, initializer=start_worker, initargs=arguments)
            try:
                self._pool.submit(os.getpid).result()
            except BrokenProcessPool:
                raise UsageError(
                    "the processes of the experiment could not start.",
                    'A script that runs an experiment does so below `if __name__ == "__main__":`; or give workers=1.',
                ) from None
        return self._pool


def _remaining(batch: Sequence[RunJob], rows: Sequence[RunRow]) -> list[RunJob]:
    """The jobs of a batch that have no row yet, marked as begun before."""
    ended = {(row["arm"], row["replicate"]) for row in rows}
    left = [(job, tuple(arm for arm in job.arms if (arm, job.replicate) not in ended)) for job in batch]
    return [job._replace(arms=arms, again=True) for job, arms in left if arms]
