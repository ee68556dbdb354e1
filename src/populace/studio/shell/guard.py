"""Access control: this machine alone, or whoever has the token.

Every request and every web socket passes here first. A page of another site that is open in the same browser can
reach a local server too; its requests are recognised by their Host and Origin headers.
"""

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "populace-token"
LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws: wss:; object-src 'none'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {"content-security-policy": _POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


class Guard:
    """An ASGI application that refuses requests without the right to another one.

    Args:
        app: The application.
        token: What a request must carry; without one, only this machine's own names are served.
    """

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self.app = app
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(headers)
        if refusal:
            await _refuse(scope, receive, send, 403, refusal)
            return
        if self.token is not None and not self._has_token(headers):
            query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
            if scope["type"] == "http" and self._is_token(query.pop("token", "")):
                await _admit(scope, receive, send, self.token, query)
                return
            message = "This Studio needs a token: open the address that `populace studio` printed.\n"
            await _refuse(scope, receive, send, 401, message)
            return
        await self.app(scope, receive, _with_headers(send))

    def _refusal(self, headers: dict[str, str]) -> str:
        """Why a request cannot be from a page of Studio; empty where it may be."""
        host = headers.get("host", "")
        if self.token is None and _host_name(host) not in LOCAL:
            return "Studio answers to localhost and 127.0.0.1 only. To reach it from elsewhere, start it with --host.\n"
        origin = headers.get("origin")
        if origin is not None and origin != "null" and urlsplit(origin).netloc != host:
            return "Studio takes no requests from the pages of other sites.\n"
        return "Studio takes no requests from pages without an origin.\n" if origin == "null" else ""

    def _has_token(self, headers: dict[str, str]) -> bool:
        bearer = headers.get("authorization", "")
        if bearer.startswith("Bearer ") and self._is_token(bearer.removeprefix("Bearer ").strip()):
            return True
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return COOKIE in cookies and self._is_token(cookies[COOKIE].value)

    def _is_token(self, text: str) -> bool:
        return self.token is not None and hmac.compare_digest(text.encode(), self.token.encode())


def _host_name(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].lower()


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            # Beside the headers of the response: a report has a stricter policy of its own, and both must hold.
            own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            message["headers"] = [*message.get("headers", []), *own]
        await send(message)

    return send_with_headers


async def _admit(scope: Scope, receive: Receive, send: Send, token: str, query: dict[str, str]) -> None:
    """Store the token in a cookie, and redirect to the address without it."""
    target = scope["path"] + (f"?{urlencode(query)}" if query else "")
    # A path that begins with two slashes would name another host.
    target = "/" + target.lstrip("/")
    response = RedirectResponse(target, 303, _HEADERS)
    response.set_cookie(COOKIE, token, httponly=True, samesite="strict")
    await response(scope, receive, send)


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, text: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await PlainTextResponse(text, status, _HEADERS)(scope, receive, send)
