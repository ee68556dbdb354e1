"""The page of a run, through NiceGUI's simulated user."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from nicegui import ElementFilter, ui

from populace import Run, simulate
from populace.base.errors import BudgetError
from populace.engine.discovery import find_scenario
from populace.models import Scripted
from populace.studio.app import install
from populace.studio.studio import Studio
from populace.studio.widgets.charts import line_options
from support.models import varied
from support.scenarios import Shirts
from support.studio import Visit, visiting

SLOW = '''
import time
from pathlib import Path
from populace import Choice, Field, People, Scenario, metric

class Slow(Scenario):
    """People think for a while each day, and on the third for as long as a file named hold is there."""
    days: int = Field(60, ge=1)
    wait: float = Field(0.05, ge=0)
    chart = ("tea",)
    def setup(self):
        return People.named(6, seed=self.rng).with_columns(drink="tea")
    def length(self):
        return self.days
    async def step(self):
        time.sleep(self.wait)
        while self.t == 3 and Path("hold").exists():
            time.sleep(0.01)
        self.people["drink"] = await self.ask(self.people, Choice("Tea or coffee?", options=("tea", "coffee")))
        self.event("breakfast", day=self.t)
    @metric
    def tea(self):
        """The share that drinks tea."""
        return self.people.share(drink="tea")
'''


@contextmanager
def slow_run(*options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A run that goes in a process of its own: its name and the process."""
    Path("slow.py").write_text(SLOW)
    command = [
        sys.executable,
        "-m",
        "populace",
        "run",
        "slow.py",
        "--model",
        "scripted:uniform",
        "--no-chart",
        "--json",
    ]
    with subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + 120
            while not list(Path("runs").glob("slow-*/steps/00001/COMMIT")):
                assert process.poll() is None and time.monotonic() < end, "the run did not start"
                time.sleep(0.02)
            yield next(Path("runs").iterdir()).name, process
        finally:
            process.kill()


def shirts(people: int = 40, days: int = 5) -> Run:
    return simulate(Shirts(people_count=people, days=days), model=Scripted(varied, spec="scripted:varied"), seed=2)


def step_shown(visit: Visit, tab: str = "people") -> int:
    """The step that a panel shows; -1 where it is not open, or not filled yet."""
    with visit.user:
        found = ElementFilter(marker=f"panel-{tab}")
        return next((int(each.props.get("data-step", -1)) for each in found if each.visible), -1)


def state_shown(visit: Visit) -> str:
    with visit.user:
        return next((str(each.text) for each in ElementFilter(kind=ui.label, marker="state")), "")


async def opened(visit: Visit, path: str, tab: str = "people") -> None:
    await visit.open(path)
    await visit.until(lambda: step_shown(visit, tab) >= 0)


def test_the_page_of_a_run_tells_how_it_stands() -> None:
    run = shirts()

    async def story(visit: Visit) -> None:
        await opened(visit, f"/run/{run.name}")
        assert state_shown(visit) == "complete"
        assert visit.one("figure-steps").text == "5 of 5"
        assert visit.one("figure-answers-invalid").text == "0 %"
        assert "of 200 answers invalid (95 %: 0 % to 1.5 %)" in visit.texts()
        assert visit.one("clock").text == "Sat 10 Jan 2026, 08:00"
        assert visit.one("command").text == f"populace show {run.name} --step 5"
        assert visit.one("people").rows[0]["name"] == run.people(5)["name"][0]

    visiting(Path.cwd(), story)


def test_the_slider_moves_every_panel() -> None:
    run = shirts()

    async def story(visit: Visit) -> None:
        await opened(visit, f"/run/{run.name}?step=2")
        for tab in ("people", "events", "answers", "invalid", "usage", "metrics", "settings"):
            visit.one("slider").set_value(2)
            visit.press(f"tab-{tab}")
            await visit.until(lambda tab=tab: step_shown(visit, tab) == 2)
            visit.one("slider").set_value(4)
            await visit.until(lambda tab=tab: step_shown(visit, tab) == 4)
            assert visit.one("step").text == "step 4 of 5"
        share = run.metrics["share_blue"]
        assert f"{share[4]:,.4g} at step 4, {share[4] - share[3]:+,.4g}" in visit.one("value-share_blue").text
        visit.press("tab-people")
        await visit.until(lambda: step_shown(visit) == 4)
        assert [row["shirt"] for row in visit.one("people").rows] == run.people(4)["shirt"].to_list()[:25]

    visiting(Path.cwd(), story)


def test_of_many_moves_of_the_slider_the_last_wins() -> None:
    run = shirts(days=9)

    async def story(visit: Visit) -> None:
        await opened(visit, f"/run/{run.name}?step=1")
        for step in (2, 3, 4, 5, 6, 7, 3):
            visit.one("slider").set_value(step)
        await visit.until(lambda: step_shown(visit) == 3)
        visit.press("step-on")
        visit.press("step-on")
        await visit.until(lambda: step_shown(visit) == 5)

    visiting(Path.cwd(), story)


def test_people_are_paged_sorted_and_filtered_on_the_server() -> None:
    run = shirts(people=60)
    frame = run.people(5).frame

    async def story(visit: Visit) -> None:
        await opened(visit, f"/run/{run.name}")
        table = visit.one("people")
        assert len(table.rows) == 25 and table.pagination["rowsNumber"] == 60
        wanted = {"page": 2, "rowsPerPage": 25, "sortBy": "name", "descending": True}
        visit.user.find(marker="people").trigger("request", {"pagination": wanted})
        names = sorted(frame["name"], reverse=True)[25:50]
        await visit.until(lambda: [row["name"] for row in table.rows] == names)
        visit.enter("people-where", "shirt = blue and id < 30")
        blue = frame.filter(shirt="blue").filter(frame.filter(shirt="blue")["id"] < 30)
        await visit.until(lambda: visit.one("people-count").text == f"{blue.height} people fit")
        visit.enter("people-where", "shrt = blue")
        await visit.until(lambda: "Did you mean 'shirt'" in (visit.one("people-where").error or ""))
        visit.enter("people-where", "")
        visit.enter("people-search", frame["name"][3])
        await visit.until(lambda: frame["name"][3] in [row["name"] for row in table.rows] and len(table.rows) < 25)
        assert table.rows[0]["__link"] == f"/run/{run.name}/person/{table.rows[0]['id']}?step=5"

    visiting(Path.cwd(), story)


def test_an_address_brings_its_view_back() -> None:
    run = shirts(people=60)

    async def story(visit: Visit) -> None:
        await opened(visit, f"/run/{run.name}?step=3&where=id+%3C+30&sort=-name&page=2")
        names = sorted(run.people(3)["name"][:30], reverse=True)[25:]
        assert [row["name"] for row in visit.one("people").rows] == names

    visiting(Path.cwd(), story)


def test_a_run_without_events_or_questions_says_so() -> None:
    run = shirts()

    async def story(visit: Visit) -> None:
        await opened(visit, f"/run/{run.name}?step=0&tab=answers", "answers")
        await visit.sees("Nobody was asked anything at this step.")
        visit.press("tab-events")
        await visit.sees("The scenario recorded no event at this step.")

    visiting(Path.cwd(), story)


def test_a_run_is_watched_while_it_goes_and_paused_resumed_and_stopped() -> None:
    hold = Path("hold")
    hold.touch()

    async def story(visit: Visit) -> None:
        with slow_run("--days", "400") as (name, process):
            await opened(visit, f"/run/{name}")
            await visit.until(lambda: step_shown(visit) == 2)
            assert state_shown(visit) == "running" and visit.one("follow").visible
            visit.press("pause")
            await visit.until(lambda: state_shown(visit) == "pausing")
            await visit.sees("It pauses after the current step.")
            hold.unlink()
            await visit.until(lambda: state_shown(visit) == "paused" and step_shown(visit) == 3)
            visit.press("resume")
            await visit.until(lambda: state_shown(visit) == "running" and step_shown(visit) > 5)
            visit.press("stop")
            await visit.until(lambda: state_shown(visit) == "stopped")
            assert process.wait(120) is not None
            assert f"populace resume {name}" in visit.texts()

    visiting(Path.cwd(), story)


@pytest.mark.slow
def test_a_run_that_was_killed_is_told_as_such_and_can_be_resumed() -> None:
    hold = Path("hold")
    hold.touch()

    async def story(visit: Visit) -> None:
        with slow_run("--days", "6") as (name, process):
            await opened(visit, f"/run/{name}")
            assert state_shown(visit) == "running"
            process.send_signal(signal.SIGKILL)
            process.wait()
            await visit.until(lambda: state_shown(visit) == "died")
            assert "Its process ended without recording an end" in visit.texts()
            assert f"populace resume {name}" in visit.texts()
            hold.unlink()
            visit.press("resume")
            await visit.until(lambda: state_shown(visit) == "complete")
            await visit.until(lambda: step_shown(visit) == 6)
            assert visit.one("figure-steps").text == "6 of 6"

    visiting(Path.cwd(), story)


@pytest.mark.slow
def test_a_stop_by_budget_is_told_and_offers_more() -> None:
    Path("slow.py").write_text(SLOW)
    scenario = find_scenario("slow.py")
    with pytest.raises(BudgetError):
        simulate(scenario(days=4, wait=0.0), model="scripted:uniform", max_calls=4)
    name = next(Path("runs").iterdir()).name

    async def story(visit: Visit) -> None:
        await opened(visit, f"/run/{name}")
        await visit.sees("the budget of 4 calls is reached")
        visit.enter("budget", 500)
        await visit.sees(f"populace resume {name} --max-calls 500")
        visit.press("resume")
        await visit.until(lambda: state_shown(visit) == "complete")

    visiting(Path.cwd(), story)


def test_a_run_that_is_deleted_while_open_is_told() -> None:
    run = shirts()

    async def story(visit: Visit) -> None:
        await opened(visit, f"/run/{run.name}")
        shutil.move(run.folder, run.folder.parent.parent / "elsewhere")
        await visit.sees_marked("gone")
        await visit.sees("This run was deleted or moved while it was open.")
        shutil.move(run.folder.parent.parent / "elsewhere", run.folder)
        await visit.until(lambda: not _gone(visit))
        assert visit.one("charts").visible and step_shown(visit) == 5

    visiting(Path.cwd(), story)


def _gone(visit: Visit) -> bool:
    with visit.user:
        return any("gone" in each._markers for each in visit.user._client.elements.values())  # type: ignore[union-attr]


def test_an_unfinished_condition_hides_nobody() -> None:
    run = shirts()

    async def story(visit: Visit) -> None:
        await opened(visit, f"/run/{run.name}")
        everybody = visit.one("people-count").text
        for text in ("shirt", "shirt =", "shirt = blue and id >"):
            visit.enter("people-where", text)
            await visit.until(lambda: "not complete yet" in visit.one("people-count").text)
            assert visit.one("people-count").text.startswith(everybody)
            assert visit.one("people").rows
        visit.enter("people-where", "shirt = none")
        await visit.until(lambda: visit.one("people-count").text == "0 people fit")

    visiting(Path.cwd(), story)


def test_what_a_browser_says_of_a_new_table_does_not_undo_the_number_of_rows() -> None:
    run = shirts()

    async def story(visit: Visit) -> None:
        await opened(visit, f"/run/{run.name}")
        table = visit.one("people")
        count = table.pagination["rowsNumber"]
        assert count > 0
        visit.user.find(marker="people").trigger("update:pagination", table.pagination | {"rowsNumber": 0})
        assert table.pagination["rowsNumber"] == count
        assert table.props["hide-pagination"] == (count <= 25)

    visiting(Path.cwd(), story)


def test_a_complete_run_has_no_progress_bar_and_one_that_goes_on_an_axis_to_its_planned_end() -> None:
    run = shirts()
    points = run.metrics.select("step", run.metrics.columns[1]).head(1)
    assert line_options(points, "step", [points.columns[1]], end=30)["xAxis"]["max"] == 30
    assert line_options(points, "step", [points.columns[1]])["xAxis"]["max"] == "dataMax"

    async def story(visit: Visit) -> None:
        await opened(visit, f"/run/{run.name}")
        await visit.user.should_not_see(kind=ui.linear_progress)

    visiting(Path.cwd(), story)


def test_a_run_without_a_step_waits_for_the_first() -> None:
    run = shirts()
    shutil.move(run.folder / "steps", run.folder / "later")
    (run.folder / "steps").mkdir()

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{run.name}")
        await visit.sees("No step is committed yet")
        os.rmdir(run.folder / "steps")
        os.rename(run.folder / "later", run.folder / "steps")
        await visit.until(lambda: step_shown(visit) == 5)

    visiting(Path.cwd(), story)


def test_what_is_not_a_run_is_told() -> None:
    shirts()

    async def story(visit: Visit) -> None:
        for name in ("nothing", ".removed", "a%00b"):
            await visit.open(f"/run/{name}")
            await visit.sees_marked("error")

    visiting(Path.cwd(), story)


def test_the_same_data_as_json() -> None:
    run = shirts()
    studio = Studio(Path.cwd())
    app = FastAPI()
    install(studio, app)
    with TestClient(app) as client:
        base = f"/api/runs/{run.name}"
        assert client.get(f"{base}/overview").json()["state"] == "complete"
        assert len(client.get(f"{base}/metrics").json()) == 6
        people = client.get(f"{base}/people", params={"step": 2, "sort": "-name", "size": 5, "where": "id < 20"}).json()
        assert (people["step"], people["count"], len(people["people"])) == (2, 20, 5)
        assert client.get(f"{base}/events").json()["count"] == 0
        answers = client.get(f"{base}/answers?step=2").json()["questions"]
        assert answers[0]["text"] == "Which shirt?" and len(answers[0]["values"]) == 2
        assert client.get(f"{base}/usage").json()["total"]["calls"] == run.usage().calls
        assert client.get(f"{base}/people?step=9").status_code == 400
        assert "error" in client.get(f"{base}/people?where=shrt=1").json()
        assert client.get("/api/runs/none/overview").status_code == 404
