from __future__ import annotations

import asyncio
from pathlib import Path

import polars as pl
import pytest
from nicegui import ui

from populace import Choice, People, Run, Scenario, Text, simulate
from populace.base.errors import BudgetError
from populace.engine.workspace import Workspace
from populace.models import Scripted
from populace.runs.biography import biography, memory_stream
from populace.scenarios.discussion import Discussion
from populace.scenarios.norms import Norms
from populace.scenarios.party import Party
from support.hostile import hostile
from support.society import debater, resident
from support.studio import Visit, another, visiting

NASTY = [
    "<script>alert('x')</script>",
    "\u202eturned\u202c \u2066round\x00\x1b[31m",
    '"><img src=x onerror=alert(1)>',
    "{{ constructor.constructor('alert(1)')() }}",
    "x" * 1_000_000,
    *hostile()[::100],
]


@pytest.fixture
def norms(tmp_path: Path) -> Run:
    return simulate(Norms(workers=6, days=4), model="scripted:first", seed=1, workspace=tmp_path)


def test_a_slider_moves_every_panel(norms: Run, tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{norms.name}/person/2")
        await visit.sees(norms.people().person(2).name)
        await visit.sees("step 4 · Fri 9 Jan 2026, 08:00")
        assert rows(visit, "decisions") == ["4/0", "3/0", "2/0", "1/0"]
        assert visit.one("command").text == f"populace show {norms.name} --person 2"
        visit.enter("step-slider", 2)
        await visit.sees("step 2 · Wed 7 Jan 2026, 08:00")
        assert rows(visit, "decisions") == ["2/0", "1/0"]
        assert visit.one("command").text == f"populace show {norms.name} --step 2 --person 2"
        visit.press("step-back")
        assert rows(visit, "decisions") == ["1/0"]

    visiting(tmp_path, story)


def rows(visit: Visit, marker: str, column: str = "path") -> list[str]:
    """A column of the page of a table."""
    (table,) = [each for each in visit.one(marker).descendants() if isinstance(each, ui.table)]
    return [row[column] for row in table.rows]


def test_an_address_brings_the_step_back(norms: Run, tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{norms.name}/person/2?step=1")
        await visit.sees("step 1 · Tue 6 Jan 2026, 08:00")
        await visit.open(f"/run/{norms.name}/person/2?step=9")
        await visit.sees("has no step 9")
        await visit.open(f"/run/{norms.name}/person/2?step=soon")
        await visit.sees("which is not a number")

    visiting(tmp_path, story)


def test_nobody_of_that_name_is_told_the_nearest(norms: Run, tmp_path: Path) -> None:
    name = norms.people()["name"][0]

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{norms.name}/person/{name}x")
        await visit.sees(f"Did you mean '{name}'?")
        await visit.open("/run/nothing/person/1")
        await visit.sees("there is no run 'nothing'")

    visiting(tmp_path, story)


def test_an_interview_on_the_side_is_shown_and_changes_nothing(norms: Run, tmp_path: Path) -> None:
    before = norms.digest

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{norms.name}/person/2?step=3")
        await visit.sees("On the side")
        await visit.sees("This person has not been interviewed yet")
        visit.press("ask-send")
        await visit.sees("there is no question yet")
        visit.enter("ask-question", "Is it cold?")
        visit.enter("ask-kind", "options")
        visit.enter("ask-options", "yes,no")
        line = f"populace interview {norms.name} 'Is it cold?' --person 2 --step 3 --options yes,no"
        assert visit.one("ask-command").text == line
        second = another(visit)
        await second.open(f"/run/{norms.name}/person/2")
        visit.press("ask-send")
        await visit.sees("asked as of step 3", seconds=20)
        assert "Is it cold?" in visit.texts()
        await second.sees("Is it cold?", seconds=20)

    visiting(tmp_path, story)
    (held,) = norms.interviews()
    assert (held["step"], held["answers"]) == (3, [{"person": 2, "value": "yes", "status": "ok"}])
    assert Run.open(norms.folder).digest == before


def test_a_conversation_goes_on_from_turn_to_turn(norms: Run, tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{norms.name}/person/2?step=3")
        await visit.sees("This person has not been interviewed yet")
        for number, (question, conversation) in enumerate((("Is it cold?", 1), ("Why?", 1), ("Who are you?", 2)), 1):
            if conversation == 2:
                visit.press("ask-new")
                await visit.sees("begins a new conversation")
            visit.enter("ask-question", question)
            assert visit.one("ask-command").text.endswith(f"--person 2 --step 3 --conversation {conversation}")
            visit.press("ask-send")
            await visit.until(lambda: visit.one("ask-send").enabled and len(norms.interviews()) == number, 30)  # noqa: B023
            await visit.sees(question, seconds=20)
        await visit.sees("conversation 2, asked as of step 3", seconds=20)

    visiting(tmp_path, story)
    assert [entry["conversation"] for entry in norms.interviews()] == [1, 1, 2]


def test_what_the_command_complains_about_is_told(norms: Run, tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{norms.name}/person/2")
        visit.enter("ask-question", "-5 degrees?")
        visit.enter("ask-model", "scripted:nothing-here")
        visit.press("ask-send")
        await visit.sees("names no function", seconds=20)
        assert visit.one("ask-send").enabled

    visiting(tmp_path, story)
    assert not norms.interviews()


def test_a_run_that_goes_on_is_followed(tmp_path: Path) -> None:
    with pytest.raises(BudgetError):
        simulate(Norms(workers=4, days=5), model="scripted:uniform", workspace=tmp_path, max_calls=6)
    run = Run(Workspace(tmp_path).open("last"))
    reached = run.steps[-1]
    assert reached < 5

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{run.name}/person/2")
        await visit.sees(f"step {reached} ·")
        await asyncio.to_thread(run.resume)
        await visit.sees("step 5 ·", seconds=20)
        assert visit.one("step-slider").props["max"] == 5
        assert len(rows(visit, "decisions")) == 5

    visiting(tmp_path, story)


@pytest.fixture(scope="module")
def party(tmp_path_factory: pytest.TempPathFactory) -> Run:
    home = tmp_path_factory.mktemp("party")
    return simulate(Party(embedder="hashing", days=1), model=resident(0.8, talks=0.8), seed=1, workspace=home)


def test_a_life_in_a_town_has_plans_talk_and_memories(party: Run) -> None:
    host = biography(party, "0")
    last = party.steps[-1]
    assert set(host.events_until(last)["what"]) >= {"planned"}
    lines = host.talk_until(last)
    assert lines and lines == sorted(lines, key=lambda part: -part[0])
    assert all(host.name in who for _, part in lines for who, _ in part)
    assert memory_stream(party, host, last).height > memory_stream(party, host, last // 2).height


def test_memories_are_filtered_by_kind_and_text(party: Run) -> None:
    run = party

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{run.name}/person/0")
        await visit.sees_marked("memories")
        kinds = visit.one("memory-kinds")
        assert {"observation", "speech"} <= set(kinds.options)
        kinds.set_value(["speech"])
        assert set(rows(visit, "memories", "kind")) == {"speech"}
        found = [each for each in visit.one("memories").descendants() if isinstance(each, ui.input)]
        found[0].set_value("party")
        assert rows(visit, "memories", "text")
        assert all("party" in text for text in rows(visit, "memories", "text"))
        assert "planned" in rows(visit, "events", "what")
        await visit.sees("There is a party at Kettle & Crumb")
        visit.enter("step-slider", 1)
        assert "planned" not in rows(visit, "events", "what")
        answer = await visit.user.http_client.get(f"/api/runs/{run.name}/people/0?step=60")
        told = answer.json()
        assert told["step"] == 60 and told["memories"] and told["said"]

    visiting(run.folder.parent.parent, story)


def test_a_discussion_has_scores_in_the_step_in_which_something_came_to_mind(tmp_path: Path) -> None:
    run = simulate(Discussion(members=4, rounds=2, embedder="hashing"), model=debater(), seed=1, workspace=tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{run.name}/person/1?step=2")
        await visit.sees_marked("memories")
        assert any(score != "–" for score in rows(visit, "memories", "score"))
        await visit.sees("position")

    visiting(tmp_path, story)


class Nasty(Scenario):
    """People whose names, columns and words are an attack."""

    def setup(self) -> People:
        return People(pl.DataFrame({"id": list(range(len(NASTY))), "name": NASTY, "mood": NASTY[::-1]}))

    def length(self) -> int:
        return 1

    async def step(self) -> None:
        said = await self.ask(self.people, Text("What do you say?", max_words=5000))
        await self.ask(self.people, Choice("<b>Tea</b>?", options=("<i>yes</i>", "no & never")))
        for person, text in zip(self.people, said.values, strict=True):
            self.event("said", person, text=text or "", to=[0])
            self.event("<u>did</u>", person, what=text or "")


def echo(request: object) -> dict[str, float] | str:
    """Says what it was told to be."""
    if request.top:  # type: ignore[attr-defined]
        return {"A": 0.5, "B": 0.5, "<i>yes</i>": 0.25, "no & never": 0.25}
    return request.messages[0][1]  # type: ignore[attr-defined,no-any-return]


def test_hostile_text_is_shown_as_text(tmp_path: Path) -> None:
    run = simulate(Nasty(), model=Scripted(echo, spec="scripted:echo"), seed=1, workspace=tmp_path)

    async def story(visit: Visit) -> None:
        for person in range(len(NASTY)):
            for address in (f"person/{person}", *(f"decision?step=1&person={person}&path=1/{ask}" for ask in (0, 1))):
                await visit.open(f"/run/{run.name}/{address}")
                await visit.sees_marked("command")
                await visit.user.should_not_see(marker="error")
                for kind in (ui.html, ui.markdown):
                    assert not [each for each in visit.user._client.elements.values() if isinstance(each, kind)]  # type: ignore[union-attr]
                seen = visit.texts()
                assert "\u202e" not in seen and "\x00" not in seen and "\x1b" not in seen
                assert len(seen) < 400_000
        assert "<b>Tea</b>?" in visit.texts()

    visiting(tmp_path, story)


def test_the_run_of_an_open_person_may_go_and_come_back(norms: Run, tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{norms.name}/person/2")
        await visit.sees_marked("profile")
        visit.studio.library.remove(norms.name)
        await visit.sees_marked("gone")
        visit.studio.workspace.restore(norms.name)
        await visit.sees_marked("profile")
        assert "This run was deleted" not in visit.texts()

    visiting(tmp_path, story)


def test_nothing_is_shown_as_the_machine_stores_it(party: Run) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{party.name}/person/1")
        await visit.sees_marked("decisions")
        seen = visit.texts()
        assert "07:00" in seen and "25200" not in seen and "bed place" not in seen
        assert '{"' not in seen and "{other}" not in seen and "{others}" not in seen
        await visit.open(f"/run/{party.name}?tab=answers&step=91")
        await visit.sees_marked("panel-answers")
        assert "{other}" not in visit.texts() and '{"' not in visit.texts()

    visiting(party.folder.parent.parent, story)
