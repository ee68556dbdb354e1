"""In a real browser: foreign text is text, nothing is asked of the outside, and two people see the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from populace import simulate
from populace.scenarios.norms import Norms
from support.hostile import acting_parts
from support.hostile_run import SCRIPT, hostile_run
from support.studio import browsing, served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.fixture
def page() -> Iterator[Any]:
    with browsing() as made:
        yield made


def _watched(page: Any) -> tuple[list[str], list[str]]:
    """Requests to anywhere but this machine, and errors of scripts, as they come."""
    outside: list[str] = []
    errors: list[str] = []
    local = ("127.0.0.1", None)
    page.on("request", lambda r: outside.append(r.url) if urlsplit(r.url).hostname not in local else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(f"dialog: {dialog.message}"))
    return outside, errors


def test_hostile_text_is_shown_as_text_on_every_page_and_nothing_leaves_the_machine(tmp_path: Path, page: Any) -> None:
    run = hostile_run(tmp_path)
    other = simulate(Norms(workers=3, days=1), model="scripted:uniform", workspace=tmp_path)
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
    with served(tmp_path) as (home, _):
        seen = ""
        for address in addresses:
            page.goto(home + address)
            page.wait_for_selector("main")
            page.wait_for_load_state("networkidle")
            assert page.evaluate("window.acted") is None, address
            text = page.inner_text("body") + page.title()
            assert acting_parts(text) == [], address
            seen += text
        assert SCRIPT in seen
        assert "\u202e" not in seen
        assert "\x00" not in seen
    assert outside == []
    assert errors == []


def test_two_people_on_one_run_see_the_same(tmp_path: Path, page: Any) -> None:
    run = simulate(Norms(workers=12, days=5), model="scripted:uniform", seed=2, workspace=tmp_path)
    with served(tmp_path) as (home, _):
        address = f"{home}run/{run.name}?step=3&tab=people"
        other = page.context.browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        texts = []
        for each in (page, other):
            each.goto(address)
            each.wait_for_selector("main")
            each.wait_for_timeout(1500)
            texts.append(each.inner_text("main"))
        assert texts[0] == texts[1]
        assert run.people().ids.len() == 12
        assert str(run.people(3)["name"][0]) in texts[0]


def test_a_run_whose_script_is_not_trusted_and_a_broken_experiment_are_named_and_run_nothing(
    tmp_path: Path, page: Any
) -> None:
    canary = tmp_path / "canary"
    (tmp_path / "theirs.py").write_text(
        f"import pathlib; pathlib.Path({str(canary)!r}).touch()\n"
        "from populace import Scenario\nclass Theirs(Scenario):\n    pass\n"
    )
    run = simulate(Norms(workers=3, days=2), decider="rule", workspace=tmp_path)
    manifest = run.folder / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"scenario": f"{tmp_path}/theirs.py:Theirs"}))
    (tmp_path / "experiments" / "broken").mkdir(parents=True)
    (tmp_path / "experiments" / "broken" / "manifest.json").write_text("[" * 5_000)
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
    with served(tmp_path) as (home, _):
        for address, text in texts.items():
            page.goto(home + address)
            page.wait_for_selector(f"main >> text={text} >> visible=true", timeout=15_000)
            assert "This page could not be shown" not in page.inner_text("body"), address
    assert not canary.exists()
    assert outside == []
    assert errors == []
