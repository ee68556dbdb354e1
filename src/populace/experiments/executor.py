"""What executes batches of runs: processes of this machine, or workers on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from populace.experiments.budget import Lease
from populace.experiments.worker import BatchResult, RunJob


class Executor(Protocol):
    """Executes batches of runs elsewhere."""

    @property
    def workers(self) -> int:
        """How many batches are executed at the same time."""

    @property
    def shares_fate(self) -> bool:
        """Whether the loss of one worker is the loss of all, so that nothing says whose run caused it."""

    def submit(self, batch: Sequence[RunJob], lease: Lease) -> Future[Any]:
        """Begin to execute a batch.

        Raises:
            WorkerLostError: The workers are lost; nothing was begun.
        """

    def result(self, future: Future[Any]) -> BatchResult:
        """What became of a batch; its rows are in the folder of the experiment.

        Raises:
            WorkerLostError: Its worker was lost; rows of runs that ended before are in the folder.
        """

    def restore(self) -> None:
        """Put workers in the place of lost ones, where nothing is under way on those."""

    def halt(self) -> None:
        """Let the runs under way end at their next step."""

    def close(self) -> None:
        """End the workers."""
