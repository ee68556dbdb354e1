"""A worker: executes runs of an experiment one after the other, in whatever process it stands."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from populace.base.errors import (
    BudgetError,
    CallStoreError,
    InterruptedRunError,
    ModelError,
    PopulaceError,
    StoppedError,
    StorageError,
)
from populace.broker import CallSettings, currency
from populace.engine.observer import Observer
from populace.engine.run import Run, simulate
from populace.engine.simulation import Simulation
from populace.engine.workspace import Workspace
from populace.experiments.arms import Arm
from populace.experiments.evidence import is_witness, run_evidence
from populace.experiments.folder import ExperimentFolder, RunRow
from populace.experiments.ledger import FolderLedger, Ledger
from populace.experiments.plan import Keep
from populace.experiments.rehearsal import early_interventions
from populace.experiments.shared_model import SharedModel
from populace.experiments.spending import RunKey, Spending
from populace.journal import Journal, Stop, StopKind
from populace.models import model_traits, open_model
from populace.runs.reader import RunReader


class RunJob(NamedTuple):
    """A replicate of one arm, or of several that share a history.

    Attributes:
        replicate: The number of the replicate.
        arms: The numbers of the arms.
        again: Whether it was begun before and abandoned.
        repeated: Whether its runs have rows already, and are repeated only to keep their folders.
    """

    replicate: int
    arms: tuple[int, ...]
    again: bool = False
    repeated: bool = False

    @property
    def keys(self) -> list[RunKey]:
        """The arm and the replicate of each run."""
        return [(arm, self.replicate) for arm in self.arms]


class EarlyStop(NamedTuple):
    """Why runs ended before they were complete.

    Attributes:
        kind: The kind of the stop, as in the manifest of a run.
        reason: The reason in words.
    """

    kind: StopKind
    reason: str


class BatchResult(NamedTuple):
    """The rows of some jobs, and why they stopped early, if they did."""

    rows: list[RunRow]
    stop: EarlyStop | None = None


SPENT = ("decisions", "calls", "reused", "tokens", "cost")
"""What a run used, as fields of its row."""

OUTSIDE = (StoppedError, ModelError, StorageError, CallStoreError)
"""Errors that do not lie in a run: it is abandoned and has no row, and the experiment stops and can be continued."""


class Worker:
    """Executes runs, and writes a row for each as it ends.

    Args:
        folder: The experiment's folder.
        workspace: Where the call store is.
        keep: What is kept of a run.
        should_stop: Returns whether to end at the next step.
        ledger: Where rows and spending are written; the experiment's folder by default.
    """

    def __init__(
        self,
        folder: Path,
        workspace: Path,
        keep: Keep,
        should_stop: Callable[[], bool],
        ledger: Ledger | None = None,
    ) -> None:
        experiment_folder = ExperimentFolder.open(folder)
        self.experiment, self.arms = experiment_folder.experiment, experiment_folder.arms
        self.folder, self.workspace, self.keep = folder, Workspace(workspace), keep
        self.should_stop = should_stop
        self.ledger = ledger or FolderLedger(folder)
        self._earlier = self.ledger.earlier_spending()
        self._limits = CallSettings()
        self._spent = Spending()
        self._models: dict[str, SharedModel] = {}

    def run(self, jobs: Sequence[RunJob], limits: CallSettings | None = None) -> BatchResult:
        """Execute the runs of some jobs, which may spend so much together; a failed run gives a row too."""
        rows: list[RunRow] = []
        make = self._forked_rows if self.experiment.fork_at else self._simulated_rows
        self._limits, self._spent = limits or CallSettings(), Spending()
        try:
            for job in jobs:
                if self.should_stop():
                    return BatchResult(rows, EarlyStop("interrupted", "interrupted"))
                if job.again:
                    self._earlier = self.ledger.earlier_spending()
                for row in make(job):
                    self.ledger.write(row | {"repeated": True} if job.repeated else row)
                    rows.append(row)
        except OUTSIDE as error:
            self.ledger.abandon()
            return BatchResult(rows, EarlyStop(_kind(error), error.what.rstrip(".")))
        finally:
            self.ledger.flush()
        return BatchResult(rows)

    def close(self) -> None:
        """Close the files; models are closed with the process."""
        self.ledger.close()

    def _simulated_rows(self, job: RunJob) -> Iterator[RunRow]:
        for arm in (self.arms[number] for number in job.arms):
            observer = self._begin(arm.number, job.replicate)
            with self._place(job.replicate) as place:
                yield self._row(
                    arm, job.replicate, observer, partial(self._simulate, arm, job.replicate, place, observer)
                )

    def _simulate(self, arm: Arm, replicate: int, place: Workspace, observer: _RunObserver) -> RunReader:
        seed = self.experiment.seed_of(replicate, arm)
        run = simulate(
            arm.build(), seed=seed, workspace=place, keep=self.keep, observer=observer, **self._settings(arm)
        )
        if self.keep == "run":
            return self._keep(run, run_name(arm.number, replicate))
        return run

    def _begin(self, arm: int, replicate: int) -> _RunObserver:
        """Begin the record of what a run spends."""
        self.ledger.begin((arm, replicate))
        return _RunObserver(self.should_stop, self._count_spending)

    def _count_spending(self, new: Spending, so_far: Spending) -> None:
        self._spent = self._spent.plus(new)
        self.ledger.count(so_far)

    def _settings(self, arm: Arm) -> dict[str, Any]:
        """What `simulate` takes of an arm and of the limits."""
        limits: dict[str, Any] = {}
        for name, spent in (("max_calls", self._spent.calls), ("max_money", self._spent.cost)):
            allowed = getattr(self._limits, name)
            if allowed is not None:
                if spent >= allowed:
                    raise BudgetError(name.removeprefix("max_"), allowed, spent)
                limits[name] = allowed - spent
        return arm.settings() | {"model": self._model(arm)} | limits

    def _forked_rows(self, job: RunJob) -> Iterator[RunRow]:
        """Run the shared history once, then fork every arm; the cost of the history is counted with the first arm."""
        with self._place(job.replicate) as place:
            trunk: list[Run] = []
            for arm in (self.arms[number] for number in job.arms):
                observer = self._begin(arm.number, job.replicate)

                def fork(arm: Arm = arm, observer: _RunObserver = observer) -> RunReader:
                    if not trunk:
                        trunk.append(self._trunk(job.replicate, place, observer))
                        if arm.number:
                            # The row of the first arm holds the cost of the history already.
                            self.ledger.abandon()
                            observer.before = Spending()
                    return self._fork(trunk[0], arm, job.replicate, observer)

                yield self._row(arm, job.replicate, observer, fork, None if arm.number else trunk)

    def _trunk(self, replicate: int, place: Workspace, observer: _RunObserver) -> Run:
        """The shared history: the first arm with its early interventions only, up to the step before the fork."""
        arm, fork_at = self.arms[0], self.experiment.fork_at or 1
        settings = self._settings(arm) | {"interventions": early_interventions(arm, fork_at)}
        observer.until = fork_at - 1
        seed = self.experiment.seed_of(replicate, arm)
        try:
            run = simulate(arm.build(), seed=seed, workspace=place, keep="run", observer=observer, **settings)
        except InterruptedRunError:
            if not observer.reached:
                raise
            run = Run.open(place.runs / observer.name)
        observer.until = None
        return self._keep(run, f"history-replicate{replicate}") if self.keep == "run" else run

    def _fork(self, trunk: Run, arm: Arm, replicate: int, observer: _RunObserver) -> Run:
        fork_at = self.experiment.fork_at or 1
        before = self.arms[0].parameters
        changed = {name: value for name, value in arm.parameters.items() if value != before[name]}
        late = [each for each in arm.interventions if each not in early_interventions(arm, fork_at)]
        settings = self._settings(arm) | {"interventions": late}
        run = trunk.fork(fork_at, parameters=changed, observer=observer, **settings)
        return self._keep(run, run_name(arm.number, replicate)) if self.keep == "run" else run

    def _keep(self, run: Run, name: str) -> Run:
        """Move a run that ended to its place among the runs of the experiment."""
        target = self.folder / "runs" / name
        target.parent.mkdir(exist_ok=True)
        if target.exists():
            # The folder of an attempt that was killed before its row was written.
            shutil.rmtree(target)
        journal = Journal(run.folder)
        journal.manifest.run = name
        journal.set_status()
        os.rename(journal.folder, target)
        self.ledger.keep(target)
        return Run.open(target)

    @contextlib.contextmanager
    def _place(self, replicate: int) -> Iterator[Workspace]:
        """A workspace for runs under way, removed afterwards; a run that is kept is moved out of it as it ends."""
        if self.keep != "run" and not self.experiment.fork_at:
            yield self.workspace
        elif self.keep == "nothing":
            with tempfile.TemporaryDirectory() as folder:
                yield Workspace(folder)
        else:
            place = self.folder / "scratch" / f"{os.getpid()}-{replicate}"
            shutil.rmtree(place, ignore_errors=True)
            try:
                yield Workspace(place, store=self.workspace.calls_file)
            finally:
                shutil.rmtree(place, ignore_errors=True)

    def _model(self, arm: Arm) -> str | SharedModel:
        """A model that this machine runs is loaded once for all runs; others are only named."""
        if arm.decider != "model" or not model_traits(arm.model).fills_machine:
            return arm.model
        if arm.model not in self._models:
            self._models[arm.model] = SharedModel(open_model(arm.model))
        return self._models[arm.model]

    def _row(
        self,
        arm: Arm,
        replicate: int,
        observer: _RunObserver,
        execute: Callable[[], RunReader],
        shared: Sequence[Run] | None = None,
    ) -> RunRow:
        """The row of a run; what `shared` runs cost is counted with it."""
        started = time.monotonic()
        seed = self.experiment.seed_of(replicate, arm)
        row: RunRow = {"arm": arm.number, "replicate": replicate, "seed": seed, "status": "complete", "failure": ""}
        try:
            run = execute()
            usages = [each.usage() for each in (run, *(shared or ()))]
            outcomes = {outcome.name: outcome.of(run) for outcome in self.experiment.outcomes}
            row |= {"outcomes": outcomes, "answers": dict(run.statuses), "steps": run.steps[-1]}
            row |= {name: sum(getattr(usage, name) for usage in usages) for name in SPENT}
            row |= self._with_earlier(row)
            row["currency"] = currency() if row["cost"] else ""
            row["run"] = run.name if self.keep == "run" else ""
            row |= run_evidence(run, self.experiment.outcomes, witness=is_witness(arm.number, replicate))
        except OUTSIDE:
            raise
        except Exception as error:  # noqa: BLE001 - one failed run must never stop the others; its text is its row.
            row |= failure_fields(error) | observer.before._asdict()
        return row | {"seconds": round(time.monotonic() - started, 4)}

    def _with_earlier(self, row: RunRow) -> RunRow:
        """What a run spent together with earlier attempts, whose replies it found in the call store."""
        earlier = self._earlier.get((row["arm"], row["replicate"]), Spending())
        if self.keep == "nothing" or not earlier.calls:
            return {"cost": Spending(cost=row["cost"]).plus(Spending()).cost}
        total = Spending(row["calls"], row["tokens"], row["cost"]).plus(earlier)
        reused = max(0, row["reused"] - earlier.calls)
        return total._asdict() | {"reused": reused, "earlier_calls": earlier.calls}


def run_name(arm: int, replicate: int) -> str:
    """The name of the folder of a run that an experiment keeps."""
    return f"arm{arm}-replicate{replicate}"


def _kind(error: PopulaceError) -> StopKind:
    """The kind of a stop, as in the manifest of a run."""
    return Stop.of(error).kind if isinstance(error, StoppedError | ModelError) else "error"


def failure_fields(error: Exception | str) -> RunRow:
    """The fields of the row of a failed run."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return {"status": "failed", "failure": error.what if isinstance(error, PopulaceError) else text}


class _RunObserver(Observer):
    """Counts what a run spends; ends it at its next step on request, or after a given step.

    It may observe several simulations one after the other, as a shared history and a fork of it.
    """

    def __init__(self, should_stop: Callable[[], bool], count: Callable[[Spending, Spending], None]) -> None:
        self._should_stop, self._count = should_stop, count
        self.until: int | None = None
        self.name = ""
        self.reached = False
        self.before = Spending()
        self._now = Spending()

    def on_start(self, simulation: Simulation) -> None:
        """Store the name of the run."""
        self.name = simulation.record.name
        self._now = Spending()

    def on_replies(self, simulation: Simulation) -> None:
        """Write what was spent."""
        self._write(simulation)

    def on_step(self, simulation: Simulation) -> None:
        """Halt the run if it should stop."""
        self._write(simulation)
        self.reached = self.until is not None and simulation.step >= self.until
        if self.reached or self._should_stop():
            simulation.halt()

    def on_end(self, simulation: Simulation) -> None:
        """Write what was spent."""
        self._write(simulation)

    def _write(self, simulation: Simulation) -> None:
        now = Spending.of(simulation.broker.usage)
        if now != self._now:
            new = now.minus(self._now)
            self.before, self._now = self.before.plus(new), now
            self._count(new, self.before)
