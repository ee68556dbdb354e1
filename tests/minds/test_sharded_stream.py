from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import ClusterLostError, MemoryStreamError, PopulaceError, UnknownNameError, WorkerLostError
from populace.minds.memory_stream import MemoryStream
from populace.minds.sharded_stream import ShardedStream, shard_setup
from populace.minds.stream_part import StreamPart
from populace.models import HashingEmbedder

EMBEDDER = HashingEmbedder(32)


class Here:
    """A shard in this process, called as one elsewhere is."""

    def __init__(self, spec: str | None) -> None:
        self.part = StreamPart(shard_setup("hashing", 32, spec))
        self.lost = False

    def call(self, method: str, content: bytes = b"") -> Future[bytes]:
        future: Future[bytes] = Future()
        try:
            if self.lost:
                raise WorkerLostError("a worker was lost.")
            future.set_result(getattr(self.part, method)(content))
        except PopulaceError as error:
            future.set_exception(error)
        return future


def sharded(count: int, *, embeds: bool) -> ShardedStream:
    shards = [Here("hashing:32" if embeds else None) for _ in range(count)]
    return ShardedStream(shards, embedder="hashing", dimension=32, embeds=embeds)


def vectors(stream: MemoryStream, texts: list[str]) -> Any:
    return texts if stream.embeds else EMBEDDER.embed(texts)


WORDS = ["tea", "rain", "the ferry is late", "Bo fell", "a walk with Al", "tea with Bo"]
deeds = st.lists(
    st.tuples(
        st.sampled_from(["append", "retrieve", "forget", "touch", "recent"]),
        st.lists(st.tuples(st.integers(0, 6), st.sampled_from(WORDS)), min_size=1, max_size=8),
        st.integers(1, 4),
    ),
    max_size=12,
)


def live(stream: MemoryStream, life: list[tuple[str, list[tuple[int, str]], int]]) -> Iterator[Any]:
    """Do things with a stream; what it returns."""
    known: list[int] = []
    for step, (deed, entries, number) in enumerate(life):
        owners, texts, now = [who for who, _ in entries], [text for _, text in entries], 600 * step
        if deed == "append":
            evidence = [known[-number:]] * len(owners) if number > 2 else None
            importance = [float(1 + (who + number) % 10) if who else np.nan for who in owners]
            ids = stream.append(owners, texts, kind="observation" if number > 1 else "deed", time=now,
                                importance=importance, embeddings=vectors(stream, texts), evidence=evidence)  # fmt: skip
            known += ids.tolist()
            yield ids.tolist()
        elif deed == "retrieve":
            how = "park2023" if number > 1 else "ai-town"
            kinds = ["deed"] if number == 4 else None
            found = stream.retrieve(owners, vectors(stream, texts), now=now, how=how, top=number, kinds=kinds)
            yield found
            yield stream.present(found, how)
            yield stream.present(found[::2], how)
        elif deed == "recent":
            yield stream.recent(owners, number)
        elif known:
            some = known[::number]
            if deed == "forget":
                stream.forget(some)
                known = [each for each in known if each not in some]
            else:
                stream.touch(some, now)
        yield stream.columns("memory", "owner", "time", "importance", "last_access")
        yield stream.rows(known)
        yield stream.rows(known, ["importance", "text"])
        yield stream.counts(range(8)).tolist()
        yield len(stream), stream.unrated(), stream.unrated(0)
        yield stream.of(3)
        yield stream.vectors(known).floats(np.arange(len(known))).tolist()


@settings(max_examples=20, deadline=None)
@given(deeds, st.integers(1, 3), st.booleans())
def test_a_stream_in_shards_returns_what_one_stream_returns(
    life: list[tuple[str, list[tuple[int, str]], int]], count: int, embeds: bool
) -> None:
    one = MemoryStream(embedder="hashing", dimension=32)
    for here, there in zip(live(one, life), live(sharded(count, embeds=embeds), life), strict=True):
        if hasattr(here, "equals"):
            assert here.equals(there) and here.schema == there.schema
        else:
            assert here == there


def test_the_texts_of_some_of_the_retrieved_memories_are_not_fetched_again() -> None:
    stream = sharded(2, embeds=True)
    owners = [0, 1, 0, 1]
    stream.append(owners, WORDS[:4], kind="deed", time=0, importance=5.0, embeddings=WORDS[:4])
    found = stream.retrieve([0, 1], ["tea", "rain"], now=60)
    for shard in stream._shards:
        assert isinstance(shard, Here)
        shard.lost = True
    assert stream.present(found[[1, 2]])["text"].to_list() == [
        WORDS[memory] for memory in found[[1, 2]]["memory"].to_list()
    ]


def test_what_a_stream_refuses_a_stream_in_shards_refuses_in_the_same_words() -> None:
    def problems(stream: MemoryStream) -> Iterator[str]:
        stream.append([0, 1], ["a", "b"], kind="deed", time=0, importance=3, embeddings=vectors(stream, ["a", "b"]))
        stream.forget([1])
        mistakes: list[Any] = [
            lambda: stream.rows([1]),
            lambda: stream.touch([7], 3),
            lambda: stream.forget([1]),
            lambda: stream.append([-1], ["a"], kind="deed", time=0, importance=3, embeddings=vectors(stream, ["a"])),
            lambda: stream.append([1], ["a"], kind="dead", time=0, importance=3, embeddings=vectors(stream, ["a"])),
            lambda: stream.append([1], ["a"], kind="deed", time=0, importance=30, embeddings=vectors(stream, ["a"])),
            lambda: stream.append([1], ["a", "b"], kind="deed", time=0, importance=3, embeddings=[]),
            lambda: stream.append(
                [1], ["a"], kind="deed", time=0, importance=3, embeddings=vectors(stream, ["a"]), evidence=[[9]]
            ),
            lambda: stream.retrieve([0], vectors(stream, ["a"]), now=3, kinds=["dead"]),
        ]
        for mistake in mistakes:
            with contextlib.suppress(StopIteration), pytest.raises((MemoryStreamError, UnknownNameError)) as caught:
                mistake()
            yield str(caught.value)

    assert list(problems(MemoryStream(embedder="hashing", dimension=32))) == list(problems(sharded(2, embeds=True)))


def test_a_lost_shard_stops_the_run_so_that_it_can_be_resumed() -> None:
    stream = sharded(2, embeds=True)
    stream.append([0, 1], ["a", "b"], kind="deed", time=0, importance=3, embeddings=["a", "b"])
    stream._shards[1].lost = True  # type: ignore[attr-defined]
    assert stream.rows([0]).height == 1
    with pytest.raises(ClusterLostError, match="held memories was lost"):
        stream.rows([1])
