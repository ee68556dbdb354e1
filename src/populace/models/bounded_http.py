"""A small HTTP client for servers that are not trusted, with connections that are kept open.

Size and time of a response are limited while it arrives, its size also after it is unpacked. Redirects are refused:
prompts and keys go to the server that the user named, and to no other. The key is in no error and in no attribute that
is printed.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import ssl
import threading
import urllib.request
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

import pydantic_core

from populace.base.errors import ModelError
from populace.models.http_connection import FailedExchangeError, HttpConnection, Response

MAX_REPLY_BYTES = 8 << 20
"""The largest body of a reply, in bytes."""
MAX_VECTORS_BYTES = 128 << 20
"""The largest body with embeddings, in bytes."""
_IDLE_S = 4.0
"""How long an idle connection is used again: common servers close theirs after five seconds."""
_PATH_CHARACTERS = "/%:@!$&'()*+,;=~-._"


class HttpClient:
    """Sends requests over connections that are kept open. It must be used within one event loop.

    Args:
        key: Goes along with every request.
        limit: The largest body that is read, in bytes.
        headers: Further headers of every request.
    """

    def __init__(self, key: str, limit: int, *, headers: Mapping[str, str] | None = None) -> None:
        self._key, self._limit = key, limit
        fields = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Authorization": f"Bearer {key}",
            "User-Agent": "populace",
            **(headers or {}),
        }
        self._head = "".join([f"{name}: {value}\r\n" for name, value in fields.items()])
        self._routes: dict[str, _Route] = {}
        self._idle: dict[_Place, list[HttpConnection]] = {}
        self._busy: set[HttpConnection] = set()

    async def get(self, address: str, timeout_s: float) -> Response:
        """Ask for what is at an address.

        Args:
            address: The full address.
            timeout_s: How long it may take from beginning to end.

        Raises:
            TimeoutError: It took longer.
            FailedExchangeError: There was no response, or none that can be read.
            ModelError: The server redirects.
        """
        route = self._route(address)
        return await self._exchange(address, route, f"GET {route.head}\r\n".encode("latin-1"), timeout_s)

    async def post(self, address: str, body: Mapping[str, Any], timeout_s: float) -> Response:
        """Send a JSON object to an address; raises the errors of `get`.

        Args:
            address: The full address.
            body: The object.
            timeout_s: How long it may take from beginning to end.
        """
        route, content = self._route(address), pydantic_core.to_json(body)
        fields = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        return await self._exchange(address, route, f"POST {route.head}{fields}".encode("latin-1") + content, timeout_s)

    async def _exchange(self, address: str, route: _Route, request: bytes, timeout_s: float) -> Response:
        connection = None
        try:
            async with asyncio.timeout(timeout_s):
                connection = self._idle_connection(route.place) or await self._connect(route.place)
                self._busy.add(connection)
                response = await connection.send(request)
        except FailedExchangeError as error:
            raise FailedExchangeError(str(error), broken=error.broken) from None
        except OSError as error:  # A TimeoutError is one too.
            if isinstance(error, TimeoutError) and error.errno is None:
                raise
            raise FailedExchangeError("the connection broke", broken=True) from None
        finally:
            if connection is not None:
                self._busy.discard(connection)
                if connection.reusable:
                    self._idle.setdefault(route.place, []).append(connection)
                else:
                    connection.transport.abort()
        if 300 <= response.status < 400:
            raise _redirect_error(address, response.location)
        return response

    def _idle_connection(self, place: _Place) -> HttpConnection | None:
        """The connection that was used last, if the server has not closed it by now."""
        idle = self._idle.get(place)
        now = asyncio.get_running_loop().time()
        while idle:
            connection = idle.pop()
            if connection.reusable and now - connection.idle_since < _IDLE_S:
                return connection
            connection.transport.abort()
        return None

    async def _connect(self, place: _Place) -> HttpConnection:
        loop = asyncio.get_running_loop()
        certificates = _ssl_context() if place.secure else None
        host, port = place.proxy or (place.host, place.port)
        transport, connection = await loop.create_connection(
            lambda: HttpConnection(self._limit),
            host,
            port,
            ssl=None if place.proxy else certificates,
            happy_eyeballs_delay=0.25,
        )
        if place.proxy and certificates is not None:
            try:
                target = f"{place.host}:{place.port}"
                request = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{place.proxy_head}\r\n"
                response = await connection.send(request.encode("latin-1"), tunnel=True)
                if response.status != 200:
                    raise FailedExchangeError(f"the proxy answered {response.status}", broken=True)
                secure = await loop.start_tls(transport, connection, certificates, server_hostname=place.host)
            except BaseException:
                transport.abort()
                raise
            connection.connection_made(secure)  # type: ignore[arg-type]
        return connection

    def _route(self, address: str) -> _Route:
        if address not in self._routes:
            parts, place = urlsplit(address), _place(address)
            path = quote(parts.path or "/", safe=_PATH_CHARACTERS) + (f"?{parts.query}" if parts.query else "")
            whole = place.proxy is not None and not place.secure
            target = f"{parts.scheme}://{parts.netloc}{path}" if whole else path
            proxy_head = place.proxy_head if whole else ""
            head = f"{target} HTTP/1.1\r\nHost: {parts.netloc}\r\n{proxy_head}{self._head}"
            self._routes[address] = _Route(place, head)
        return self._routes[address]

    def without_key(self, text: object) -> str:
        """Words of a server in one line, without the key, which some servers repeat."""
        return " ".join(str(text).split()).replace(self._key, "[key]")[:300]

    async def close(self) -> None:
        """Close the connections."""
        for connection in [*self._busy, *[each for idle in self._idle.values() for each in idle]]:
            connection.transport.abort()
        self._idle.clear()
        await asyncio.sleep(0)  # Sockets are closed in the next turn of the loop.


class BlockingHttpClient:
    """An `HttpClient` in a thread of its own, for code that is not asynchronous; it takes the same arguments."""

    def __init__(self, key: str, limit: int, *, headers: Mapping[str, str] | None = None) -> None:
        self._client = HttpClient(key, limit, headers=headers)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="http", daemon=True)
        self._thread.start()

    def post(self, address: str, body: Mapping[str, Any], timeout_s: float) -> Response:
        """Send a JSON object to an address; raises the errors of `HttpClient.get`."""
        response = asyncio.run_coroutine_threadsafe(self._client.post(address, body, timeout_s), self._loop)
        try:
            return response.result()
        finally:
            response.cancel()  # Where the wait is interrupted, nothing goes on being read.

    def close(self) -> None:
        """Close the connections and end the thread."""
        asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Place(NamedTuple):
    """Where a connection leads to."""

    host: str
    port: int
    secure: bool
    proxy: tuple[str, int] | None
    proxy_head: str


class _Route(NamedTuple):
    """Where requests to an address go, and how their head goes on after the method."""

    place: _Place
    head: str


def _place(address: str) -> _Place:
    parts = urlsplit(address)
    secure = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if secure else 80)
    named = urllib.request.getproxies()
    proxy = named.get(parts.scheme) or named.get("all")
    if not proxy or urllib.request.proxy_bypass(parts.netloc):
        return _Place(host, port, secure, None, "")
    way = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if way.scheme != "http" or not way.hostname:
        raise ModelError(
            f"requests to {host} would go through a proxy of the kind {way.scheme!r}, which is not supported.",
            "Name a proxy whose address begins with http:// in the environment, or add the host to NO_PROXY.",
        )
    head = ""
    if way.username:
        pair = f"{unquote(way.username)}:{unquote(way.password or '')}"
        head = f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"
    return _Place(host, port, secure, (way.hostname, way.port or 80), head)


def _redirect_error(address: str, location: str) -> ModelError:
    try:
        host = urlsplit(location).hostname
    except ValueError:
        host = None
    where = f" to {host[:100]!r}" if host else ""
    return ModelError(
        f"{address}: the server redirects{where}, and prompts and keys are not sent to another address; "
        "name the address to which it redirects, if it is the right one."
    )


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """The certificates of the system, and those that come with Python packages where it has none."""
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"]:
        import certifi

        context.load_verify_locations(certifi.where())
    return context
