"""Home lists what a workspace holds, and shows a newcomer what a run looks like."""

from __future__ import annotations

import json
from pathlib import Path

from populace import simulate
from populace.scenarios.norms import Norms
from support.studio import Visit, visiting


def test_a_newcomer_sees_a_finished_example_and_a_button_that_runs_norms(tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open("/")
        await visit.sees("There are no runs yet")
        await visit.sees("A finished example")
        await visit.sees_marked("run-norms")
        visit.press("open-example")
        await visit.until(lambda: (tmp_path / "runs" / "norms-example").is_dir())

    visiting(tmp_path, story)


def test_runs_are_listed_with_their_state_and_failure_rate(tmp_path: Path) -> None:
    run = simulate(Norms(workers=4, days=2), model="scripted:uniform", seed=3, workspace=tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open("/")
        await visit.sees(run.name)
        await visit.sees("complete")
        await visit.sees("0.0 % of 8 answers invalid")
        await visit.sees("2 of 2 steps")

    visiting(tmp_path, story)


def test_search_finds_by_tag_and_says_when_nothing_fits(tmp_path: Path) -> None:
    first = simulate(Norms(workers=4, days=1), decider="rule", seed=1, workspace=tmp_path)
    second = simulate(Norms(workers=4, days=1), decider="rule", seed=2, workspace=tmp_path)

    async def story(visit: Visit) -> None:
        visit.studio.library.tag(first.name, ["pilot", " pilot ", ""])
        await visit.open("/?search=pilot")
        await visit.sees(first.name)
        assert second.name not in visit.texts()
        visit.enter("search", "nothing like it")
        await visit.sees("No run matches")

    visiting(tmp_path, story)


def test_a_deleted_run_can_be_brought_back(tmp_path: Path) -> None:
    run = simulate(Norms(workers=4, days=1), decider="rule", workspace=tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open("/")
        await visit.sees(run.name)
        visit.press(f"delete-{run.name}")
        await visit.sees_marked("removed")
        assert not run.folder.exists()
        visit.press(f"undo-{run.name}")
        await visit.until(run.folder.exists)

    visiting(tmp_path, story)


def test_folders_that_cannot_be_read_are_told_and_hide_nothing(tmp_path: Path) -> None:
    good = simulate(Norms(workers=4, days=1), decider="rule", workspace=tmp_path)
    newer = tmp_path / "runs" / "newer"
    newer.mkdir()
    manifest = json.loads((good.folder / "manifest.json").read_text()) | {"format": 99, "run": "newer"}
    (newer / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "runs" / "not-a-run").mkdir()

    async def story(visit: Visit) -> None:
        await visit.open("/")
        await visit.sees(good.name)
        await visit.sees("was written in format 99")
        assert "not-a-run" not in visit.texts()

    visiting(tmp_path, story)


def test_a_run_that_begins_elsewhere_appears_by_itself(tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open("/")
        await visit.sees("There are no runs yet")
        run = simulate(Norms(workers=4, days=1), decider="rule", workspace=tmp_path)
        await visit.sees(run.name, seconds=10)

    visiting(tmp_path, story)
