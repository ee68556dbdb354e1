"""Home lists what a workspace holds, and shows a newcomer what a run looks like."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest

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
        await visit.sees("calls, no cost")

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


def test_a_menu_stays_open_while_another_run_goes_on(tmp_path: Path) -> None:
    """A list that is drawn again as a whole would close menus and lose clicks."""
    run = simulate(Norms(workers=4, days=1), decider="rule", workspace=tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open("/")
        await visit.sees(run.name)
        menu, row = visit.one(f"menu-{run.name}"), visit.one(f"run-{run.name}")
        other = simulate(Norms(workers=4, days=1), decider="rule", seed=5, workspace=tmp_path)
        await visit.sees(other.name, seconds=10)
        visit.studio.library.tag(run.name, ["pilot"])
        visit.studio.changes.notify(run.name)
        await visit.sees("pilot")
        assert visit.one(f"menu-{run.name}") is menu and visit.one(f"run-{run.name}") is row

    visiting(tmp_path, story)


def test_leaving_while_the_list_is_being_read_is_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    simulate(Norms(workers=4, days=1), decider="rule", workspace=tmp_path)

    async def story(visit: Visit) -> None:
        client = await visit.open("/")
        reading, go_on = threading.Event(), threading.Event()
        matching = visit.studio.library.matching

        def slow(words: str) -> list[str]:
            reading.set()
            go_on.wait(120)
            return matching(words)

        visit.studio.library.matching = slow  # type: ignore[method-assign]
        visit.studio.changes.notify("")
        await visit.until(reading.is_set)
        client.delete()
        go_on.set()
        await asyncio.sleep(0.2)

    visiting(tmp_path, story)
    assert "deleted" not in caplog.text


def test_ten_broken_runs_hide_none_of_the_good_ones_and_are_named(tmp_path: Path) -> None:
    good = simulate(Norms(workers=3, days=1), decider="rule", workspace=tmp_path)
    manifest = json.loads((good.folder / "manifest.json").read_text())
    damages = ["", "{", "[]", "null", "{}", '{"run": 3}', "\xff", "[" * 3000, json.dumps(manifest | {"created": 7})]
    for number, text in enumerate([*damages, json.dumps(manifest | {"regimes": []})]):
        folder = tmp_path / "runs" / f"broken-{number}"
        folder.mkdir()
        (folder / "manifest.json").write_bytes(text.encode("latin-1"))

    async def story(visit: Visit) -> None:
        await visit.open("/")
        await visit.sees(good.name)
        for number in range(10):
            await visit.sees_marked(f"run-broken-{number}")
        assert visit.texts().count("unreadable") == 10
        listed = (await visit.user.http_client.get("/api/runs")).json()
        assert listed["count"] == 11 and sum(bool(each["problem"]) for each in listed["runs"]) == 10

    visiting(tmp_path, story)


def test_an_address_that_leads_nowhere_has_a_page_of_studio_with_a_way_back(tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        client = visit.user.http_client
        answer = await client.get("/no/such/page")
        assert answer.status_code == 404 and "There is no such page" in answer.text and "All runs" in answer.text
        assert (await client.get("/api/none")).json()["hint"] == "/api/openapi.json lists the routes."
        for address in (
            "/?page=x",
            "/?page=" + "9" * 5000,
            f"/run/{'x' * 300}",
            "/compare?at=-1",
            "/feedback?seed=1.5",
        ):
            wrong = await client.get(address)
            assert wrong.status_code == 200 and 'role":"alert' in wrong.text, address

    visiting(tmp_path, story)
