"""A run without a step, as it is before its first commit: every page says so, and nothing fails inside."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from populace import simulate
from populace.engine.workspace import Workspace
from populace.scenarios.forum import Forum
from populace.scenarios.norms import Norms
from populace.scenarios.party import Party
from support.studio import Visit, visiting

SCENARIOS = {
    "norms": (Norms(workers=3, days=1), "scripted:uniform"),
    "forum": (Forum(expand=False), "scripted:cast"),
    "party": (Party(residents=3, days=1), "scripted:cast"),
}
PAGES = {
    "run/{}": ("norms", "forum", "party"),
    "run/{}?tab=people": ("norms", "party"),
    "run/{}?tab=answers": ("norms",),
    "run/{}?tab=events&step=3": ("norms", "party"),
    "run/{}?tab=usage": ("norms",),
    "run/{}?tab=metrics": ("norms",),
    "run/{}/person/1": ("norms", "party"),
    "run/{}/decision?step=0&person=1": ("norms",),
    "run/{}/fork": ("norms",),
    "compare?runs={0},{0}": ("norms",),
    "town/{}": ("party", "norms"),
    "forum/{}": ("forum", "norms"),
    "forum/{}?thread=1": ("forum",),
    "forum/{}/whatif?post=1": ("forum",),
    "feedback?run={}": ("norms", "forum"),
}


def empty_run(folder: Path, name: str) -> str:
    scenario, model = SCENARIOS[name]
    run = simulate(scenario, decider="rule" if name == "party" else "model", model=model, workspace=folder, seed=1)
    shutil.rmtree(run.folder / "steps")
    (run.folder / "steps").mkdir()
    (run.folder / "usage.jsonl").unlink()
    return run.name


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_every_page_of_a_run_without_a_step_says_so(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    run = empty_run(tmp_path, name)
    assert Workspace(tmp_path).open(run).steps() == []

    async def story(visit: Visit) -> None:
        for address, names in PAGES.items():
            if name in names:
                await visit.open("/" + address.format(run))
                if address.startswith(("run/{}/", "town", "forum")):
                    await visit.until(lambda: "has no" in visit.texts())
                    assert "step yet" in visit.texts(), address
                assert "cannot be read" not in visit.texts(), address
        await visit.open("/")
        await visit.sees(run)

    visiting(tmp_path, story)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
