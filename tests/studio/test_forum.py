"""The forum as a visitor finds it: threads, marks, verdicts, what else could have been said."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from populace import Run, simulate
from populace.base.errors import StoppedError
from populace.community import Community
from populace.community.judges import judge_posts
from populace.models import Request, Scripted
from populace.scenarios.forum import Forum
from support.audit import IN_FULL
from support.board import judge as knowing
from support.board import luck
from support.forums import SMALL, writer
from support.hostile_run import SCRIPT, hostile_run
from support.studio import Visit, visiting

RUDE = "You idiot, clover is for cows."


def rude(request: Request) -> str:
    """Somebody who now and then says what the filter hides, or sells something."""
    if luck(request) < 0.25:
        return RUDE
    return (
        f"Buy my cheap soil, offer {luck(request):.4f}!"
        if luck(request) < 0.5
        else f"Smoke calms bees {luck(request):.4f}."
    )


def forum(place: Path, model: Any = None, **design: Any) -> Run:
    made = Forum(design=SMALL | {"reply_chance": 0.95} | design, expand=False)
    return simulate(made, model=model or writer(), seed=3, workspace=place)


def test_threads_are_listed_and_read_with_their_authors_and_decisions(tmp_path: Path) -> None:
    run = forum(tmp_path, votes=5)
    posts = Community(run).posts
    first = posts.filter(pl.col("thread") == 1)

    async def story(visit: Visit) -> None:
        await visit.open(f"/forum/{run.name}")
        for text in ("Hives", SMALL["goal"], "advertising honey", "A simulation", "a script wrote every post"):
            await visit.sees(text)
        visit.press("thread-1")
        await visit.sees(first["text"][1])
        told = visit.texts()
        assert all(text in told for text in first["text"])
        assert f"populace show {run.name} --thread 1" in told
        number, step, author = first.select("post", "step", "author").row(1)
        target = visit.one(f"decision-{number}")._props["href"]
        assert target.startswith(f"/run/{run.name}/decision?step={step}&person={author}&path=")
        await visit.open(f"/forum/{run.name}?member={author}")
        await visit.sees("votes received, for minus against")
        assert visit.one("person")._props["href"] == f"/run/{run.name}/person/{author}"
        assert posts.filter(pl.col("author") == author)["text"][-1] in visit.texts()

    visiting(tmp_path, story)


def test_a_search_and_a_step_narrow_what_is_shown(tmp_path: Path) -> None:
    run = forum(tmp_path)
    late = Community(run).posts.filter(pl.col("step") > 1)["text"][-1]

    async def story(visit: Visit) -> None:
        await visit.open(f"/forum/{run.name}?q={late[5:40]}")
        await visit.sees("found in 1")
        visit.enter("search", "nothing of the kind")
        await visit.sees("No thread fits.")
        await visit.open(f"/forum/{run.name}?at=0")
        await visit.sees("Nobody had written by then")
        await visit.open(f"/forum/{run.name}?at=1&thread=1")
        await visit.sees("As of step 1 · Mon 5 Jan 2026, 09:00")
        await visit.sees("0 replies")
        assert late not in visit.texts()

    visiting(tmp_path, story)


def test_what_the_filter_hides_is_not_sent_before_a_click(tmp_path: Path) -> None:
    run = forum(tmp_path, Scripted(rude, spec="scripted:rude"))
    number = int(Community(run).posts.filter(pl.col("text") == RUDE)["post"][0])

    async def story(visit: Visit) -> None:
        await visit.open(f"/forum/{run.name}?thread={number}")
        await visit.sees_marked(f"reveal-{number}")
        assert "idiot" not in visit.texts()
        visit.press(f"reveal-{number}")
        await visit.sees(RUDE)
        await visit.open(f"/forum/{run.name}?thread={number}&filter=off")
        await visit.sees(RUDE)
        visit.one("filter").set_value(True)
        await visit.sees_marked(f"reveal-{number}")

    visiting(tmp_path, story)


def test_removed_posts_name_rule_and_reason_and_wait_for_a_click(tmp_path: Path) -> None:
    acting = {"moderators": 1, "moderate_by": "rule", "triggers": [{"words": ["cheap soil"], "rule": 2}]}
    run = forum(tmp_path, Scripted(rude, spec="scripted:rude"), **acting)
    number = int(run.history("moderation")["post"][0])

    async def story(visit: Visit) -> None:
        await visit.open(f"/forum/{run.name}?thread={number}")
        await visit.sees("rule 2 (“advertising honey”): says 'cheap soil'")
        assert "cheap soil, offer" not in visit.texts()
        visit.press(f"reveal-{number}")
        await visit.sees("Buy my cheap soil, offer")

    visiting(tmp_path, story)


def test_violations_are_shown_and_a_judge_can_be_asked(tmp_path: Path) -> None:
    run = forum(tmp_path, Scripted(rude, spec="scripted:rude"), rules=["No advertising."], posts=2)
    number = int(Community(run).posts.filter(pl.col("text").str.contains("cheap soil"))["post"][0])

    async def story(visit: Visit) -> None:
        await visit.open(f"/forum/{run.name}?thread={number}")
        await visit.sees("Nobody has judged this run")
        assert f"why-{number}" not in _marks(visit)
        judge_posts(Community(run), knowing())
        await visit.open(f"/forum/{run.name}?thread={number}")
        await visit.sees("breaks rule 1")
        await visit.sees("says yes (98 %) to “A rule of the community, about what is not wanted: “No advertising.”")
        visit.enter("judge-model", "scripted:first")
        await visit.sees(f"populace judge {run.name} --model scripted:first")
        visit.press("judge")
        await visit.until(lambda: "scripted:first. A judge may err." in visit.texts())

    visiting(tmp_path, story)


def test_what_if_in_own_words_stands_beside_the_thread(tmp_path: Path) -> None:
    run = forum(tmp_path, "scripted:uniform", posts=2)
    post = int(run.history("posts")["post"][0])

    async def story(visit: Visit) -> None:
        await visit.open(f"/forum/{run.name}?thread={post}")
        visit.press(f"whatif-{post}")
        await visit.sees_marked("whatif-who")
        visit.enter("whatif-who", "own")
        visit.press("whatif-start")
        await visit.until(lambda: any("your own words are missing" in m for m in visit.user.notify.messages))
        visit.enter("whatif-words", "Where does your hive stand?")
        await visit.sees(f"populace whatif {run.name} --post {post} --say 'Where does your hive stand?'")
        visit.press("whatif-start")
        await visit.until(lambda: "from here on" in visit.texts())
        (fork,) = visit.studio.library.forks(run.name)
        await visit.until(lambda: visit.studio.library.run(fork).manifest.status.state == "complete")
        await visit.open(f"/forum/{run.name}/whatif?post={post}&with={fork}")
        await visit.sees("Where does your hive stand?")
        await visit.sees("written by hand")
        await visit.sees_marked("compared")
        await visit.open(f"/forum/{run.name}?thread={post}")
        await visit.sees("1 what-if")

    visiting(tmp_path, story)


def test_a_multiverse_of_three_is_laid_side_by_side(tmp_path: Path) -> None:
    run = forum(tmp_path, "scripted:uniform", posts=2)
    post = int(run.history("posts")["post"][0])

    async def story(visit: Visit) -> None:
        await visit.open(f"/forum/{run.name}?thread={post}")
        visit.press(f"multiverse-{post}")
        await visit.sees_marked("multiverse-count")
        await visit.sees(f"populace multiverse {run.name} --n 3 --post {post}")
        visit.press("whatif-start")
        forks = visit.studio.library.forks
        await visit.until(
            lambda: len(forks(run.name)) == 3 and all(f"side-{f}" in _marks(visit) for f in forks(run.name))
        )
        await visit.until(lambda: "progress" not in _marks(visit))
        assert len(visit.one("compared").rows) == 4
        chosen = forks(run.name)[:2]
        await visit.open(f"/forum/{run.name}/multiverse?post={post}&runs={','.join(chosen)}")
        await visit.until(lambda: "compared" in _marks(visit))
        assert [row["run"] for row in visit.one("compared").rows] == [run.name, *chosen]

    visiting(tmp_path, story)


def test_a_whatif_that_cannot_be_is_told_in_words(tmp_path: Path) -> None:
    run = forum(tmp_path, "scripted:uniform", posts=2)

    async def story(visit: Visit) -> None:
        await visit.open(f"/forum/{run.name}?thread=1")
        visit.press("whatif-1")
        await visit.sees_marked("whatif-model")
        visit.enter("whatif-model", "scripted:no-such")
        visit.press("whatif-start")
        await visit.until(lambda: any("no-such" in message for message in visit.user.notify.messages))

    visiting(tmp_path, story)


def test_posts_appear_while_the_run_goes_on(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        simulate(Forum(design=SMALL, expand=False), model=writer(), seed=3, workspace=tmp_path, max_calls=6)
    (name,) = (each.name for each in (tmp_path / "runs").iterdir())
    run = Run.open(tmp_path / "runs" / name)
    before = run.steps[-1]

    async def story(visit: Visit) -> None:
        await visit.open(f"/forum/{name}")
        await visit.sees(f"As of step {before}")
        await asyncio.to_thread(run.resume, model=writer())
        await visit.sees(f"As of step {run.steps[-1]} ", seconds=10)
        assert str(Community(run).posts.height) in visit.texts().splitlines()

    visiting(tmp_path, story)


@pytest.mark.audit
def test_hostile_posts_and_names_are_shown_as_text(tmp_path: Path) -> None:
    run = hostile_run(tmp_path)

    async def story(visit: Visit) -> None:
        # The first seven members are each of another kind, the others are drawn.
        ids = run.people().ids.to_list()
        members = ids if IN_FULL else [*ids[:7], *ids[7::10]]
        for path in ("", "?thread=1", "?thread=1&filter=off", *(f"?member={who}" for who in members)):
            await visit.open(f"/forum/{run.name}{path}")
            await visit.sees(SCRIPT)
            told = visit.texts()
            assert "\x00" not in told and "\u202e" not in told and len(told) < 200_000
            # Only these elements make markup of what they are given.
            assert not any(type(each).__name__ in ("Html", "Markdown") for each in _elements(visit))

    visiting(tmp_path, story)


def test_an_address_that_leads_nowhere_says_so(tmp_path: Path) -> None:
    run = forum(tmp_path, posts=2)
    lost = {
        "?thread=999": "no post 999",
        "?thread=x": "is not a number",
        "?sort=odd": "sorted by new, top, hot",
        "?at=99": "no step 99",
        "?member=nobody": "no member named 'nobody'",
        "/whatif": "this address has no post",
        "/whatif?post=1&with=none": "none does not continue post 1",
        "/multiverse?post=999": "no post 999",
        "-none": "there is no run",
    }

    async def story(visit: Visit) -> None:
        for path, what in lost.items():
            await visit.open(f"/forum/{run.name}{path}")
            await visit.sees(what)

    visiting(tmp_path, story)


def test_the_same_is_there_as_json(tmp_path: Path) -> None:
    run = forum(tmp_path)

    async def story(visit: Visit) -> None:
        get = visit.user.http_client.get
        listed = (await get(f"/api/runs/{run.name}/forum?sort=new&limit=3")).json()
        assert listed["total"] == 8 and len(listed["threads"]) == 3 and listed["name"] == "Hives"
        thread = (await get(f"/api/runs/{run.name}/forum/threads/1")).json()
        assert thread["posts"][0]["post"] == 1 and thread["posts"][0]["path"]
        author = thread["posts"][0]["author"]
        assert (await get(f"/api/runs/{run.name}/forum/members/{author}")).json()["posts"] >= 1
        lost = await get("/api/runs/none/forum")
        assert lost.status_code == 404 and "no run" in lost.json()["error"]
        assert (await get(f"/api/runs/{run.name}/forum/threads/999")).status_code == 400

    visiting(tmp_path, story)


def _elements(visit: Visit) -> list[Any]:
    return list(visit.user._client.elements.values())  # type: ignore[union-attr]


def _marks(visit: Visit) -> set[str]:
    return {mark for each in _elements(visit) for mark in each._markers}


def test_a_forum_that_goes_and_comes_back_is_one_line_on_the_page(tmp_path: Path) -> None:
    run = forum(tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open(f"/forum/{run.name}")
        await visit.sees_marked("thread-1")
        visit.studio.library.remove(run.name)
        await visit.sees_marked("gone")
        assert not visit.user.notify.messages
        visit.studio.workspace.restore(run.name)
        await visit.sees_marked("thread-1")
        assert "was deleted or moved" not in visit.texts()

    visiting(tmp_path, story)
