"""Studio over a run of a hundred thousand people and fifty steps: how soon its page is usable, and how it follows.

Everything is measured in Chromium, which Playwright drives: from the navigation to the moment at which the head,
a chart and the first people are there, and from the mouse on the time slider to the moment at which all that is
shown belongs to the new step. The frames of the town are measured by `studio_town.py`.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import Result, report

from populace import simulate
from populace.scenarios.epidemic import Epidemic

PEOPLE, STEPS, MOVES = 100_000, 50, 20
TABS = ("people", "events", "answers", "invalid", "usage", "metrics")

USABLE = """() => {
  const shown = (mark) => document.querySelector(`[data-testid=${mark}]`);
  const rows = document.querySelectorAll('[data-testid=people] tbody tr td a').length;
  return rows > 20 && shown('state') && document.querySelectorAll('[data-testid=charts] svg path').length > 3;
}"""
"""The head, a chart and the first people are drawn."""

ARM = """([tab]) => {
  const step = (mark) => document.querySelector(`[data-testid=${mark}]`)?.dataset.step;
  const steps = () => ['charts', `panel-${tab}`].map(step);
  const before = steps()[0];
  window.moved = new Promise((done) => {
    let began = 0;
    document.addEventListener('mousedown', () => { began = performance.now(); }, {once: true, capture: true});
    const look = () => {
      const [charts, panel] = steps();
      if (charts === before || charts !== panel) return;
      seen.disconnect();
      requestAnimationFrame(() => done(performance.now() - began));
    };
    const seen = new MutationObserver(look);
    seen.observe(document.body, {subtree: true, childList: true, attributes: true});
  });
}"""
"""Milliseconds from the mouse on the slider to the frame in which charts and panel have left the old step together."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        scenario = Epidemic(residents=PEOPLE, days=STEPS, infected=500, personas=False)
        run = simulate(scenario, model="scripted:uniform", seed=1, workspace=folder)
        last = run.steps[-1]
        with studio(folder) as (address, process), browser() as page:
            usable = [opened(page, f"{address}run/{run.name}?step={last}") for _ in range(5)]
            moves = {tab: moved(page, f"{address}run/{run.name}?step=10&tab={tab}", tab, 10) for tab in TABS}
            held = memory_gb(process.pid)
    everything = sorted(each for times in moves.values() for each in times)
    people = moves["people"]
    worst = ", ".join(f"{tab} {max(times):.0f}" for tab, times in moves.items())
    what = f"{PEOPLE:,} people, {last} steps"
    middle = statistics.median
    # Other work on the machine only ever adds: the median has the bar, and the worst is told beside it.
    seen = f"median of {len(usable)}; worst {max(usable):.2f} s"
    report(
        [
            Result(f"page of {what}, usable", middle(usable), "s", 2.0, True, seen),
            Result(
                "slider moved, people follow", middle(people), "ms", 200.0, True, f"worst of {MOVES}: {max(people):.0f}"
            ),
            Result("slider moved, any panel follows", middle(everything), "ms", 200.0, True, f"worst: {worst}"),
            Result("memory of Studio, at most", held, "GB", 1.0, True),
        ]
    )


def opened(page: Any, address: str) -> float:
    """Seconds from the navigation until the page is usable."""
    page.goto("about:blank")
    page.goto(address, wait_until="commit")
    page.wait_for_function(USABLE, polling="raf", timeout=30_000)
    return float(page.evaluate("performance.now()")) / 1000


def moved(page: Any, address: str, tab: str, step: int) -> list[float]:
    """Milliseconds of each move of the slider, each by a click at another place."""
    page.goto(address)
    page.wait_for_selector(f"[data-testid=panel-{tab}][data-step='{step}']")
    page.wait_for_selector(f"[data-testid=charts][data-step='{step}']")
    page.wait_for_timeout(500)
    times = []
    for move in range(MOVES):
        place = page.locator("[data-testid=slider]").bounding_box()
        page.evaluate(ARM, [tab])
        # Steps of 19 fiftieths never come back to the same place within fifty moves.
        page.mouse.click(place["x"] + place["width"] * (0.02 + (19 * move % 49) / 50), place["y"] + place["height"] / 2)
        times.append(float(page.evaluate("window.moved")))
    return times


@contextmanager
def studio(folder: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A Studio in a process of its own."""
    command = [sys.executable, "-m", "populace", "studio", "--no-open", "--port", "0", "--workspace", folder]
    variables = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as process:
        try:
            found = re.search(r" at (http\S+)", process.stdout.readline() if process.stdout else "")
            if found is None:
                raise SystemExit("Studio did not start")
            yield found.group(1), process
        finally:
            process.kill()


@contextmanager
def browser() -> Iterator[Any]:
    """A page in Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            yield made.new_context(viewport={"width": 1280, "height": 900}).new_page()
        finally:
            made.close()


def memory_gb(pid: int) -> float:
    """The most memory that a process held so far."""
    told = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", told)
    return int(found.group(1)) / 1e6 if found else float("nan")


if __name__ == "__main__":
    main()
