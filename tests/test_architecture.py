"""docs/architecture.md names every file that a decision crosses, every room, and nothing that is not there."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import populace
from populace import simulate
from populace.scenarios.norms import Norms

SOURCE = Path(populace.__file__).parent
PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text()
WALK = re.findall(r"^\| \d+ \| `([^`]+)` \|", PAGE, flags=re.MULTILINE)

HELPERS = ("base/", "people/", "broker/usage.py", "broker/call_settings.py", "broker/purchase.py",
           "broker/known_replies.py", "models/base.py", "questions/base.py",
           "questions/reply_parsing.py", "minds/mind.py", "journal/settings.py", "journal/manifest.py",
           "journal/record.py", "engine/ask_arguments.py", "engine/parameters.py", "engine/metrics.py",
           "engine/scenario_code.py", "engine/step_commits.py", "models/reply_checks.py", "engine/observer.py")  # fmt: skip
"""What the page leaves out: helpers, columns, counters, base classes, checks, threads, and values only read."""


def test_the_walk_of_a_decision_has_at_most_25_files_and_all_exist() -> None:
    assert 0 < len(WALK) <= 25
    assert len(set(WALK)) == len(WALK)
    assert [file for file in WALK if not (SOURCE / file).is_file()] == []


def test_the_page_says_which_files_the_walk_leaves_out() -> None:
    section = PAGE[PAGE.index("## One decision") : PAGE.index("## Settings and sessions")]
    unsaid = [
        file for file in HELPERS if f"`{file.rstrip('/')}`" not in section and f"`{Path(file).stem}`" not in section
    ]
    assert unsaid == []


def test_a_step_runs_through_no_file_that_the_walk_does_not_name(tmp_path: Path) -> None:
    crossed: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(SOURCE):
            crossed.add(file.relative_to(SOURCE).as_posix())

    run = Norms(workers=4, days=2)
    step = run.step

    async def traced() -> None:
        threading.setprofile(note)
        sys.setprofile(note)
        await step()

    object.__setattr__(run, "step", traced)
    try:
        simulate(run, model="scripted:uniform", workspace=tmp_path)
    finally:
        threading.setprofile(None)
        sys.setprofile(None)
    after_the_end = {"engine/workspace.py", "runs/reader.py"}
    strange = {file for file in crossed - set(WALK) - after_the_end if not file.startswith(HELPERS)}
    assert strange == set()
    assert set(WALK[4:]) - {"engine/run.py"} <= crossed, "every file from the loop on is really crossed"


def test_every_room_is_described() -> None:
    rooms = {folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").is_file()}
    table = PAGE[PAGE.index("## Rooms") : PAGE.index("## One decision")]
    first_cells = re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE)
    assert {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)} == rooms


def test_a_page_of_studio_is_one_folder() -> None:
    pages = [folder for folder in (SOURCE / "studio" / "pages").iterdir() if (folder / "__init__.py").is_file()]
    assert len(pages) >= 12
    outside = [
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "studio").rglob("*.py")
        if "pages" not in path.parts and re.search(r"studio\.pages\.forum\b", path.read_text())
    ]
    assert outside == [], "what shows a forum lies in its own folder"
