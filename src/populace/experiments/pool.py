"""The runs of an experiment, given out in batches to workers, within the budget."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from populace.base.errors import ClusterLostError, UsageError, WorkerLostError
from populace.experiments.budget import ExperimentBudget, Lease
from populace.experiments.executor import Executor
from populace.experiments.folder import ExperimentFolder, RowWriter, RunRow
from populace.experiments.plan import Keep
from populace.experiments.processes import LocalProcesses
from populace.experiments.worker import BatchResult, EarlyStop, RunJob, Worker, failure_fields

_SECONDS_A_BATCH = 0.5
_MAX_IN_A_BATCH = 32
_AHEAD = 2


class WorkerPool:
    """Gives out jobs to an executor; without one, they are run in this process.

    Batches grow until they take half a second, so that the overhead of passing them is small. A job whose worker is
    lost is tried once more by itself; if that worker is lost too, its runs count as failed.

    Args:
        folder: The experiment's folder.
        workspace: Where the call store is.
        keep: What is kept of a run.
        executor: Executes batches; None to run everything in this process.
    """

    def __init__(self, folder: ExperimentFolder, workspace: Path, keep: Keep, executor: Executor | None) -> None:
        self._folder, self._workspace, self.keep = folder, workspace, keep
        self._executor = executor
        self._used = False
        self._halted = False
        self._worker: Worker | None = None
        self._rows: RowWriter | None = None
        self._seconds: float | None = None

    @classmethod
    def of_processes(cls, folder: ExperimentFolder, workspace: Path, keep: Keep, workers: int) -> "WorkerPool":
        """A pool of so many processes of this machine; a single one is this process."""
        if workers < 1:
            raise UsageError(f"workers is {workers}; at least one is needed.")
        executor = None if workers == 1 else LocalProcesses(folder.path, workspace, keep, workers)
        return cls(folder, workspace, keep, executor)

    def run(self, jobs: Sequence[RunJob], budget: ExperimentBudget) -> Iterator[BatchResult]:
        """Run jobs while the budget lasts; yields batches of results as they end."""
        executor = self._executor
        if executor is None or (len(jobs) == 1 and isinstance(executor, LocalProcesses) and not self._used):
            yield from self._run_here(jobs, budget)
            return
        self._used = True
        lost_jobs: list[RunJob] = []
        try:
            yield from self._run_elsewhere(executor, jobs, budget, lost_jobs)
            for job in lost_jobs:
                yield self._retry_job(executor, job, budget)
        except ClusterLostError as error:
            yield BatchResult([], EarlyStop("service", error.what.rstrip(".")))

    def halt(self) -> None:
        """Let the runs under way end at their next step."""
        self._halted = True
        if self._executor is not None:
            self._executor.halt()

    def close(self) -> None:
        """End the workers."""
        for resource in (self._worker, self._rows, self._executor):
            if resource is not None:
                resource.close()

    def _run_here(self, jobs: Sequence[RunJob], budget: ExperimentBudget) -> Iterator[BatchResult]:
        stopped: Callable[[], bool] = lambda: self._halted  # noqa: E731
        self._worker = self._worker or Worker(self._folder.path, self._workspace, self.keep, stopped)
        for job in jobs:
            lease = budget.lease(job.keys, (), alone=True)
            if lease is None:
                return
            yield self._worker.run([job], lease.limits)

    def _run_elsewhere(
        self, executor: Executor, jobs: Sequence[RunJob], budget: ExperimentBudget, lost_jobs: list[RunJob]
    ) -> Iterator[BatchResult]:
        waiting = deque(jobs)
        under_way: dict[Future[Any], tuple[list[RunJob], Lease]] = {}
        # Jobs that were under way on a worker when it was lost: each goes on by itself.
        suspects: set[tuple[int, tuple[int, ...]]] = set()
        while True:
            # With a limit, jobs are given out one by one, each with its part of the budget.
            ahead = executor.workers if budget.limited else _AHEAD * executor.workers
            while waiting and len(under_way) < ahead:
                batch = self._next_batch(waiting, suspects, budget)
                keys = [key for job in batch for key in job.keys]
                lease = budget.lease(keys, [lease for _, lease in under_way.values()], alone=batch[0].again)
                if lease is None:
                    waiting.extendleft(reversed(batch))
                    break
                try:
                    under_way[executor.submit(batch, lease)] = batch, lease
                except WorkerLostError:
                    lost_jobs += batch
                    break
            if not under_way:
                return
            ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in ended:
                batch, lease = under_way.pop(future)
                try:
                    result = executor.result(future)
                except WorkerLostError:
                    result, remaining = self._rows_of_lost_worker(batch)
                    again = [] if executor.shares_fate else [job for job in remaining if _name(job) not in suspects]
                    suspects |= {_name(job) for job in again}
                    waiting.extend(again)
                    lost_jobs += [job for job in remaining if job not in again]
                    if not (executor.shares_fate and under_way):
                        executor.restore()
                if result.stop is not None and result.stop.kind == "budget" and not lease.whole:
                    # Its part of the budget was too small: it goes on alone, with all that is left.
                    waiting.extendleft(reversed(_remaining(batch, result.rows)))
                    result = BatchResult(result.rows)
                if result.rows:
                    self._seconds = sum(row["seconds"] for row in result.rows) / len(result.rows)
                yield result

    def _next_batch(
        self, waiting: deque[RunJob], suspects: set[tuple[int, tuple[int, ...]]], budget: ExperimentBudget
    ) -> list[RunJob]:
        batch = [waiting.popleft()]
        if _name(batch[0]) not in suspects:
            for _ in range(self._batch_size(budget) - 1):
                if not waiting or _name(waiting[0]) in suspects:
                    break
                batch.append(waiting.popleft())
        return batch

    def _retry_job(self, executor: Executor, job: RunJob, budget: ExperimentBudget) -> BatchResult:
        """Run a job again whose worker was lost, alone."""
        lease = budget.lease(job.keys, (), alone=True)
        if lease is None:
            return BatchResult([])
        try:
            return executor.result(executor.submit([job], lease))
        except WorkerLostError:
            executor.restore()
            saved, remaining = self._rows_of_lost_worker([job])
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

    def _rows_of_lost_worker(self, batch: Sequence[RunJob]) -> tuple[BatchResult, list[RunJob]]:
        """The rows that a worker had written before it was lost, and the remaining jobs of its batch."""
        written = self._folder.rows()
        rows = [written[key] for job in batch for key in job.keys if key in written]
        return BatchResult(rows), _remaining(batch, rows)

    def _batch_size(self, budget: ExperimentBudget) -> int:
        if self._seconds is None or budget.limited:
            return 1
        return min(max(int(_SECONDS_A_BATCH / max(self._seconds, 1e-6)), 1), _MAX_IN_A_BATCH)


def _name(job: RunJob) -> tuple[int, tuple[int, ...]]:
    return job.replicate, job.arms


def _remaining(batch: Sequence[RunJob], rows: Sequence[RunRow]) -> list[RunJob]:
    """The jobs of a batch that have no row yet, marked as begun before."""
    ended = {(row["arm"], row["replicate"]) for row in rows}
    left = [(job, tuple(arm for arm in job.arms if (arm, job.replicate) not in ended)) for job in batch]
    return [job._replace(arms=arms, again=True) for job, arms in left if arms]
