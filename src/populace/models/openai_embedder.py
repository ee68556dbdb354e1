"""Embeddings from an OpenAI-compatible server. The key is never held in an attribute that is printed or logged."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from populace.base.errors import EmbeddingError, ModelError, ModelUnreachableError
from populace.models.embedders import Vectors, unit_vectors
from populace.models.providers import PROVIDERS, Provider
from populace.models.reply_checks import estimate_tokens, read_vectors, reply_object, token_count
from populace.models.server_access import (
    account_headers,
    base_address,
    check_address,
    check_key,
    read_key,
    rejected_key_error,
    unreachable_error,
)

if TYPE_CHECKING:
    from populace.models.bounded_http import BlockingHttpClient

BATCH_SIZE = 256
"""How many texts one request holds."""


class OpenAIEmbedder:
    """An embedding model behind an OpenAI-compatible server.

    Args:
        name: The model's name on the server.
        base_url: The address, up to and including `/v1`; without one, that of the provider.
        dimension: The size of a vector, for models that offer several; else it is read from the first reply.
        provider: The service or server; OpenAI by default.
        timeout_s: How long one request may take.
        retries: How many times a failed request is repeated.
        on_tokens: Receives the number of tokens read, and whether it is an estimate, after each request.
    """

    def __init__(
        self,
        name: str,
        base_url: str | None = None,
        *,
        dimension: int | None = None,
        provider: Provider = PROVIDERS["openai"],
        timeout_s: float = 60.0,
        retries: int = 4,
        on_tokens: Callable[[int, bool], None] | None = None,
    ) -> None:
        self.model = name
        self.name = f"{provider.name}:{name}"
        self.base_url = base_address(base_url or provider.base_url())
        check_address(self.base_url, next(iter(provider.key_variables), "POPULACE_API_KEY"))
        self._provider = provider
        self._key_required = base_url is None and provider.key_required
        self._requested_dimension = self._dimension = dimension
        self._timeout_s = timeout_s
        self._retries = retries
        self._on_tokens = on_tokens
        self._client: BlockingHttpClient | None = None

    @property
    def known_dimension(self) -> int | None:
        """The size of a vector; None while no reply told it."""
        return self._dimension

    @property
    def dimension(self) -> int:
        """The size of a vector; the server is asked if nothing was embedded yet."""
        if self._dimension is None:
            self.embed(["dimension"])
        return self._dimension or 0

    @property
    def cache_name(self) -> str:
        """The name of a file for its vectors: another model, address or dimension has another one."""
        identity = f"{self.name}\n{self.base_url}\n{self._requested_dimension or ''}"
        readable = re.sub(r"[^A-Za-z0-9.-]+", "-", self.name)[:60]
        return f"{readable}-{hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()}.sqlite"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A unit vector for each text."""
        if not len(texts):
            return np.zeros((0, self.dimension), np.float32)
        distinct = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        inputs = [text or " " for text in distinct]  # Servers refuse an empty text.
        parts = [self._request(inputs[at : at + BATCH_SIZE]) for at in range(0, len(inputs), BATCH_SIZE)]
        return unit_vectors(np.concatenate(parts))[[distinct[text] for text in texts]]

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _request(self, texts: list[str]) -> Vectors:
        size: dict[str, Any] = {} if self._requested_dimension is None else {"dimensions": self._requested_dimension}
        body: dict[str, Any] = {"model": self.model, "input": texts, "encoding_format": "float", **size}
        outcome = self._attempt(body)
        for attempt in range(self._retries):
            if not isinstance(outcome, ModelError):
                break
            time.sleep(min(8.0, 0.25 * 2**attempt))
            outcome = self._attempt(body)
        if isinstance(outcome, ModelError):
            raise outcome from None
        vectors, tokens, estimated = outcome
        if self._on_tokens is not None:
            self._on_tokens(tokens, estimated)
        if self._dimension not in (None, vectors.shape[1]):
            raise EmbeddingError(
                f"{self.name} returned vectors of {vectors.shape[1]} dimensions, {self._dimension} were expected.",
                "Give the dimension that the model has.",
            )
        self._dimension = vectors.shape[1]
        return vectors

    def _attempt(self, body: dict[str, Any]) -> tuple[Vectors, int, bool] | ModelError:
        """Send one request once: vectors, tokens and whether these are estimated, or an error that may pass."""
        from populace.models.http_connection import FailedExchangeError

        try:
            response = self._open_client().post(f"{self.base_url}/embeddings", body, self._timeout_s)
        except FailedExchangeError as error:
            return unreachable_error(self.base_url) if error.broken else ModelError(f"{self.base_url}: {error}.")
        except TimeoutError:
            text = f"{self.base_url} sent no embeddings within {self._timeout_s:g} s."
            return ModelUnreachableError(text, "Try again later.")
        if response.status in (401, 403):
            raise rejected_key_error(self.base_url, self._provider.key_variables, self._provider) from None
        if response.status == 404:
            raise ModelError(f"{self.base_url} does not know the embedding model {self.model!r}.") from None
        if response.status >= 400:
            failed = ModelError(f"{self.base_url} answered {response.status} to embeddings.", "Try again later.")
            if response.status != 429 and response.status < 500:
                raise failed from None
            return failed
        try:
            data = reply_object(response.content)
            usage = data.get("usage")
            tokens = token_count((usage.get("prompt_tokens") if isinstance(usage, dict) else None) or 0)
            texts = body["input"]
            return read_vectors(data, len(texts)), tokens or sum(map(estimate_tokens, texts)), not tokens
        except ValueError as error:
            return EmbeddingError(f"the reply of {self.base_url} is malformed: {error}.", "Try again later.")

    def _open_client(self) -> BlockingHttpClient:
        from populace.models.bounded_http import MAX_VECTORS_BYTES, BlockingHttpClient

        if self._client is None:
            if self._key_required:
                check_key(self.name, self._provider)
            key = read_key(self._provider.key_variables)
            headers = account_headers(self._provider)
            self._client = BlockingHttpClient(key, MAX_VECTORS_BYTES, headers=headers)
        return self._client
