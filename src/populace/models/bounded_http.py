"""HTTP clients for servers that are not trusted.

The size of a body is limited while it arrives, also after it is unpacked. Redirects are refused: prompts and keys go to
the server that the user named, and to no other.
"""

from __future__ import annotations

import functools
import importlib
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import openai

from populace.base.errors import ModelError

MAX_REPLY_BYTES = 8 << 20
"""The largest body of a reply, in bytes."""
MAX_VECTORS_BYTES = 128 << 20
"""The largest body with embeddings, in bytes."""
PLAIN = {"Accept-Encoding": "identity"}
"""Asks a server not to compress what it sends."""


class RefusedResponseError(openai.APIConnectionError):
    """A response that is not read any further.

    It belongs to the errors of `openai`, which its client passes on or, in earlier versions, names as the cause of one.
    """

    def __init__(self, text: str, response: Any) -> None:
        super().__init__(message=text, request=response.request)


class RefusedRedirectError(RefusedResponseError):
    """A response that names another address."""


def async_client(limit: int) -> Any:
    """A client for `AsyncOpenAI` that reads bodies of at most `limit` bytes and follows no redirect."""

    async def check(response: Any) -> None:
        _check(response, limit)

    return openai.DefaultAsyncHttpxClient(follow_redirects=False, event_hooks={"response": [check]})


def sync_client(limit: int) -> Any:
    """A client for `OpenAI` that reads bodies of at most `limit` bytes and follows no redirect."""
    return openai.DefaultHttpxClient(
        follow_redirects=False, event_hooks={"response": [functools.partial(_check, limit=limit)]}
    )


def response_problem(error: openai.APIConnectionError) -> RefusedResponseError | None:
    """Why a response was refused, where that is what broke the connection."""
    return next((each for each in (error, error.__cause__) if isinstance(each, RefusedResponseError)), None)


def redirect_error(address: str, error: openai.APIConnectionError) -> ModelError | None:
    """The error to raise where a server wants requests to go elsewhere."""
    cause = response_problem(error)
    return ModelError(f"{address}: {cause}.") if isinstance(cause, RefusedRedirectError) else None


def _check(response: Any, limit: int) -> None:
    if 300 <= response.status_code < 400:
        host = urlsplit(response.headers.get("location", "")).hostname
        where = f" to {host[:100]!r}" if host else ""
        raise RefusedRedirectError(
            f"the server redirects{where}, and prompts and keys are not sent to another address; "
            "name the address to which it redirects, if it is the right one",
            response,
        )
    response.stream = _stream_class()(response.stream, _Unpacking(response, limit))


class _Unpacking:
    """Unpacks the chunks of a body, and stops at its largest size."""

    def __init__(self, response: Any, limit: int) -> None:
        encoding = response.headers.pop("content-encoding", "").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            text = f"the reply is packed in a way that was not asked for ({encoding[:20]!r})"
            raise RefusedResponseError(text, response)
        self._response, self._left, self._limit = response, limit, limit
        self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding not in ("", "identity") else None

    def unpack(self, chunk: bytes) -> bytes:
        if self._unpacker is not None:
            try:
                chunk = self._unpacker.decompress(chunk, self._left + 1)
            except zlib.error:
                raise RefusedResponseError("the reply cannot be unpacked", self._response) from None
        self._left -= len(chunk)
        if self._left < 0:
            raise RefusedResponseError(f"the reply is larger than {self._limit >> 20} MiB", self._response)
        return chunk


@functools.cache
def _stream_class() -> Any:
    """The class of a body that is unpacked while it is read, for the HTTP library that `openai` uses."""
    client = next(each for each in openai.DefaultAsyncHttpxClient.__mro__ if each.__name__ == "AsyncClient")
    http: Any = importlib.import_module(client.__module__.partition(".")[0])

    class BoundedStream(http.AsyncByteStream, http.SyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Any, unpacking: _Unpacking) -> None:
            self._stream, self._unpacking = stream, unpacking

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._stream:
                yield self._unpacking.unpack(chunk)

        def __iter__(self) -> Iterator[bytes]:
            for chunk in self._stream:
                yield self._unpacking.unpack(chunk)

        async def aclose(self) -> None:
            await self._stream.aclose()

        def close(self) -> None:
            self._stream.close()

    return BoundedStream
