"""In a real browser: Studio is killed during a run, and a run is killed under Studio."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from populace import simulate
from populace.engine.discovery import find_scenario
from populace.engine.workspace import Workspace
from populace.journal import Journal
from populace.runs.overview import run_state
from support.audit import IN_FULL
from support.studio import chromium, new_page, served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

GATES = 5, 10
"""The steps before which the run waits until the test lets it go on."""
UNHURRIED = """
import time
from pathlib import Path
from populace import Choice, People, Scenario, metric


class Unhurried(Scenario):
    '''People who wait for a sign.'''

    def setup(self):
        return People.named(3, seed=self.rng).with_columns(drink="water")

    def length(self):
        return 25

    async def step(self):
        while self.t in {gates} and not (Path({folder!r}) / f"go-{{self.t}}").exists():
            time.sleep(0.02)
        self.people["drink"] = await self.ask(self.people, Choice("Tea or coffee?", options=("tea", "coffee")))

    @metric
    def tea(self):
        return self.people.share(drink="tea")
"""
ADDRESS = "new?scenario=unhurried.py&model=scripted:uniform"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(tmp_path: Path, browser: Any) -> Iterator[Any]:
    (tmp_path / "unhurried.py").write_text(UNHURRIED.format(gates=GATES, folder=str(tmp_path)))
    with new_page(browser) as page:
        page.set_default_timeout(60_000)
        yield page


def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def started(page: Any, home: str, workspace: Path) -> Journal:
    """A run that was started from the form and waits before the first gate."""
    page.goto(home + ADDRESS)
    page.click("[data-testid=trust]")
    page.click("[data-testid=start-run]")
    page.wait_for_url("**/run/**")
    journal = Workspace(workspace).open("last")
    until(lambda: len(journal.steps()) == GATES[0])
    return journal


def open_gate(workspace: Path, gate: int) -> None:
    """Let the run go on."""
    (workspace / f"go-{gate}").touch()


def open_gates(workspace: Path) -> None:
    """Let the run go on to its end."""
    for gate in GATES:
        open_gate(workspace, gate)


def undisturbed(workspace: Path) -> str:
    """The digest of the same run when nobody interferes."""
    scenario = find_scenario(str(workspace / "unhurried.py"))()
    return simulate(scenario, model="scripted:uniform", workspace=workspace / "other").digest


@pytest.mark.audit
@pytest.mark.skipif(not IN_FULL, reason="tests/studio/test_jobs.py has the same without a browser; in full: make audit")
def test_a_run_ends_with_the_same_journal_though_studio_was_killed(tmp_path: Path, page: Any) -> None:
    with served(tmp_path) as (home, process):
        journal = started(page, home, tmp_path)
        process.kill()
        process.wait()
        assert run_state(Journal(journal.folder)) == "running"
    open_gates(tmp_path)
    until(lambda: run_state(Journal(journal.folder)) == "complete")
    assert Journal(journal.folder).digest() == undisturbed(tmp_path)
    with served(tmp_path) as (home, _):
        page.goto(f"{home}run/{journal.name}")
        page.wait_for_selector("[data-testid=state] >> text=complete")


def test_a_run_that_was_killed_is_told_as_such_and_resumed_from_the_page(tmp_path: Path, page: Any) -> None:
    with served(tmp_path) as (home, _):
        journal = started(page, home, tmp_path)
        writer = journal.writer()
        assert writer is not None
        os.kill(writer, signal.SIGKILL)
        page.wait_for_selector("[data-testid=state] >> text=died")
        page.wait_for_selector(f"text=populace resume {journal.name}")
        open_gates(tmp_path)
        page.click("[data-testid=resume]")
        page.wait_for_selector("[data-testid=state] >> text=complete")
    assert Journal(journal.folder).digest() == undisturbed(tmp_path)


def shown_step(page: Any) -> int:
    """The step that the page of a run shows, which is its newest."""
    found = re.search(r"step (\d+)", page.locator("[data-testid=slider]").get_attribute("aria-valuetext") or "")
    return int(found.group(1)) if found else -1


def test_two_tabs_follow_a_run_that_is_written_and_go_on_after_studio_was_restarted(tmp_path: Path, page: Any) -> None:
    with served(tmp_path) as (home, first):
        journal = started(page, home, tmp_path)
        second = page.context.new_page()
        second.set_default_timeout(30_000)
        second.goto(f"{home}run/{journal.name}?tab=people")
        for gate in GATES:
            for tab in (page, second):
                until(lambda tab=tab, gate=gate: shown_step(tab) == gate - 1)
            if gate != GATES[-1]:
                open_gate(tmp_path, gate)
        second.click("[data-testid=tab-usage]")
        second.wait_for_url("**tab=usage**")
        assert "tab=usage" not in page.url
        first.kill()
        first.wait()
    port = home.rstrip("/").rpartition(":")[2]
    with served(tmp_path, "--port", port) as (again, _):
        assert again == home
        open_gates(tmp_path)
        until(lambda: len(journal.steps()) == 26)
        for tab in (page, second):
            until(lambda tab=tab: shown_step(tab) == 25)
            tab.click("[data-testid=tab-people]")
            tab.wait_for_selector("[data-testid=people] tbody tr")
