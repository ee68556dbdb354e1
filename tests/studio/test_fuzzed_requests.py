"""20,000 hostile requests to Studio: none fails inside, none writes, none hangs.

The requests are given to the application in this process, as an ASGI server would give them, with no network between.
19,900 go to addresses below `/api`; 100 go to pages and to addresses that do not exist, which take some thirty times as
long to answer. Every route and every page gets some. Names and numbers in addresses, the parts of the query, the
method, the headers and the body are drawn from lists of what has broken web applications; the draws are seeded.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote

import pytest
from fastapi import FastAPI
from nicegui import app

from populace import simulate
from populace.scenarios.forum import Forum
from populace.scenarios.norms import Norms
from populace.scenarios.party import Party
from populace.studio.app import install
from populace.studio.shell.guard import Guard
from support.studio import visit

REQUESTS, TO_PAGES = 20_000, 100
SLOW_S = 20.0
NUMBERS = [
    "0", "1", "2", "-1", "9" * 20, "9" * 400, "9" * 5000, "1e3", "1.5", "NaN", "inf", "-inf", "0x10", "1_0", "٣", "²", "",
    " 1", "1 ", "+1", "true", "null", "[]", "{}", "1;2", "--1", "18446744073709551616", "-9223372036854775809", "00001",
]  # fmt: skip
TEXTS = [
    "", " ", "a", "x" * 256, "ü" * 200, "x" * 20_000, "..", ".", "../..", "../../../../etc/passwd", "/etc/passwd", "\\..\\..",
    "%2e%2e%2f", "..%252f..", "....//", "~", "~root", "C:\\x", "con", "file:///etc/passwd", "\0", "a\0b", "\r\nX: y",
    "\ufeff", "\u202e", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"), "<script>", "{{7*7}}",
    "${jndi:x}", "' or 1=1 --", "\"", "`", "*", "?", "[", "](", "(?i)(a+)+$", "{0}", "%s%n", "norms", "last", ".hidden",
    "experiments/x", "age >= 30 and name ~ \"a", "age >=", "id = 1, id = 2", "((((", "name ~ [", "-", "-id", "--", "true",
]  # fmt: skip
ENCODINGS: list[Callable[[str], str]] = [
    lambda text: quote(text, safe=""),
    lambda text: quote(text),
    quote_plus,
    lambda text: quote(quote(text, safe=""), safe=""),
    lambda text: "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "replace")),
    lambda text: text.encode("ascii", "replace").decode().replace("\r", "").replace("\n", "").replace("\0", "%00"),
    lambda text: quote(text, safe="") + "%ff%fe",
]
HEADERS = [
    (b"accept", b"text/markdown"), (b"accept-language", b"\xff\xfe" * 50), (b"cookie", b"populace-light=" + b"x" * 5000),
    (b"cookie", b"=;;=\x01"), (b"x-forwarded-prefix", b"/../.."), (b"range", b"bytes=-9999999999999-"),
    (b"if-none-match", b"\"" * 300), (b"content-type", b"application/json"), (b"content-type", b"multipart/form-data"),
    (b"content-length", b"-1"), (b"expect", b"100-continue"), (b"upgrade", b"websocket"), (b"authorization", b"Bearer \xff"),
]  # fmt: skip
BODIES = [b"", b"{", b"[" * 5000, b"\0" * 100, b"null", b'{"a": NaN}', "ü".encode("utf-16")]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "inside"
    simulate(Norms(workers=3, days=2), model="scripted:uniform", workspace=folder)
    town = Party(residents=8, days=1)
    simulate(town, decider="rule", seed=3, workspace=folder)
    simulate(Forum(expand=False), model="scripted:uniform", seed=1, workspace=folder)
    (folder.parent / "secret.txt").write_text("nobody-reads-this")
    return folder


class Requests:
    """Hostile requests to the routes of an application."""

    def __init__(self, paths: list[str], names: list[str]) -> None:
        self.random = random.Random(12)
        self.paths, self.names = paths, names

    def draw(self) -> dict[str, Any]:
        """One request as the scope of ASGI, with its body under `body`."""
        path = self._path(self.random.choice(self.paths))
        query = "&".join(self._pair() for _ in range(self.random.choice((0, 1, 1, 2, 3, 40))))
        method = self.random.choice(("GET",) * 40 + ("POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "X\ty"))
        headers = [(b"host", b"127.0.0.1:8642"), *self.random.sample(HEADERS, self.random.choice((0, 0, 0, 1, 3)))]
        return {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode("ascii", "replace"),
            "root_path": "", "headers": headers, "client": ("127.0.0.1", 5000), "server": ("127.0.0.1", 8642),
            "body": self.random.choice(BODIES),
        }  # fmt: skip

    def _path(self, template: str) -> str:
        parts = []
        for part in template.split("/"):
            if part.startswith("{"):
                known = self.random.random() < (0.6 if part == "{name}" else 0.3)
                part = self.random.choice(self.names) if known else self._encoded()
            parts.append(part)
        return "/".join(parts) if self.random.random() < 0.97 else "/".join(parts) + "/" + self._encoded()

    def _pair(self) -> str:
        names = (
            "page",
            "size",
            "step",
            "at",
            "from",
            "to",
            "limit",
            "sort",
            "search",
            "where",
            "until",
            "kind",
            "person",
        )
        names += (
            "runs",
            "bands",
            "rater",
            "run",
            "queue",
            "seed",
            "post",
            "thread",
            "member",
            "time",
            "speed",
            "follow",
        )
        names += (
            "layer",
            "scenario",
            "changes",
            "tab",
            "who",
            "outcome",
            "reference",
            "q",
            "filter",
            "with",
            "job",
            "n",
        )
        value = self.random.choice(self.random.choice((NUMBERS, NUMBERS, TEXTS, TEXTS, self.names)))
        return f"{self.random.choice(names)}={self.random.choice(ENCODINGS)(value)}"

    def _encoded(self) -> str:
        return self.random.choice(ENCODINGS)(self.random.choice((*TEXTS, *NUMBERS)))


async def send(server: Any, scope: dict[str, Any]) -> tuple[int, bytes]:
    """The status and the body of the answer to one request."""
    body, status, parts = scope.pop("body"), 0, []
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        return next(messages, {"type": "http.disconnect"})

    async def answer(message: dict[str, Any]) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            parts.append(message.get("body", b""))

    await asyncio.wait_for(server(scope, receive, answer), SLOW_S)
    return status, b"".join(parts)


def _files(folder: Path) -> dict[Path, bytes]:
    """All files, but for those of commands: the page of a new run has one estimate what the run will take."""
    paths = [path for path in folder.rglob("*") if path.is_file() and ".studio" not in path.parts]
    return {path: path.read_bytes() for path in paths if "calls.sqlite" not in path.name}


def test_no_request_fails_inside_writes_or_hangs(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    # A thread for each of 20,000 requests would take longer than the requests.
    monkeypatch.setattr("fastapi.routing.run_in_threadpool", at_once)
    before, answers, slowest = _files(workspace.parent), Counter[int](), 0.0

    async def go() -> None:
        nonlocal slowest
        async with visit(workspace) as visitor:
            # As it is served: the routes of the API lie before the application that has the pages.
            whole = FastAPI()
            install(visitor.studio, whole)
            whole.mount("/", app)
            server, names = Guard(whole), visitor.studio.library.names()
            paths = [str(getattr(route, "path", "")) for route in (*whole.routes, *app.routes)]
            api = sorted({path for path in paths if path.startswith("/api/")})
            pages = sorted({path for path in paths if path == "/" or path.startswith(PAGES)})
            assert len(api) > 20 and len(pages) >= 12
            for addresses, count in (([*api, "/api/{name}"], REQUESTS - TO_PAGES), ([*pages, "/{name}"], TO_PAGES)):
                requests = Requests(addresses, names)
                for _ in range(count):
                    scope = requests.draw()
                    told = f"{scope['method']} {scope['raw_path'][:300]!r} ? {scope['query_string'][:300]!r}"
                    began = time.perf_counter()
                    status, body = await send(server, scope)
                    slowest = max(slowest, time.perf_counter() - began)
                    answers[status] += 1
                    assert 200 <= status < 500, f"{status} for {told}: {body[:500]!r}"
                    assert b"nobody-reads-this" not in body and b"root:x:0" not in body, told

    asyncio.run(go())
    assert sum(answers.values()) == REQUESTS
    # It is not all refused at the door.
    assert answers[200] > 1500 and answers[404] > 500 and answers[400] > 300
    assert slowest < SLOW_S
    assert _files(workspace.parent) == before


PAGES = ("/new", "/run/", "/compare", "/experiment/", "/town/", "/forum/", "/discern", "/feedback")
