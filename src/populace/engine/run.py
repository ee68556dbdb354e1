"""A run as an object: start it, resume it, replay it, fork it, talk to its people."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from populace.base.errors import PopulaceError, UnknownNameError, UsageError
from populace.base.templates import Template
from populace.broker import Broker, Budget, CallStore, MemoryCallStore
from populace.deciders import DECIDERS, decide
from populace.engine.discovery import find_scenario, reference
from populace.engine.event_loop import finish, guarded, to_the_end
from populace.engine.interventions import Intervention, read_interventions
from populace.engine.scenario import Scenario
from populace.engine.simulation import Observer, Simulation
from populace.engine.workspace import Workspace
from populace.journal import (
    Journal,
    Manifest,
    MemoryRecord,
    Parent,
    Record,
    Regime,
    Status,
    author,
    environment,
    git_revision,
    now,
)
from populace.models import Model, open_model
from populace.people import Id, People
from populace.prompting import Inquiry, Situation
from populace.prompting.variation import Variation
from populace.questions import Answers, Question
from populace.runs.reader import RunReader

AnyModel = str | Model
Keep = Literal["run", "calls", "nothing"]


class Run(RunReader):
    """A run: what it left behind, and what can still be done with it.

    Example:
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=5, days=2), model="scripted:uniform", seed=1, keep="nothing")
        >>> run.metrics.height
        3
    """

    def resume(
        self,
        *,
        model: Model | None = None,
        budget: Budget | None = None,
        concurrency: int = 16,
        timeout_s: float = 120.0,
        observer: Observer | None = None,
    ) -> Run:
        """Go on from the last committed step; what was paid for before is not paid for again."""
        journal = self.journal
        if journal.manifest.status.state == "complete":
            return self
        with _locked(journal):
            scenario = _scenario(journal.manifest)
            broker = _broker(Workspace(_workspace_of(journal)).store(), model, budget, concurrency, timeout_s)
            journal.set_status(state="running", reason="")
            for step in journal.steps():
                journal.verify(step)
            simulation = Simulation(
                scenario,
                journal,
                broker,
                source=journal,
                replay_until=len(journal.steps()),
                recording=_recording(journal),
                observer=observer,
            )
            finish(to_the_end(simulation))
        return self

    def replay(self, *, verify: bool = False, into: str | Path | None = None, observer: Observer | None = None) -> Run:
        """Run the scenario again on the recorded answers, without any model.

        A changed question or prompt stops the replay where it parts from the journal.

        Args:
            verify: Also compare every table of every step, and draw again from the distributions.
            into: A folder to write the replayed journal to; by default it is kept in memory.
            observer: Receives the progress of the run.
        """
        if isinstance(self.record, Journal):
            for step in self.steps:
                self.record.verify(step)
        manifest = self.manifest.model_copy(deep=True)
        record: Record = MemoryRecord(manifest)
        if into is not None:
            record = Journal.create(Path(into), manifest.model_copy(update={"run": Path(into).name, "parent": None}))
        broker = _broker(MemoryCallStore(), None, None, 1, 1.0)
        simulation = Simulation(
            _scenario(manifest),
            record,
            broker,
            source=self.record,
            replay_until=len(self.steps),
            verify=verify,
            observer=observer,
        )
        finish(to_the_end(simulation, until=self.steps[-1]))
        record.set_status(state=self.manifest.status.state, reason=self.manifest.status.reason)
        return Run(record)

    def fork(
        self,
        at: int,
        *,
        parameters: Mapping[str, Any] | None = None,
        seed: int | None = None,
        model: AnyModel | None = None,
        decider: str | None = None,
        temperature: float | None = None,
        variation: Variation | Mapping[str, Any] | None = None,
        interventions: Sequence[Intervention | Mapping[str, Any]] = (),
        budget: Budget | None = None,
        concurrency: int = 16,
        timeout_s: float = 120.0,
        observer: Observer | None = None,
    ) -> Run:
        """A run that shares every step before `at` and goes its own way from there.

        Earlier answers are reused, not bought again, and none is copied.

        Args:
            at: The first step that differs.
            parameters: Parameters to change from that step on.
            seed: Another seed from that step on.
            model: Another model from that step on.
            decider: Another decider from that step on.
            temperature: Another temperature from that step on.
            variation: Another way of asking from that step on.
            interventions: Further interventions, at `at` or later.
            budget: What it may spend.
            concurrency: How many calls may be under way at once.
            timeout_s: How long one attempt of a call may take.
            observer: Receives the progress of the run.
        """
        journal, last = self.journal, self.steps[-1] if self.steps else -1
        if not 1 <= at <= last + 1:
            raise UsageError(f"{self.name} cannot be forked at step {at}.", f"It can be forked at 1 to {last + 1}.")
        added = read_interventions([_plain(each) for each in interventions])
        early = next((each for each in added if each.at < at), None)
        if early is not None:
            raise UsageError(f"an intervention at step {early.at} lies before the fork at {at}.")
        before = self.manifest.regime
        scenario = _scenario(self.manifest)
        scenario.change(parameters or {})
        regime = Regime(
            since=at,
            parameters={name: scenario.parameters[name] for name in parameters or {}},
            seed=before.seed if seed is None else seed,
            model=before.model if model is None else _spec(model),
            decider=_decider(decider or before.decider),
            temperature=before.temperature if temperature is None else temperature,
            variation=before.variation if variation is None else Variation.read(variation).data(),
        )
        manifest = self.manifest.model_copy(deep=True)
        kept = [each for each in manifest.regimes if each.since < at]
        manifest.regimes = [*kept, regime]
        manifest.interventions += [each.model_dump(mode="json") for each in added]
        manifest.parent = Parent(run=self.name, at=at)
        manifest.status = Status()
        manifest.scenario_hash = type(scenario).source_hash()
        manifest.environment["author"] = author()
        workspace = Workspace(_workspace_of(journal))
        manifest.run = workspace.free_name(_stem(type(scenario), manifest))
        broker = _broker(workspace.store(), model, budget, concurrency, timeout_s)
        return _start(_scenario(self.manifest), manifest, broker, workspace, observer)

    def interview(
        self,
        question: Question,
        *,
        people: Sequence[Id] | None = None,
        at: int | None = None,
        given: str = "",
        model: AnyModel | None = None,
        concurrency: int = 16,
        timeout_s: float = 120.0,
        **fields: Any,
    ) -> Answers:
        """Ask people something on the side, as they were after a step. The run does not change.

        Interviews are kept beside the run, marked as such.

        Args:
            question: What to ask.
            people: Whom, by id or name; everybody by default.
            at: As of which step; the last by default.
            given: What they are told before it.
            model: Who answers; the model of the run by default.
            concurrency: How many calls may be under way at once.
            timeout_s: How long one attempt of a call may take.
            **fields: Values for fields.
        """
        step = self._step(at)
        regime = next(r for r in reversed(self.manifest.regimes) if r.since <= step)
        store = Workspace(_workspace_of(self.record)).store() if isinstance(self.record, Journal) else MemoryCallStore()
        broker = _broker(store, model, None, concurrency, timeout_s)
        number = len(self.interviews()) if isinstance(self.record, Journal) else 0

        async def hold() -> Answers:
            try:
                record = MemoryRecord(self.manifest.model_copy(deep=True))
                scenario = _scenario(self.manifest)
                await Simulation(scenario, record, broker, source=self.record, replay_until=step + 1).run(until=step)
                asked: People = scenario.people
                if people is not None:
                    asked = asked.take([asked.person(who).id for who in people])
                situation = Situation(question, Template(given), fields, {})
                spec = regime.model if model is None else _spec(model)
                inquiry = Inquiry(
                    f"interview/{step}/{number}",
                    asked,
                    scenario.mind,
                    situation,
                    regime.seed,
                    regime.temperature,
                    spec,
                    purpose="interview",
                )
                return (await decide(inquiry, broker)).answers
            finally:
                await broker.close()

        answers = finish(hold())
        if isinstance(self.record, Journal):
            self._note_interview(step, question, given, regime.model if model is None else _spec(model), answers)
        return answers

    def _note_interview(self, step: int, question: Question, given: str, model: str, answers: Answers) -> None:
        rows = answers.frame.with_columns(pl_value=answers.values).to_dicts()
        entry = {
            "step": step,
            "question": question.describe(),
            "given": given,
            "model": model,
            "held": now(),
            "answers": [{"person": row["id"], "value": row["value"], "status": row["status"]} for row in rows],
        }
        with (self.folder / "interviews.jsonl").open("a") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def simulate(
    scenario: Scenario,
    *,
    model: AnyModel = "embedded",
    seed: int = 0,
    temperature: float = 1.0,
    variation: Variation | Mapping[str, Any] | None = None,
    decider: str = "model",
    interventions: Sequence[Intervention | Mapping[str, Any]] = (),
    recording: Run | None = None,
    budget: Budget | None = None,
    workspace: str | Path | None = None,
    keep: Keep = "run",
    concurrency: int = 16,
    timeout_s: float = 120.0,
    observer: Observer | None = None,
) -> Run:
    """Run a scenario to its end.

    Args:
        scenario: The scenario, with its parameters.
        model: Who decides: a model string such as `embedded`, or a model.
        seed: Of everything random in the run.
        temperature: Applied to the distributions after the fact.
        variation: Another way to ask the same: other words, order, labels or names.
        decider: Who decides for people whom no column gives another: `model`, `rule` or `replay`.
        interventions: What is done to the society from outside, and when.
        recording: The run that people whose decider is `replay` answer from.
        budget: What may be spent before the run stops, resumable.
        workspace: The folder for the run and the call store; the current one by default.
        keep: What outlives the process: the `run` folder and the call store, only the `calls`, or `nothing`.
        concurrency: How many calls may be under way at once; it changes no result.
        timeout_s: How long one attempt of a call may take.
        observer: Receives the progress of the run.

    Example:
        >>> from populace.scenarios.norms import Norms
        >>> simulate(Norms(workers=4, days=1), decider="rule", keep="nothing").manifest.status.state
        'complete'
    """
    if temperature < 0:
        raise UsageError(f"the temperature is {temperature}; it cannot be below 0.")
    place = Workspace(workspace)
    regime = Regime(
        parameters=scenario.parameters,
        seed=seed,
        model=_spec(model),
        decider=_decider(decider),
        temperature=temperature,
        variation=Variation.read(variation).data(),
    )
    manifest = Manifest(
        run="",
        scenario=reference(type(scenario)),
        scenario_hash=type(scenario).source_hash(),
        regimes=[regime],
        interventions=[each.model_dump(mode="json") for each in read_interventions([_plain(i) for i in interventions])],
        recording=str(recording.folder.resolve()) if recording is not None else None,
        environment=dict(environment()),
        created=now(),
    )
    revision = git_revision(Path.cwd())
    if revision:
        manifest.environment["git"] = revision
    stem = _stem(type(scenario), manifest)
    manifest.run = place.free_name(stem) if keep == "run" else stem
    store = MemoryCallStore() if keep == "nothing" else place.store()
    broker = _broker(store, model, budget, concurrency, timeout_s)
    home = place if keep == "run" else None
    return _start(scenario, manifest, broker, home, observer, recording.record if recording else None)


def _start(
    scenario: Scenario,
    manifest: Manifest,
    broker: Broker,
    workspace: Workspace | None,
    observer: Observer | None,
    recording: Record | None = None,
) -> Run:
    """Start the models, write the manifest, and go."""

    async def go() -> Run:
        try:
            if manifest.regime.decider == "model":
                started = await broker.model(manifest.regime.model)
                manifest.models = {started.spec: started.fingerprint}
            record = Journal.create(workspace.runs / manifest.run, manifest) if workspace else MemoryRecord(manifest)
            with _locked(record):
                source = record if manifest.parent else None
                until = len(record.steps()) if manifest.parent else 0
                await guarded(
                    Simulation(
                        scenario,
                        record,
                        broker,
                        source=source,
                        replay_until=until,
                        recording=recording,
                        observer=observer,
                    )
                )
            return Run(record)
        finally:
            await broker.close()

    return finish(go())


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


def _broker(
    store: CallStore, model: AnyModel | None, budget: Budget | None, concurrency: int, timeout_s: float
) -> Broker:
    if concurrency < 1:
        raise UsageError(f"concurrency is {concurrency}; at least one call must be allowed.")
    given = {model.spec: model} if isinstance(model, Model) else {}
    named = functools.partial(open_model, concurrency=concurrency, timeout_s=timeout_s)
    return Broker(store, budget=budget, opener=lambda spec: given.get(spec) or named(spec))


def _scenario(manifest: Manifest) -> Scenario:
    return find_scenario(manifest.scenario)(**manifest.regimes[0].parameters)


def _spec(model: AnyModel) -> str:
    return model if isinstance(model, str) else model.spec


def _plain(intervention: Intervention | Mapping[str, Any]) -> Mapping[str, Any]:
    return intervention if isinstance(intervention, Mapping) else intervention.model_dump(mode="json")


def _decider(name: str) -> str:
    if name not in DECIDERS:
        raise UnknownNameError("decider", name, DECIDERS)
    return name


def _stem(scenario: type[Scenario], manifest: Manifest) -> str:
    """The scenario's name and four digits of what makes this run differ from others of it."""
    what = manifest.model_dump_json(include={"scenario", "regimes", "interventions", "parent"})
    return f"{scenario.title()}-{hashlib.blake2b(what.encode(), digest_size=2).hexdigest()}"


def _workspace_of(record: Record) -> Path:
    return record.folder.parent.parent if isinstance(record, Journal) else Path(".")


def _recording(journal: Journal) -> Record | None:
    named = journal.manifest.recording
    if named is None:
        return None
    try:
        return Journal(Path(named))
    except PopulaceError as error:
        raise UsageError(
            f"{journal.name} answers from the recording {named}, which cannot be read: {error.what}"
        ) from error
