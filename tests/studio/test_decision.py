from __future__ import annotations

from pathlib import Path

import pytest
from nicegui import ui

from populace import Run, simulate
from populace.scenarios.discussion import Discussion
from populace.scenarios.norms import Norms
from support.models import Counting
from support.scenarios import Forms, Shirts
from support.society import debater
from support.studio import Visit, visiting


@pytest.fixture
def norms(tmp_path: Path) -> Run:
    return simulate(Norms(workers=6, days=3), model="scripted:first", seed=1, workspace=tmp_path)


def charts(visit: Visit) -> int:
    return len([each for each in visit.user._client.elements.values() if isinstance(each, ui.echart)])  # type: ignore[union-attr]


def test_everything_behind_a_decision_is_on_the_page(norms: Run, tmp_path: Path) -> None:
    (decision,) = norms.decisions(2, 1)

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{norms.name}/decision?step=2&person=1")
        await visit.sees("Exact prompt")
        seen = visit.texts()
        prompt = decision.prompts[0]
        assert prompt["system"] in seen and prompt["user"] in seen and prompt["call"] in seen
        assert f"The random number {decision.draw:.4f} fell on “{decision.value}”." in seen
        assert "tokens read + written" in seen
        assert "This never changes the run" in seen
        assert charts(visit) == 2
        assert visit.one("command").text == f"populace why {norms.name} --step 2 --person 1"

    visiting(tmp_path, story)


def test_asked_again_in_another_order_it_stands_beside_the_record(norms: Run, tmp_path: Path) -> None:
    before = norms.digest

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{norms.name}/decision?step=2&person=1&path=2/0")
        assert visit.one("again-command").text == f"populace ask-again {norms.name} --step 2 --person 1 --path 2/0"
        visit.press("again-send")
        await visit.sees("They would have answered the same. (no call was needed, 1 reused)", seconds=20)
        await visit.sees("The prompt is the same.")
        visit.enter("again-order", "reversed")
        assert visit.one("again-command").text.endswith("--path 2/0 --order reversed")
        visit.press("again-send")
        await visit.sees("They would have answered otherwise. (1 call made, 0 reused)", seconds=20)
        assert "+ Options: green, blue." in visit.texts()
        assert charts(visit) == 5

    visiting(tmp_path, story)
    assert Run.open(norms.folder).digest == before


def test_only_what_was_changed_is_named(norms: Run, tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{norms.name}/decision?step=2&person=1")
        visit.enter("again-wording", "Which one?")
        visit.enter("again-temperature", 0.5)
        assert visit.one("again-command").text.endswith("--path 2/0 --wording 'Which one?' --temperature 0.5")
        visit.enter("again-part", "whole")
        visit.enter("again-text", "Blue or green?")
        line = visit.one("again-command").text
        assert "--wording" not in line and "--text 'Blue or green?'" in line
        visit.press("again-send")
        await visit.sees("+ Blue or green?", seconds=20)

    visiting(tmp_path, story)


def test_several_decisions_of_a_step_can_be_chosen_among(tmp_path: Path) -> None:
    run = simulate(Forms(), model=Counting(), seed=1, workspace=tmp_path)

    async def story(visit: Visit) -> None:
        address = f"/run/{run.name}/decision?step=1&person=1"
        await visit.open(address)
        await visit.sees("5 decisions in this step")
        assert len(visit.one("decision-of-step").options) == 5
        await visit.user.should_not_see(marker="decision-before")
        await visit.sees_marked("decision-after")
        await visit.open(f"{address}&path=1/3")
        await visit.sees("as the model wrote it")
        assert charts(visit) == 0
        await visit.open(f"{address}&path=1/4")
        await visit.sees("sugar")
        await visit.open(f"{address}&path=1/9")
        await visit.sees("there is no decision named '1/9'")
        await visit.open(f"/run/{run.name}/decision?step=0&person=1")
        await visit.sees("They decided nothing in step 0.")
        await visit.open(f"/run/{run.name}/decision")
        await visit.sees("names no person")

    visiting(tmp_path, story)


def test_a_rule_has_no_prompt_and_can_be_asked_as_a_model(tmp_path: Path) -> None:
    run = simulate(Norms(workers=4, days=1), decider="rule", seed=1, workspace=tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{run.name}/decision?step=1&person=1")
        await visit.sees("A rule or a recording decided")
        visit.press("again-send")
        await visit.sees("there is no prompt to put again", seconds=20)
        visit.enter("again-model", "scripted:uniform")
        visit.press("again-send")
        await visit.sees_marked("again-outcome", seconds=20)
        await visit.sees("model: none  →  scripted:uniform")

    visiting(tmp_path, story)


def test_what_came_to_mind_has_its_scores(tmp_path: Path) -> None:
    run = simulate(Discussion(members=3, rounds=2, embedder="hashing"), model=debater(), seed=1, workspace=tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{run.name}/decision?step=2&person=1")
        await visit.sees_marked("mind")
        meters = [each for each in visit.one("mind").descendants() if "meter" in each.classes]
        recalled = run.record.table(2, "tables/recalled")
        assert recalled is not None and len(meters) % 4 == 0 and meters
        answer = await visit.user.http_client.get(f"/api/runs/{run.name}/decisions?step=2&person=1")
        told = answer.json()
        assert len(told) == len(run.decisions(2, 1))
        assert told[0]["recalled"][0].keys() >= {"recency", "importance", "relevance", "score"}

    visiting(tmp_path, story)


def test_programs_get_the_same_as_json(tmp_path: Path) -> None:
    run = simulate(Shirts(), model=Counting(), seed=1, workspace=tmp_path)

    async def story(visit: Visit) -> None:
        client = visit.user.http_client
        everything = (await client.get(f"/api/runs/{run.name}/decisions?person=1")).json()
        assert [row["path"] for row in everything] == ["1/0", "2/0", "3/0", "4/0"]
        (opened,) = (await client.get(f"/api/runs/{run.name}/decisions?person=1&step=2")).json()
        assert opened["tempered"].keys() == {"blue", "green"}
        wrong = await client.get(f"/api/runs/{run.name}/people/Nobody")
        assert wrong.status_code == 400 and "no person named" in wrong.json()["error"]
        gone = await client.get("/api/runs/nothing/decisions?person=1")
        assert gone.status_code == 404

    visiting(tmp_path, story)
