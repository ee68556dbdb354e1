from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import EmbeddingError, MemoryStreamError, ParameterError, UnknownNameError
from populace.minds import KINDS, RETRIEVALS, MemoryStream, Retrieval, retrieval_preset, similarity

HOUR = 3600
NOW = 1_000 * HOUR
PRESETS = sorted(RETRIEVALS)
SCALED = [name for name in PRESETS if RETRIEVALS[name].scaling == "min-max"]


def stream_of(memories: list[dict[str, Any]], dimension: int = 2) -> MemoryStream:
    """A stream of memories given as owner, time, importance and vector."""
    stream = MemoryStream(embedder="by hand", dimension=dimension)
    stream.append(
        [memory.get("owner", 0) for memory in memories],
        [memory.get("text", f"memory {index}") for index, memory in enumerate(memories)],
        kind=[memory.get("kind", "observation") for memory in memories],
        time=np.array([memory.get("time", 0) for memory in memories], np.int64),
        importance=np.array([memory.get("importance", 5.0) for memory in memories], np.float64),
        embeddings=np.array([memory.get("vector", [1, 0]) for memory in memories], np.float32).reshape(-1, dimension),
    )
    return stream


def asked(stream: MemoryStream, query: list[float] | None = None, owner: int = 0, **options: Any) -> pl.DataFrame:
    options = {"now": NOW, "touch": False} | options
    return stream.retrieve([owner], [query or [1.0, 0.0]], **options)


vectors = st.lists(st.integers(-9, 9), min_size=4, max_size=4)
memories = st.fixed_dictionaries(
    {
        "owner": st.integers(0, 3),
        "time": st.integers(0, NOW // 7).map(lambda sevenths: 7 * sevenths),
        "importance": st.one_of(st.integers(1, 10).map(float), st.just(math.nan)),
        "vector": vectors,
        "kind": st.sampled_from(KINDS),
    }
)
many = st.lists(memories, max_size=40)
ways = st.sampled_from(PRESETS)


# Recording


def test_ids_ascend_and_rows_come_back_as_asked_for() -> None:
    stream = stream_of([{"owner": 3, "time": 5}, {"owner": 1, "time": 6, "importance": 7.3, "text": "é, ☕"}])
    rows = stream.rows([1, 0])
    assert rows["memory"].to_list() == [1, 0]
    assert rows["owner"].to_list() == [1, 3]
    assert rows["text"].to_list() == ["é, ☕", "memory 0"]
    assert rows["importance"].to_list() == [7.3, 5.0]
    assert rows["last_access"].to_list() == rows["time"].to_list() == [6, 5]
    assert rows["evidence"].to_list() == [[], []]


@settings(max_examples=30, deadline=None)
@given(batches=st.lists(st.lists(st.integers(0, 5), max_size=60), max_size=6))
def test_everybody_has_their_own_memories_in_the_order_of_adding(batches: list[list[int]]) -> None:
    stream = MemoryStream(embedder="by hand", dimension=1)
    expected: dict[int, list[str]] = {}
    for step, owners in enumerate(batches):
        texts = [f"{step} {index}" for index in range(len(owners))]
        stream.append(owners, texts, kind="told", time=step, importance=1, embeddings=[[1.0]] * len(owners))
        for owner, text in zip(owners, texts, strict=True):
            expected.setdefault(owner, []).append(text)
    for owner in range(7):
        assert stream.of(owner)["text"].to_list() == expected.get(owner, [])
        assert stream.count(owner) == len(expected.get(owner, []))
    assert len(stream) == sum(map(len, batches))


def test_evidence_is_kept_and_must_be_there() -> None:
    stream = stream_of([{}, {}])
    new = stream.append([0], ["so"], kind="reflection", time=9, importance=6, embeddings=[[0, 1]], evidence=[[1, 0]])
    assert stream.rows(new)["evidence"].to_list() == [[1, 0]]
    with pytest.raises(MemoryStreamError, match="rests on 7, which is not there"):
        stream.append([0], ["so"], kind="reflection", time=9, importance=6, embeddings=[[0, 1]], evidence=[[7]])


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"embeddings": [[1.0, 0.0, 0.0]]}, EmbeddingError, r"\(1, 3\) were given; .* takes \(1, 2\)"),
        ({"embedder": "minilm"}, EmbeddingError, "come from 'minilm', and .* holds those of 'by hand'"),
        ({"embeddings": [[math.nan, 0.0]]}, EmbeddingError, "NaN or infinity"),
        ({"owners": [-1]}, MemoryStreamError, "at least 0"),
        ({"owners": [0.5]}, MemoryStreamError, "whole numbers"),
        ({"owners": [0, 1]}, MemoryStreamError, "2 owners and 1 texts"),
        ({"time": -1}, MemoryStreamError, "before the start"),
        ({"time": 1.5}, MemoryStreamError, "whole numbers of simulated seconds"),
        ({"importance": 0}, MemoryStreamError, "importance 0 is not between 1 and 10"),
        ({"importance": 11}, MemoryStreamError, "importance 11 is not"),
        ({"importance": [1, 2]}, MemoryStreamError, "1 memories and 2 importances"),
        ({"kind": "observatoin"}, UnknownNameError, "Did you mean 'observation'"),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_the_stream_as_it_was(change, error, words) -> None:
    stream = stream_of([{}])
    good = {"owners": [0], "kind": "told", "time": 1, "importance": 5, "embeddings": [[1.0, 0.0]]}
    given = good | change
    owners = given.pop("owners")
    with pytest.raises(error, match=words):
        stream.append(owners, ["x"], **given)
    assert len(stream) == stream.count(0) == 1


def test_a_query_of_another_size_or_embedder_is_refused() -> None:
    stream = stream_of([{}])
    with pytest.raises(EmbeddingError, match=r"takes \(1, 2\)"):
        stream.retrieve([0], [[1.0, 0.0, 0.0]], now=1)
    with pytest.raises(EmbeddingError, match="'hashing'"):
        stream.retrieve([0], [[1.0, 0.0]], now=1, embedder="hashing")


# Retrieval: presets by hand. Four memories, a query along the first axis.

FOUR = [
    {"time": NOW - 10 * HOUR, "importance": 1, "vector": [1, 0]},  # cosine 1
    {"time": NOW - 5 * HOUR, "importance": 10, "vector": [0, 1]},  # cosine 0
    {"time": NOW - 1 * HOUR, "importance": 4, "vector": [-1, 0]},  # cosine -1
    {"time": NOW - 0 * HOUR, "importance": 7, "vector": [0, -1]},  # cosine 0
]


def by_memory(found: pl.DataFrame) -> dict[int, tuple[float, ...]]:
    return {row[2]: row[3:] for row in found.rows()}


def test_park2023_by_hand() -> None:
    found = asked(stream_of(FOUR), how="park2023")
    # 0.995^10 = 0.951110, 0.995^5 = 0.975249, 0.995^1 = 0.995, 0.995^0 = 1; (x - 0.951110) / 0.048890
    expected = {
        0: (0.0, 0.0, 1.0, 1.0),
        1: (0.493735, 1.0, 0.5, 1.993735),
        2: (0.897731, 1 / 3, 0.0, 1.231064),
        3: (1.0, 2 / 3, 0.5, 2.166667),
    }
    for memory, values in by_memory(found).items():
        assert values == pytest.approx(expected[memory], abs=2e-5)
    assert found["memory"].to_list() == [3, 1, 2, 0]
    assert found["rank"].to_list() == [1, 2, 3, 4]


def test_park2023_code_by_hand_with_recency_the_right_way_round() -> None:
    found = asked(stream_of(FOUR), how="park2023-code")
    # Ranks 4, 3, 2, 1: 0.995^1 .. 0.995^4 = .995, .990025, .985075, .980150; scaled 1, 0.664995, 0.331658, 0
    expected = {
        0: (0.0, 0.0, 1.0, 3.0),
        1: (0.331658, 1.0, 0.5, 0.5 * 0.331658 + 2 + 1.5),
        2: (0.664995, 1 / 3, 0.0, 0.5 * 0.664995 + 2 / 3),
        3: (1.0, 2 / 3, 0.5, 0.5 + 4 / 3 + 1.5),
    }
    for memory, values in by_memory(found).items():
        assert values == pytest.approx(expected[memory], abs=2e-5)
    assert found["memory"].to_list() == [1, 3, 0, 2]


def test_genagents_by_hand() -> None:
    stream = stream_of(FOUR)
    found = asked(stream, how="genagents")
    scores = {memory: values[3] for memory, values in by_memory(found).items()}
    assert scores == pytest.approx({0: 1.0, 1: 0.5 + 0.5, 2: 1 / 6, 3: 0.5 + 1 / 3})
    assert found["memory"].to_list() == [1, 0, 3, 2], "the tie at 1.0 goes to the newer"
    assert stream.present(found, "genagents")["memory"].to_list() == [0, 1, 2, 3]
    assert stream.present(found, "park2023")["memory"].to_list() == [1, 0, 3, 2]


def test_ai_town_by_hand() -> None:
    found = asked(stream_of([*FOUR, {"time": NOW - HOUR // 2, "importance": 7, "vector": [1, 0]}]), how="ai-town")
    # 0.99^10 = 0.904382, 0.99^5 = 0.950990, 0.99^1 = 0.99, 0.99^0 = 1 (also after half an hour); / 0.095618
    expected = {
        4: (1.0, 2 / 3, 1.0, 2.666667),
        3: (1.0, 2 / 3, 0.5, 2.166667),
        1: (0.487440, 1.0, 0.5, 1.987440),
    }
    assert found["memory"].to_list() == [4, 3, 1], "top 3"
    for memory, values in by_memory(found).items():
        assert values == pytest.approx(expected[memory], abs=2e-5)


def test_ai_town_considers_only_the_30_most_relevant() -> None:
    old = {"time": 0, "importance": 1, "vector": [1, 0]}
    new = {"time": NOW, "importance": 10, "vector": [0, 1]}
    assert asked(stream_of([old] * 30 + [new] * 10), how="ai-town")["memory"].max() < 30
    assert asked(stream_of([old] * 29 + [new] * 10), how="ai-town")["memory"][0] == 38


def test_uxagent_by_hand() -> None:
    steps = [{"time": 100, "importance": 2}, {"time": 90, "importance": 9, "vector": [-1, 0]}, {"time": 70}]
    found = asked(stream_of(steps), how="uxagent", now=100)
    # e^0 = 1, e^-1 = 0.367879, e^-3 = 0.049787; importance in tenths; cosine 1, -1 (0), 1
    expected = {0: (1.0, 0.2, 1.0, 2.2), 1: (0.367879, 0.9, 0.0, 1.267879), 2: (0.049787, 0.5, 1.0, 1.549787)}
    for memory, values in by_memory(found).items():
        assert values == pytest.approx(expected[memory], abs=1e-6)
    assert found["memory"].to_list() == [0, 2, 1]


def test_tops_are_those_of_the_projects() -> None:
    tops = {"park2023": 30, "park2023-code": 30, "genagents": 120, "ai-town": 3, "uxagent": 20}
    assert {name: way.top for name, way in RETRIEVALS.items()} == tops
    stream = stream_of([{}] * 150)
    assert {name: asked(stream, how=name).height for name in PRESETS} == tops
    assert asked(stream, how="genagents", top=7).height == 7


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'park2023'"):
        retrieval_preset("park2032")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"decay": 0}, "decay = 0"),
        ({"decay": 1.1}, r"decay = 1\.1"),
        ({"top": 0}, "top = 0"),
        ({"per": 0}, "per = 0"),
        ({"recency": -1}, r"the weights = \(-1, "),
    ],
)
def test_a_retrieval_that_cannot_be_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        Retrieval("wrong", **wrong)
    with pytest.raises(ParameterError, match="the weights"):
        Retrieval("nothing counts", recency=0, importance=0, relevance=0)


# Retrieval: properties


@settings(max_examples=150, deadline=None)
@given(memories=many, query=vectors, how=ways, top=st.integers(1, 50))
def test_components_lie_between_0_and_1_and_ranks_follow_scores(memories, query, how, top) -> None:
    stream = stream_of(memories, 4)
    found = stream.retrieve([0, 1, 9], [query] * 3, now=NOW, how=how, top=top, touch=False)
    for name in ("recency", "importance", "relevance"):
        assert found[name].is_between(0, 1).all()
    for (row,), part in found.group_by("query", maintain_order=True):
        assert part["rank"].to_list() == list(range(1, part.height + 1))
        keys = list(zip(-part["score"], -stream.rows(part["memory"])["time"], -part["memory"], strict=True))
        assert keys == sorted(keys), "ties go to the newest, then to the highest id"
        assert part.height <= min(top, stream.count([0, 1, 9][row]))  # type: ignore[call-overload]
    weights = RETRIEVALS[how]
    again = weights.recency * found["recency"] + weights.importance * found["importance"]
    assert np.allclose(found["score"], again + weights.relevance * found["relevance"])


def rank_of(found: pl.DataFrame, memory: int) -> int:
    ranks = found.filter(pl.col("memory") == memory)["rank"].to_list()
    return ranks[0] if ranks else 10**9


@settings(max_examples=200, deadline=None)
@given(
    memories=st.lists(memories.map(lambda m: m | {"owner": 0}), min_size=1, max_size=12),
    which=st.integers(0, 11),
    query=vectors,
    how=ways,
    later=st.integers(0, NOW),
    more=st.floats(0, 9),
)
def test_more_recent_important_or_relevant_never_ranks_lower(memories, which, query, how, later, more) -> None:
    which %= len(memories)
    before = rank_of(asked(stream_of(memories, 4), query, how=how), which)
    chosen = memories[which]
    changes = [{"time": min(NOW, chosen["time"] + later)}]
    if not math.isnan(chosen["importance"]):
        changes.append({"importance": min(10.0, chosen["importance"] + more)})
    # The one and the same direction as the query is the most relevant that there is.
    if any(query):
        changes.append({"vector": query})
    for change in changes:
        changed = [*memories[:which], chosen | change, *memories[which + 1 :]]
        assert rank_of(asked(stream_of(changed, 4), query, how=how), which) <= before, change


@settings(max_examples=100, deadline=None)
@given(
    ages=st.lists(st.integers(0, 10**6), min_size=1, max_size=8),
    rated=st.lists(st.floats(1, 10), min_size=8, max_size=8),
    cosines=st.lists(st.floats(-1, 1), min_size=8, max_size=8),
    nearer=st.floats(0, 2),
    how=st.sampled_from([name for name in PRESETS if RETRIEVALS[name].nearest is None]),
)
def test_raising_a_cosine_never_lowers_a_score_beside_the_others(ages, rated, cosines, nearer, how) -> None:
    count = len(ages)
    before = np.array([cosines[:count]])
    after = before.copy()
    after[0, 0] = min(1.0, after[0, 0] + nearer)
    one, two = (
        RETRIEVALS[how].components(np.array([ages]), np.array([rated[:count]]), cosine, None).score[0]
        for cosine in (before, after)
    )
    assert np.all((two[0] - two[1:]) - (one[0] - one[1:]) >= -1e-9)


@settings(max_examples=100, deadline=None)
@given(memories=many, query=vectors, how=st.sampled_from(SCALED), factor=st.sampled_from([0.125, 0.5, 2.0, 1024.0]))
def test_the_length_of_a_query_and_the_unit_of_importance_do_not_matter(memories, query, how, factor) -> None:
    small = [memory | {"importance": 1 + memory["importance"] / 16} for memory in memories]
    large = [memory | {"importance": memory["importance"] * 4} for memory in small]
    found = asked(stream_of(small, 4), query, how=how)
    assert found.equals(asked(stream_of(small, 4), [factor * part for part in query], how=how))
    assert found.equals(asked(stream_of(large, 4), query, how=how))


@settings(max_examples=100, deadline=None)
@given(memories=many, queries=st.lists(st.tuples(st.integers(0, 4), vectors), max_size=12), how=ways)
def test_a_batch_is_the_same_as_one_by_one(memories, queries, how) -> None:
    stream = stream_of(memories, 4)
    owners, asks = [owner for owner, _ in queries], np.array([query for _, query in queries]).reshape(-1, 4)
    together = stream.retrieve(owners, asks, now=NOW, how=how, touch=False)
    alone = [
        stream.retrieve([owner], [query], now=NOW, how=how, touch=False).with_columns(pl.lit(row).alias("query"))
        for row, (owner, query) in enumerate(queries)
    ]
    assert together.rows() == [row for found in alone for row in found.rows()]


@settings(max_examples=60, deadline=None)
@given(memories=many, others=many, query=vectors, how=ways)
def test_other_peoples_memories_never_appear_or_matter(memories, others, query, how) -> None:
    own = [memory | {"owner": 5} for memory in memories]
    strangers = [memory | {"owner": memory["owner"] + 6} for memory in others]
    alone = asked(stream_of(own, 4), query, owner=5, how=how)
    beside = asked(stream_of([*own, *strangers], 4), query, owner=5, how=how)
    assert alone.equals(beside)


def test_a_person_with_very_many_memories_is_answered_as_any_other() -> None:
    rng = np.random.default_rng(1)
    count = 5_000
    stream = MemoryStream(embedder="by hand", dimension=24)
    vectors, times = rng.standard_normal((count, 24)), rng.integers(0, NOW, count)
    rated = rng.integers(1, 11, count).astype(float)
    for part in np.array_split(np.arange(count), 7):
        stream.append([3] * len(part), [""] * len(part), kind="told", time=times[part], importance=rated[part],
                      embeddings=vectors[part])  # fmt: skip
        stream.append([2], ["other"], kind="told", time=0, importance=1, embeddings=[[1.0] * 24])
    queries = rng.standard_normal((20, 24))
    found = stream.retrieve([3] * 20, queries, now=NOW, touch=False)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    fading = 0.995 ** ((NOW - times) / HOUR)

    def scaled(values: np.ndarray) -> np.ndarray:
        return (values - values.min()) / (values.max() - values.min())

    for row, query in enumerate(queries):
        score = scaled(fading) + scaled(rated) + scaled(unit @ query / np.linalg.norm(query))
        best = found.filter(query=row)
        assert np.allclose(best["score"], np.sort(score)[::-1][:30], atol=0.02), "but for the rounding to a byte"
    alone = stream.retrieve([3], queries[7:8], now=NOW, touch=False)
    assert alone.drop("query").equals(found.filter(query=7).drop("query"))


@settings(max_examples=60, deadline=None)
@given(memories=many, query=vectors, how=ways)
def test_the_fast_extra_changes_no_bit(memories, query, how) -> None:
    pytest.importorskip("simsimd")
    stream = stream_of(memories, 4)
    fast = asked(stream, query, how=how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "_kernel", lambda: None)
        assert asked(stream, query, how=how).equals(fast)


@pytest.mark.parametrize("dimension", [1, 24, 384, 1536])
def test_the_largest_numbers_add_up_exactly_either_way(dimension: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    kept = rng.integers(-127, 128, (600, dimension), np.int8)
    kept[:2] = [[127], [-127]]
    exact = kept[:3].astype(np.int64) @ kept.T.astype(np.int64)
    pieces, slots = [(0, 8), (8, 600)], np.tile(np.arange(600), (3, 1))
    assert np.array_equal(similarity.dots_by_piece(kept, pieces, kept[:3]), exact)
    monkeypatch.setattr(similarity, "_kernel", lambda: None)
    assert np.array_equal(similarity.dots_by_piece(kept, pieces, kept[:3]), exact)
    assert np.array_equal(similarity.dots_by_row(kept, slots, kept[:3]), exact)


@pytest.mark.parametrize("dimension", [3, 384, 1536])
def test_vectors_in_a_byte_a_dimension_give_the_cosine_to_within_a_hundredth(dimension: int) -> None:
    rng = np.random.default_rng(2)
    vectors, query = rng.standard_normal((200, dimension)), rng.standard_normal(dimension)
    stream = stream_of([{"vector": vector} for vector in vectors], dimension)
    way = Retrieval("the cosine itself", recency=0, importance=0, scaling="none", top=200)
    found = asked(stream, query.tolist(), how=way).sort("memory")
    exact = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    assert np.abs(found["relevance"].to_numpy() - np.clip(exact, 0, 1)).max() < 0.01


@pytest.mark.parametrize("how", PRESETS)
def test_no_memory_one_memory_and_equal_memories_are_safe(how: str) -> None:
    assert asked(stream_of([]), how=how).height == 0
    assert asked(stream_of([{"owner": 1}]), owner=0, how=how).height == 0
    assert MemoryStream(embedder="x", dimension=2).retrieve([], np.zeros((0, 2)), now=0).height == 0
    one = asked(stream_of([{}]), how=how)
    assert one["memory"].to_list() == [0] and np.isfinite(one["score"][0])
    same = asked(stream_of([{}] * 50), how=how)
    assert same["memory"].to_list() == list(range(49, 49 - same.height, -1)), "ties go to the highest id"
    if how in SCALED:
        assert set(same.select("recency", "importance", "relevance").unpivot()["value"]) == {0.5}


def test_ages_beyond_all_bounds_can_still_be_told_apart() -> None:
    old = [{"time": 0}, {"time": HOUR}]
    assert asked(stream_of(old), now=10**9 * HOUR)["recency"].to_list() == [1.0, 0.0]


def test_a_vector_of_zeros_is_like_nothing() -> None:
    found = asked(stream_of([{"vector": [0, 0]}, {"vector": [1, 0]}, {"vector": [-1, 0]}]))
    assert found.sort("memory")["relevance"].to_list() == [0.5, 1.0, 0.0]
    assert asked(stream_of([{}, {}]), [0.0, 0.0])["relevance"].to_list() == [0.5, 0.5]


# What was not rated


def test_an_unrated_memory_has_the_least_importance_and_is_counted() -> None:
    stream = stream_of([{"importance": math.nan}, {"importance": 3}, {"importance": 9}, {"importance": 3, "owner": 1}])
    assert by_memory(asked(stream))[0][1] == by_memory(asked(stream))[1][1] == 0.0
    assert by_memory(asked(stream))[2][1] == 1.0
    assert (stream.unrated(), stream.unrated(0), stream.unrated(1)) == (1, 1, 0)
    assert math.isnan(stream.rows([0])["importance"][0]), "not rated stays not rated"


@pytest.mark.parametrize("how", PRESETS)
def test_people_of_whom_nothing_was_rated_are_safe(how: str) -> None:
    found = asked(stream_of([{"importance": math.nan}] * 3), how=how)
    assert set(found["importance"]) == {0.0}
    assert found["score"].is_finite().all()


# Kinds, access, recent


def test_only_the_kinds_asked_for_are_candidates() -> None:
    stream = stream_of(
        [{"kind": kind, "importance": rated} for kind, rated in zip(KINDS[:5], range(2, 7), strict=True)]
    )
    found = asked(stream, kinds=["plan", "told"])
    assert sorted(found["memory"]) == [KINDS.index("plan"), KINDS.index("told")]
    assert sorted(found["importance"]) == [0.0, 1.0], "scaled over the candidates"
    assert asked(stream, kinds=[]).height == 0
    with pytest.raises(UnknownNameError, match="kind of memory"):
        asked(stream, kinds=["dreams"])


def test_what_was_returned_counts_as_accessed_after_the_whole_batch() -> None:
    stream = stream_of([{"time": 0}, {"time": HOUR}])
    first, second = (
        stream.retrieve([0, 0], [[1, 0]] * 2, now=2 * HOUR, how="park2023", top=1).filter(query=row) for row in (0, 1)
    )
    assert first.drop("query").equals(second.drop("query")), "queries of one batch do not see each other"
    assert stream.rows([0, 1])["last_access"].to_list() == [0, 2 * HOUR]
    assert stream.rows([0, 1])["time"].to_list() == [0, HOUR], "when it happened does not change"


def test_looking_without_touching_changes_nothing() -> None:
    stream = stream_of(FOUR)
    before = stream.of(0)
    asked(stream, touch=False)
    assert stream.of(0).equals(before)


def test_an_access_makes_a_memory_recent_again() -> None:
    stream = stream_of([{"time": 0, "vector": [0, 1]}, {"time": HOUR, "vector": [1, 0]}])
    only_near = replace(RETRIEVALS["park2023"], recency=0, importance=0)
    stream.retrieve([0], [[0, 1]], now=5 * HOUR, how=only_near, top=1)
    assert by_memory(asked(stream, now=6 * HOUR))[0][0] == 1.0


def test_the_most_recent_are_newest_first_and_ties_go_to_the_highest_id() -> None:
    stream = stream_of([{"time": 5}, {"time": 9}, {"time": 5}, {"owner": 1, "time": 7}, {"time": 1}])
    recent = stream.recent([1, 0, 8], 3)
    assert recent.select("query", "memory").rows() == [(0, 3), (1, 1), (1, 2), (1, 0)]


# Forgetting by id


@settings(max_examples=60, deadline=None)
@given(memories=many, data=st.data(), query=vectors, how=ways)
def test_forgotten_memories_are_as_if_they_had_never_been(memories, data, query, how) -> None:
    gone = data.draw(st.sets(st.integers(0, max(len(memories) - 1, 0)))) if memories else set()
    stream = stream_of(memories, 4)
    texts = dict(enumerate(stream.rows(range(len(memories)))["text"]))
    stream.forget(sorted(gone))
    left = [index for index in range(len(memories)) if index not in gone]
    fewer = stream_of([memories[index] for index in left], 4)
    assert len(stream) == len(left)
    for owner in range(4):
        mine = asked(stream, query, owner=owner, how=how)
        theirs = asked(fewer, query, owner=owner, how=how)
        assert mine["memory"].to_list() == [left[memory] for memory in theirs["memory"]]
        assert mine.drop("memory").equals(theirs.drop("memory"))
    assert stream.rows(left)["text"].to_list() == [texts[index] for index in left]
    more = stream.append([0] * 30, ["new"] * 30, kind="told", time=1, importance=1, embeddings=[[1.0] * 4] * 30)
    assert more.tolist() == list(range(len(memories), len(memories) + 30)), "ids are never given twice"
    assert stream.rows(left)["text"].to_list() == [texts[index] for index in left]


def test_a_forgotten_memory_is_not_there() -> None:
    stream = stream_of([{}, {}])
    stream.forget([0])
    with pytest.raises(MemoryStreamError, match="no memory with the id 0. It was forgotten"):
        stream.rows([0])
    with pytest.raises(MemoryStreamError, match="no memory with the id 2. Ids run from 0 to 1"):
        stream.forget([2])


def test_space_is_used_again_where_people_keep_forgetting() -> None:
    stream = MemoryStream(embedder="by hand", dimension=64)
    sizes = []
    for _ in range(40):
        ids = stream.append(np.arange(2_000) % 100, ["something " * 20] * 2_000, kind="told", time=1, importance=1,
                            embeddings=np.ones((2_000, 64)))  # fmt: skip
        stream.forget(ids)
        sizes.append(stream.nbytes)
    assert sizes[-1] < 2.5 * sizes[4]
