"""New run makes a form of a scenario, says what a run will take, and starts the command that it shows."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from nicegui import ui

from populace import Run
from populace.engine.workspace import Workspace
from populace.studio.catalogue import Catalogue
from populace.tools.scaffold import scenario_file
from support.studio import Visit, visiting

SMALL = "/new?scenario=norms&workers=5&days=2&model=scripted:uniform"


def finished(workspace: Path) -> list[Run]:
    place = Workspace(workspace)
    runs = [Run(place.open(name)) for name in place.names()]
    return [run for run in runs if run.manifest.status.state == "complete"]


def command(visit: Visit) -> str:
    return str(visit.one("command").text)


def test_a_run_is_started_from_the_form_and_finishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    went: list[str] = []

    async def story(visit: Visit) -> None:
        await visit.open("/new")
        monkeypatch.setattr(ui.navigate, "to", went.append)
        visit.enter("parameter-workers", "5")
        visit.enter("parameter-days", "2")
        visit.enter("parameter-counts", False)
        visit.enter("parameter-personas", "none")
        visit.enter("model", "scripted:uniform")
        visit.enter("seed", "3")
        shown = command(visit)
        visit.press("start-run")
        await visit.until(lambda: bool(finished(tmp_path)), seconds=60)
        assert shown == (
            "populace run norms --workers 5 --days 2 --personas none --no-counts --model scripted:uniform --seed 3"
        )
        await visit.until(lambda: bool(went))

    visiting(tmp_path, story)
    (run,) = finished(tmp_path)
    assert went == [f"/run/{run.name}"]
    regime = run.manifest.regime
    assert (regime.parameters["workers"], regime.parameters["counts"], regime.seed) == (5, False, 3)


def test_a_value_out_of_its_bounds_is_marked_and_nothing_is_started(tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(SMALL)
        visit.enter("parameter-workers", "1")
        assert visit.one("parameter-workers").error == "must be >= 2"
        await visit.sees("It waits for workers: must be >= 2.")
        visit.press("start-run")
        await visit.sees("Nothing was started: workers must be >= 2.")
        assert visit.studio.jobs.started == []
        assert visit.one("parameter-days").value == "2"

    visiting(tmp_path, story)


def test_what_will_be_spent_is_said_before_anything_is(tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open("/new?scenario=norms&workers=5&days=2&model=openai:some-model")
        await visit.sees("10 decisions", seconds=60)
        await visit.sees("no price is known for this model; `populace models` says where prices go")
        await visit.sees("openai:some-model has not been called in this workspace yet")
        visit.enter("decider", "rule")
        await visit.sees("a rule decides: no model is called, except for people whose own decider is one", seconds=60)

    visiting(tmp_path, story)
    assert not Workspace(tmp_path).names()


def test_the_address_brings_back_the_form(tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"{SMALL}&own=false&max_calls=9&temperature=0.5")
        assert command(visit) == (
            "populace run norms --workers 5 --days 2 --no-own --model scripted:uniform --temperature 0.5 --max-calls 9"
        )
        assert visit.one("parameter-own").value is False
        assert visit.one("max_calls").value == "9"

    visiting(tmp_path, story)


def test_a_model_that_is_not_reachable_is_told_and_the_form_stays(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def story(visit: Visit) -> None:
        await visit.open(f"/new?scenario=norms&workers=5&model=http://127.0.0.1:{port}/v1%23some")
        visit.press("start-run")
        await visit.sees("It could not be started", seconds=60)
        assert f"no server answers at http://127.0.0.1:{port}/v1" in visit.texts()
        assert visit.one("parameter-workers").value == "5"

    visiting(tmp_path, story)
    assert not Workspace(tmp_path).names()


def test_a_model_file_that_is_missing_is_told(tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"/new?scenario=norms&model=embedded:{tmp_path}/none.gguf")
        visit.press("start-run")
        await visit.sees("It could not be started", seconds=60)
        assert "there is no model file" in visit.texts()

    visiting(tmp_path, story)


def test_a_scenario_of_a_file_is_offered_and_its_edits_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(scenario_file("mine"))

    async def story(visit: Visit) -> None:
        await visit.open("/new")
        await visit.sees_marked("scenario-mine.py")
        address = "/new?scenario=mine.py&model=scripted:uniform"
        await visit.open(address)
        await visit.sees("Do you trust this file?")
        assert "class Mine" in visit.texts()
        visit.press("trust")
        await visit.open(address)
        await visit.sees_marked("start-run", seconds=60)
        assert command(visit) == "populace run mine.py --model scripted:uniform"
        monkeypatch.setattr(ui.navigate, "to", lambda address: None)
        visit.press("start-run")
        await visit.until(lambda: bool(finished(tmp_path)), seconds=60)
        file.write_text("from populace import Scenario\n\n\nclass Mine(Scenario:\n    pass\n")
        await visit.open("/new?scenario=mine.py")
        await visit.sees("was changed since it was trusted")
        visit.press("trust")
        await visit.open("/new?scenario=mine.py")
        await visit.sees("mine.py, line 4", seconds=60)
        await visit.sees_marked("scenario-norms")

    visiting(tmp_path, story)


def test_opening_an_address_never_runs_a_file_that_nobody_trusted(tmp_path: Path) -> None:
    (tmp_path / "received.py").write_text("from populace import Scenario\nopen('acted', 'w')\n")

    async def story(visit: Visit) -> None:
        await visit.open("/new?scenario=received.py")
        await visit.sees("Do you trust this file?")
        answer = await visit.user.http_client.get("/api/scenarios/received.py")
        assert answer.status_code == 400 and "was changed since it was trusted" in answer.json()["error"]
        assert not list(tmp_path.rglob("acted"))

    visiting(tmp_path, story)


def test_a_file_elsewhere_is_never_loaded(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside.py").write_text("from populace import Scenario\nopen('loaded', 'w')\n")

    async def story(visit: Visit) -> None:
        for name in ("../outside.py", str(tmp_path / "outside.py"), f"{tmp_path}/outside.py:Scenario", "os:path"):
            await visit.open(f"/new?scenario={name}")
            await visit.sees("there is no scenario named")
        answer = await visit.user.http_client.get(f"/api/scenarios/{tmp_path}/outside.py")
        assert answer.status_code == 400
        assert not list(tmp_path.rglob("loaded"))

    visiting(tmp_path / "inside", story)


def test_hostile_text_in_the_address_is_shown_as_text(tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open("/new?scenario=norms&model=%3Cscript%3Ealert(1)%3C/script%3E&days=%00%E2%80%AE7")
        assert "\0" not in command(visit)
        visit.press("start-run")
        await visit.sees("Nothing was started: days must be a whole number")

    visiting(tmp_path, story)


def test_scenarios_are_told_to_programs(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(scenario_file("mine"))

    async def story(visit: Visit) -> None:
        listed = (await visit.user.http_client.get("/api/scenarios")).json()
        assert {"norms", "mine.py"} <= {each["name"] for each in listed}
        norms = (await visit.user.http_client.get("/api/scenarios/norms")).json()
        assert norms["parameters"][0]["name"] == "workers"
        Catalogue(visit.studio.jobs).trust("mine.py")
        assert (await visit.user.http_client.get("/api/scenarios/mine.py")).json()["name"] == "mine.py"
        unknown = await visit.user.http_client.get("/api/scenarios/norm")
        assert "Did you mean 'norms'?" in unknown.json()["hint"]

    visiting(tmp_path, story)
