from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from populace import Run, simulate
from populace.base.errors import UsageError
from populace.models import Request, Scripted
from populace.scenarios.forum import Forum
from support.forums import SEEDS, SMALL, forum, posts, scripted_reply, scripted_text, threads, writer

THREADS, CHANCE, NEW, MOST = 2000, 0.65, 0.5, 8


@pytest.fixture(scope="module")
def many() -> Run:
    """Two thousand threads with the default chances."""
    return forum(posts=THREADS, together=THREADS, people=2500, newcomers=0, room=400, rules=[])


def test_reply_counts_follow_their_chance_over_2000_threads(many: Run) -> None:
    replies = posts(many).group_by("thread").len()["len"].to_numpy() - 1
    assert len(replies) == THREADS and replies.max() == MOST
    expected = np.array([CHANCE**k * (1 - CHANCE) for k in range(MOST)] + [CHANCE**MOST]) * THREADS
    assert stats.chisquare(np.bincount(replies, minlength=MOST + 1), expected).pvalue > 0.01


def test_new_participants_come_with_their_chance_over_2000_threads(many: Run) -> None:
    new = total = 0
    for part in posts(many).select("thread", "author").partition_by("thread", maintain_order=True):
        authors = part["author"].to_list()
        if len(authors) > 1:
            assert authors[1] != authors[0]
        for place in range(2, len(authors)):
            total += 1
            new += authors[place] not in authors[:place]
    assert total > 1000
    assert stats.binomtest(new, total, NEW).pvalue > 0.01


def test_nobody_replies_to_themselves_over_2000_threads(many: Run) -> None:
    table = posts(many)
    replies = table.join(table.select(parent="post", answered="author", of="thread"), on="parent")
    assert replies.height == table["parent"].is_not_null().sum()
    assert not (replies["author"] == replies["answered"]).any()
    assert (replies["thread"] == replies["of"]).all()
    last = table.with_columns(before=pl.col("author").shift().over("thread"))
    assert not (last["author"] == last["before"]).any()


def test_asides_come_with_their_chance_over_2000_threads(many: Run) -> None:
    table = posts(many).with_columns(
        latest=pl.col("post").shift().over("thread"), place=pl.int_range(pl.len()).over("thread")
    )
    # The first reply has only the opening to answer; later ones always have an earlier post of somebody else.
    later = table.filter(pl.col("place") >= 2)
    writers = posts(many).group_by("thread").agg(pl.col("author").n_unique().alias("n"))
    free = later.join(writers, on="thread").filter(pl.col("n") == pl.col("place") + 1)
    asides = int((free["parent"] != free["latest"]).sum())
    assert free.height > 200
    assert stats.binomtest(asides, free.height, 0.2).pvalue > 0.01


def test_posts_are_recorded_as_agreed(many: Run) -> None:
    table = posts(many)
    assert table.columns == [
        "step", "post", "thread", "parent", "author", "title", "text", "time", "trimmed", "origin",
    ]  # fmt: skip
    assert table["post"].to_list() == list(range(1, table.height + 1))
    assert table["time"].is_sorted()
    openings = table.filter(pl.col("parent").is_null())
    assert (openings["post"] == openings["thread"]).all() and openings["title"].null_count() == 0
    assert table.filter(pl.col("parent").is_not_null())["title"].null_count() == table.height - openings.height
    assert set(many.people().columns) >= {"id", "name", "persona", "seed", "role", "standing", "source"}


def test_long_threads_are_trimmed_and_the_trim_is_recorded(many: Run) -> None:
    trimmed = posts(many).filter(pl.col("trimmed") > 0)
    assert trimmed.height > 50
    step = int(trimmed["step"][0])
    assert many.prompts(step)["user"].str.contains("posts are left out here").any()


def test_one_question_a_step_serves_all_threads(many: Run) -> None:
    assert [many.record.table(step, "asks").height for step in many.steps[1:]] == [1] * (len(many.steps) - 1)  # type: ignore[union-attr]


def test_people_are_told_persona_goal_rules_and_thread() -> None:
    run = forum(people=3, newcomers=0)
    prompt = run.prompts(at=2).filter(pl.col("user").str.contains("The thread so far")).row(0, named=True)
    assert prompt["system"].startswith("You are ")
    assert any(seed in prompt["system"] for seed in SMALL["personas"])
    assert "help each other keep bees" in prompt["user"]
    assert "Posts here are like this: (1) say where your hive stands." in prompt["user"]
    assert "Posts here are NOT like this: (2) advertising honey." in prompt["user"]


def test_the_ablations_leave_out_the_community_or_the_personas() -> None:
    prompts = {
        name: _prompt_texts(
            simulate(Forum(design=SMALL, expand=False, **{name: False}), model=writer(), keep="nothing")
        )
        for name in ("describe", "personas")
    }
    assert not any("keep bees" in text or "advertising" in text or "Hives" in text for text in prompts["describe"])
    assert any(seed in text for text in prompts["describe"] for seed in SEEDS)
    assert all("keep bees" in text for text in prompts["personas"])
    assert not any(seed in text for text in prompts["personas"] for seed in SEEDS)


def _prompt_texts(run: Run) -> list[str]:
    prompts = run.prompts()
    return [f"{system}\n{user}" for system, user in prompts.select("system", "user").iter_rows()]


def test_newcomers_read_the_front_page_before_they_post() -> None:
    run = forum(newcomers=1.0, front=2)
    events = run.events.filter(pl.col("kind") == "read")
    assert events["step"].unique().to_list() == [2]
    front = json.loads(events["data"][0])["posts"]
    assert len(front) == 2 and max(front) <= 4
    text = posts(run).filter(pl.col("post") == front[0])["text"][0]
    openings = run.prompts(at=2).filter(pl.col("user").str.contains("You open a new thread"))
    assert openings["user"].str.contains(text[:60], literal=True).all()
    assert not forum(newcomers=0.0).events.height


@pytest.mark.parametrize("concurrency", [1, 64])
def test_a_forum_is_the_same_for_any_concurrency(concurrency: int, tmp_path: Path) -> None:
    changes: dict[str, Any] = {"moderators": 2, "moderate_by": "model", "votes": 4}
    runs = [
        simulate(
            Forum(design=SMALL | changes, expand=False), model=Scripted(scripted_reply, spec="scripted:w", latency_s=0.0005),
            seed=5, workspace=tmp_path / str(workers), concurrency=workers,
        )
        for workers in (16, concurrency)
    ]  # fmt: skip
    assert runs[0].digest == runs[1].digest
    assert runs[0].replay(verify=True).steps == runs[0].steps


def test_what_cannot_be_read_reaches_no_thread_and_is_counted() -> None:
    def sometimes(request: Request) -> str:
        return "<br>" if len(request.messages[1][1]) % 3 == 0 else scripted_text(request)

    run = forum(Scripted(sometimes, spec="scripted:sometimes"))
    assert run.metrics["dropped"][-1] == run.statuses["unparseable"] > 0
    assert not posts(run)["text"].str.contains("<").any()


def test_if_nothing_can_be_read_there_is_an_empty_forum() -> None:
    run = forum(Scripted(lambda request: "<br>", spec="scripted:mute"))
    assert posts(run).height == 0 and run.metrics["dropped"][-1] == 8
    assert run.manifest.status.reason == "every thread has come to rest"
    assert Forum.report(run) == []


def test_personas_are_expanded_by_the_model() -> None:
    def describes(request: Request) -> str:
        text = scripted_text(request)
        return (
            json.dumps({"people": [f"{text} {n}" for n in range(5)]})
            if "Describe 5" in request.messages[-1][1]
            else text
        )

    scenario = Forum(design=SMALL | {"posts": 2})
    run = simulate(scenario, model=Scripted(describes, spec="scripted:describes"), seed=1, keep="nothing")
    people = run.people()
    assert len(people) == 20
    assert people["persona"].n_unique() == 20
    assert set(people["source"]) == {"seed", "model"}


def test_where_people_are_fewer_than_threads_of_a_step_everything_is_still_opened() -> None:
    run = forum(posts=30, together=30, people=4, replies=2)
    assert run.metrics["posts"][-1] == 30
    assert run.manifest.status.reason == "every thread has come to rest"


def test_where_everybody_is_banned_the_forum_falls_silent() -> None:
    run = forum(people=4, moderators=1, moderate_by="rule", triggers=[{"words": ["again"], "power": "ban"}])
    assert run.metrics["posts"][-1] == 3 and run.metrics["replies"][-1] == 0
    assert run.people().count(standing="banned") == 3


def test_roles_follow_the_design() -> None:
    roles = forum(people=20, moderators=2, moderate_by="model", newcomers=0.5).people(0)["role"].value_counts()
    assert dict(roles.rows()) == {"moderator": 2, "newcomer": 9, "member": 9}


MODERATED = {"moderators": 1, "moderate_by": "rule", "posts": 30, "together": 10, "reply_chance": 0.9}


def acts(power: str) -> tuple[Run, pl.DataFrame]:
    run = forum(**MODERATED, triggers=[{"words": ["sting"], "power": power, "rule": 2}])
    return run, run.history("moderation")


def test_a_moderator_who_acts_by_rule_acts_on_the_words() -> None:
    run, moderation = acts("warn")
    table = posts(run)
    says = table.filter(pl.col("text").str.contains(r"\bsting\b") | pl.col("title").str.contains(r"\bsting\b"))
    assert moderation["post"].to_list() == says["post"].to_list() != []
    assert set(moderation.drop("step").columns) == {"post", "moderator", "power", "rule", "reason", "about"}
    assert set(moderation["moderator"]) == set(run.people().where(role="moderator").ids)
    assert set(moderation["rule"]) == {2}
    assert set(run.people().where(standing="warned").ids) == set(moderation["about"])
    assert run.prompts()["user"].str.contains("A moderator has warned you").any()


def test_removed_posts_are_not_shown_to_later_writers() -> None:
    run, moderation = acts("remove")
    assert run.metrics["removed"][-1] == moderation.height > 0
    for row in moderation.iter_rows(named=True):
        text = posts(run).row(row["post"] - 1, named=True)["text"]
        later = run.prompts().filter(pl.col("step") > row["step"])
        assert not later["user"].str.contains(text, literal=True).any()


def test_locked_threads_take_no_more_replies() -> None:
    assert later_replies(*acts("warn")) > 0, "without a lock nobody replies either, so nothing is shown"
    run, moderation = acts("lock")
    assert moderation.height > 0
    assert later_replies(run, moderation) == 0


def later_replies(run: Run, moderation: pl.DataFrame) -> int:
    """How many posts came into the threads that were moderated, in later steps."""
    table = posts(run)
    ends = (
        moderation.join(table.select("post", "thread"), on="post")
        .group_by("thread")
        .agg(pl.col("step").min().alias("end"))
    )
    return table.join(ends, on="thread").filter(pl.col("step") > pl.col("end")).height


def test_banned_people_write_no_more() -> None:
    run, moderation = acts("ban")
    assert moderation.height
    for row in moderation.iter_rows(named=True):
        later = posts(run).filter(pl.col("author") == row["about"], pl.col("step") > row["step"])
        assert later.height == 0
    assert set(run.people().where(standing="banned").ids) == set(moderation["about"])


def test_a_moderator_who_acts_by_model_names_power_and_rule() -> None:
    def strict(request: Request) -> dict[str, float] | str:
        if "remove" in request.options:
            return {"remove": 1.0} if " sting " in request.messages[-1][1] else {"nothing": 1.0}
        return {"2": 1.0} if request.options else scripted_text(request)

    run = forum(Scripted(strict, spec="scripted:strict"), moderators=2, moderate_by="model")
    moderation = run.history("moderation")
    assert set(moderation["power"]) == {"remove"} and set(moderation["rule"]) == {2}
    assert set(moderation["reason"]) == {"advertising honey"}
    assert run.answers().filter(purpose="moderation").height == posts(run).height + moderation.height


def test_readers_vote_on_what_they_see_and_never_on_their_own() -> None:
    def pleased(request: Request) -> dict[str, float] | str:
        return {"up": 0.7, "down": 0.1, "nothing": 0.2} if request.options else scripted_text(request)

    run = forum(Scripted(pleased, spec="scripted:pleased"), votes=6, sorting="top")
    votes = run.history("votes")
    assert votes.drop("step").columns == ["post", "person", "vote"]
    assert set(votes["vote"]) == {1, -1}
    assert votes.select("post", "person").is_duplicated().sum() == 0
    ballots = votes.join(posts(run).select("post", "author"), on="post")
    assert (ballots["person"] != ballots["author"]).all()


def test_a_change_in_one_thread_changes_nothing_in_another() -> None:
    def changed(request: Request) -> str:
        return (
            "Something else altogether is the matter."
            if "bees" in scripted_text(request)[:12]
            else scripted_text(request)
        )

    before, after = threads(forum(together=8)), threads(forum(Scripted(changed, spec="scripted:changed"), together=8))
    same = [opening for opening in before if after.get(opening) == before[opening]]
    differ = [opening for opening in before if opening not in same]
    assert same and differ
    assert len(before) == len(after)


def test_rules_that_contradict_each_other_are_shown_with_the_result() -> None:
    run = forum(rules=["Adverts are welcome", "Adverts are not welcome"])
    warnings = Forum.report(run)[0]
    assert warnings.title == "Rules that may contradict each other"
    assert "rule 1 ('Adverts are welcome') and rule 2" in warnings.table["warning"][0]


def test_a_what_if_needs_a_post_that_exists() -> None:
    with pytest.raises(UsageError, match="no post 3"):
        simulate(
            Forum(design=SMALL, expand=False, whatif={"post": 3, "as_": "a troll"}), model=writer(), keep="nothing"
        )


def test_writers_without_personas_are_numbered_as_in_the_source() -> None:
    run = simulate(Forum(design=SMALL | {"posts": 2, "people": 4}, personas=False), model=writer(), keep="nothing")
    assert run.people()["name"].to_list() == [f"Person {number}" for number in range(1, 5)]
    assert set(run.prompts(at=1)["system"]) <= {f"You are Person {number}." for number in range(1, 5)}
