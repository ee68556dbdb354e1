"""In a real browser: foreign text is text, nothing is asked of the outside, and two people see the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from populace import Run, simulate
from populace.scenarios.norms import Norms
from support.hostile import acting_parts
from support.hostile_run import SCRIPT, hostile_run
from support.studio import chromium, new_page, open_page, served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with new_page(browser) as page:
        yield page


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a hostile run, one that names a script of others, a broken experiment and an ordinary run."""
    folder = tmp_path_factory.mktemp("safety")
    hostile_run(folder)
    simulate(Norms(workers=12, days=3), model="scripted:uniform", seed=2, workspace=folder)
    (folder / "theirs.py").write_text(
        f"import pathlib; pathlib.Path({str(folder / 'canary')!r}).touch()\n"
        "from populace import Scenario\nclass Theirs(Scenario):\n    pass\n"
    )
    theirs = simulate(Norms(workers=3, days=2), decider="rule", seed=3, workspace=folder)
    manifest = theirs.folder / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"scenario": f"{folder}/theirs.py:Theirs"}))
    (folder / "experiments" / "broken").mkdir(parents=True)
    (folder / "experiments" / "broken" / "manifest.json").write_text("[" * 5_000)
    return folder


@pytest.fixture(scope="module")
def home(workspace: Path) -> Iterator[str]:
    with served(workspace) as (address, _):
        yield address


def _runs(workspace: Path) -> tuple[Run, Run, Run]:
    """The hostile run, the ordinary one and the one that names a script."""
    runs = [Run.open(folder) for folder in sorted((workspace / "runs").iterdir())]
    (hostile,) = [run for run in runs if run.name.startswith("hostile")]
    (ordinary,) = [run for run in runs if run.name.startswith("norms") and run.manifest.regime.seed == 2]
    (theirs,) = [run for run in runs if run.manifest.regime.seed == 3]
    return hostile, ordinary, theirs


def _watched(page: Any) -> tuple[list[str], list[str]]:
    """Requests to anywhere but this machine, and errors of scripts, as they come."""
    outside: list[str] = []
    errors: list[str] = []
    local = ("127.0.0.1", None)
    page.on("request", lambda r: outside.append(r.url) if urlsplit(r.url).hostname not in local else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(f"dialog: {dialog.message}"))
    return outside, errors


def test_hostile_text_is_shown_as_text_on_every_page_and_nothing_leaves_the_machine(
    workspace: Path, home: str, page: Any
) -> None:
    run, other, _ = _runs(workspace)
    person = run.people().ids[0]
    addresses = [
        "",
        "new?scenario=norms",
        *(f"run/{run.name}?tab={tab}" for tab in ("metrics", "people", "events", "answers", "invalid", "usage")),
        *(f"run/{run.name}/person/{each}" for each in (person, *run.people().ids[7:60:13])),
        f"run/{run.name}/decision?step=1&person={person}",
        f"run/{run.name}/fork?at=1",
        f"compare?runs={run.name},{other.name}",
        f"forum/{run.name}",
        f"forum/{run.name}?thread=1",
        f"feedback?run={run.name}&rater=ann",
        "discern",
    ]
    outside, errors = _watched(page)
    seen = ""
    for address in addresses:
        open_page(page, home + address)
        assert page.evaluate("window.acted") is None, address
        text = page.inner_text("body") + page.title()
        assert acting_parts(text) == [], address
        seen += text
    assert SCRIPT in seen
    assert "\u202e" not in seen
    assert "\x00" not in seen
    assert outside == []
    assert errors == []


def test_two_people_on_one_run_see_the_same(workspace: Path, home: str, page: Any, browser: Any) -> None:
    _, run, _ = _runs(workspace)
    texts = []
    with new_page(browser) as other:
        for each in (page, other):
            open_page(each, f"{home}run/{run.name}?step=3&tab=people")
            each.wait_for_selector("[data-testid=people] tbody tr")
            texts.append(each.inner_text("main"))
    assert texts[0] == texts[1]
    assert run.people().ids.len() == 12
    assert str(run.people(3)["name"][0]) in texts[0]


def test_a_run_whose_script_is_not_trusted_and_a_broken_experiment_are_named_and_run_nothing(
    workspace: Path, home: str, page: Any
) -> None:
    _, _, run = _runs(workspace)
    person = run.people().ids[0]
    texts = {
        "": "broken",
        f"run/{run.name}": run.name,
        f"run/{run.name}/person/{person}": "Profile",
        f"run/{run.name}/fork?at=1": "theirs.py is new in this workspace",
        f"town/{run.name}": "theirs.py",
        "new?scenario=theirs.py": "Do you trust this file?",
        "experiment/broken": "cannot be read",
    }
    outside, errors = _watched(page)
    for address, text in texts.items():
        page.goto(home + address)
        page.wait_for_selector(f"main >> text={text} >> visible=true", timeout=60_000)
        assert "This page could not be shown" not in page.inner_text("body"), address
    assert not (workspace / "canary").exists()
    assert outside == []
    assert errors == []
