from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from populace import Run, simulate
from populace.base.errors import UsageError
from populace.community import Community
from populace.community.community import reading_order
from populace.community.terminal import thread_lines
from populace.runs.reader import RunReader
from populace.scenarios.forum import Forum
from support.board import GARDEN, Board, board, writer
from support.models import Counting
from support.scenarios import Shirts


@pytest.fixture(scope="module")
def garden() -> Community:
    return Community(board(seed=1, offence=0.5))


def test_posts_come_with_names_votes_and_marks(garden: Community) -> None:
    posts = garden.posts
    assert posts["post"].to_list() == list(range(1, 17))
    names = dict(garden.people.frame.select("id", "name").iter_rows())
    assert posts["name"].to_list() == [names[author] for author in posts["author"]]
    votes = dict(garden.votes.group_by("post").agg(pl.col("vote").sum()).iter_rows())
    assert posts["score"].to_list() == [votes.get(post, 0) for post in posts["post"]]
    advertises = posts["text"].str.contains("cheap soil")
    assert advertises.any()
    assert (posts["status"] == "removed").to_list() == advertises.to_list()


def test_the_design_is_read_from_the_manifest(garden: Community) -> None:
    assert garden.design.name == GARDEN["name"]
    assert [rule.text for rule in garden.design.rules] == ["Be kind to beginners.", "No advertising."]


def test_a_thread_is_read_with_every_reply_below_what_it_answers(garden: Community) -> None:
    thread = garden.thread(6)
    assert thread.number == 2
    assert thread.posts["post"].to_list() == [2, 6, 10, 14]
    assert thread.posts["depth"].to_list() == [0, 1, 2, 1]


def test_a_post_that_does_not_exist_is_named_with_those_that_do(garden: Community) -> None:
    with pytest.raises(UsageError, match=r"has no post 99; they are numbered 1 to 16. `populace show RUN` lists"):
        garden.thread(99)
    with pytest.raises(UsageError, match="has no post 0"):
        garden.thread(0)


def test_a_post_of_a_forum_in_which_nothing_was_written_is_named_as_missing(garden: Community) -> None:
    with pytest.raises(UsageError, match="has no post 1; nothing was written"):
        Community(garden.run, at=0).thread(1)


def test_threads_are_sorted_as_the_design_says(garden: Community) -> None:
    assert garden.threads().equals(garden.threads("top"))
    assert garden.threads("top")["score"].is_sorted(descending=True)
    assert garden.threads("new")["thread"].to_list() == [4, 3, 2, 1]
    with pytest.raises(UsageError, match="sorted by new, top, hot"):
        garden.threads("worst")  # type: ignore[arg-type]


def test_a_thread_that_a_moderator_closed_is_locked() -> None:
    run = board(seed=1, offence=0.0)
    acts = pl.DataFrame({"post": [6], "moderator": [0], "power": ["lock"], "rule": [1], "reason": [""], "about": [1]})
    run.record._steps[-1][0]["tables/moderation"] = acts  # type: ignore[attr-defined]
    posts = Community(run).posts
    assert posts.filter(pl.col("status") == "locked")["thread"].unique().to_list() == [2]


def test_a_run_without_posts_is_no_community() -> None:
    with pytest.raises(UsageError, match="has no posts"):
        Community(simulate(Shirts(), model=Counting(), keep="nothing"))


def test_a_run_of_the_shipped_forum_is_read() -> None:
    run = simulate(Forum(expand=False), model=writer(), seed=1, keep="nothing")
    community = Community(run)
    assert community.design.name == "The Mending Bench"
    assert community.posts.height == community.posts_in_reading_order.height > 10
    assert community.posts["name"].null_count() == 0


@given(st.lists(st.integers(0, 1000), max_size=40))
def test_everything_is_read_before_its_replies_and_in_one_piece(numbers: list[int]) -> None:
    post = np.arange(1, len(numbers) + 1, dtype=np.int64)
    parent = np.array([which % (place + 1) for place, which in enumerate(numbers)], np.int64)
    place, depth = reading_order(post, parent)

    def walk(number: int, level: int) -> list[tuple[int, int]]:
        below = [child for child, above in zip(post.tolist(), parent.tolist(), strict=True) if above == number]
        return [pair for child in below for pair in [(child, level), *walk(child, level + 1)]]

    expected = walk(0, 0)
    assert [int(post[i]) for i in np.argsort(place)] == [number for number, _ in expected]
    assert {int(post[i]): int(depth[i]) for i in range(len(post))} == dict(expected)


def test_the_terminal_shows_who_wrote_what_below_whom(garden: Community) -> None:
    lines = [str(line) for line in thread_lines(garden, garden.thread(6), focus=6)]
    assert lines[0] == "Thread 2"
    assert any(line.startswith("   ▶ #6 ") for line in lines)
    assert any(line.startswith("      #10 ") for line in lines)
    removed = garden.posts.filter(pl.col("status") == "removed")["thread"][0]
    text = "\n".join(str(line) for line in thread_lines(garden, garden.thread(removed)))
    assert "removed" in text
    assert "remove (rule 2): An advertisement." in text


def test_nothing_written_can_act_on_the_terminal() -> None:
    run = board(seed=1)
    table = run.record._steps[1][0]["tables/posts"]  # type: ignore[attr-defined]
    hostile = table.with_columns(text=pl.lit("\x1b[2J\u202eolleh\r\x07[bold]x[/bold]"), title=pl.lit("a\x9bb"))
    run.record._steps[1][0]["tables/posts"] = hostile  # type: ignore[attr-defined]
    community = Community(run)
    text = "\n".join(str(line) for line in thread_lines(community, community.thread(1)))
    assert not set(text) & set("\x1b\x9b\x07\r\u202e")
    assert "[bold]x[/bold]" in text


@pytest.mark.slow
def test_a_large_community_is_read_back_within_a_second_of_processor_time() -> None:
    run = simulate(Board(threads=1000, replies=9, members=1000), model=writer(), seed=1)
    durations = []
    for _ in range(3):
        start = time.process_time()
        community = Community(RunReader.open(run.folder))
        assert community.posts.height == 10_000
        assert community.threads().height == 1000
        assert community.posts_in_reading_order.height == 10_000
        durations.append(time.process_time() - start)
    assert min(durations) <= 1.0


def test_a_run_records_who_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPULACE_AUTHOR", "Ada")
    run: Run = simulate(Board(), model=writer(), seed=1)
    assert run.manifest.environment["author"] == "Ada"
    monkeypatch.setenv("POPULACE_AUTHOR", "Bo")
    assert run.fork(at=2, model=writer()).manifest.environment["author"] == "Bo"
    monkeypatch.setenv("POPULACE_AUTHOR", " ")
    assert simulate(Shirts(), model=Counting(), keep="nothing").manifest.environment["author"]
