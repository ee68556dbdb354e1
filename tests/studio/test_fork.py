"""Fork leaves a run at a step, with changes that were tried before anything is started."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from nicegui import ui

from populace import Run, simulate
from populace.engine.workspace import Workspace
from populace.scenarios.norms import Norms
from support.studio import Visit, visiting


@pytest.fixture
def parent(tmp_path: Path) -> Run:
    return simulate(Norms(workers=6, days=3), model="scripted:uniform", seed=1, workspace=tmp_path)


def forks(workspace: Path) -> list[Run]:
    place = Workspace(workspace)
    runs = [Run(place.open(name)) for name in place.names()]
    return [run for run in runs if run.manifest.parent and run.manifest.status.state == "complete"]


async def add(visit: Visit, kind: str, **typed: object) -> None:
    """Add a change, as somebody would."""
    visit.enter("change-kind", kind)
    for marker, value in typed.items():
        visit.enter(marker.replace("_", "-"), value)
    visit.press("change-add")


def test_a_change_that_was_filled_in_and_not_added_counts(tmp_path: Path, parent: Run) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{parent.name}/fork?at=2")
        visit.enter("change-kind", "announce")
        visit.press("fork-start")
        await visit.sees("Nothing was started: ")
        assert visit.studio.jobs.started == []
        visit.enter("announce-text", "Wear green.")
        visit.press("fork-start")
        await visit.until(lambda: bool(visit.studio.jobs.started))
        assert "Wear green." in " ".join(visit.studio.jobs.started[0].arguments)

    visiting(tmp_path, story)


def test_a_fork_with_an_announcement_and_another_parameter_holds_both(
    tmp_path: Path, parent: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    went: list[str] = []

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{parent.name}/fork?at=2")
        await visit.sees("step 1 · Tue 6 Jan 2026, 08:00")
        await add(visit, "announce", announce_text="Wear green.", announce_steps="2")
        await visit.sees("At step 2, tell everybody: “Wear green.”, for 2 steps")
        await add(visit, "change", change_parameter="days", change_value="5")
        await visit.sees("At step 2, days becomes 5")
        visit.enter("fork-seed", "9")
        shown = str(visit.one("command").text)
        assert shown.startswith(f"populace fork {parent.name} --at 2 --set days=5 --seed 9 --intervention ")
        monkeypatch.setattr(ui.navigate, "to", went.append)
        visit.press("fork-start")
        await visit.until(lambda: bool(forks(tmp_path)) and bool(went), seconds=60)

    visiting(tmp_path, story)
    (fork,) = forks(tmp_path)
    assert went == [f"/compare?runs={quote(f'{parent.name},{fork.name}')}&at=2"]
    manifest = fork.manifest
    assert manifest.interventions[0].text == "Wear green."
    assert (manifest.regime.parameters, manifest.regime.seed) == ({"days": 5}, 9)
    assert (manifest.parent.run, manifest.parent.at) == (parent.name, 2)  # type: ignore[union-attr]
    assert fork.steps[-1] == 5


def test_every_kind_of_change_can_be_added_and_taken_away(tmp_path: Path, parent: Run) -> None:
    who = parent.people(1)["name"][0]

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{parent.name}/fork?at=2")
        await visit.sees("None yet.")
        await add(visit, "set", set_column="shirt", set_value="green", whom_people=f"{who}, 3")
        await visit.sees("At step 2, set shirt to green for 2 of 6 people (id 0 or 3)")
        await add(visit, "add", add_name="Zoe", add_shirt="blue", add_count="2")
        await visit.sees("At step 2, 2 people join: Zoe 1, Zoe 2")
        await add(visit, "swap", swap_model="scripted:first", whom_share="0.5")
        await visit.sees("At step 2, scripted:first decides for 4 of 8 people (50% of them at random)")
        visit.enter("change-kind", "remove")
        visit.press("whom-condition")
        visit.enter("whom-column-0", "shirt")
        visit.enter("whom-value-0", "green")
        visit.enter("change-at", "3")
        visit.press("change-add")
        await visit.until(lambda: "(shirt is green) leave" in visit.texts())
        visit.press("change-remove-1")
        await visit.until(lambda: "people join" not in visit.texts())
        assert visit.texts().count("At step") == 3

    visiting(tmp_path, story)
    assert not forks(tmp_path)


def test_what_would_fail_is_refused_at_the_form(tmp_path: Path, parent: Run) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{parent.name}/fork?at=2")
        await add(visit, "announce", announce_text="")
        await visit.sees("it should not be empty")
        await add(visit, "announce", announce_text="Hello.", whom_people="Nobody Known")
        await visit.sees("there is no person named 'Nobody Known'.")
        await add(visit, "change", change_parameter="days", change_value="0")
        await visit.sees("must be >= 1")
        await add(visit, "set", set_column="shirt", set_value="red")
        await visit.sees("column 'shirt' cannot be set to 'red'")
        await add(visit, "swap", swap_model="nonsense")
        await visit.sees("there is no model named 'nonsense'.")
        await add(visit, "remove")
        await visit.sees("nobody would be left.")
        visit.enter("change-kind", None)
        visit.enter("fork-temperature", "-1")
        visit.press("fork-start")
        await visit.sees("Nothing was started: temperature must be >= 0.")
        assert visit.studio.jobs.started == []

    visiting(tmp_path, story)


@pytest.mark.parametrize("at", ["0", "5", "-1", "many"])
def test_a_step_that_is_not_there_is_refused(tmp_path: Path, parent: Run, at: str) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{parent.name}/fork?at={at}")
        await visit.sees_marked("error")

    visiting(tmp_path, story)


def test_another_step_takes_the_changes_with_it(tmp_path: Path, parent: Run) -> None:
    changes = quote(json.dumps([{"kind": "announce", "at": 2, "text": "Wear green."}]))

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{parent.name}/fork?at=2&changes={changes}")
        await visit.sees("At step 2, tell everybody: “Wear green.”")
        visit.enter("fork-at", 4)
        await visit.sees("At step 4, tell everybody: “Wear green.”")
        await visit.sees("step 3 · Thu 8 Jan 2026, 08:00")
        assert " --at 4 " in visit.one("command").text
        visit.enter("fork-at", 9)
        assert " --at 4 " in visit.one("command").text
        field = visit.one("fork-at")
        field.sanitize()  # As when the field is left.
        assert field.value == field.max < 9

    visiting(tmp_path, story)


def test_a_run_whose_scenario_is_elsewhere_can_be_forked_without_loading_it(tmp_path: Path, parent: Run) -> None:
    manifest = json.loads((parent.folder / "manifest.json").read_text())
    manifest["scenario"] = "/somewhere/else.py:Norms"
    (parent.folder / "manifest.json").write_text(json.dumps(manifest))

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{parent.name}/fork?at=2")
        await visit.sees("The scenario could not be asked for its parameters; bounds are not checked here.")
        await add(visit, "change", change_parameter="days", change_value="4")
        await visit.sees("At step 2, days becomes 4")
        visit.press("fork-start")
        await visit.sees("It could not be started", seconds=60)
        assert "there is no file /somewhere/else.py" in visit.texts()

    visiting(tmp_path, story)


def test_changes_in_the_address_that_are_none_are_told(tmp_path: Path, parent: Run) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{parent.name}/fork?at=2&changes={quote('[{')}")
        await visit.sees("the changes in the address are not JSON")
        await visit.open("/run/nothing-here/fork")
        await visit.sees("there is no run 'nothing-here' in this workspace.")

    visiting(tmp_path, story)


def test_a_parent_that_goes_and_comes_back_is_one_line_on_the_page(tmp_path: Path, parent: Run) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{parent.name}/fork?at=2")
        await visit.sees_marked("fork-start")
        visit.studio.library.remove(parent.name)
        await visit.sees_marked("gone")
        visit.studio.workspace.restore(parent.name)
        await visit.sees_marked("fork-start")
        assert "was deleted or moved" not in visit.texts()

    visiting(tmp_path, story)
