"""One connection to an HTTP server that is not trusted: a response is checked and measured while it arrives.

`httptools`, the parser of uvicorn, reads the protocol. Whatever comes in that was not asked for ends the connection: it
would otherwise be taken for the reply to the next request.
"""

from __future__ import annotations

import asyncio
import zlib
from typing import NamedTuple

import httptools

MAX_HEAD_BYTES = 64 << 10
"""The largest head of a response, in bytes."""


class Response(NamedTuple):
    """What a server answered.

    Attributes:
        status: The status code.
        content: The body, unpacked.
        retry_after: How long the server asks to wait, in its own words; empty if it does not ask.
        location: Where the server redirects to; empty if it does not.
    """

    status: int
    content: bytes
    retry_after: str = ""
    location: str = ""


class FailedExchangeError(Exception):
    """A request that got no response that can be read; another attempt may get one.

    Attributes:
        broken: Whether the connection broke, or none could be opened.
    """

    def __init__(self, text: str, *, broken: bool = False) -> None:
        super().__init__(text)
        self.broken = broken


class HttpConnection(asyncio.Protocol):
    """A connection on which requests are answered one after the other.

    Args:
        limit: The largest body of a response, in bytes, also after it is unpacked.

    Attributes:
        reusable: Whether another request may be sent: the last response came in full, and nothing after it.
        idle_since: When the last response was there.
    """

    transport: asyncio.Transport

    def __init__(self, limit: int) -> None:
        self.reusable = False
        self.idle_since = 0.0
        self._limit = limit
        self._response: asyncio.Future[Response] | None = None

    def send(self, request: bytes, *, tunnel: bool = False) -> asyncio.Future[Response]:
        """Send a request; its response is in the future that is returned, or FailedExchangeError.

        Args:
            request: The bytes of the request.
            tunnel: Whether it asks a proxy for a connection, whose answer ends with its head.
        """
        self.reusable = False
        self._tunnel = tunnel
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[bytes, bytes] = {}
        self._head_bytes = self._header_bytes = 0
        self._chunks: list[bytes] = []
        self._unpacking: _Unpacking | None = None
        self._keeps_alive = False
        self._response = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._response

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what bytes are written to."""
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Parse what came in."""
        response = self._response
        if response is None or response.done():
            self.reusable = False
            self.transport.abort()
            return
        if self._unpacking is None:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail(_broken())
        if self._unpacking is None and self._head_bytes > MAX_HEAD_BYTES:
            self._fail(FailedExchangeError("the head of the reply is too large"))

    def eof_received(self) -> None:
        """The end of a body whose length was not announced."""
        response = self._response
        if response is None or response.done():
            return
        announced = {b"content-length", b"transfer-encoding"} & self._headers.keys()
        if self._unpacking is not None and not announced:
            self.on_message_complete()

    def connection_lost(self, error: Exception | None) -> None:
        """Nothing more comes in."""
        self.reusable = False
        self._fail(_broken())

    def _fail(self, error: FailedExchangeError) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_exception(error)
            self.transport.abort()

    def on_message_begin(self) -> None:
        """A second response is none that was asked for."""
        if self._response is None or self._response.done():
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        self._headers[name.lower()] = value
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > MAX_HEAD_BYTES:
            self._fail(FailedExchangeError("the head of the reply is too large"))

    def on_headers_complete(self) -> None:
        """From here on a body comes in, unless the server only says that it goes on reading."""
        if self._parser.get_status_code() >= 200 and self._unpacking is None:
            self._keeps_alive = self._parser.should_keep_alive()
            try:
                self._unpacking = _Unpacking(self._header(b"content-encoding"), self._limit)
            except FailedExchangeError as error:
                self._fail(error)
            if self._tunnel:
                self.on_message_complete()

    def on_body(self, chunk: bytes) -> None:
        """Keep a part of the body, up to the limit."""
        if self._unpacking is not None and self._response is not None and not self._response.done():
            try:
                self._chunks.append(self._unpacking.unpack(chunk))
            except FailedExchangeError as error:
                self._fail(error)

    def on_message_complete(self) -> None:
        """The response is there."""
        if self._unpacking is None:
            self._headers.clear()
            return
        if self._response is not None and not self._response.done():
            status = self._parser.get_status_code()
            retry_after, location = self._header(b"retry-after"), self._header(b"location")
            self._response.set_result(Response(status, b"".join(self._chunks), retry_after, location))
            self._chunks = []
            self.idle_since = asyncio.get_running_loop().time()
            self.reusable = self._keeps_alive

    def _header(self, name: bytes) -> str:
        return self._headers.get(name, b"").decode("latin-1").strip()


class _Unpacking:
    """Unpacks the chunks of a body, and stops at its largest size."""

    def __init__(self, encoding: str, limit: int) -> None:
        encoding = encoding.lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise FailedExchangeError(f"the reply is packed in a way that was not asked for ({encoding[:20]!r})")
        self._left = self._limit = limit
        self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding not in ("", "identity") else None

    def unpack(self, chunk: bytes) -> bytes:
        if self._unpacker is not None:
            try:
                chunk = self._unpacker.decompress(chunk, self._left + 1)
            except zlib.error:
                raise FailedExchangeError("the reply cannot be unpacked") from None
        self._left -= len(chunk)
        if self._left < 0:
            raise FailedExchangeError(f"the reply is larger than {self._limit >> 20} MiB")
        return chunk


def _broken() -> FailedExchangeError:
    return FailedExchangeError("the connection broke", broken=True)
