"""Embeddings from an OpenAI-compatible server. The key is never held in an attribute that is printed or logged."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from populace.base.errors import EmbeddingError, ModelError
from populace.models.embedders import Vectors, unit_vectors
from populace.models.server_access import check_address, read_key, rejected_key_error, unreachable_error

if TYPE_CHECKING:
    import openai

_BATCH = 256


class OpenAIEmbedder:
    """An embedding model behind an OpenAI-compatible server.

    Args:
        name: The model's name on the server.
        base_url: The address, up to and including `/v1`; without one, OPENAI_BASE_URL or the OpenAI API.
        dimension: The size of a vector, for models that offer several; else it is read from the first reply.
        key_variable: The environment variable that holds the key.
        timeout_s: How long one request may take.
        retries: How many times a failed request is repeated.
        on_tokens: Receives the number of tokens that the server read, after each request.
    """

    def __init__(
        self,
        name: str,
        base_url: str | None = None,
        *,
        dimension: int | None = None,
        key_variable: str = "OPENAI_API_KEY",
        timeout_s: float = 60.0,
        retries: int = 4,
        on_tokens: Callable[[int], None] | None = None,
    ) -> None:
        self.model = name
        self.name = f"openai:{name}"
        self.base_url = (base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1").rstrip("/")
        check_address(self.base_url, key_variable)
        self._requested_dimension = self._dimension = dimension
        self._key_variable = key_variable
        self._timeout_s = timeout_s
        self._retries = retries
        self._on_tokens = on_tokens
        self._client: openai.OpenAI | None = None

    @property
    def dimension(self) -> int:
        """The size of a vector; the server is asked if nothing was embedded yet."""
        if self._dimension is None:
            self.embed(["dimension"])
        return self._dimension or 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A unit vector for each text."""
        if not len(texts):
            return np.zeros((0, self.dimension), np.float32)
        distinct = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        inputs = [text or " " for text in distinct]  # Servers refuse an empty text.
        parts = [self._request(inputs[at : at + _BATCH]) for at in range(0, len(inputs), _BATCH)]
        return unit_vectors(np.concatenate(parts))[[distinct[text] for text in texts]]

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _request(self, texts: list[str]) -> Vectors:
        import openai

        client = self._open_client()
        size: dict[str, Any] = {} if self._requested_dimension is None else {"dimensions": self._requested_dimension}
        try:
            reply = client.embeddings.create(model=self.model, input=texts, encoding_format="float", **size)
            vectors = np.empty((len(texts), len(reply.data[0].embedding)), np.float32)
            order = [entry.index for entry in reply.data]
            if sorted(order) != list(range(len(texts))):
                raise ValueError("not one vector for each text")
            vectors[order] = np.array([entry.embedding for entry in reply.data], np.float32)
        except (openai.AuthenticationError, openai.PermissionDeniedError):
            raise rejected_key_error(self.base_url, [self._key_variable]) from None
        except openai.NotFoundError:
            raise ModelError(f"{self.base_url} does not know the embedding model {self.model!r}.") from None
        except openai.APIConnectionError:
            raise unreachable_error(self.base_url) from None
        except openai.APIStatusError as error:
            raise ModelError(
                f"{self.base_url} answered {error.status_code} to embeddings.", "Try again later."
            ) from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"the reply of {self.base_url} is malformed ({type(error).__name__}).") from None
        if self._on_tokens is not None:
            tokens = getattr(getattr(reply, "usage", None), "prompt_tokens", None)
            self._on_tokens(tokens if isinstance(tokens, int) and tokens > 0 else 0)
        if not np.isfinite(vectors).all():
            raise EmbeddingError(f"{self.base_url} returned a vector that is not finite.")
        if self._dimension not in (None, vectors.shape[1]):
            raise EmbeddingError(
                f"{self.name} returned vectors of {vectors.shape[1]} dimensions, {self._dimension} were expected.",
                "Give the dimension that the model has.",
            )
        self._dimension = vectors.shape[1]
        return vectors

    def _open_client(self) -> openai.OpenAI:
        import openai

        if self._client is None:
            self._client = openai.OpenAI(
                api_key=read_key([self._key_variable]),
                base_url=self.base_url,
                max_retries=self._retries,
                timeout=self._timeout_s,
            )
        return self._client
