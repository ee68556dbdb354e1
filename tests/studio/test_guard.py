"""Who may come in: this machine alone, or whoever has the token; no page of another site."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from populace.base.errors import RunNotFoundError, UsageError
from populace.engine.workspace import Workspace
from populace.studio.library import Library
from populace.studio.server import serve
from populace.studio.shell.guard import COOKIE, Guard
from support.studio import served

TOKEN = "a-token-of-some-length"
LONG_S = 60.0
"""A busy machine takes a while to begin serving."""


async def _room(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


def _visit(guard: Guard, path: str = "/", *, host: str = "127.0.0.1:8642", **headers: str) -> httpx.Response:
    async def go() -> httpx.Response:
        transport = httpx.ASGITransport(guard)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8642") as client:
            return await client.get(path, headers={"host": host, **headers})

    return asyncio.run(go())


def test_without_a_token_only_the_names_of_this_machine_are_served() -> None:
    assert _visit(Guard(_room)).text == "inside"
    assert _visit(Guard(_room), host="localhost:9").text == "inside"
    assert _visit(Guard(_room), host="[::1]:9").text == "inside"
    for name in ("evil.example", "127.0.0.1.evil.example", "", "localhost.evil.example:8642"):
        assert _visit(Guard(_room), host=name).status_code == 403


def test_pages_of_other_sites_are_refused_also_with_the_right_token() -> None:
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert _visit(Guard(_room), origin="http://127.0.0.1:8642").text == "inside"
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9"):
        assert _visit(Guard(_room), origin=origin).status_code == 403
        assert _visit(Guard(_room, TOKEN), origin=origin, **bearer).status_code == 403


def test_with_a_token_nobody_comes_in_without_it() -> None:
    guard = Guard(_room, TOKEN)
    assert _visit(guard).status_code == 401
    assert _visit(guard, "/?token=wrong-token-of-length").status_code == 401
    assert _visit(guard, cookie=f"{COOKIE}=wrong").status_code == 401
    assert _visit(guard, authorization="Bearer wrong").status_code == 401
    assert _visit(guard, cookie=f"{COOKIE}={TOKEN}").text == "inside"
    assert _visit(guard, authorization=f"Bearer {TOKEN}").text == "inside"


def test_the_token_leaves_the_address_for_a_cookie() -> None:
    answer = _visit(Guard(_room, TOKEN), f"/run/a?token={TOKEN}&step=3")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/run/a?step=3"
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert _visit(Guard(_room, TOKEN), f"http://127.0.0.1:8642//evil.example?token={TOKEN}").headers["location"] == (
        "/evil.example"
    )


@pytest.mark.parametrize("headers", [[], [(b"cookie", b"populace-token=wrong")], [(b"origin", b"http://evil.example")]])
def test_a_web_socket_is_closed_before_it_is_accepted(headers: list[tuple[bytes, bytes]]) -> None:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "websocket", "headers": [(b"host", b"here"), *headers], "query_string": b"", "path": "/"}
    asyncio.run(Guard(_room, TOKEN)(scope, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_every_answer_forbids_what_comes_from_elsewhere() -> None:
    policy = _visit(Guard(_room)).headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "http" not in policy


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Studio of its own process."""
    folder = tmp_path_factory.mktemp("guard")
    (folder / "secret.txt").write_text("nobody-reads-this")
    with served(folder) as (address, _):
        yield address


def test_it_listens_on_this_machine_only_unless_told(home: str) -> None:
    assert home.startswith("http://127.0.0.1:")
    port = int(home.rstrip("/").rpartition(":")[2])
    assert httpx.get(f"{home}api/runs", timeout=LONG_S).json() == {"count": 0, "runs": []}
    others = {found[4][0] for found in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for other in others - {"127.0.0.1"}:
        with pytest.raises(OSError):
            socket.create_connection((other, port), 1).close()


def test_another_host_makes_up_a_token_and_asks_for_it(tmp_path: Path) -> None:
    with served(tmp_path, "--host", "0.0.0.0") as (address, _):
        start, _, token = address.partition("?token=")
        port = start.rstrip("/").rpartition(":")[2]
        assert len(token) >= 16
        with httpx.Client(follow_redirects=True, timeout=LONG_S) as client:
            assert client.get(f"http://127.0.0.1:{port}/api/runs").status_code == 401
            assert client.get(f"http://127.0.0.1:{port}/").status_code == 401
            page = client.get(f"http://127.0.0.1:{port}/api/runs?token={token}")
            assert page.json()["count"] == 0
            assert "token" not in str(page.url)


def test_a_short_token_or_a_taken_port_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least 16"):
        serve(tmp_path, token="short")
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UsageError, match="cannot listen"):
        serve(tmp_path, port=taken.getsockname()[1])


def test_no_name_leads_out_of_the_workspace(tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.mkdir()
    (outside / "manifest.json").write_text("{}")
    inside = tmp_path / "workspace"
    (inside / "runs").mkdir(parents=True)
    (inside / "runs" / "link").symlink_to(outside)
    library = Library(Workspace(inside))
    for name in ("../../secret", "..", ".", "", "/etc", "link", "a/b", "a\\b", "a\0b", "%2e%2e"):
        with pytest.raises(RunNotFoundError):
            library.run(name)
        with pytest.raises(RunNotFoundError):
            library.tag(name, ["x"])
        with pytest.raises(RunNotFoundError):
            library.remove(name)


@given(st.text(alphabet="./\\ab%~\0", max_size=12))
def test_whatever_a_name_is_it_is_a_run_of_the_workspace_or_an_error(name: str) -> None:
    with pytest.raises(RunNotFoundError):
        Library(Workspace("/nonexistent-workspace")).run(name)


def test_paths_in_addresses_are_refused_over_the_network_too(home: str) -> None:
    for path in ("studio-static/../secret.txt", "studio-static/%2e%2e/%2e%2e/secret.txt", "..%2fsecret.txt"):
        answer = httpx.get(home + path, timeout=LONG_S)
        assert "nobody-reads-this" not in answer.text
