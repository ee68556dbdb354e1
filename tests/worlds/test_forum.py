from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from populace.worlds.forum import Board, SpeakerDraw, Threads, gini


def post(
    slot: int, author: int, text: str, *, parent: int | None = None, title: str | None = None
) -> dict[str, object]:
    at = 0 if parent is None else parent
    return {
        "slot": slot,
        "parent": parent,
        "author": author,
        "name": f"P{author}",
        "title": title,
        "text": text,
        "time": at,
    }


def put(board: Board, *rows: dict[str, object]) -> pl.DataFrame:
    return board.add(pl.DataFrame(list(rows), schema_overrides={"parent": pl.Int64, "title": pl.String}))


def a_thread(*lengths: int) -> Board:
    board = Board(pl.Int64())
    put(board, post(0, 0, "x" * lengths[0], title="T"))
    for place, length in enumerate(lengths[1:], 1):
        put(board, post(0, place % 3, "x" * length, parent=place))
    return board


def test_posts_are_numbered_in_the_order_of_their_times() -> None:
    board = Board(pl.Int64())
    rows = put(board, post(0, 1, "late") | {"time": 9}, post(1, 2, "early") | {"time": 3})
    assert rows.select("post", "thread", "text").rows() == [(1, 1, "early"), (2, 2, "late")]
    assert put(board, post(0, 2, "reply", parent=2)).select("post", "thread").row(0) == (3, 2)


def test_a_long_thread_is_trimmed_from_its_middle() -> None:
    transcript = a_thread(50, 60, 60, 60, 60).transcripts(np.array([0]), room=200)
    assert transcript["trimmed"].to_list() == [2]
    lines = transcript["transcript"][0].split("\n")
    assert lines[0] == "P0: T" and lines[2] == "[2 posts are left out here]"
    assert len(lines) == 5


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 80), min_size=1, max_size=12), st.integers(1, 400))
def test_trimming_keeps_opening_and_latest_and_counts_what_is_left_out(lengths: list[int], room: int) -> None:
    transcript = a_thread(*lengths).transcripts(np.array([0]), room).row(0, named=True)
    kept = transcript["transcript"].count("P")
    assert kept + transcript["trimmed"] == len(lengths)
    assert kept >= min(2, len(lengths))
    if transcript["trimmed"]:
        assert len(transcript["transcript"]) <= room + lengths[0] + lengths[-1] + 60


def test_removed_posts_are_not_shown_and_keep_their_numbers() -> None:
    board = a_thread(5, 6, 7)
    board.remove([2])
    assert board.transcripts(np.array([0]), 500)["transcript"][0] == "P0: T\nxxxxx\nP2: xxxxxxx"
    assert board.posts["post"].to_list() == [1, 2, 3]


def test_a_reply_answers_the_latest_post_of_another_or_an_earlier_one() -> None:
    board = a_thread(5, 5, 5, 5)
    latest = board.reply_targets(np.array([0]), pl.Series([7]), np.array([], np.int64), [0.5])
    assert latest.row(0) == (0, 4, "P0")
    asides = [
        board.reply_targets(np.array([0]), pl.Series([7]), np.array([0]), [u])["parent"][0] for u in (0.0, 0.4, 0.99)
    ]
    assert asides == [1, 2, 3]
    own = board.reply_targets(np.array([0]), pl.Series([0]), np.array([], np.int64), [0.5])
    assert own["parent"].to_list() == [3]


def test_the_front_page_follows_its_sorting() -> None:
    board = Board(pl.Int64())
    put(board, *(post(slot, slot, f"t{slot}") | {"time": slot * 10_000} for slot in range(4)))
    board.vote(pl.Series([1, 1, 3, 2]), pl.Series([1, 1, 1, -1]))
    orders = {s: board.front(s, 4, 40_000)["post"].to_list() for s in ("new", "top", "hot")}  # type: ignore[arg-type]
    assert orders == {"new": [4, 3, 2, 1], "top": [1, 3, 4, 2], "hot": [4, 3, 1, 2]}
    board.remove([4])
    assert board.front("new", 2, 0)["post"].to_list() == [3, 2]


def test_threads_grow_by_a_truncated_geometric_law() -> None:
    count, chance, most = 2000, 0.65, 8
    threads = Threads(count, most)
    threads.mark_open(np.arange(count), np.arange(1, count + 1))
    while len(growing := threads.draw_growing(5, chance)):
        threads.turns[growing] += 1
    seen = np.bincount(threads.turns, minlength=most + 1)
    expected = np.array([chance**k * (1 - chance) for k in range(most)] + [chance**most]) * count
    assert threads.turns.max() == most
    assert stats.chisquare(seen, expected).pvalue > 0.01


def test_speakers_are_new_with_the_stated_chance_and_never_the_last() -> None:
    count, people = 4000, 300
    threads, zeros = np.arange(count), np.zeros(count, np.int64)
    may = np.ones(people, bool)
    may[::10] = False
    speakers = SpeakerDraw(count)
    first = speakers.openers(1, threads[:200], may)
    assert len(set(first)) == 200 and may[first].all()
    speakers.record(threads, np.arange(count) % 7 + 1)
    new = 0
    for turn in range(6):
        before = speakers._participants.copy()
        who = speakers.responders(1, threads, zeros + turn, zeros, may, np.ones(people, bool), 0.3)
        assert (who != speakers.last).all()
        fresh = ~(before == who[:, None]).any(axis=1)
        assert may[who[fresh]].all()
        if turn == 0:
            assert fresh.all()
        else:
            new += int(fresh.sum())
        speakers.record(threads, who)
    assert stats.binomtest(new, 5 * count, 0.3).pvalue > 0.01


def test_who_is_new_is_uniform_over_those_who_may() -> None:
    count, people = 6000, 12
    threads, zeros = np.arange(count), np.zeros(count, np.int64)
    speakers = SpeakerDraw(count)
    speakers.record(threads, zeros)
    may = np.arange(people) % 3 > 0
    who = speakers.responders(2, threads, zeros, zeros, may, may, 1.0)
    seen = np.bincount(who, minlength=people)
    assert set(np.flatnonzero(seen)) == set(np.flatnonzero(may))
    assert stats.chisquare(seen[may]).pvalue > 0.01


@pytest.mark.parametrize("banned", [3, 11])
def test_a_ban_leaves_every_thread_alone_that_did_not_draw_the_banned(banned: int) -> None:
    count, people = 500, 40
    threads, zeros = np.arange(count), np.zeros(count, np.int64)
    speakers = SpeakerDraw(count)
    speakers.record(threads, zeros)
    may = np.ones(people, bool)
    before = speakers.responders(2, threads, zeros, zeros, may, may, 1.0)
    may[banned] = False
    after = speakers.responders(2, threads, zeros, zeros, may, may, 1.0)
    assert (before != after).sum() == (before == banned).sum() > 0


def test_with_nobody_left_nobody_speaks() -> None:
    speakers = SpeakerDraw(1)
    speakers.record(np.array([0]), np.array([0]))
    zero, nobody = np.zeros(1, np.int64), np.zeros(2, bool)
    assert speakers.responders(1, zero, zero, zero, nobody, nobody, 0.5).tolist() == [-1]
    pair = np.ones(2, bool)
    speakers.record(np.array([0]), np.array([1]))
    assert speakers.responders(1, zero, zero, zero, pair, pair, 1.0).tolist() == [0]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30))
def test_inequality_lies_between_none_and_all(counts: list[int]) -> None:
    found = gini(np.array(counts))
    assert (found is None) == (sum(counts) == 0)
    assert found is None or -1e-9 <= found < 1
