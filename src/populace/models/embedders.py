"""Embedders: they turn a text into a unit vector, and texts of similar meaning into vectors that are close.

A vector depends on its text alone, bit for bit: not on which other texts were embedded with it, nor on when.
"""

import functools
import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from populace.base.errors import EmbeddingError, ModelError, ModelFileError, UnknownNameError
from populace.base.words import lower_words
from populace.models.artifacts import MINILM_TOKENIZER, MINILM_WEIGHTS, Progress, fetch_together
from populace.models.providers import PROVIDERS

Vectors = npt.NDArray[np.float32]

EMBEDDER_FORMS = {
    "minilm": "all-MiniLM-L6-v2, 384 dimensions, fetched once and run on this machine (the default)",
    "hashing": "words and letters hashed into 256 dimensions: quick, needs no file, knows no synonyms",
    "hashing:DIMENSION": "the same, with so many dimensions",
    "openai:NAME": "an embedding model of the OpenAI API; the key comes from OPENAI_API_KEY",
    "ollama:NAME": "an embedding model in Ollama; the other services of `populace models` are named in the same way",
}
"""Every form of an embedder string, with what it means."""

_TOKENS = 256
_BATCH_TOKENS = 1024
"""How many tokens go through the network at once: their activations then stay in the cache of a core."""
_HASH_SIZE = 8


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors.

    Example:
        >>> isinstance(HashingEmbedder(8), Embedder)
        True
    """

    @property
    def name(self) -> str:
        """Identifies its vectors: those of two embedders are never compared."""

    @property
    def dimension(self) -> int:
        """The size of a vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A unit vector for each text."""


class HashingEmbedder:
    """Hashes words and their letter trigrams: for tests, and where speed matters more than meaning.

    Args:
        dimension: The size of a vector.

    Example:
        >>> vectors = HashingEmbedder(64).embed(["a cup of tea", "a cup of coffee", "the train is late"])
        >>> near, far = (vectors[1:] @ vectors[0]).tolist()
        >>> near > far
        True
    """

    name = "hashing"

    def __init__(self, dimension: int = 256) -> None:
        if dimension < 1:
            raise EmbeddingError(f"a vector cannot have {dimension} dimensions.", "Write hashing:64.")
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A unit vector for each text."""
        digests = [_text_hashes(text) for text in texts]
        hashes = np.frombuffer(b"".join(digests), "<u8")
        rows = np.repeat(np.arange(len(texts)), [len(digest) // _HASH_SIZE for digest in digests])
        sums = np.bincount(
            rows * self.dimension + (hashes % np.uint64(self.dimension)).astype(np.int64),
            weights=np.where(hashes >> np.uint64(63), 1.0, -1.0),
            minlength=len(texts) * self.dimension,
        )
        return unit_vectors(sums.reshape(len(texts), self.dimension))


class MiniLM:
    """all-MiniLM-L6-v2 on this machine's processor: the mean of its last layer over the first 256 tokens of a text.

    Args:
        progress: Called while the pinned files are downloaded.

    Example:
        >>> MiniLM().dimension
        384
    """

    name = "minilm"
    dimension = 384

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._loading = threading.Lock()
        self._parts: tuple[Any, Any, Any] | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A unit vector for each text."""
        if not len(texts):
            return np.empty((0, self.dimension), np.float32)
        tokenizer, network, limiter = self._load()
        distinct = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        tokens = [encoding.ids for encoding in tokenizer.encode_batch(list(distinct))]
        lengths = np.array([len(ids) for ids in tokens])
        vectors = np.empty((len(distinct), self.dimension), np.float32)
        parts = []
        for length in np.unique(lengths).tolist():
            same_length = np.flatnonzero(lengths == length)
            parts += np.array_split(same_length, -(-len(same_length) * length // _BATCH_TOKENS))

        def fill(part: npt.NDArray[np.int64]) -> None:
            vectors[part] = network.mean(np.array([tokens[index] for index in part.tolist()], np.int64))

        # BLAS threads wait for one another at every small product, and for whatever else runs on the machine. Threads
        # that each embed texts of their own do not.
        workers = min(len(parts), os.cpu_count() or 1)
        with limiter.limit(limits=1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
            list(pool.map(fill, parts))
        return unit_vectors(vectors)[[distinct[text] for text in texts]]

    def _load(self) -> tuple[Any, Any, Any]:
        with self._loading:
            if self._parts is None:
                import threadpoolctl
                import tokenizers

                from populace.models.bert import Bert

                weights, vocabulary = fetch_together([MINILM_WEIGHTS, MINILM_TOKENIZER], self._progress)
                try:
                    tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary))
                except Exception as error:  # The library raises bare exceptions.
                    raise ModelFileError(
                        f"{vocabulary} is not a tokenizer file: {error}.", "Remove it; it is then fetched again."
                    ) from error
                tokenizer.enable_truncation(_TOKENS)
                tokenizer.no_padding()
                self._parts = (tokenizer, Bert(weights), threadpoolctl.ThreadpoolController())
            return self._parts


def open_embedder(
    spec: str,
    *,
    progress: Progress | None = None,
    timeout_s: float = 60.0,
    retries: int = 4,
    on_tokens: Callable[[int, bool], None] | None = None,
) -> Embedder:
    """The embedder that a string names.

    Args:
        spec: One of the forms of `EMBEDDER_FORMS`.
        progress: Receives how far a download is.
        timeout_s: How many seconds one request to a server may take.
        retries: How many times a request that failed is repeated.
        on_tokens: Receives the number of tokens read, and whether it is an estimate, after each request to a server.

    Example:
        >>> open_embedder("hashing:64").dimension
        64
    """
    kind, _, rest = spec.partition(":")
    if spec == "minilm":
        return MiniLM(progress)
    if kind == "hashing":
        if rest and not (rest.isdecimal() and rest.isascii()):
            raise EmbeddingError(f"hashing takes a number of dimensions, not {rest!r}.", "Write hashing:64.")
        return HashingEmbedder(int(rest)) if rest else HashingEmbedder()
    if kind in PROVIDERS:
        if not rest:
            raise ModelError(f"{spec!r} names no embedding model.", f"Write {kind}:NAME.")
        from populace.models.openai_embedder import OpenAIEmbedder

        provider = PROVIDERS[kind]
        return OpenAIEmbedder(rest, provider=provider, timeout_s=timeout_s, retries=retries, on_tokens=on_tokens)
    raise UnknownNameError("embedder", spec, EMBEDDER_FORMS)


def unit_vectors(vectors: npt.NDArray[Any]) -> Vectors:
    """Scale vectors to length 1; a vector of zeros becomes the first axis.

    Example:
        >>> unit_vectors(np.array([[3.0, 4.0], [0.0, 0.0]])).round(2).tolist()
        [[0.6000000238418579, 0.800000011920929], [1.0, 0.0]]
    """
    wide = np.array(vectors, np.float64)
    lengths = np.sqrt(np.square(wide).sum(axis=1, keepdims=True))
    empty = lengths[:, 0] == 0
    wide[empty, :1], lengths[empty] = 1.0, 1.0
    wide /= lengths
    return wide.astype(np.float32)


def _text_hashes(text: str) -> bytes:
    """The hashes of the features of a text, one after the other."""
    return b"".join(map(_word_hashes, lower_words(text))) or _hash("?" if text.strip() else "")


@functools.lru_cache(maxsize=16_384)
def _word_hashes(word: str) -> bytes:
    """The hashes of a word and of its letter trigrams; texts share most words."""
    padded = f" {word} "
    trigrams = (padded[at : at + 3].replace(" ", "_") for at in range(len(word)))
    # A word weighs as much as all of its trigrams together would at a length of two, and so stands here twice.
    return b"".join(map(_hash, (padded, padded, *trigrams)))


def _hash(feature: str) -> bytes:
    return hashlib.blake2b(feature.encode(), digest_size=_HASH_SIZE).digest()
