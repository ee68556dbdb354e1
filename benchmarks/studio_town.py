"""A town of five hundred people plays in a real browser: frames a second at a busy time, with names and bubbles."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import Result, report
from playwright.sync_api import Page, sync_playwright
from town_replies import reply

from populace import Run, simulate
from populace.models import Scripted
from populace.scenarios.party import Party
from populace.studio.pages.town.data import TownRun
from populace.studio.pages.town.frames import walks
from populace.studio.pages.town.talk import speech

PEOPLE, SECONDS, SPEED, BAR = 500, 15, 60, 20.0
BEFORE = 2
"""Seconds that the town plays before frames are counted."""
FAST = 3600
COUNT = """async (seconds) => {
    const canvas = document.querySelector("[data-testid=town-canvas]");
    const slider = document.querySelector("[data-testid=town-slider]");
    const found = [];
    for (let second = 0; second < seconds; second++) {
        const [began, drawn] = [performance.now(), canvas.drawn];
        await new Promise((done) => setTimeout(done, 1000));
        found.push((1000 * (canvas.drawn - drawn)) / (performance.now() - began));
        if (slider.value === slider.max) throw new Error("the run ended before all frames were counted");
    }
    return found;
}"""


def busiest(run: Run) -> tuple[int, int, str]:
    """The time with most people on the way, when the run ends, and how busy it is."""
    town = TownRun(run)
    steps = town.steps
    under_way = [len(walks(town, step, step).row) for step in steps[:-1]]
    step = steps[max(range(len(under_way)), key=under_way.__getitem__)]
    hour = speech(town, step, min(step + 5, steps[-1])).height
    busy = f"{max(under_way)} people on the way at once, {hour} utterances in the hour"
    return town.time_of(step), town.time_of(steps[-1]), busy


@contextlib.contextmanager
def studio(workspace: Path) -> Iterator[str]:
    """Studio over a workspace, as `populace studio` starts it; yields its address."""
    command = [sys.executable, "-m", "populace", "studio", "--no-open", "--port", "0", "--workspace", str(workspace)]
    variables = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as process:
        assert process.stdout is not None
        try:
            found = re.search(r" at (http\S+)", process.stdout.readline())
            assert found, "Studio did not start"
            yield found.group(1).rstrip("/")
        finally:
            process.kill()


def play(page: Page, address: str) -> list[float]:
    """The frames of each second while the town plays."""
    page.goto(address)
    page.wait_for_function("document.querySelector('[data-testid=town-canvas]')?.drawn > 0")
    page.get_by_test_id("town-play").click()
    page.wait_for_timeout(BEFORE * 1000)
    found: list[float] = page.evaluate(COUNT, SECONDS)
    return found


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("  there is no Chromium on this machine; on Debian: apt-get install chromium")
        return
    with tempfile.TemporaryDirectory() as folder:
        party = Party(residents=PEOPLE, days=1, embedder="hashing", reflects=False)
        run = simulate(party, model=Scripted(reply, spec="scripted:errands"), seed=1, workspace=folder)
        time, end, busy = busiest(run)
        with studio(Path(folder)) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            town = f"{address}/town/{run.name}?time={time}"
            seen = play(page, f"{town}&speed={SPEED}")
            followed = play(page, f"{town}&speed={SPEED}&follow={run.people(0).ids[0]}&layer=news")
            # The frames of a film that has ended would count as missing.
            begin = min(time, end - FAST * (SECONDS + 2 * BEFORE))
            fast = play(page, f"{address}/town/{run.name}?time={begin}&speed={FAST}")
            browser.close()
    results = [
        Result(f"town of {PEOPLE} plays, mean", sum(seen) / len(seen), "frames/s", BAR, detail=busy),
        Result(f"town of {PEOPLE} plays, worst second of {SECONDS}", min(seen), "frames/s"),
        Result("the same, one followed, with the news", sum(followed) / len(followed), "frames/s", BAR),
        Result("the same, an hour a second", sum(fast) / len(fast), "frames/s", BAR),
    ]
    report(results)


if __name__ == "__main__":
    main()
