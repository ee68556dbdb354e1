"""A run as an object: start it, resume it, replay it, fork it, go back to any of its steps."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from populace.base.errors import JournalError, PopulaceError, UnknownNameError, UsageError
from populace.broker import CallSettings
from populace.deciders import Desk
from populace.engine.contract import check_scenario
from populace.engine.discovery import reference, source_code
from populace.engine.intervention_files import recorded_interventions
from populace.engine.observer import Observer
from populace.engine.replay import build_scenario
from populace.engine.scenario import Scenario
from populace.engine.session import EMBEDDINGS, Session
from populace.engine.signature import read_settings, refuse_unknown, takes_settings
from populace.engine.simulation import Simulation
from populace.engine.society import Society
from populace.engine.workspace import Workspace, trusted_for
from populace.journal import (
    Intervention,
    Journal,
    Manifest,
    MemoryRecord,
    Parent,
    Record,
    Regime,
    RunSettings,
    Status,
    Stop,
    environment,
    now,
    verify_journal,
)
from populace.models import Model, model_code
from populace.prompting import Variation
from populace.runs.reader import RunReader

Keep = Literal["run", "calls", "nothing"]
Interventions = Intervention | Sequence[Intervention | Mapping[str, Any]]


class Run(RunReader):
    """A recorded run: read what happened in it; resume, replay or fork it.

    Example:
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=5, days=2), model="scripted:uniform", seed=1, keep="nothing")
        >>> run.metrics.height
        3
    """

    @takes_settings(CallSettings)
    def resume(
        self, *, model: Model | None = None, observer: Observer | None = None, desk: Desk | None = None, **settings: Any
    ) -> Run:
        """Go on from the last committed step; what was paid for or answered by hand is not asked for again.

        Args:
            model: The model of the run, where it was given as an object.
            observer: Receives the progress of the run.
            desk: Where somebody answers in the place of people.
            **settings: See `CallSettings`.
        """
        calls = read_settings(CallSettings, settings)
        refuse_unknown(settings, self.resume)
        journal = self.journal
        if journal.manifest.status.state == "complete":
            return self
        with _locked(journal):
            verify_journal(journal)
            scenario, recording = build_scenario(self), _recording(journal)
            session = Session(Workspace.of(journal).store(), calls=calls, model=model, run=journal, desk=desk)
            journal.set_status(state="running", reason="", stop=None)
            simulation = Simulation(scenario, journal, session, source=journal, recording=recording, observer=observer)
            session.finish(_run_until_stopped(simulation))
        return self

    def replay(self, *, verify: bool = False, into: str | Path | None = None, observer: Observer | None = None) -> Run:
        """Run the scenario again on the recorded answers, without any model.

        A changed question or prompt stops the replay at the first difference from the journal.

        Args:
            verify: Also compare every table of every step, and draw again from the distributions.
            into: A folder to write the replayed journal to; by default it is kept in memory.
            observer: Receives the progress of the run.
        """
        journal = self.record if isinstance(self.record, Journal) else None
        if journal is not None:
            verify_journal(journal)
        if not self.steps:
            raise JournalError(f"{self.name} has no committed step to replay.")
        manifest = self.manifest.model_copy(deep=True)
        record: Record = MemoryRecord(manifest)
        if into is not None:
            record = _new_folder(Path(into), manifest.model_copy(update={"run": Path(into).name, "parent": None}))
        session = Session(embeddings=Workspace.of(journal).calls_file.with_name(EMBEDDINGS) if journal else None)
        scenario = build_scenario(self)
        simulation = Simulation(scenario, record, session, source=self.record, verify=verify, observer=observer)
        session.finish(_run_until_stopped(simulation, until=self.steps[-1]))
        status = self.manifest.status
        record.set_status(state=status.state, reason=status.reason, stop=status.stop)
        return Run(record)

    @takes_settings(RunSettings, CallSettings, inherit=True)
    def fork(
        self,
        at: int,
        *,
        parameters: Mapping[str, Any] | None = None,
        interventions: Interventions = (),
        observer: Observer | None = None,
        desk: Desk | None = None,
        **settings: Any,
    ) -> Run:
        """A new run that shares every step before `at` and differs from there on.

        Earlier answers are reused, not bought again, and none is copied. A setting that is left out stays as it was.

        Args:
            at: The first step that differs.
            parameters: Parameters to change from that step on.
            interventions: Further interventions, at `at` or later.
            observer: Receives the progress of the run.
            desk: Where somebody answers in the place of people.
            **settings: See `RunSettings` and `CallSettings`.
        """
        model = settings.get("model")
        calls = read_settings(CallSettings, settings)
        manifest = self._fork_manifest(at, parameters or {}, interventions, settings)
        workspace = Workspace.of(self.journal)
        session = Session(workspace.store(), calls=calls, model=model, run=self.record, desk=desk)
        return _start(build_scenario(self), manifest, session, workspace, observer)

    def _fork_manifest(
        self, at: int, parameters: Mapping[str, Any], interventions: Interventions, settings: dict[str, Any]
    ) -> Manifest:
        last = self.steps[-1] if self.steps else -1
        if not 1 <= at <= last + 1:
            raise UsageError(f"{self.name} cannot be forked at step {at}.", f"It can be forked at 1 to {last + 1}.")
        scenario = build_scenario(self)
        further = recorded_interventions(_several(interventions), scenario)
        early = next((each for each in further if each.at < at), None)
        if early is not None:
            raise UsageError(
                f"an intervention at step {early.at} lies before the fork at {at}.",
                f"Fork at {early.at}, or let the intervention happen at {at} or later.",
            )
        scenario.change(parameters)
        before = self.manifest.regime
        inherited = {name: getattr(before, name) for name in RunSettings.model_fields}
        changes = {name: value for name, value in settings.items() if value is not None}
        run_settings = _run_settings(changes, **inherited)
        refuse_unknown(changes, self.fork)
        values = {name: scenario.parameters[name] for name in parameters}
        manifest = self.manifest.model_copy(deep=True)
        earlier = [regime for regime in manifest.regimes if regime.since < at]
        manifest.regimes = [*earlier, Regime(**run_settings.model_dump(), since=at, parameters=values)]
        manifest.interventions += further
        manifest.parent = Parent(run=self.name, at=at)
        manifest.status = Status()
        manifest.scenario_hash = type(scenario).source_hash()
        manifest.environment, manifest.created = environment(), now()
        return manifest

    def trust(self) -> Run:
        """Trust the code that this run names, and remember that in its workspace; read the code before.

        Example:
            >>> from populace.scenarios.norms import Norms
            >>> run = simulate(Norms(workers=3, days=2), decider="rule", keep="nothing")
            >>> run.trust().replay().steps
            [0, 1, 2]
        """
        specs = sorted(_model_strings(self.manifest.model_dump(mode="json", include={"regimes", "interventions"})))
        models = [code for spec in specs for code in model_code(spec)]
        trusted_for(self.record).remember([*source_code(self.manifest.scenario), *models])
        return self

    def at(self, step: int | None = None) -> Society:
        """The society as it was after a step, to interview, to ask again, to fork; after the last by default.

        Example:
            >>> from populace.scenarios.norms import Norms
            >>> run = simulate(Norms(workers=3, days=2), decider="rule", keep="nothing")
            >>> len(run.at(1).people)
            3
        """
        return Society(self, self._step(step))


def open_run(name: str | Path = "last", workspace: str | Path | Workspace | None = None) -> Run:
    """A recorded run by its name, by the beginning of its name, or by its folder; the newest by default.

    Args:
        name: Its name or folder; `last` is the newest run.
        workspace: The folder that holds `runs/`; the current one by default.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from populace.scenarios.norms import Norms
        >>> with TemporaryDirectory() as folder:
        ...     run = simulate(Norms(workers=3, days=2), decider="rule", workspace=folder)
        ...     open_run("last", folder).name == run.name
        True
    """
    return Run((workspace if isinstance(workspace, Workspace) else Workspace(workspace)).open(name))


def _several(interventions: Interventions) -> list[Intervention | Mapping[str, Any]]:
    """Interventions as a list; a single one is often passed without brackets."""
    return [interventions] if isinstance(interventions, Intervention) else list(interventions)


@takes_settings(RunSettings, CallSettings)
def simulate(
    scenario: Scenario,
    *,
    interventions: Interventions = (),
    recording: Run | None = None,
    workspace: str | Path | Workspace | None = None,
    keep: Keep = "run",
    observer: Observer | None = None,
    desk: Desk | None = None,
    **settings: Any,
) -> Run:
    """Run a scenario to its end.

    Args:
        scenario: The scenario, with its parameters.
        interventions: Changes that are made to the run from outside, each at its step.
        recording: The recorded run that supplies answers for people whose decider is `replay`.
        workspace: The folder for the run and the call store; the current one by default.
        keep: What outlives the process: the `run` folder and the call store, only the `calls`, or `nothing`.
        observer: Receives the progress of the run.
        desk: Where somebody answers in the place of the people whom `play` names.
        **settings: See `RunSettings` and `CallSettings`.

    Example:
        >>> from populace.scenarios.norms import Norms
        >>> simulate(Norms(workers=4, days=1), decider="rule", keep="nothing").manifest.status.state
        'complete'
    """
    scenario = check_scenario(scenario)
    model = settings.get("model")
    calls, run_settings = read_settings(CallSettings, settings), _run_settings(settings)
    run_settings.on_failure = run_settings.on_failure or scenario.on_failure
    own = next((name for name in settings if name in scenario.parameter_model().model_fields), None)
    if own is not None:
        name = type(scenario).__name__
        raise UsageError(f"{own} is a parameter of {name}, not of simulate.", f"Write: pc.simulate({name}({own}=…), …)")
    if "steps" in settings:
        raise UsageError(
            "simulate takes no steps: the scenario says how long a run is.",
            f"Write in the class: steps: int = {settings['steps']!r}, or def length(self).",
        )
    refuse_unknown(settings, simulate)
    if keep not in get_args(Keep):
        raise UnknownNameError("value of keep", str(keep), get_args(Keep))
    workspace = workspace if isinstance(workspace, Workspace) else Workspace(workspace)
    manifest = Manifest(
        run="",
        scenario=reference(type(scenario)),
        scenario_hash=type(scenario).source_hash(),
        regimes=[Regime(**run_settings.model_dump(), parameters=scenario.parameters)],
        interventions=recorded_interventions(_several(interventions), scenario),
        recording=str(recording.folder.resolve()) if recording is not None else None,
        environment=environment(),
        created=now(),
    )
    manifest.run = _stem(type(scenario), manifest)
    session = Session(None if keep == "nothing" else workspace.store(), calls=calls, model=model, desk=desk)
    record = recording.record if recording is not None else None
    return _start(scenario, manifest, session, workspace if keep == "run" else None, observer, record)


def _start(
    scenario: Scenario,
    manifest: Manifest,
    session: Session,
    workspace: Workspace | None,
    observer: Observer | None,
    recording: Record | None = None,
) -> Run:
    """Start the models, write the manifest, and go."""
    later_models = [model for each in manifest.interventions for model in each.models()]

    async def go() -> Run:
        if manifest.regime.decider == "model":
            model = await session.model(manifest.regime.model)
            session.check_prices(later_models)
            manifest.models = {model.spec: model.fingerprint}
        record: Record = MemoryRecord(manifest)
        if workspace is not None:
            record = workspace.create(manifest, _stem(type(scenario), manifest))
            if manifest.parent is None:
                models = [manifest.regime.model, *later_models]
                codes = [code for model in models for code in model_code(model)]
                workspace.trusted.remember([*source_code(manifest.scenario), *codes])
        with _locked(record):
            source = record if manifest.parent is not None else None
            simulation = Simulation(scenario, record, session, source=source, recording=recording, observer=observer)
            try:
                await _run_until_stopped(simulation)
            except UsageError:
                if isinstance(record, Journal):
                    record.remove_if_empty()
                raise
        return Run(record)

    return session.finish(go())


async def _run_until_stopped(simulation: Simulation, until: int | None = None) -> None:
    """Run, and turn Ctrl-C into a clean stop; pressed again, it stops at once."""
    loop = asyncio.get_running_loop()
    main = threading.current_thread() is threading.main_thread()
    task = asyncio.current_task()

    def interrupt() -> None:
        if simulation.stopping and task is not None:
            task.cancel()
        simulation.halt()

    # Not `loop.add_signal_handler`, which lists all signals of the system each time.
    before = signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(interrupt)) if main else None
    try:
        await simulation.run(until)
    except asyncio.CancelledError:
        reason = "interrupted twice; calls under way were dropped"
        simulation.record.set_status(state="stopped", reason=reason, stop=Stop(kind="interrupted"))
        raise KeyboardInterrupt from None
    finally:
        if main:
            signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)


@contextlib.contextmanager
def _locked(record: Record) -> Iterator[None]:
    if not isinstance(record, Journal):
        yield
        return
    record.lock()
    try:
        yield
    finally:
        record.release()


def _run_settings(values: dict[str, Any], **inherited: Any) -> RunSettings:
    """The settings of a run, with a variation that is checked by those who know what it may hold."""
    if values.get("variation") is not None:
        values["variation"] = Variation.read(values["variation"])
    return read_settings(RunSettings, values, **inherited)


def _model_strings(value: Any, name: str = "") -> set[str]:
    """Every model string in the data of a manifest: whatever stands under `model`."""
    if isinstance(value, dict):
        return {spec for key, part in value.items() for spec in _model_strings(part, str(key))}
    if isinstance(value, list):
        return {spec for part in value for spec in _model_strings(part, name)}
    return {value} if name == "model" and isinstance(value, str) else set()


def _new_folder(folder: Path, manifest: Manifest) -> Journal:
    try:
        return Journal.create(folder, manifest)
    except FileExistsError as error:
        raise UsageError(f"{folder} exists already.", "Name another place, or remove it first.") from error


def _stem(scenario: type[Scenario], manifest: Manifest) -> str:
    """The scenario's name and four digits of what makes this run differ from others of it."""
    what = manifest.model_dump_json(include={"scenario", "regimes", "interventions", "parent"})
    return f"{scenario.title()}-{hashlib.blake2b(what.encode(), digest_size=2).hexdigest()}"


def _recording(journal: Journal) -> Record | None:
    folder = journal.manifest.recording
    if folder is None:
        return None
    try:
        return Journal(Path(folder))
    except PopulaceError as error:
        raise UsageError(
            f"{journal.name} answers from the recording {folder}, which cannot be read: {error.what}"
        ) from error
