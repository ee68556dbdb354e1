"""The discrimination test in Studio: blind while it is rated, kept apart by rater, shown when done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from populace.community.study import Study
from populace.engine.workspace import Workspace
from support.hostile import AROUND
from support.studies import studied
from support.studio import Visit, another, visiting


@pytest.fixture
def run(tmp_path: Path) -> str:
    _, material = studied(tmp_path, AROUND["html"].replace("{}", "human {n}"))
    return material.runs[0]


async def made(visit: Visit, run: str) -> None:
    await visit.open("/discern")
    await visit.sees("There is none yet")
    visit.press("study-make")
    await visit.until(lambda: any("the study has no name" in text for text in visit.user.notify.messages))
    visit.enter("study-name", "balcony")
    await visit.sees(f"populace discern {run} --real real.jsonl --study balcony")
    visit.press("study-make")
    await visit.sees("Who rates?", seconds=20)


def test_a_study_is_made_and_two_raters_rate_it_apart(tmp_path: Path, run: str) -> None:
    async def story(visit: Visit) -> None:
        await made(visit, run)
        visit.press("begin")
        await visit.until(lambda: any("needs a name" in text for text in visit.user.notify.messages))
        visit.enter("rater", " Ann ")
        visit.press("begin")
        study = Study(Workspace(tmp_path), "balcony")
        for number in range(1, 6):
            await visit.sees(f"Pair {number} of 5")
            told = visit.texts()
            assert "<script>alert" in told and "Title" in told
            assert not any(word in told for word in ("Zoë", "full", run, "published", "generated conv"))
            visit.press("first" if number % 2 else "second")
        await visit.sees("Ann rated all 5 pairs")
        assert visit.one("results").rows[0]["answers"] == 5
        assert visit.one("results").rows[0]["published"] == "41.0 %"
        assert " to " in visit.one("results").rows[0]["interval"]

        other = another(visit)
        await other.open("/discern/balcony?rater=Bo")
        await other.sees("Pair 1 of 5")
        assert "published" not in other.texts()
        other.press("second")
        await other.sees("Pair 2 of 5")
        await other.open("/discern/balcony?rater=Bo")
        await other.sees("Pair 2 of 5")
        rows = [json.loads(line) for line in (study.folder / "answers.jsonl").read_text().splitlines()]
        assert [row["rater"] for row in rows] == ["Ann"] * 5 + ["Bo"]
        wrong = {pair.key: pair.real_first("Ann") for pair in study.pairs}
        assert all(row["wrong"] == ((row["chosen"] == "first") != wrong[row["pair"]]) for row in rows[:5])
        await other.open("/discern")
        await other.sees("5 pairs · 2 raters · 6 answers")

    visiting(tmp_path, story)


def test_the_json_says_nothing_that_tells_before_all_is_answered(tmp_path: Path, run: str) -> None:
    async def story(visit: Visit) -> None:
        await visit.studio.jobs.call("discern", run, "--real", "real.jsonl", "--study", "balcony")
        get = visit.user.http_client.get
        assert (await get("/api/discern")).json()["studies"][0]["pairs"] == 5
        told = (await get("/api/discern/balcony?rater=Ann")).json()
        assert set(told["task"]) == {"number", "of", "community", "goal", "first", "second"}
        early = await get("/api/discern/balcony/results?rater=Ann")
        assert early.status_code == 400 and "5 pairs are still to be rated" in early.json()["error"]
        assert (await get("/api/discern/none?rater=Ann")).status_code == 400
        study = Study(Workspace(tmp_path), "balcony")
        study.ratings().add([pair.rating("Ann", "person", "first") for pair in study.pairs])
        assert (await get("/api/discern/balcony/results?rater=Ann")).json()["rates"][0]["answers"] == 5

    visiting(tmp_path, story)


def test_studies_that_are_not_there_and_names_that_lead_out_are_told(tmp_path: Path, run: str) -> None:
    async def story(visit: Visit) -> None:
        await visit.open("/discern/none")
        await visit.sees("no study named 'none'")
        await visit.open("/discern/..%5Cx")
        await visit.sees("cannot name a study")

    visiting(tmp_path, story)


def test_without_a_forum_it_says_what_to_do(tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open("/discern")
        await visit.sees("runs of a forum, and there is none")

    visiting(tmp_path, story)
