"""The loop: from the beginning, step by step, to the end, each step committed once.

A step observes, decides and commits. Steps that are recorded already are run again with the recorded answers; that is
all that resuming, replaying and forking are.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections import Counter
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from populace.base.errors import (
    InterruptedRunError,
    ModelError,
    PopulaceError,
    ReplayMismatchError,
    StoppedError,
    UsageError,
)
from populace.base.foreign import for_shell
from populace.base.formatting import compact_json
from populace.base.plain_tables import Table
from populace.base.randomness import stream
from populace.broker import Usage
from populace.deciders import DeskReplies, InquiryResult, RecordedStep, decide, rejected_prompts, replay
from populace.engine import step_tables
from populace.engine.metrics import plain_metric
from populace.engine.observer import Observer
from populace.engine.play import check_play, played_names
from populace.engine.run_control import add_resume_hint
from populace.engine.scenario import Scenario
from populace.engine.scenario_code import (
    check_length,
    check_setup,
    check_step,
    code_outside_step,
    error_in_scenario,
)
from populace.engine.scopes import Driver, Scope, call_and_wait
from populace.engine.session import Session
from populace.engine.stage import Event, Stage
from populace.engine.step_commits import StepCommits
from populace.journal import NOBODY_SELECTED, Intervention, Journal, Record, Regime, Stop, StopKind
from populace.prompting import Inquiry
from populace.prompting.variation import Variation
from populace.questions import Answers

_PAUSE_CHECK_S = 0.1
"""How often, in seconds of the wall clock, a paused run looks whether it may go on."""

_MANY_REJECTED = 20
"""If a model rejects so many prompts at once and accepts none, the cause is not one long prompt."""


@dataclass
class _Step:
    """The questions and answers of a step so far."""

    number: int
    asks: list[tuple[Inquiry, InquiryResult]] = field(default_factory=list)
    start: float = 0.0


class Simulation:
    """One scenario on its way through its steps.

    Args:
        scenario: The scenario, with the parameters of the first regime.
        record: Where steps are committed.
        session: Gives access to models.
        source: A record whose answers are used in place of asking, up to `replay_until`.
        replay_until: The first step that is asked anew; by default, the first that the source does not have.
        recording: A record for people whose decider is a recording of another run.
        verify: Compare everything that a replayed step makes with what the source holds.
        observer: Receives the progress of the run.
    """

    def __init__(
        self,
        scenario: Scenario,
        record: Record,
        session: Session,
        *,
        source: Record | None = None,
        replay_until: int | None = None,
        recording: Record | None = None,
        verify: bool = False,
        observer: Observer | None = None,
    ) -> None:
        self.scenario = scenario
        self.record = record
        self.session = session
        self.broker = session.broker
        self.source = source
        self.replay_until = len(source.steps()) if source is not None and replay_until is None else replay_until or 0
        self.recording = recording
        self.verify = verify
        self.observer = observer or Observer()
        self._commits = StepCommits(record, lambda step: self.observer.on_commit(self, step), self.halt)
        self.step = 0
        self.planned: int | None = None
        self.statuses: Counter[str] = Counter()
        self.metrics: dict[str, float | str | None] = {}
        self.stopping = False
        self.interventions: list[Intervention] = list(record.manifest.interventions)
        self._regimes = record.manifest.regimes
        self._driver = Driver[Inquiry](self._answer)
        first = self._regimes[0]
        self._stage = Stage(scenario, self._driver, first, session)
        self._variation = Variation.read(first.variation)
        self._play = played_names(first)
        self._current = _Step(0)
        self._last_usage = Usage()
        self.broker.on_replies = lambda: self.observer.on_replies(self)
        self._tables: dict[str, pl.DataFrame] = {}
        self._cached_step: tuple[Record, RecordedStep] | None = None
        self._metrics = scenario.own_metrics()
        self._has_replies = False
        folder = record.folder if isinstance(record, Journal) else None
        self._replies = DeskReplies(session.desk, folder, session.calls.play_timeout_s, lambda: self.stopping)

    async def run(self, until: int | None = None) -> str:
        """Go to the end, or only to a step; returns why the run ended."""
        self.observer.on_start(self)
        ending: tuple[str, StopKind] | None = None
        thresholds = gc.get_threshold()
        # A step makes very many small objects that live until it ends; the collector would walk them again and again.
        gc.set_threshold(100_000, 50, 100)
        try:
            try:
                await self._begin()
                while (ending := self._ending(until)) is None:
                    await self._wait_while_paused()
                    if self.stopping:
                        raise InterruptedRunError("interrupted between two steps.")
                    await self._advance()
            finally:
                # However the run ends: a step that is done is not lost, and the status below is the last one written.
                await self._commits.leave()
        except (StoppedError, ModelError) as stop:
            # Also while recorded steps are run again: the run must not seem to go on when its process is gone.
            self.record.set_status(state="stopped", reason=stop.what, stop=Stop.of(stop), **self._abandoned_calls())
            add_resume_hint(stop, self.record)
            raise
        except PopulaceError as error:
            self._set_status(state="failed", reason=error.what, stop=Stop(kind="error"), **self._abandoned_calls())
            if isinstance(error, UsageError):
                # Calls may have been made: "bad input; nothing was started" would be wrong.
                error.exit_code = PopulaceError.exit_code
            raise
        finally:
            gc.set_threshold(*thresholds)
            self.observer.on_end(self)
        reason, kind = ending
        if until is None:
            self._set_status(state="complete", reason=reason, stop=Stop(kind=kind))
        return reason

    def halt(self) -> None:
        """End soon: the step under way is abandoned once the calls under way are in the store."""
        self.stopping = True
        self.broker.halt()

    @property
    def calls_in_step(self) -> int:
        """How many calls were made so far in the step under way."""
        return self.broker.usage.calls - self._last_usage.calls

    @property
    def step_under_way(self) -> int:
        """The number of the step that is being made, or was made last; 0 during the setup."""
        return self._current.number

    @property
    def replaying(self) -> bool:
        """Whether the step under way uses recorded answers."""
        return self._current.number < self.replay_until

    async def _begin(self) -> None:
        self._current = _Step(0, start=time.monotonic())
        people = await self._drive(call_and_wait(self.scenario.setup), "0")
        # A copy, so that people who are used for several runs are the same at the beginning of each.
        self._stage.people = check_setup(self.scenario, people).copy()
        check_play(self._stage.settings, self._stage.people, self.interventions)
        for intervention in self.interventions:
            intervention.check_names(self._stage)
        self.planned = self._length()
        await self._commit()

    async def _advance(self) -> None:
        number = self.step + 1
        self._current = _Step(number, start=time.monotonic())
        self._stage.step = number
        self._stage.events, self._stage.rngs = [], {}
        self._intervene(number)
        check_step(self.scenario, await self._drive(self.scenario.step(), str(number)))
        await self._drive(self.scenario.finish_minds(), f"{number}/mind")
        await self._commits.finish()
        self.step = number
        self.planned = self._length()
        await self._commit()

    async def _drive(self, body: Coroutine[Any, Any, Any], path: str) -> Any:
        """Run code of the scenario; what it raises is reported with the lines that raised it."""
        with error_in_scenario(f"step {path}" if path != "0" else "setup"):
            try:
                result = await self._driver.run(body, Scope(path))
                for call in list(self._stage.pending.values()):
                    raise call.missing_await()
                return result
            finally:
                for call in list(self._stage.pending.values()):
                    call.close()
                self._stage.pending.clear()

    def _outside_step(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Run code of the scenario that may read the people but not change them."""
        return code_outside_step(name, self.scenario.people)

    def _length(self) -> int | None:
        with self._outside_step("length"):
            return check_length(self.scenario, self.scenario.length())

    def _enter(self, regime: Regime) -> None:
        """A fork's own settings, from the step at which it leaves its parent."""
        self.scenario.change(regime.parameters)
        self._stage.settings = regime
        self._variation = Variation.read(regime.variation)
        self._play = played_names(regime)
        check_play(self._stage.settings, self._stage.people, self.interventions)

    def _intervene(self, step: int) -> None:
        for intervention in self.interventions:
            intervention.end(self._stage, step)
            if intervention.at == step:
                path = f"{step}/intervention/{self.interventions.index(intervention)}"
                seed = self._stage.settings.seed
                if intervention.selects_nobody(self._stage.people, stream(seed, path)):
                    data = compact_json({"intervention": intervention.describe()})
                    self._stage.events.append(Event(None, NOBODY_SELECTED, data))
                intervention.apply(self._stage, stream(seed, path))

    async def _answer(self, inquiries: list[Inquiry]) -> list[Answers]:
        """Answer the open questions of a wave together."""
        for inquiry in inquiries:
            self.observer.on_question(self, inquiry)
        inquiries = [self._variation.apply(inquiry) for inquiry in inquiries]
        if self._play:
            inquiries = [replace(inquiry, play=self._play) for inquiry in inquiries]
        if self.replaying:
            results = [self._replay(inquiry) for inquiry in inquiries]
        else:
            recorded_step = self._recorded_step(self.recording, self._current.number)
            results = []
            for outcome in await _all([decide(each, self.broker, recorded_step, self._replies) for each in inquiries]):
                if isinstance(outcome, BaseException):
                    raise outcome
                answers = self._variation.restore(outcome.answers)
                results.append(outcome if answers is outcome.answers else replace(outcome, answers=answers))
        self._check_rejections(results)
        for inquiry, result in zip(inquiries, results, strict=True):
            self._current.asks.append((inquiry, result))
            self.statuses.update(result.answers.statuses())
        return [result.answers for result in results]

    def _check_rejections(self, results: list[InquiryResult]) -> None:
        """Stop if the model rejected every prompt of the run so far, or very many at once: it cannot do the task."""
        rejected = sum(rejected_prompts(result) for result in results)
        total = sum(result.prompt_rows.height for result in results)
        recorded = self.replaying or self._stage.settings.on_failure == "record"
        if rejected == total and not recorded and (rejected >= _MANY_REJECTED or (rejected and not self._has_replies)):
            raise self.broker.rejection_error(rejected)
        self._has_replies = self._has_replies or rejected < total

    def _replay(self, inquiry: Inquiry) -> InquiryResult:
        step = self._recorded_step(self.source, self._current.number)
        if self.source is None or step is None:
            raise ReplayMismatchError("the journal lacks this step.", step=self._current.number)
        return replay(inquiry, step, self.source.name, redraw=self.verify)

    def _recorded_step(self, record: Record | None, number: int) -> RecordedStep | None:
        """A recorded step, read once and remembered while it is needed."""
        if record is None or number > (record.steps() or [-1])[-1]:
            return None
        cached = self._cached_step
        if cached is None or cached[0] is not record or cached[1].step != number:
            tables = [record.table(number, name) for name in ("asks", "prompts", "answers")]
            cached = self._cached_step = (record, RecordedStep(number, *tables))
        return cached[1]

    def _ending(self, until: int | None) -> tuple[str, StopKind] | None:
        """Why the run is over, or None while it goes on."""
        if until is not None and self.step >= until:
            return f"step {until} is reached", "done"
        for regime in self._regimes[1:]:
            if regime.since == self.step + 1:
                # A fork may leave its parent at the very end, where its settings decide whether there is more to do.
                self._enter(regime)
                self.planned = self._length()
        if self.planned is not None and self.step >= self.planned:
            text = "its only step is done" if self.planned == 1 else f"all {self.planned} steps are done"
            return text, "done"
        with self._outside_step("stop"):
            reason = self.scenario.stop() if self.step else None
        return (reason, "scenario") if reason else None

    async def _wait_while_paused(self) -> None:
        while not self.stopping and self.record.paused(waits=not self._commits.under_way):
            await self._commits.finish()
            await asyncio.sleep(_PAUSE_CHECK_S)

    async def _commit(self) -> None:
        number = self._current.number
        tables, facts = self._tables_and_facts()
        if self.replaying:
            self._compare(number, tables)
        if not (self.replaying and self.record is self.source):
            status = {"steps": number, "planned": self.planned, "notes": self._notes()}
            self._commits.commit(number, tables, facts, self._usage_since(), status)
        self.observer.on_step(self)
        # A step that never waited would keep signals and displays from their turn.
        await asyncio.sleep(0)

    def _tables_and_facts(self) -> tuple[dict[str, Table], dict[str, Any]]:
        """The tables of the step, and the facts about it."""
        people = self.scenario.people
        rows, changed_columns = people.take_changes()
        with self._outside_step("a metric"):
            self.metrics = {name: plain_metric(f(self.scenario), name) for name, f in self._metrics.items()}
        tables: dict[str, Table] = {}
        if self._current.asks:
            tables |= step_tables.question_tables(self._current.asks)
        columns = people.columns if rows else changed_columns
        if columns:
            tables["people"] = (
                people.frame if rows else pl.DataFrame([people.ids, *map(people.frame.get_column, changed_columns)])
            )
        if self._stage.events:
            tables["events"] = step_tables.event_table(self._current.number, self._stage.events, people.ids.dtype)
        tables["metrics"] = step_tables.metric_row(self._current.number, self.metrics)
        for name, table in self._stage.tables.items():
            if self._tables.get(name) is not table:
                tables[f"tables/{name}"] = table
                self._tables[name] = table
        facts = {
            "now": self.scenario.now.isoformat(),
            "people": {"count": len(people), "rows": rows, "columns": people.columns, "written": columns},
            **step_tables.status_counts(self._current.asks),
        }
        return tables, facts

    def _compare(self, number: int, tables: Mapping[str, Table]) -> None:
        """Stop where a replayed step made something else than the source holds."""
        if self.source is None:
            return
        recorded_step = self._recorded_step(self.source, number)
        paths = [inquiry.path for inquiry, _ in self._current.asks]
        if recorded_step is not None and recorded_step.paths != paths:
            missing = next((path for path in recorded_step.paths if path not in paths), None)
            raise ReplayMismatchError(
                f"run {self.source.name}, step {number}: the scenario no longer asks the question at {missing}.",
                f"Keep the old result: populace show {for_shell(self.source.name)}.",
                step=number,
            )
        names = list(tables) if self.verify else ["metrics"]
        step_tables.compare_tables(self.source, number, {name: tables[name] for name in names})

    def _usage_since(self) -> dict[str, Any]:
        """What was used since the last commit."""
        usage = self.broker.usage - self._last_usage
        self._last_usage = Usage.from_json(self.broker.usage.to_json())
        seconds = time.monotonic() - self._current.start
        return {**usage.to_json(), "seconds": round(seconds, 4)}

    def _abandoned_calls(self) -> dict[str, int]:
        """The calls of abandoned steps, as a part of the status."""
        return {"abandoned_calls": self.record.manifest.status.abandoned_calls + self.calls_in_step}

    def _notes(self) -> list[str]:
        models = [note for model in self.broker.models for note in model.notes]
        return list(dict.fromkeys([*self.record.manifest.status.notes, *models]))

    def _set_status(self, **changes: Any) -> None:
        if not (self.record is self.source and self.replaying):
            self.record.set_status(**changes)


async def _all(coroutines: list[Coroutine[Any, Any, InquiryResult]]) -> list[InquiryResult | BaseException]:
    """The results of coroutines that run side by side, with what one of them raised in its place."""
    if len(coroutines) == 1:  # Without a task, which takes longer to make than it takes a few people to choose.
        return [await coroutines[0]]
    return await asyncio.gather(*coroutines, return_exceptions=True)
