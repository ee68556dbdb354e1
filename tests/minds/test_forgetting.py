from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import MemoryStreamError, ParameterError
from populace.minds import Capacity, Decay, ForgettingPolicy, MemoryStream, Summaries, replace_with_summaries

NOW = 100_000
rated = st.one_of(st.integers(1, 10).map(float), st.just(math.nan))
memories = st.lists(st.tuples(st.integers(0, 4), st.integers(0, NOW), rated), max_size=50)


def stream_of(memories: list[tuple[int, int, float]]) -> MemoryStream:
    """Memories as owner, time and importance."""
    stream = MemoryStream(embedder="by hand", dimension=1)
    owners, times, importance = zip(*memories, strict=True) if memories else ((), (), ())
    texts = [f"memory {index}" for index in range(len(memories))]
    stream.append(np.array(owners, np.int64), texts, kind="told", time=np.array(times, np.int64),
                  importance=np.array(importance, np.float64), embeddings=np.ones((len(texts), 1)))  # fmt: skip
    return stream


@pytest.mark.parametrize("policy", [Capacity(3), Decay(10, 1), Summaries(5)])
def test_every_policy_names_the_ids_to_drop_and_an_empty_stream_is_safe(policy: ForgettingPolicy) -> None:
    assert isinstance(policy, ForgettingPolicy)
    assert policy.select(stream_of([]), NOW).tolist() == []


@settings(max_examples=60, deadline=None)
@given(memories=memories, most=st.integers(0, 12))
def test_capacity_keeps_so_many_for_everybody_and_the_best_of_them(memories, most) -> None:
    stream = stream_of(memories)
    gone = Capacity(most).select(stream, NOW)
    worth = {
        index: (0 if math.isnan(importance) else importance / 10) + 0.995 ** ((NOW - time) / 3600)
        for index, (_, time, importance) in enumerate(memories)
    }
    stream.forget(gone)
    for owner in range(5):
        before = [index for index, memory in enumerate(memories) if memory[0] == owner]
        kept = stream.of(owner)["memory"].to_list()
        assert len(kept) == min(most, len(before))
        lost = set(before) - set(kept)
        assert all(worth[one] >= worth[other] - 1e-12 for one in kept for other in lost)
    assert Capacity(most).select(stream, NOW).tolist() == [], "forgetting again forgets nothing"


def test_capacity_keeps_the_newest_and_then_the_highest_id_of_equals() -> None:
    assert Capacity(1).select(stream_of([(0, 5, 3.0)] * 3), NOW).tolist() == [0, 1]


@settings(max_examples=60, deadline=None)
@given(memories=memories, now=st.integers(NOW, 3 * NOW), half_life=st.integers(1, NOW))
def test_what_decay_drops_at_one_time_it_drops_at_every_later_one(memories, now, half_life) -> None:
    stream, policy = stream_of(memories), Decay(half_life, below=1.5)
    assert set(policy.select(stream, NOW)) <= set(policy.select(stream, now))


def test_decay_by_hand() -> None:
    stream = stream_of([(0, 0, 8.0), (0, 0, 4.0), (1, 50, 4.0), (1, 0, math.nan)])
    # After 200 s at a half-life of 100 s: 8 / 4 = 2, 4 / 4 = 1, 4 / 2^1.5 = 1.41, 1 / 4
    assert Decay(100, below=1.2).select(stream, 200).tolist() == [1, 3]


def test_a_memory_that_is_used_does_not_decay() -> None:
    stream = stream_of([(0, 0, 4.0), (1, 0, 4.0)])
    stream.retrieve([1], [[1.0]], now=190)
    assert Decay(100, below=1.2).select(stream, 200).tolist() == [0]


def test_summaries_take_the_place_of_old_memories_and_name_them() -> None:
    stream = stream_of([(0, 10, 2.0), (0, 5, 9.0), (0, 20, 3.0), (0, 95, 1.0), (1, 0, 5.0), (2, 1, 5.0), (2, 0, 4.0)])
    groups = Summaries(after=50, keep=1).groups(stream, now=100)
    assert groups.rows() == [(0, [0, 2])], "person 0 keeps the most important; of 1 and 2 too little is left"
    new = replace_with_summaries(stream, groups, ["both"], time=100, importance=4, embeddings=[[1.0]])
    assert stream.of(0)["text"].to_list() == ["memory 1", "memory 3", "both"]
    assert stream.rows(new)["evidence"].to_list() == [[0, 2]]
    assert stream.rows(new)["kind"].to_list() == ["reflection"]
    assert stream.count(1) == 1 and stream.count(2) == 2


def test_a_summary_that_nobody_could_write_leaves_memories_as_they_were() -> None:
    stream = stream_of([(0, 0, 2.0)] * 2 + [(1, 0, 2.0)] * 2)
    groups = Summaries(after=1).groups(stream, now=100)
    replace_with_summaries(
        stream, groups, [None, "done"], time=100, importance=[math.nan, 3], embeddings=[[1.0], [1.0]]
    )
    assert stream.of(0)["text"].to_list() == ["memory 0", "memory 1"]
    assert stream.of(1)["text"].to_list() == ["done"]
    with pytest.raises(MemoryStreamError, match="1 groups and 2 summaries"):
        replace_with_summaries(stream, groups.head(1), ["a", "b"], time=1, importance=1, embeddings=[[1.0]] * 2)


@settings(max_examples=40, deadline=None)
@given(memories=memories, keep=st.integers(0, 4), after=st.integers(0, NOW))
def test_what_is_summarised_is_old_and_everybody_keeps_some(memories, keep, after) -> None:
    stream = stream_of(memories)
    policy = Summaries(after, keep)
    groups = policy.groups(stream, NOW)
    for owner, ids in groups.rows():
        rows = stream.rows(ids)
        assert set(rows["owner"]) == {owner}
        assert (rows["time"] <= NOW - after).all() and rows["time"].is_sorted()
        old = stream.of(owner).filter(pl.col("time") <= NOW - after)
        assert old.height - len(ids) == keep
    assert policy.select(stream, NOW).tolist() == sorted(id for ids in groups["memories"] for id in ids)


@pytest.mark.parametrize("wrong", [lambda: Capacity(-1), lambda: Decay(0, 1), lambda: Summaries(-1)])
def test_a_policy_that_cannot_be_is_refused(wrong) -> None:
    with pytest.raises(ParameterError, match="is invalid"):
        wrong()
