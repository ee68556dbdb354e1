"""The town page, as a visitor without a browser goes through it, and its routes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from populace import Run, simulate
from populace.scenarios.norms import Norms
from populace.scenarios.party import Party
from populace.studio.pages.town.data import TownRun
from populace.studio.pages.town.talk import news, resident, speech
from support.studio import Visit, visiting

NASTY = "<img src=x onerror=alert(1)>\u202e\x00 hello"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    party = Party(residents=30, days=1)
    simulate(party, decider="rule", seed=3, workspace=folder)
    simulate(Norms(workers=3, days=1), decider="rule", workspace=folder)
    return folder


def named(workspace: Path, scenario: str) -> Run:
    (folder,) = (workspace / "runs").glob(f"{scenario}-*")
    return Run.open(folder)


def test_the_map_stands_beside_what_is_said_and_time_moves_both(workspace: Path) -> None:
    town = TownRun(named(workspace, "party"))
    line = speech(town, 1, 114).row(-1, named=True)

    async def story(visit: Visit) -> None:
        await visit.open(f"/town/{town.run.name}?time=19000&speed=60")
        await visit.sees("Nobody has said anything yet.")
        element = visit.one("town")
        assert (element.props["time"], element.props["speed"], element.props["follow"]) == (19000, 60, -1)
        told = {"time": int(line["shown"]) + 1, "playing": False, "speed": 600}
        visit.user.find(marker="town").trigger("time", told)
        await visit.sees(line["text"])
        await visit.sees(f"populace show {town.run.name} --step {line['step']}")

    visiting(workspace, story)


def test_somebody_can_be_followed_from_the_list_from_the_map_and_from_the_address(workspace: Path) -> None:
    town = TownRun(named(workspace, "party"))
    time = town.time_of(80)

    async def story(visit: Visit) -> None:
        await visit.open(f"/town/{town.run.name}?time={time}&follow={town.ids[4]}")
        person = resident(town, 4, time)
        await visit.sees(f"{person.doing}, at {person.place}")
        assert visit.one("town-person").props["href"] == f"/run/{town.run.name}/person/{town.ids[4]}?step=80"
        visit.user.find(marker="town").trigger("follow", {"row": 7})
        await visit.until(lambda: visit.one("town-person").text == town.names[7])
        assert visit.one("town-follow").value == 7
        visit.enter("town-follow", 9)
        await visit.until(lambda: visit.one("town-person").text == town.names[9])
        visit.press("town-unfollow")
        await visit.until(lambda: visit.one("town-follow").value is None)

    visiting(workspace, story)


def test_layers_show_presence_and_the_tree_of_the_news(workspace: Path) -> None:
    town = TownRun(named(workspace, "party"))

    async def story(visit: Visit) -> None:
        await visit.open(f"/town/{town.run.name}?layer=heat&time=60000")
        await visit.until(lambda: "person-hours, of which" in visit.texts())
        visit.enter("town-span", "run")
        await visit.until(lambda: f"{30 * 113 / 6:,.0f} person-hours" in visit.texts())
        visit.enter("town-layer", "news")
        with visit.user:
            (tree,) = [e for e in visit.user._client.elements.values() if type(e).__name__ == "TownTree"]  # type: ignore[union-attr]
        await visit.until(lambda: len(tree.props["nodes"]) == news(town).height)

    visiting(workspace, story)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("/town/norms", "which has no town"),
        ("/town/party?layer=weather", "there is no layer of the town named 'weather'"),
        ("/town/party?time=noon", "the time in this address is 'noon', which is not a number"),
        ("/town/party?follow=nobody", "has the id nobody"),
        ("/town/missing", "there is no run 'missing'"),
    ],
)
def test_what_cannot_be_shown_is_said_in_words(workspace: Path, address: str, says: str) -> None:
    for scenario in ("norms", "party"):
        address = address.replace(f"/town/{scenario}", f"/town/{named(workspace, scenario).name}")

    async def story(visit: Visit) -> None:
        await visit.open(address)
        await visit.sees_marked("error")
        assert says in visit.texts()

    visiting(workspace, story)


def test_a_run_that_goes_on_lengthens_the_timeline(tmp_path: Path) -> None:
    party = Party(residents=12, days=1)
    made = simulate(party, decider="rule", seed=3, workspace=tmp_path)
    steps = sorted((made.folder / "steps").iterdir())
    away = tmp_path / "later"
    away.mkdir()
    for step in steps[60:]:
        step.rename(away / step.name)
    made.journal.set_status(state="running")

    async def story(visit: Visit) -> None:
        await visit.open(f"/town/{made.name}")
        element = visit.one("town")
        assert element.props["live"] is True
        calls: list[tuple[str, Any]] = []
        element.run_method = lambda name, *given: calls.append((name, given))
        for step in steps[60:]:
            (away / step.name).rename(step)
        made.journal.set_status(state="complete")
        await visit.until(lambda: ("extend", (114, 86400)) in calls)
        assert element.props["live"] is False

    visiting(tmp_path, story)


def test_foreign_words_are_text_in_the_panels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("populace.scenarios.party.rumour.GREETING", NASTY)
    party = Party(residents=12, days=1, talk_chance=1.0)
    made = simulate(party, decider="rule", seed=3, workspace=tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open(f"/town/{made.name}?time=86000")
        await visit.sees("<img src=x onerror=alert(1)>")
        assert "\u202e" not in visit.texts() and "\x00" not in visit.texts()
        answer = await visit.user.http_client.get(f"/api/runs/{made.name}/town/speech?from=1&to=114")
        assert NASTY in {line["text"] for line in json.loads(answer.text)}

    visiting(tmp_path, story)


def test_routes_give_the_same_as_the_views(workspace: Path) -> None:
    town = TownRun(named(workspace, "party"))
    base = f"/api/runs/{town.run.name}/town"

    async def story(visit: Visit) -> None:
        async def get(path: str) -> Any:
            answer = await visit.user.http_client.get(path)
            return answer.status_code, json.loads(answer.text)

        status, found = await get(base)
        assert status == 200 and found["people"]["name"] == town.names and found["last"] == 114
        _, film = await get(f"{base}/frames?from=50&to=52")
        assert film["steps"] == [50, 51, 52] and len(film["at"][0]) == 30
        _, said = await get(f"{base}/speech?from=1&to=114&limit=5")
        assert len(said) == speech(town, 1, 114).height and max(len(line["text"]) for line in said) == 5
        _, spread = await get(f"{base}/news")
        assert spread["followed"] and [node["row"] for node in spread["news"]] == news(town)["row"].to_list()
        _, warm = await get(f"{base}/heat")
        assert sum(warm["buildings"]) + sum(warm["streets"]["person_hours"]) == pytest.approx(30 * 113 / 6, rel=1e-3)
        assert (await get(f"{base}/frames?from=900&to=901"))[0] == 400
        assert (await get("/api/runs/none/town"))[0] == 404
        norms = named(workspace, "norms").name
        status, refused = await get(f"/api/runs/{norms}/town")
        assert status == 400 and "no town" in refused["error"] and "populace run party" in refused["hint"]

    visiting(workspace, story)


def test_a_run_deleted_while_open_is_told_of(tmp_path: Path) -> None:
    party = Party(residents=12, days=1)
    made = simulate(party, decider="rule", seed=3, workspace=tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open(f"/town/{made.name}")
        await visit.sees_marked("town")
        made.folder.rename(tmp_path / "elsewhere")
        await visit.sees_marked("gone")
        assert not visit.user.notify.messages
        (tmp_path / "elsewhere").rename(made.folder)
        await visit.sees_marked("town")
        assert "was deleted or moved" not in visit.texts()

    visiting(tmp_path, story)
