"""Processes of this machine that execute runs of an experiment."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import Any

from populace.base.errors import UsageError, WorkerLostError
from populace.broker import CallSettings
from populace.experiments.budget import Lease
from populace.experiments.plan import Keep
from populace.experiments.worker import BatchResult, RunJob, Worker

_GUARD = 'Put the lines that run the experiment below `if __name__ == "__main__":`, or write workers=1.'


def can_start_again() -> bool:
    """Whether other processes can import the program without doing its work again: a script has a line for it."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    try:
        return file is None or re.search(rb"^if\b.*__name__", Path(file).read_bytes(), re.MULTILINE) is not None
    except OSError:
        return True


class LocalProcesses:
    """Several processes of this machine; they are started with the first batch.

    Args:
        folder: The experiment's folder.
        workspace: Where the call store is.
        keep: What is kept of a run.
        workers: How many processes.
    """

    shares_fate = True

    def __init__(self, folder: Path, workspace: Path, keep: Keep, workers: int) -> None:
        self.workers = workers
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.Event()
        self._arguments = (str(folder), str(workspace), keep, self._stop)
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, batch: Sequence[RunJob], lease: Lease) -> Future[BatchResult]:
        """Begin to execute a batch."""
        jobs = [tuple(job) for job in batch]
        try:
            return self._open().submit(_run_in_worker, jobs, lease.limits.model_dump(exclude_defaults=True))
        except BrokenProcessPool as error:
            raise WorkerLostError("a process of the experiment died.") from error

    def result(self, future: Future[BatchResult]) -> BatchResult:
        """What became of a batch."""
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise WorkerLostError("a process of the experiment died.") from error

    def restore(self) -> None:
        """Start new processes with the next batch: a pool that lost one process has lost them all."""
        self._shut()

    def halt(self) -> None:
        """Let the runs under way end at their next step."""
        self._stop.set()

    def close(self) -> None:
        """End the processes."""
        self._shut()

    def _shut(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _open(self) -> ProcessPoolExecutor:
        if self._pool is None:
            if not can_start_again():
                raise UsageError(f"{self.workers} processes would each run this script again from its top.", _GUARD)
            self._pool = ProcessPoolExecutor(
                self.workers, self._context, initializer=_start_worker, initargs=self._arguments
            )
            try:
                self._pool.submit(os.getpid).result()
            except BrokenProcessPool:
                raise UsageError("the processes of the experiment could not start.", _GUARD) from None
        return self._pool


_this_worker: Worker | None = None


def _start_worker(folder: str, workspace: str, keep: Keep, stop: Any) -> None:
    """Make this process a worker; it ends when the process that started it does."""
    global _this_worker
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    # Ctrl-C reaches every process of a terminal; the one that started the workers tells them what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _this_worker = Worker(Path(folder), Path(workspace), keep, stop.is_set)


def _run_in_worker(jobs: list[tuple[Any, ...]], limits: dict[str, Any]) -> BatchResult:
    """Execute runs in this worker, outside its main thread, so that they install no signal handlers."""
    worker = _this_worker
    if worker is None:
        raise RuntimeError("this process is no worker")
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(worker.run, [RunJob(*job) for job in jobs], CallSettings(**limits)).result()


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
