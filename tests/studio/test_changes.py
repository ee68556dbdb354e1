"""Whoever looks at a run is told what happened to it, also while the page was being made."""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
import time
from pathlib import Path

import pytest
from nicegui import ui

from populace import simulate
from populace.base.locks import acquire, is_locked
from populace.scenarios.norms import Norms
from support.studio import Visit, visiting

LONG_AGO = 1_000_000_000


def _aged(folder: Path) -> None:
    os.utime(folder / "manifest.json", (LONG_AGO, LONG_AGO))


def test_what_happens_between_reading_and_listening_is_told(tmp_path: Path) -> None:
    run = simulate(Norms(workers=3, days=1), decider="rule", workspace=tmp_path)
    told: list[str] = []

    async def story(visit: Visit) -> None:
        @ui.page("/slow-to-listen")
        async def page() -> None:
            (run.folder / "manifest.json").touch()
            await asyncio.sleep(0.05)
            visit.studio.changes.listen(run.name, lambda: told.append(run.name))

        await visit.open("/slow-to-listen")
        await visit.until(lambda: told == [run.name])

    visiting(tmp_path, story)


def test_a_run_that_ended_before_the_page_was_opened_is_not_drawn_twice(tmp_path: Path) -> None:
    """Drawing again replaces the buttons, so a click at that moment would be lost."""
    run = simulate(Norms(workers=3, days=1), decider="rule", workspace=tmp_path)
    few_seconds_ago = time.time() - 5
    os.utime(run.folder / "manifest.json", (few_seconds_ago, few_seconds_ago))
    told: list[str] = []

    async def story(visit: Visit) -> None:
        @ui.page("/calm")
        async def page() -> None:
            visit.studio.changes.listen(run.name, lambda: told.append(run.name))

        await visit.open("/calm")
        await asyncio.sleep(1.5)
        assert told == []
        (run.folder / "manifest.json").touch()
        await visit.until(lambda: told == [run.name])

    visiting(tmp_path, story)


@pytest.mark.parametrize("lock", ["runs/NAME/.lock", "experiments/tea/lock"])
def test_a_process_that_is_gone_is_told_though_no_file_changes(tmp_path: Path, lock: str) -> None:
    run = simulate(Norms(workers=3, days=1), decider="rule", workspace=tmp_path)
    path = tmp_path / lock.replace("NAME", run.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "manifest.json").touch()
    _aged(path.parent)
    name = run.name if "runs" in lock else "experiments/tea"
    told: list[bool] = []

    async def story(visit: Visit) -> None:
        @ui.page("/watch")
        async def page() -> None:
            visit.studio.changes.listen(name, lambda: told.append(is_locked(path)))

        with path.open("a") as holder:
            acquire(holder)
            await visit.open("/watch")
            await visit.until(lambda: told == [True])
        await visit.until(lambda: told == [True, False])

    visiting(tmp_path, story)


def test_looking_at_a_lock_never_refuses_it_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    enough = threading.Event()

    def look() -> None:
        while not enough.is_set():
            is_locked(path)

    watchers = [threading.Thread(target=look) for _ in range(3)]
    for watcher in watchers:
        watcher.start()
    try:
        for _ in range(40):
            with path.open("a") as file:
                acquire(file)
                fcntl.flock(file, fcntl.LOCK_UN)
    finally:
        enough.set()
        for watcher in watchers:
            watcher.join()


def test_a_lock_that_another_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("a") as first, path.open("a") as second:
        acquire(first)
        assert is_locked(path)
        with pytest.raises(BlockingIOError):
            acquire(second)
    assert not is_locked(path)


def test_a_name_that_no_folder_can_have_does_not_end_the_watch_of_others(tmp_path: Path) -> None:
    run = simulate(Norms(workers=3, days=1), decider="rule", workspace=tmp_path)
    _aged(run.folder)
    calls: list[str] = []

    async def story(visit: Visit) -> None:
        @ui.page("/watch")
        async def page() -> None:
            for name in ("x" * 5_000, "../..", "/etc", "a\0b"):
                visit.studio.changes.listen(name, lambda: calls.append("impossible"))
            visit.studio.changes.listen(run.name, lambda: calls.append(run.name))

        await visit.open("/watch")
        await asyncio.sleep(0.3)
        (run.folder / "manifest.json").touch()
        await visit.until(lambda: run.name in calls)
        assert "impossible" not in calls

    visiting(tmp_path, story)
