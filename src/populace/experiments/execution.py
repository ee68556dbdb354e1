"""Execution of an experiment: the remaining runs, in several processes, until the stop rule holds."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from populace.base.errors import InterruptedRunError, UsageError
from populace.base.formatting import plural
from populace.experiments.arms import Arm
from populace.experiments.budget import ExperimentBudget
from populace.experiments.folder import ExperimentFolder, Look, RunRow
from populace.experiments.plan import ExperimentPlan, Keep
from populace.experiments.pool import WorkerPool
from populace.experiments.processes import can_start_again
from populace.experiments.results import Results
from populace.experiments.worker import RunJob
from populace.journal import StopKind
from populace.models import model_traits
from populace.statistics.cautions import UNSEEN, unseen

FIRST_LOOK = 20
"""The fewest replicates at which the width of intervals is judged."""


class Ending(NamedTuple):
    """How an experiment ended.

    Attributes:
        state: Whether it is complete.
        reason: Why it ended, in words.
        kind: Why it stopped early, as the kind of the stop; None where it is complete.
    """

    state: Literal["complete", "stopped"]
    reason: str
    kind: StopKind | None = None


class ExperimentObserver:
    """Receives the progress of an experiment. All methods are optional."""

    def on_start(self, experiment: ExperimentPlan, folder: Path, total: int, done: int) -> None:
        """Runs begin; `done` of them had ended before."""

    def on_cluster(self, nodes: int, workers: int, dashboard: str) -> None:
        """Runs go to a cluster with so many nodes; `dashboard` is the address of its dashboard, or empty."""

    def on_progress(self, rows: Sequence[RunRow], total: int) -> None:
        """Some runs ended; `total` may be higher than before if a stop by precision asks for more."""

    def on_end(self) -> None:
        """The experiment ended, completely or not."""


def default_keep(experiment: ExperimentPlan, arms: Sequence[Arm]) -> Keep:
    """What is kept of a run: the setting of the experiment, else calls where they cost something, else nothing."""
    free = all(arm.decider == "rule" or model_traits(arm.model).scripted for arm in arms)
    return experiment.keep or ("nothing" if free else "calls")


def default_workers(experiment: ExperimentPlan, arms: Sequence[Arm]) -> int:
    """The default number of processes: one if a model fills the machine or the program cannot start again, else two."""
    typed_at_a_prompt = experiment.scenario.startswith("__main__:")
    alone = fills_machine(arms) or typed_at_a_prompt or not can_start_again()
    return 1 if alone else min(2, os.cpu_count() or 1)


def fills_machine(arms: Sequence[Arm]) -> bool:
    """Whether a model of these arms uses all processors of a machine."""
    return any(arm.decider == "model" and model_traits(arm.model).fills_machine for arm in arms)


def widest_interval(effects: pl.DataFrame) -> float:
    """The widest interval of a table of effects; infinite where one has no interval."""
    return float((effects["high"] - effects["low"]).fill_null(math.inf).max())  # type: ignore[arg-type]


def is_precise(effects: pl.DataFrame, replicates: int, width: float) -> bool:
    """Whether all effects have intervals of at most a width, and all ends of runs were seen.

    An arm whose runs all lie near 0, or near 1, needs so many replicates that another end with a probability equal to
    the width would have been seen.
    """
    one_sided = bool(effects["warning"].str.contains(UNSEEN, literal=True).any())
    return widest_interval(effects) <= width and (unseen(replicates) <= width or not one_sided)


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
        self.without_folder = {
            key for key, row in rows.items() if pool.keep == "run" and row["status"] == "complete" and not row["run"]
        }
        self.budget = ExperimentBudget(experiment.stop, folder.path)
        self.budget.count(rows.values())

    def to_the_end(self) -> Ending:
        """Run until the stop rule holds, or until something stops it."""
        stop, replicates = self.experiment.stop, self.experiment.replicates
        if stop.width is not None:
            # An early look stops where the intervals are too short by chance.
            replicates = max(replicates, min(FIRST_LOOK, stop.most))
        total = replicates * len(self.arms)
        finished = sum(replicate < replicates for _, replicate in self.finished)
        self.observer.on_start(self.experiment, self.folder.path, total, finished)
        while True:
            self.folder.write(replicates=replicates)
            early_stop = self._run(replicates)
            if early_stop is not None:
                return early_stop
            if stop.width is None:
                self.folder.look(Look(replicates=replicates))
                return Ending("complete", f"{plural(replicates, 'replicate')} of {plural(len(self.arms), 'arm')}")
            effects = self._effects()
            widest = widest_interval(effects)
            known = None if math.isinf(widest) else widest
            self.folder.look(Look(replicates=replicates, reason="precision", widest=known))
            size = "not known, because nothing varies" if known is None else f"{widest:.3g}"
            if is_precise(effects, replicates, stop.width):
                return Ending("complete", f"the widest interval is {size} after {plural(replicates, 'replicate')}")
            if replicates >= stop.most:
                return Ending("complete", f"the widest interval is still {size} after the most replicates allowed")
            replicates = min(replicates + stop.batch, stop.most)

    def _run(self, replicates: int) -> Ending | None:
        """Run the remaining runs of so many replicates; returns why it stopped early, if it did."""
        jobs, total = self._jobs(replicates), replicates * len(self.arms)
        if not jobs:
            return None
        for batch in self.pool.run(jobs, self.budget):
            ended = {(row["arm"], row["replicate"]) for row in batch.rows}
            self.finished |= ended
            self.without_folder -= ended
            self.budget.count(batch.rows)
            self.observer.on_progress(batch.rows, total)
            if batch.stop is not None:
                if batch.stop.kind == "interrupted":
                    raise InterruptedRunError(batch.stop.reason)
                if batch.stop.kind != "budget":
                    self.pool.halt()
                return Ending("stopped", self.budget.reason() or batch.stop.reason, batch.stop.kind)
        spent = self.budget.reason()
        return Ending("stopped", spent, "budget") if spent and self._jobs(replicates) else None

    def _jobs(self, replicates: int) -> list[RunJob]:
        """The remaining jobs, ordered by replicate, so that arms have equal size if it stops early."""
        jobs = []
        for replicate in range(replicates):
            left = [arm for arm in range(len(self.arms)) if (arm, replicate) not in self.finished]
            jobs += [RunJob(replicate, arms) for arms in self._groups(left)]
            repeated = [arm for arm in range(len(self.arms)) if (arm, replicate) in self.without_folder]
            jobs += [RunJob(replicate, arms, repeated=True) for arms in self._groups(repeated)]
        return jobs

    def _groups(self, arms: list[int]) -> list[tuple[int, ...]]:
        """Arms that are run together: all of them if they share a history, else each alone."""
        return [tuple(arms)] if arms and self.experiment.fork_at else [(arm,) for arm in arms]

    def _effects(self) -> pl.DataFrame:
        try:
            return Results(self.folder).effects()
        except UsageError as error:
            raise UsageError(f"the precision cannot be judged: {error.what}", error.hint) from error
