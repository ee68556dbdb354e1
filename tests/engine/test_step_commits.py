"""A large step is written by another thread while the next one begins; nothing in the journal depends on that."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

from populace import People, Run, Scenario, simulate
from populace.base.errors import (
    BudgetError,
    InterruptedRunError,
    ModelUnreachableError,
    ScenarioError,
    StorageError,
)
from populace.base.plain_tables import Table
from populace.broker.store import CallStore
from populace.engine.observer import Observer
from populace.engine.simulation import Simulation
from populace.journal import Journal, verify_journal
from populace.journal.segments import Commit, write_segment, writing
from populace.models import Request
from populace.prompting import Inquiry
from support.models import Counting, varied
from support.scenarios import Forms, Shirts, Talk, Wallets

TESTS = Path(__file__).parents[1]
PATIENCE_S = 20


@pytest.fixture
def _all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("populace.engine.step_commits.MANY_ROWS", 0)


large = pytest.mark.usefixtures("_all_are_large")


def files(run: Path | Run) -> dict[str, bytes]:
    """Every file of the committed steps."""
    steps = (run if isinstance(run, Path) else run.folder) / "steps"
    return {
        path.relative_to(steps).as_posix(): path.read_bytes() for path in steps.glob("[0-9]*/**/*") if path.is_file()
    }


def only_folder(workspace: Path) -> Path:
    (folder,) = (workspace / "runs").iterdir()
    return folder


def before_writing(monkeypatch: pytest.MonkeyPatch, action: Callable[[int], None]) -> None:
    """Do something before the files of each step are written."""

    def write(steps: Path | str, step: int, tables: Mapping[str, Table], *rest: Any) -> Commit:
        action(step)
        return write_segment(steps, step, tables, *rest)

    monkeypatch.setattr("populace.journal.journal.write_segment", write)


class Log(Observer):
    """Notes what it is told, and for each step when its first question was put."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int]] = []
        self.asked: dict[int, threading.Event] = {step: threading.Event() for step in range(20)}
        self.metrics: list[object] = []

    def on_step(self, simulation: Simulation) -> None:
        self.lines.append(("step", simulation.step))
        self.metrics.append(simulation.metrics.get("share_blue"))

    def on_commit(self, simulation: Simulation, step: int) -> None:
        assert simulation.step == step
        assert simulation.record.steps()[-1] == simulation.record.manifest.status.steps == step
        self.lines.append(("commit", step))

    def on_question(self, simulation: Simulation, inquiry: Inquiry) -> None:
        self.lines.append(("question", simulation.step_under_way))
        self.asked[simulation.step_under_way].set()


@large
def test_a_large_step_is_written_while_the_next_one_begins_and_observers_see_each_step_as_it_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = Log()
    before_writing(monkeypatch, lambda step: step == 3 or waited_for(log.asked[step + 1]))
    run = simulate(Shirts(days=3), model=Counting(), observer=log)
    assert log.lines == [
        *[("step", 0), ("question", 1), ("commit", 0)],
        *[("step", 1), ("question", 2), ("commit", 1)],
        *[("step", 2), ("question", 3), ("commit", 2)],
        *[("step", 3), ("commit", 3)],
    ]
    assert log.metrics == run.metrics["share_blue"].to_list()


@large
def test_whoever_waits_for_a_step_does_not_wait_for_the_head_start_of_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("_HEAD_START", "_MOST_S"):
        monkeypatch.setattr(f"populace.engine.step_commits.{name}", 1e6)
    began = time.monotonic()
    assert simulate(Shirts(), model=Counting()).steps == [0, 1, 2, 3, 4]
    assert time.monotonic() - began < PATIENCE_S


def waited_for(event: threading.Event) -> None:
    assert event.wait(PATIENCE_S)


def test_a_small_step_is_written_at_once_and_in_the_same_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    before_writing(monkeypatch, lambda step: threads.add(threading.get_ident()))
    log = Log()
    simulate(Shirts(days=2), model=Counting(), observer=log)
    assert [line for line in log.lines if line[0] != "question"] == [
        (name, step) for step in range(3) for name in ("commit", "step")
    ]
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("scenario", [Shirts(), Talk(), Forms(), Wallets()], ids=lambda s: type(s).__name__)
def test_the_journal_is_the_same_whether_steps_are_large_or_not(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = simulate(scenario, model=Counting(), seed=4, workspace=tmp_path / "small")
    monkeypatch.setattr("populace.engine.step_commits.MANY_ROWS", 0)
    run = simulate(scenario, model=Counting(), seed=4, workspace=tmp_path / "large")
    assert run.digest == small.digest
    assert files(run) == files(small)
    assert [line | {"seconds": 0} for line in run.record.usage()] == [
        line | {"seconds": 0} for line in small.record.usage()
    ]
    assert run.replay(verify=True, into=tmp_path / "copy").digest == small.digest
    fork = [each.fork(2, seed=9, model=Counting()) for each in (run, small)]
    assert fork[0].digest == fork[1].digest


@large
def test_what_a_scenario_changes_in_the_next_step_is_not_written_with_the_step_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log()
    before_writing(monkeypatch, lambda step: step == 4 or waited_for(log.asked[step + 1]))
    run = simulate(Wallets(), model=Counting(), seed=4, observer=log)
    assert [run.people(at=step)["money"].to_list() for step in run.steps] == [[100 + step] * 6 for step in run.steps]
    assert run.replay(verify=True).steps == run.steps


class Clocks(Scenario):
    """Keeps the time of each person in an array that it changes in its own place."""

    def setup(self) -> People:
        self.minutes = np.zeros(30_000, np.int64)
        return People.named(30_000, seed=self.rng).with_columns(at=self._shared())

    def _shared(self) -> pl.Series:
        return pl.Series(self.minutes).cast(pl.Duration("us"))

    def length(self) -> int:
        return 3

    async def step(self) -> None:
        self.minutes += 1
        self.people["at"] = self._shared()


@pytest.mark.parametrize("keep", ["run", "nothing"])
def test_times_that_a_scenario_changes_in_their_own_array_are_recorded_as_they_were(
    keep: Literal["run", "nothing"], monkeypatch: pytest.MonkeyPatch
) -> None:
    before_writing(monkeypatch, lambda step: time.sleep(0.1))
    run = simulate(Clocks(), decider="rule", seed=1, keep=keep)
    recorded = [run.people(at=step)["at"].dt.total_microseconds().unique().to_list() for step in run.steps]
    assert recorded == [[0], [1], [2], [3]]


class Breaking(Shirts):
    """Fails in its third step."""

    async def step(self) -> None:
        if self.t == 3:
            raise ZeroDivisionError("planned")
        await super().step()


class Ending(Shirts):
    """Ends itself after its second step."""

    def stop(self) -> str | None:
        return "enough" if self.t == 2 else None


class Acting(Observer):
    """Does something when step 2 is done, or when the first question of step 3 is put."""

    def __init__(self, at: str, act: Callable[[Simulation], object]) -> None:
        self.at, self.act = at, act

    def on_step(self, simulation: Simulation) -> None:
        if (self.at, simulation.step) == ("step", 2):
            self.act(simulation)

    def on_question(self, simulation: Simulation, inquiry: Inquiry) -> None:
        if (self.at, simulation.step_under_way) == ("question", 3):
            self.act(simulation)


def unreachable(request: Request) -> Mapping[str, float] | str:
    """`varied`, until the service is gone."""
    if unreachable.left == 0:  # type: ignore[attr-defined]
        raise ModelUnreachableError("nobody answers.", "Start it.")
    unreachable.left -= 1  # type: ignore[attr-defined]
    return varied(request)


def interrupt_twice(simulation: Simulation) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
    simulation.broker.models[0].latency_s = 0.2  # type: ignore[attr-defined]


class FailingAtCommits(Observer):
    """Fails when it is told that step 2 is written."""

    def on_commit(self, simulation: Simulation, step: int) -> None:
        if step == 2:
            raise KeyError("of the observer")


def fail(simulation: Simulation) -> None:
    raise KeyError("of the observer")


CALLS = 6
"""The calls of the first two steps."""
ENDS: dict[str, tuple[Any, type[BaseException] | None, str, str]] = {
    "budget": ({"max_calls": CALLS + 1}, BudgetError, "stopped", "budget"),
    "scenario": ({"scenario": Breaking()}, ScenarioError, "failed", "error"),
    "service": ({"script": unreachable}, ModelUnreachableError, "stopped", "service"),
    "halt after the step": ({"observer": Acting("step", Simulation.halt)}, InterruptedRunError, "stopped", "interrupted"),
    "halt in the next": ({"observer": Acting("question", Simulation.halt)}, InterruptedRunError, "stopped", "interrupted"),
    "twice": ({"observer": Acting("question", interrupt_twice)}, KeyboardInterrupt, "stopped", "interrupted"),
    "observer": ({"observer": Acting("step", fail)}, KeyError, "running", ""),
    "observer of commits": ({"observer": FailingAtCommits()}, KeyError, "running", ""),
    "the end": ({"scenario": Shirts(days=2)}, None, "complete", "done"),
    "an end of its own": ({"scenario": Ending()}, None, "complete", "scenario"),
}  # fmt: skip


@large
@pytest.mark.parametrize("name", ENDS)
def test_however_a_run_ends_the_step_before_is_written_first(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = files(simulate(Shirts(), model=Counting(), seed=1, workspace=tmp_path / "whole"))
    settings, error, state, kind = ENDS[name]
    settings = dict(settings)
    unreachable.left = CALLS  # type: ignore[attr-defined]
    model = Counting()
    model.script = settings.pop("script", model.script)
    at_once = OneAtATime(monkeypatch)
    before_writing(monkeypatch, lambda step: time.sleep(0.3 if step == 2 else 0))
    scenario = settings.pop("scenario", Shirts())
    if error is None:
        simulate(scenario, model=model, seed=1, workspace=tmp_path / "part", **settings)
    else:
        with pytest.raises(error):
            simulate(scenario, model=model, seed=1, workspace=tmp_path / "part", **settings)
    journal = Journal(only_folder(tmp_path / "part"))
    assert journal.steps() == [0, 1, 2]
    assert {name: data for name, data in whole.items() if name < "00003"} == files(journal.folder)
    status = journal.manifest.status
    assert (status.state, status.stop.kind if status.stop else "", status.steps) == (state, kind, 2)
    assert verify_journal(journal)
    assert at_once.writers == {0, 1}
    if state == "stopped":
        monkeypatch.undo()
        monkeypatch.setattr("populace.engine.step_commits.MANY_ROWS", 0)
        assert files(Run.open(journal.folder).resume(model=Counting(), max_calls=None)) == whole


class OneAtATime:
    """Counts how many threads change the journal or its manifest at the same time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.writers = {0}
        self._count = 0
        for name in ("commit", "set_status"):
            monkeypatch.setattr(Journal, name, self._counted(getattr(Journal, name)))

    def _counted(self, function: Callable[..., None]) -> Callable[..., None]:
        def call(journal: Journal, *arguments: Any, **options: Any) -> None:
            self._count += 1
            self.writers.add(self._count)
            try:
                function(journal, *arguments, **options)
            finally:
                self._count -= 1

        return call


class SlowThirdStep(Log):
    """Lets replies take their time from step 3 on, and notes whether the run was halted."""

    halted = False

    def on_question(self, simulation: Simulation, inquiry: Inquiry) -> None:
        if simulation.step_under_way == 3:
            simulation.broker.models[0].latency_s = 0.5  # type: ignore[attr-defined]
        super().on_question(simulation, inquiry)

    def on_end(self, simulation: Simulation) -> None:
        self.halted = simulation.stopping


def test_an_error_of_the_disk_stops_the_run_and_the_step_that_began_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = simulate(Talk(), model=Counting(), seed=1, workspace=tmp_path / "whole")
    messages = {}
    for name, rows in (("small", 10**9), ("large", 0)):
        monkeypatch.setattr("populace.engine.step_commits.MANY_ROWS", rows)
        log = SlowThirdStep()

        def full(step: int, log: Log = log, name: str = name) -> None:
            if step == 2:
                if name == "large":
                    waited_for(log.asked[3])
                with writing(tmp_path / name / "runs" / "x"):
                    raise OSError(errno.ENOSPC, "No space left on device")

        before_writing(monkeypatch, full)
        with pytest.raises(StorageError) as caught:
            simulate(Talk(), model=Counting(), seed=1, workspace=tmp_path / name, observer=log)
        messages[name] = str(caught.value).replace(name, "")
        journal = Journal(only_folder(tmp_path / name))
        assert journal.steps() == [0, 1]
        status = journal.manifest.status
        assert (status.state, status.steps, status.reason) == ("failed", 1, caught.value.what)
        assert verify_journal(journal)
        assert (("question", 3) in log.lines, log.halted) == ((False, False) if name == "small" else (True, True))
        assert {("commit", 2), ("step", 3)}.isdisjoint(log.lines)
        monkeypatch.setattr("populace.journal.journal.write_segment", write_segment)
        bought = calls(tmp_path / name)
        again = Counting()
        assert Run.open(journal.folder).resume(model=again).digest == whole.digest
        assert again.request_count == calls(tmp_path / "whole") - bought
    assert messages["small"] == messages["large"]


def calls(workspace: Path) -> int:
    store = CallStore(workspace / "calls.sqlite")
    try:
        return len(store)
    finally:
        store.close()


@large
def test_a_pause_is_reported_only_when_the_step_before_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_writing(monkeypatch, lambda step: time.sleep(0.3 if step == 2 else 0))
    seen: list[tuple[list[int], int]] = []

    def pause(simulation: Simulation) -> None:
        assert isinstance(simulation.record, Journal)
        simulation.record.pause()
        threading.Thread(target=go_on, args=(simulation.record.folder,)).start()

    def go_on(folder: Path) -> None:
        journal = Journal(folder)
        deadline = time.monotonic() + PATIENCE_S
        while not journal.waiting() and time.monotonic() < deadline:
            time.sleep(0.001)
        status = json.loads((folder / "manifest.json").read_text())["status"]
        seen.append((journal.steps(), status["steps"]))
        journal.pause(False)

    run = simulate(Shirts(), model=Counting(), observer=Acting("step", pause))
    assert seen == [([0, 1, 2], 2)]
    assert run.steps == [0, 1, 2, 3, 4]


KILLED = """
import os, signal, sys, threading
from populace import simulate
from populace.engine import step_commits
from populace.engine.observer import Observer
from populace.journal import journal, manifest, segments
from support.scenarios import Shirts

step_commits.MANY_ROWS = 0
module, name, moment = {"files": (journal, "write_segment", 0), "rename": (segments.os, "replace", 0),
    "usage": (journal, "write_file", 0), "manifest": (manifest.Manifest, "write", 0),
    "rest": (manifest.Manifest, "write", 1)}[sys.argv[1]]
function = getattr(module, name)
answered = threading.Event()
main = threading.get_ident()

def die(*arguments, **options):
    if threading.get_ident() == main or not armed:
        return function(*arguments, **options)
    result = function(*arguments, **options) if moment else None
    answered.wait(20)
    os.kill(os.getpid(), signal.SIGKILL)

class Look(Observer):
    def on_step(self, simulation):
        if simulation.step == 2:
            armed.append(2)
    def on_replies(self, simulation):
        if simulation.step_under_way == 3:
            answered.set()

armed = []
original = journal.Journal.commit
def write(self, step, *rest):
    if step == 2:
        armed.append(step)
        setattr(module, name, die)
    original(self, step, *rest)
journal.Journal.commit = write
simulate(Shirts(), model="scripted:support.models:varied", seed=1, workspace=sys.argv[2], observer=Look())
"""


@pytest.mark.xdist_group("kill")
@pytest.mark.parametrize("moment", ["files", "rename", "usage", "manifest", "rest"])
def test_a_run_that_is_killed_while_a_step_is_written_and_the_next_began_loses_nothing(
    moment: str, tmp_path: Path
) -> None:
    model = "scripted:support.models:varied"
    whole = simulate(Shirts(), model=model, seed=1, workspace=tmp_path / "whole")
    part = tmp_path / "part"
    command = [sys.executable, "-c", KILLED, moment, str(part)]
    ended = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(TESTS)}, check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    journal = Journal(only_folder(part))
    assert journal.steps() == ([0, 1] if moment in ("files", "rename") else [0, 1, 2])
    assert (part / "calls.sqlite").is_file()
    paid = calls(part)
    assert paid > CALLS  # some of step 3
    counts: list[int] = []
    run = Run.open(journal.folder).resume(observer=Spent(counts))
    assert files(run) == files(whole)
    assert counts == [calls(tmp_path / "whole") - paid]


ENDED = """
import os, signal, sys, threading, time
from populace import simulate
from populace.engine import step_commits
from populace.engine.observer import Observer
from populace.journal import journal
from support.scenarios import Shirts

step_commits.MANY_ROWS = 0
write_segment = journal.write_segment

def slow(steps, step, *rest):
    time.sleep(0.5 if step == 2 else 0)
    return write_segment(steps, step, *rest)

class Ending(Observer):
    def on_question(self, simulation, inquiry):
        if simulation.step_under_way == 3:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()

journal.write_segment = slow
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
try:
    simulate(Shirts(), model="scripted:support.models:varied", seed=1, workspace=sys.argv[1], observer=Ending())
finally:
    (folder,) = os.scandir(f"{sys.argv[1]}/runs")
    run = journal.Journal(journal.Path(folder.path))
    print(run.steps(), run.manifest.status.steps, run.manifest.status.state, run.busy(), flush=True)
"""


@pytest.mark.xdist_group("kill")
def test_a_hard_end_from_outside_waits_for_the_step_that_is_written(tmp_path: Path) -> None:
    """As `docker stop` with a handler of SIGTERM that exits: the event loop ends, and cancels all tasks."""
    command = [sys.executable, "-c", ENDED, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    ended = subprocess.run(command, env=environment, check=False, timeout=120, capture_output=True, text=True)
    assert ended.stdout.splitlines()[-1:] == ["[0, 1, 2] 2 stopped False"], ended.stderr
    whole = simulate(Shirts(), model="scripted:support.models:varied", seed=1, workspace=tmp_path / "whole")
    assert files(Run.open(only_folder(tmp_path)).resume()) == files(whole)


class Spent(Observer):
    """Notes how many calls a run made in the end."""

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts

    def on_end(self, simulation: Simulation) -> None:
        self.counts.append(simulation.broker.usage.calls)
