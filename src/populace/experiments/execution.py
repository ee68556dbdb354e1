"""Execution of an experiment: the remaining runs, in several processes, until the stop rule holds."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from populace.base.errors import InterruptedRunError, UsageError
from populace.base.formatting import plural
from populace.broker import CallSettings, money_text
from populace.experiments.arms import Arm
from populace.experiments.folder import ExperimentFolder, RunRow
from populace.experiments.plan import ExperimentPlan, Keep
from populace.experiments.pool import WorkerPool
from populace.experiments.results import Results
from populace.experiments.worker import INTERRUPTED, RunJob
from populace.models import model_traits


class ExperimentObserver:
    """Receives the progress of an experiment. All methods are optional."""

    def on_start(self, experiment: ExperimentPlan, folder: Path, total: int, done: int) -> None:
        """Runs begin; `done` of them had ended before."""

    def on_progress(self, rows: Sequence[RunRow], total: int) -> None:
        """Some runs ended; `total` may be higher than before if a stop by precision asks for more."""

    def on_end(self) -> None:
        """The experiment ended, completely or not."""


def default_keep(experiment: ExperimentPlan, arms: Sequence[Arm]) -> Keep:
    """What is kept of a run: the setting of the experiment, else calls where they cost something, else nothing."""
    free = all(arm.decider == "rule" or model_traits(arm.model).scripted for arm in arms)
    return experiment.keep or ("nothing" if free else "calls")


def default_workers(experiment: ExperimentPlan, arms: Sequence[Arm]) -> int:
    """The default number of processes: one if a model uses all processors, else at most two."""
    fills = any(arm.decider == "model" and model_traits(arm.model).fills_machine for arm in arms)
    typed_at_a_prompt = experiment.scenario.startswith("__main__:")
    return 1 if fills or typed_at_a_prompt else min(2, os.cpu_count() or 1)


class ReplicateRounds:
    """Runs the replicates of a plan, and then more until the intervals are narrow enough.

    Args:
        experiment: The plan.
        arms: Its arms.
        folder: Its folder, in which earlier runs are found.
        pool: The workers.
        retry: Whether to run failed runs again.
        observer: Receives the progress.
    """

    def __init__(
        self,
        experiment: ExperimentPlan,
        arms: Sequence[Arm],
        folder: ExperimentFolder,
        pool: WorkerPool,
        retry: bool,
        observer: ExperimentObserver,
    ) -> None:
        self.experiment, self.arms, self.folder, self.pool, self.observer = experiment, arms, folder, pool, observer
        rows = folder.rows()
        self.finished = {key for key, row in rows.items() if not (retry and row["status"] == "failed")}
        self.calls, self.money = 0, 0.0
        self._count(rows.values())

    def to_the_end(self) -> tuple[str, str]:
        """Run until the stop rule holds; returns the state and the reason."""
        stop, replicates = self.experiment.stop, self.experiment.replicates
        total = replicates * len(self.arms)
        finished = sum(replicate < replicates for _, replicate in self.finished)
        self.observer.on_start(self.experiment, self.folder.path, total, finished)
        while True:
            self.folder.write(replicates=replicates)
            stop_reason = self._run(replicates)
            if stop_reason:
                return "stopped", stop_reason
            if stop.width is None:
                return "complete", f"done: {plural(replicates, 'replicate')} of {plural(len(self.arms), 'arm')}"
            widest = self._widest()
            if widest <= stop.width:
                return "complete", f"the widest interval is {widest:.3g} after {plural(replicates, 'replicate')}"
            if replicates >= stop.most:
                return "complete", f"the widest interval is still {widest:.3g} after the most replicates allowed"
            replicates = min(replicates + stop.batch, stop.most)

    def _run(self, replicates: int) -> str:
        """Run the remaining runs of so many replicates; returns why it stopped early, else an empty text."""
        jobs, total = self._jobs(replicates), replicates * len(self.arms)
        if not jobs:
            return ""
        for batch in self.pool.run(jobs, self._limits):
            self.finished |= {(row["arm"], row["replicate"]) for row in batch.rows}
            self._count(batch.rows)
            self.observer.on_progress(batch.rows, total)
            if batch.stopped == INTERRUPTED:
                raise InterruptedRunError(INTERRUPTED)
            if batch.stopped:
                return batch.stopped
        return self._spent()

    def _count(self, rows: Iterable[RunRow]) -> None:
        for row in rows:
            self.calls += row.get("calls", 0)
            self.money += row.get("cost", 0.0)

    def _limits(self) -> CallSettings | None:
        """The remaining budget; None if it is spent."""
        stop = self.experiment.stop
        if self._spent():
            return None
        return CallSettings(
            max_calls=None if stop.max_calls is None else stop.max_calls - self.calls,
            max_money=None if stop.max_money is None else stop.max_money - self.money,
        )

    def _spent(self) -> str:
        stop = self.experiment.stop
        if stop.max_calls is not None and self.calls >= stop.max_calls:
            return f"the budget of {plural(stop.max_calls, 'call')} is reached"
        if stop.max_money is not None and self.money >= stop.max_money:
            return f"the budget of {money_text(stop.max_money, 2)} is reached"
        return ""

    def _jobs(self, replicates: int) -> list[RunJob]:
        """The remaining jobs, ordered by replicate, so that arms have equal size if it stops early."""
        jobs = []
        for replicate in range(replicates):
            left = tuple(arm for arm in range(len(self.arms)) if (arm, replicate) not in self.finished)
            groups = [left] if left and self.experiment.fork_at else [(arm,) for arm in left]
            jobs += [RunJob(replicate, arms) for arms in groups]
        return jobs

    def _widest(self) -> float:
        """The widest interval among the effects on the primary outcome."""
        try:
            effects = Results(self.folder).effects()
        except UsageError as error:
            raise UsageError(f"the precision cannot be judged: {error.what}", error.hint) from error
        return float((effects["high"] - effects["low"]).max())  # type: ignore[arg-type]
