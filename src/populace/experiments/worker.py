"""A worker: executes runs of an experiment one after the other, in this process or in one of a pool."""

import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import Any, NamedTuple

from populace.base.errors import InterruptedRunError, ModelError, PopulaceError, StoppedError
from populace.broker import CallSettings
from populace.engine.run import Run, simulate
from populace.engine.simulation import Observer, Simulation
from populace.engine.workspace import Workspace
from populace.experiments.arms import Arm
from populace.experiments.evidence import is_witness, run_evidence
from populace.experiments.folder import ExperimentFolder, RowWriter, RunRow
from populace.experiments.plan import Keep
from populace.experiments.rehearsal import early_interventions
from populace.models import Model, ReplyOrFailure, Request, model_traits, open_model
from populace.runs.reader import RunReader


class RunJob(NamedTuple):
    """A replicate of one arm, or of several that share a history."""

    replicate: int
    arms: tuple[int, ...]


class BatchResult(NamedTuple):
    """The rows of some jobs, and why they stopped early, if they did."""

    rows: list[RunRow]
    stopped: str = ""


INTERRUPTED = "interrupted"
SPENT = ("decisions", "calls", "reused", "tokens", "cost")
"""What a run used, as fields of its row."""


class SharedModel(Model):
    """An embedded model that many runs of one process share; closing it after a run leaves it loaded.

    Args:
        model: The model, not started yet.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.spec, self.traits = model.spec, model.traits
        self.capabilities = model.capabilities

    async def start(self, facts: Mapping[str, Any] | None = None) -> None:
        """Load the model, the first time only."""
        await self._model.start(facts)
        self.fingerprint = self._model.fingerprint
        self.capabilities = self._model.capabilities
        self.notes, self.facts = self._model.notes, self._model.facts

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        """The replies of the model."""
        self._model.halted = self.halted
        async for lot in self._model.replies(requests):
            self._model.halted = self.halted
            yield lot

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        """The first token of each text, by the model's tokeniser."""
        return self._model.first_tokens(texts)


class Worker:
    """Executes runs, and writes a row for each as it ends.

    Args:
        folder: The experiment's folder.
        workspace: Where the call store is.
        keep: What is kept of a run.
        should_stop: Returns whether to end at the next step.
    """

    def __init__(self, folder: Path, workspace: Path, keep: Keep, should_stop: Callable[[], bool]) -> None:
        experiment_folder = ExperimentFolder.open(folder)
        self.experiment, self.arms = experiment_folder.experiment, experiment_folder.arms
        self.folder, self.workspace, self.keep = folder, Workspace(workspace), keep
        self._kept_runs = Workspace(folder, store=self.workspace.calls_file)
        self.should_stop = should_stop
        self.lines = RowWriter(folder)
        self._models: dict[str, SharedModel] = {}

    def run(self, jobs: Sequence[RunJob], limits: CallSettings | None = None) -> BatchResult:
        """Execute the runs of some jobs; a failed run gives a row too."""
        rows: list[RunRow] = []
        make = self._forked_rows if self.experiment.fork_at else self._simulated_rows
        try:
            for job in jobs:
                if self.should_stop():
                    return BatchResult(rows, INTERRUPTED)
                for row in make(job, limits):
                    self.lines.write(row)
                    rows.append(row)
        except InterruptedRunError:
            return BatchResult(rows, INTERRUPTED)
        except (StoppedError, ModelError) as error:
            return BatchResult(rows, error.what.rstrip("."))
        finally:
            self.lines.flush()
        return BatchResult(rows)

    def close(self) -> None:
        """Close the file of rows; models are closed with the process."""
        self.lines.close()

    def _simulated_rows(self, job: RunJob, limits: CallSettings | None) -> Iterator[RunRow]:
        for arm in (self.arms[number] for number in job.arms):
            yield self._row(arm, job.replicate, partial(self._simulate, arm, job.replicate, limits))

    def _simulate(self, arm: Arm, replicate: int, limits: CallSettings | None) -> RunReader:
        seed = self.experiment.seed_of(replicate, arm)
        place = self._kept_runs if self.keep == "run" else self.workspace
        settings = self._settings(arm, limits) | {"observer": _StopObserver(self.should_stop)}
        return simulate(arm.build(), seed=seed, workspace=place, keep=self.keep, **settings)

    def _settings(self, arm: Arm, limits: CallSettings | None) -> dict[str, Any]:
        """What `simulate` takes of an arm and of the limits."""
        values = limits.model_dump(exclude_defaults=True) if limits is not None else {}
        return arm.settings() | {"model": self._model(arm)} | values

    def _forked_rows(self, job: RunJob, limits: CallSettings | None) -> Iterator[RunRow]:
        """Run the shared history once, then fork every arm; the cost of the history is counted with the first arm."""
        with self._fork_workspace(job.replicate) as place:
            trunk: list[Run] = []
            for arm in (self.arms[number] for number in job.arms):
                shared = not trunk

                def fork(arm: Arm = arm) -> RunReader:
                    if not trunk:
                        trunk.append(self._trunk(job.replicate, place, limits))
                    return self._fork(trunk[0], arm, limits)

                row = self._row(arm, job.replicate, fork)
                if shared and trunk and row["status"] == "complete":
                    spent = trunk[0].usage()
                    for name in SPENT:
                        row[name] += getattr(spent, name)
                yield row

    def _trunk(self, replicate: int, place: Workspace, limits: CallSettings | None) -> Run:
        """The shared history: the first arm with its early interventions only, up to the step before the fork."""
        arm, fork_at = self.arms[0], self.experiment.fork_at or 1
        settings = self._settings(arm, limits) | {"interventions": early_interventions(arm, fork_at)}
        observer = _StopObserver(self.should_stop, until=fork_at - 1)
        seed = self.experiment.seed_of(replicate, arm)
        try:
            return simulate(arm.build(), seed=seed, workspace=place, keep="run", observer=observer, **settings)
        except InterruptedRunError:
            if not observer.reached:
                raise
            return Run.open(place.runs / observer.name)

    def _fork(self, trunk: Run, arm: Arm, limits: CallSettings | None) -> Run:
        fork_at = self.experiment.fork_at or 1
        before = self.arms[0].parameters
        changed = {name: value for name, value in arm.parameters.items() if value != before[name]}
        late = [each for each in arm.interventions if each not in early_interventions(arm, fork_at)]
        settings = self._settings(arm, limits) | {"interventions": late}
        return trunk.fork(fork_at, parameters=changed, observer=_StopObserver(self.should_stop), **settings)

    @contextlib.contextmanager
    def _fork_workspace(self, replicate: int) -> Iterator[Workspace]:
        """A workspace for the shared history and its forks, which need folders; removed unless runs are kept."""
        if self.keep == "run":
            yield self._kept_runs
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

    def _row(self, arm: Arm, replicate: int, execute: Callable[[], RunReader]) -> RunRow:
        started = time.monotonic()
        seed = self.experiment.seed_of(replicate, arm)
        row: RunRow = {"arm": arm.number, "replicate": replicate, "seed": seed, "status": "complete", "failure": ""}
        try:
            run = execute()
            usage = run.usage()
            outcomes = {outcome.name: outcome.of(run) for outcome in self.experiment.outcomes}
            row |= {"outcomes": outcomes, "answers": dict(run.statuses), "steps": run.steps[-1]}
            row |= {name: getattr(usage, name) for name in SPENT}
            row["run"] = run.name if self.keep == "run" else ""
            row |= run_evidence(run, self.experiment.outcomes, witness=is_witness(arm.number, replicate))
        except (StoppedError, ModelError):
            raise  # A budget or a service that failed says nothing about this run: it is run again.
        except Exception as error:  # noqa: BLE001 - one failed run must never stop the others; its text is its row.
            row |= failure_fields(error)
        return row | {"seconds": round(time.monotonic() - started, 4)}


def failure_fields(error: Exception | str) -> RunRow:
    """The fields of the row of a failed run."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return {"status": "failed", "failure": error.what if isinstance(error, PopulaceError) else text}


class _StopObserver(Observer):
    """Ends a run at its next step on request, or after a given step."""

    def __init__(self, should_stop: Callable[[], bool], until: int | None = None) -> None:
        self._should_stop, self._until = should_stop, until
        self.name = ""
        self.reached = False

    def on_start(self, simulation: Simulation) -> None:
        """Store the name of the run."""
        self.name = simulation.record.name

    def on_step(self, simulation: Simulation) -> None:
        """Halt the run if it should stop."""
        self.reached = self._until is not None and simulation.step >= self._until
        if self.reached or self._should_stop():
            simulation.halt()


_this_worker: Worker | None = None


def start_worker(folder: str, workspace: str, keep: Keep, stop: Any) -> None:
    """Make this process a worker; it ends when the process that started it does."""
    global _this_worker
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    # Ctrl-C reaches every process of a terminal; the one that started the workers tells them what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _this_worker = Worker(Path(folder), Path(workspace), keep, stop.is_set)


def run_in_worker(jobs: list[tuple[int, tuple[int, ...]]], limits: dict[str, Any]) -> BatchResult:
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
