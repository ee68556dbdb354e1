"""A town of five hundred people plays in a real browser: frames a second at a busy time, with names and bubbles."""

from __future__ import annotations

import contextlib
import hashlib
import json
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

from populace import Run, simulate
from populace.models import Request, Scripted
from populace.scenarios.party import Party
from populace.studio.pages.town.data import TownRun
from populace.studio.pages.town.frames import walks
from populace.studio.pages.town.talk import speech

PEOPLE, SECONDS, SPEED, BAR = 500, 15, 60, 20.0
ERRANDS = ("work", "home", "work", "home", "work", "home")
SAYS = (
    "Good day to you, how are things at home?",
    "Did you hear that the ferry stays on this side over the weekend?",
    "I am on my way to work, walk with me a little.",
)
COUNT = """async (seconds) => {
    const canvas = document.querySelector("[data-testid=town-canvas]");
    const found = [];
    for (let second = 0; second < seconds; second++) {
        const [began, drawn] = [performance.now(), canvas.drawn];
        await new Promise((done) => setTimeout(done, 1000));
        found.push((1000 * (canvas.drawn - drawn)) / (performance.now() - began));
    }
    return found;
}"""


def reply(request: Request) -> dict[str, float] | str:
    if request.top:
        return {"yes": 0.9, "no": 0.1}
    asked = request.messages[-1][1]
    draw = hashlib.blake2b(asked.encode(), digest_size=2).digest()
    if '"say"' in asked:
        return json.dumps({"say": SAYS[draw[0] % len(SAYS)], "end": "no"})
    if '"plan"' in asked:
        hours = enumerate(ERRANDS, start=8)
        plan = [{"at": f"{hour:02d}:{draw[1] % 60:02d}", "where": where, "doing": "an errand"} for hour, where in hours]
        return json.dumps({"plan": plan})
    return json.dumps({"questions": ["What now?"], "insights": [{"insight": "It is well.", "because": [1]}]})


def busiest(run: Run) -> tuple[int, str]:
    """The time with most people on the way, and how busy it is."""
    town = TownRun(run)
    steps = town.steps
    under_way = [len(walks(town, step, step).row) for step in steps[:-1]]
    step = steps[max(range(len(under_way)), key=under_way.__getitem__)]
    hour = speech(town, step, min(step + 5, steps[-1])).height
    return town.time_of(step), f"{max(under_way)} people on the way at once, {hour} utterances in the hour"


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
    page.wait_for_timeout(2000)
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
        time, busy = busiest(run)
        with studio(Path(folder)) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            town = f"{address}/town/{run.name}?time={time}"
            seen = play(page, f"{town}&speed={SPEED}")
            followed = play(page, f"{town}&speed={SPEED}&follow={run.people(0).ids[0]}&layer=news")
            fast = play(page, f"{town}&speed=3600")
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
