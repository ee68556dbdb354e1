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
from support.studio import browsing, served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

UNHURRIED = """
import time
from populace import Choice, People, Scenario, metric


class Unhurried(Scenario):
    '''People who take their time.'''

    steps: int = 25
    nap: float = 0.1

    def setup(self):
        return People.named(3, seed=self.rng).with_columns(drink="water")

    def length(self):
        return self.steps

    async def step(self):
        time.sleep(self.nap)
        self.people["drink"] = await self.ask(self.people, Choice("Tea or coffee?", options=("tea", "coffee")))

    @metric
    def tea(self):
        return self.people.share(drink="tea")
"""
ADDRESS = "new?scenario=unhurried.py&model=scripted:uniform"


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "unhurried.py").write_text(UNHURRIED)
    with browsing() as made:
        made.set_default_timeout(30_000)
        yield made


def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def started(page: Any, home: str, workspace: Path) -> Journal:
    """A run that was started from the form and has some steps."""
    page.goto(home + ADDRESS)
    page.click("[data-testid=trust]")
    page.click("[data-testid=start-run]")
    page.wait_for_url("**/run/**")
    journal = Workspace(workspace).open("last")
    until(lambda: len(journal.steps()) > 3)
    return journal


def undisturbed(workspace: Path) -> str:
    """The digest of the same run when nobody interferes."""
    scenario = find_scenario(str(workspace / "unhurried.py"))(nap=0.0)
    return simulate(scenario, model="scripted:uniform", workspace=workspace / "other").digest


@pytest.mark.audit
@pytest.mark.skipif(not IN_FULL, reason="tests/studio/test_jobs.py has the same without a browser; in full: make audit")
def test_a_run_ends_with_the_same_journal_though_studio_was_killed(tmp_path: Path, page: Any) -> None:
    with served(tmp_path) as (home, process):
        journal = started(page, home, tmp_path)
        process.kill()
        process.wait()
        assert run_state(Journal(journal.folder)) == "running"
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
        for tab in (page, second):
            before = len(journal.steps())
            until(lambda tab=tab, before=before: shown_step(tab) >= before - 1)
        second.click("[data-testid=tab-usage]")
        second.wait_for_url("**tab=usage**")
        assert "tab=usage" not in page.url
        first.kill()
        first.wait()
    port = home.rstrip("/").rpartition(":")[2]
    with served(tmp_path, "--port", port) as (again, _):
        assert again == home
        until(lambda: len(journal.steps()) == 26)
        for tab in (page, second):
            until(lambda tab=tab: shown_step(tab) == 25)
            tab.click("[data-testid=tab-people]")
            tab.wait_for_selector("[data-testid=people] tbody tr")
