from __future__ import annotations

import time

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.models import HashingEmbedder
from populace.people.expansion import distinct_names, near_duplicates


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(0, 20), st.sampled_from([0.3, 0.6, 0.9]))
@settings(max_examples=60, deadline=None)
def test_no_two_distinct_vectors_are_near_and_every_duplicate_is_near_a_distinct_one(
    seed: int, count: int, before: int, near: float
) -> None:
    rng = np.random.default_rng(seed)
    both = rng.normal(size=(before + count, 6))
    both = (both / np.linalg.norm(both, axis=1, keepdims=True)).astype(np.float32)
    originals = near_duplicates(both[before:], near=near, against=both[:before])
    distinct = np.concatenate([np.arange(before), before + np.flatnonzero(originals < 0)])
    cosine = both.astype(float) @ both.astype(float).T
    for row, of in enumerate(originals.tolist(), before):
        earlier = distinct[distinct < row]
        if of < 0:
            assert not len(earlier) or cosine[row, earlier].max() < near + 0.02
        else:
            assert of in earlier
            assert cosine[row, of] > near - 0.02


def test_copies_among_ten_thousand_personas_are_found_exactly_and_in_a_few_seconds() -> None:
    rng = np.random.default_rng(1)
    words = np.array(["".join(rng.choice(list("abcdefghij"), 6)) for _ in range(3000)])
    texts = [" ".join(some) for some in words[rng.integers(0, 3000, (7000, 12))]]
    copied = rng.integers(0, 7000, 3000).tolist()
    vectors = HashingEmbedder().embed(texts)
    start = time.process_time()
    originals = near_duplicates(np.concatenate([vectors, vectors[copied]]), near=0.95)
    assert time.process_time() - start < 10
    assert (originals[:7000] < 0).all()
    assert originals[7000:].tolist() == copied


def test_names_are_distinct_and_a_repeated_name_is_used_once() -> None:
    given_names = pl.Series(["Ada", None, "Ada", "Bo", None], dtype=pl.String)
    names = distinct_names(given_names, np.random.default_rng(1))
    assert names["name"].n_unique() == 5
    assert names["name_source"].to_list() == ["model", "list", "list", "model", "list"]
    assert names["name"].gather([0, 3]).to_list() == ["Ada", "Bo"]
