"""Hostile requests to Studio, 20,000 in an audit and 3,000 else: none fails inside, none writes, none hangs.

The requests are given to the application in this process, as an ASGI server would give them, with no network between.
Seven of eight go to addresses below `/api`, the rest to pages and to addresses that do not exist, which take some six
times as long to answer. Every route and every page gets its share in turn. Names and numbers in addresses, the parts of
the query, the method, the headers and the body are drawn from lists of what has broken web applications; the draws are
seeded.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote

import pytest
from fastapi import FastAPI
from nicegui import Client, app

from populace import Survey, simulate
from populace.community.study import Study
from populace.experiments import Experiment
from populace.experiments.folder import experiment_names
from populace.runs.fidelity_figures import keep_figures
from populace.scenarios.forum import Forum
from populace.scenarios.norms import Norms
from populace.scenarios.party import Party
from populace.studio.app import install
from populace.studio.jobs import CommandError
from populace.studio.pages.fidelity.data import report_names
from populace.studio.shell.guard import Guard
from support.audit import size
from support.studies import studied
from support.studio import visit

REQUESTS, TO_PAGES = size(3_000, 20_000), size(270, 2_500)
FURTHER = 500
"""How often an address is asked for again that was never reached."""
SHARE_OF_HEAVY = 0.2
"""How often routes that read a whole experiment, or all runs or scenarios, are asked for, compared with others."""
SLOW_S = 60.0
NAME_PARTS = ("{name}", "{name:path}")
"""The parts of addresses that name something in the workspace."""
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
NAMES = (
    "page", "size", "step", "at", "from", "to", "limit", "sort", "search", "where", "until", "kind", "person", "runs",
    "bands", "rater", "run", "queue", "seed", "post", "thread", "member", "time", "speed", "follow", "layer", "scenario",
    "changes", "tab", "who", "outcome", "reference", "q", "filter", "with", "job", "n", "flagged", "model", "budget",
)  # fmt: skip
BODIES = [b"", b"{", b"[" * 5000, b"\0" * 100, b"null", b'{"a": NaN}', "ü".encode("utf-16")]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "inside"
    simulate(Norms(workers=3, days=2), model="scripted:uniform", workspace=folder)
    town = Party(residents=8, days=1)
    simulate(town, decider="rule", seed=3, workspace=folder)
    simulate(Forum(expand=False), model="scripted:uniform", seed=1, workspace=folder)
    question = {"id": "tea", "type": "single", "text": "Tea?", "options": ["yes", "no"]}
    Survey.read({"items": [question]}).ask({"sex": ["f", "m"]}, model="scripted:uniform", workspace=folder)
    keep_figures(folder, {"name": "gss", "model": "m", "arms": {"both": {"accuracy": {"value": 0.5}}}})
    results = Experiment(
        name="shirts", question="?", scenario="norms", factors={"personas": ["none", "graded"]}, replicates=2,
        parameters={"workers": 2, "days": 1}, model="scripted:uniform", outcomes=["share_blue"],
    ).run(workers=1, workspace=folder)  # fmt: skip
    place, material = studied(folder)
    Study.make(place, "balcony", material)
    (results.folder.path / f"{results.name}.html").write_text("<p>Report</p>")
    (folder.parent / "secret.txt").write_text("nobody-reads-this")
    return folder


class Requests:
    """Hostile requests to the routes of an application."""

    def __init__(self, names: dict[str, list[str]]) -> None:
        self.random = random.Random(12)
        self.names = names
        self._words = [name for kind in names.values() for name in kind]

    def draw(self, template: str, own: Sequence[str]) -> dict[str, Any]:
        """One request to a route as the scope of ASGI, with its body under `body`.

        Args:
            template: The path of the route.
            own: The names of its parameters in the query.
        """
        path = self._path(template)
        query = "&".join(self._pair(own) for _ in range(self.random.choice((0, 1, 1, 2, 3, 40))))
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
                known = self.random.random() < (0.6 if part in NAME_PARTS else 0.3)
                part = self.random.choice(self._known(part, template)) if known else self._encoded()
            parts.append(part)
        return "/".join(parts) if self.random.random() < 0.97 else "/".join(parts) + "/" + self._encoded()

    def _known(self, part: str, template: str) -> Sequence[str]:
        """What there is in the workspace that a part of an address may name."""
        if part not in NAME_PARTS:
            return ("0", "1", "2")
        return next((names for kind, names in self.names.items() if f"/{kind}" in template), self.names["run"])

    def _pair(self, own: Sequence[str]) -> str:
        names = own if own and self.random.random() < 0.7 else NAMES
        value = self.random.choice(self.random.choice((NUMBERS, NUMBERS, TEXTS, TEXTS, self._words)))
        return f"{self.random.choice(names)}={_encode(self.random.randrange(len(ENCODINGS)), value)}"

    def _encoded(self) -> str:
        return _encode(self.random.randrange(len(ENCODINGS)), self.random.choice((*TEXTS, *NUMBERS)))


@functools.cache
def _encode(encoding: int, text: str) -> str:
    return ENCODINGS[encoding](text)


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


def _query_names(route: Any) -> tuple[str, ...]:
    """The parameters that a route takes in the query of an address."""
    dependant = getattr(route, "dependant", None)
    return tuple(parameter.alias for parameter in dependant.query_params) if dependant else ()


def _turns(templates: list[str], count: int) -> Iterator[str]:
    """Routes in turn, those of heavy pages less often."""
    draw = random.Random(12)
    each = (
        template for template in itertools.cycle(templates) if template not in HEAVY or draw.random() < SHARE_OF_HEAVY
    )
    return itertools.islice(each, count)


@pytest.mark.audit
def test_no_request_fails_inside_writes_or_hangs(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    # A thread for each of thousands of requests would take longer than the requests.
    monkeypatch.setattr("fastapi.routing.run_in_threadpool", at_once)
    # NiceGUI looks into the signature of every listener of every element; a page has some hundred of the same.
    monkeypatch.setattr(inspect, "signature", functools.cache(inspect.signature))

    async def refuse(*arguments: str) -> None:
        raise CommandError("no process is started here")

    before, answers, slowest = _files(workspace.parent), Counter[int](), 0.0
    reached = Counter[str]()

    async def go() -> None:
        async with visit(workspace) as visitor:
            # The page of a new run estimates what the run will take, in a process of its own.
            monkeypatch.setattr(visitor.studio.jobs, "call", refuse)
            # As it is served: the routes of the API lie before the application that has the pages.
            whole = FastAPI()
            install(visitor.studio, whole)
            whole.mount("/", app)
            server = Guard(whole)
            experiments, runs = experiment_names(visitor.studio.workspace), visitor.studio.library.names()
            surveys, reports = [name for name in runs if name.startswith("survey")], list(report_names(workspace))
            requests = Requests(
                {
                    "experiment": experiments, "discern": ["balcony"], "survey": surveys, "fidelity": reports,
                    "scenarios": ["norms"],
                    "run": [name for name in runs if name not in surveys],
                }
            )  # fmt: skip
            own = {str(getattr(route, "path", "")): _query_names(route) for route in (*whole.routes, *app.routes)}
            api = sorted(path for path in own if path.startswith("/api/"))
            pages = sorted(path for path in own if path == "/" or path.startswith(PAGES))
            assert len(api) > 20 and len(pages) >= 12
            turns = list(_turns([*api, "/api/{name}"], REQUESTS - TO_PAGES)) + list(
                _turns([*pages, "/{name}"], TO_PAGES)
            )

            async def ask(template: str) -> None:
                nonlocal slowest
                scope = requests.draw(template, own.get(template, ()))
                request = f"{scope['method']} {scope['raw_path'][:300]!r} ? {scope['query_string'][:300]!r}"
                start = time.perf_counter()
                status, body = await send(server, scope)
                slowest = max(slowest, time.perf_counter() - start)
                answers[status] += 1
                reached[template] += status == 200
                assert 200 <= status < 500, f"{status} for {request}: {body[:500]!r}"
                assert b"nobody-reads-this" not in body and b"root:x:0" not in body, request
                for client in list(Client.instances.values()):
                    # The tab is closed, whatever the page is still about to do.
                    client.delete()

            for template in turns:
                await ask(template)
            for template in sorted(set(turns) - UNREACHABLE):
                # A few hundred requests may happen to give an address nothing that it knows; some more do.
                for _ in range(FURTHER):
                    if reached[template]:
                        break
                    await ask(template)

    asyncio.run(go())
    assert sum(answers.values()) >= REQUESTS
    # It is not all refused at the door.
    assert answers[200] > REQUESTS * 0.075 and answers[404] > REQUESTS * 0.025 and answers[400] > REQUESTS * 0.015
    missed = {template for template, count in reached.items() if not count} - UNREACHABLE
    assert missed == set()
    assert slowest < SLOW_S
    assert _files(workspace.parent) == before


PAGES = (
    "/new",
    "/run/",
    "/compare",
    "/experiment/",
    "/town/",
    "/forum/",
    "/discern",
    "/feedback",
    "/survey/",
    "/fidelity",
)
HEAVY = ("/", "/new", "/api/runs", "/experiment/{name}", "/api/experiments/{name}")
UNREACHABLE = {"/api/{name}", "/{name}", "/api/openapi.json", "/api/discern/{name}/results"}
