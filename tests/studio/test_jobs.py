"""Commands that Studio starts are processes of their own: told, paused, stopped, and never taken along when it dies."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from populace import Run, simulate
from populace.base.errors import UsageError
from populace.engine.discovery import find_scenario
from populace.engine.run_control import go_on, pause, stop
from populace.engine.workspace import Workspace
from populace.journal import Journal
from populace.runs.overview import run_state
from populace.studio.jobs import CommandError, Jobs

SLOW = """
import time
from pathlib import Path
from populace import Choice, People, Scenario, metric


class Slow(Scenario):
    '''People who wait on the fifth day for as long as a file named hold is there.'''

    def setup(self):
        return People.named(3, seed=self.rng).with_columns(drink="water")

    def length(self):
        return 20

    async def step(self):
        while self.t == 5 and Path("hold").exists():
            time.sleep(0.01)
        self.people["drink"] = await self.ask(self.people, Choice("Tea or coffee?", options=("tea", "coffee")))

    @metric
    def tea(self):
        return self.people.share(drink="tea")
"""


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    path = tmp_path / "slow.py"
    path.write_text(SLOW)
    return path


@pytest.fixture
def hold(tmp_path: Path) -> Path:
    """While it is there, the run waits."""
    path = tmp_path / "hold"
    path.touch()
    return path


def _until(holds: Callable[[], object], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


@contextmanager
def _going(slow: Path) -> Iterator[tuple[subprocess.Popen[bytes], Journal]]:
    """A run of the slow scenario under way in a process of its own."""
    command = [sys.executable, "-m", "populace", "run", str(slow), "--model", "scripted:uniform", "--no-chart"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=slow.parent) as process:
        _until(lambda: Workspace(slow.parent).names())
        journal = Workspace(slow.parent).open("last")
        _until(lambda: len(journal.steps()) > 2)
        yield process, journal
        process.kill()


def _again(slow: Path) -> str:
    """The digest of the same run when nobody interferes."""
    return simulate(find_scenario(str(slow))(), model="scripted:uniform", workspace=slow.parent / "other").digest


def test_a_paused_run_waits_between_two_steps_and_goes_on_as_if_nothing_were(slow: Path, hold: Path) -> None:
    with _going(slow) as (process, journal):
        assert run_state(journal) == "running"
        pause(journal)
        hold.unlink()
        _until(lambda: run_state(journal) == "paused")
        held = journal.steps()
        time.sleep(0.3)
        assert journal.steps() == held
        go_on(journal)
        assert process.wait(120) == 0
    assert run_state(Journal(journal.folder)) == "complete"
    assert Journal(journal.folder).digest() == _again(slow)


def test_a_stopped_run_can_be_resumed_and_resuming_forgets_a_pause(slow: Path, hold: Path) -> None:
    with _going(slow) as (process, journal):
        pause(journal)
        hold.unlink()
        _until(lambda: run_state(journal) == "paused")
        stop(journal)
        assert process.wait(120) == 130
    assert run_state(Journal(journal.folder)) == "stopped"
    Run.open(journal.folder).resume()
    assert run_state(Journal(journal.folder)) == "complete"
    assert Journal(journal.folder).digest() == _again(slow)


@pytest.mark.usefixtures("hold")
def test_a_killed_run_is_told_as_such(slow: Path) -> None:
    with _going(slow) as (process, journal):
        process.kill()
        process.wait()
    found = Journal(journal.folder)
    assert found.manifest.status.state == "running"
    assert run_state(found) == "died"
    with pytest.raises(UsageError, match="is not under way"):
        stop(found)


def test_a_command_that_fails_tells_why_in_its_own_words(tmp_path: Path) -> None:
    async def go() -> None:
        jobs = Jobs(Workspace(tmp_path))
        with pytest.raises(CommandError, match="there is no scenario named 'norm'"):
            await jobs.call("estimate", "norm")
        with pytest.raises(CommandError, match="no server|not answer|cannot be reached"):
            await jobs.start("run", "norms", "--model", "http://127.0.0.1:9/v1", "--no-chart").wait_for_run()
        assert (await jobs.call("list")) == []

    asyncio.run(go())


def test_a_started_run_is_named_once_it_has_a_folder_and_reports_at_its_end(tmp_path: Path) -> None:
    async def go() -> None:
        jobs = Jobs(Workspace(tmp_path))
        job = jobs.start("run", "norms", "--model", "scripted:uniform", "--days", "1", "--no-chart")
        name = await job.wait_for_run()
        assert name in Workspace(tmp_path).names()
        assert (await job.wait_for_result())["run"] == name
        assert job.state == "ended"

    asyncio.run(go())


def test_killing_studio_changes_nothing_about_a_run_that_it_started(slow: Path, hold: Path) -> None:
    script = """
import asyncio, os, signal, sys
from populace.studio.studio import Studio

async def go():
    job = Studio(sys.argv[1]).jobs.start("run", "slow.py", "--model", "scripted:uniform", "--no-chart")
    print(await job.wait_for_run(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(go())
"""
    told = subprocess.run([sys.executable, "-c", script, str(slow.parent)], capture_output=True, text=True, timeout=120)
    assert told.returncode == -signal.SIGKILL
    hold.unlink()
    journal = Workspace(slow.parent).open(told.stdout.strip())
    _until(lambda: run_state(Journal(journal.folder)) == "complete")
    assert Journal(journal.folder).digest() == _again(slow)


@pytest.mark.usefixtures("hold")
def test_ctrl_c_in_the_terminal_of_studio_does_not_reach_its_runs(slow: Path) -> None:
    jobs = Jobs(Workspace(slow.parent))
    job = jobs.start("run", "slow.py", "--model", "scripted:uniform", "--no-chart")
    assert os.getpgid(job._process.pid) != os.getpgid(0)
    _until(lambda: job.run is not None)
    assert job.state == "running"
    job.kill()
