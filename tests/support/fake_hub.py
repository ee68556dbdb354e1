"""A Hugging Face hub on loopback: repositories with revisions, files behind a redirect with ranges, and its errors."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NEWER = "fedcba9876543210fedcba9876543210fedcba98"


@dataclass
class FakeHub:
    """What the hub holds and how it behaves.

    Attributes:
        files: The content of each file, by repository, commit and name.
        revisions: The commit of each branch and tag, by repository.
        gated: Repositories that want a token.
        token: The token that opens them.
        cut_after: How many bytes of a file are sent before the hub goes down; None to send all.
        down: Whether connections for files are closed without a word.
        lying: Whether other bytes are sent than the hash says.
        requests: The requests so far: method, path and range.
        storage_tokens: The tokens that reached the host that only stores files.
    """

    files: dict[str, dict[str, dict[str, bytes]]]
    revisions: dict[str, dict[str, str]] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    token: str = "hf_right"
    cut_after: int | None = None
    down: bool = False
    lying: bool = False
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    storage_tokens: set[str] = field(default_factory=set)
    url: str = ""

    def sent(self, method: str) -> list[str]:
        """The ranges of the requests of a method; empty where none was named."""
        return [span for verb, _, span in self.requests if verb == method]

    @contextmanager
    def serve(self) -> Iterator[FakeHub]:
        """Serve for the length of a `with` block."""
        hub = self

        class Handler(_Handler):
            pass

        Handler.hub = hub
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append((self.command, path, self.headers.get("Range", "")))
        parts = path.strip("/").split("/")
        if parts[0] == "cdn" and self.hub.down:
            self.close_connection = True
            return
        if parts[0] == "cdn":
            self.hub.storage_tokens |= {self.headers["Authorization"]} if "Authorization" in self.headers else set()
            return self._send_file(self._content(*parts[1:3], "/".join(parts[3:])))
        if parts[:2] == ["api", "models"]:
            return self._list("/".join(parts[2:4]), parts[5])
        repository, revision, name = "/".join(parts[:2]), parts[3], "/".join(parts[4:])
        if repository not in self.hub.files:
            return self._refuse(401, "RepoNotFound")
        if repository in self.hub.gated and self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            return self._refuse(401, "GatedRepo")
        commit = self.hub.revisions.get(repository, {}).get(revision, revision)
        if commit not in self.hub.files[repository]:
            return self._refuse(404, "RevisionNotFound")
        content = self.hub.files[repository][commit].get(name)
        if content is None:
            return self._refuse(404, "EntryNotFound")
        headers = {
            "X-Repo-Commit": commit,
            "X-Linked-Etag": f'"{hashlib.sha256(content).hexdigest()}"',
            "X-Linked-Size": str(len(content)),
            # As on the real hub, the bytes come from another host than what is known of them.
            "Location": f"{self.hub.url.replace('127.0.0.1', 'localhost')}/cdn/{repository.replace('/', '--')}/{commit}/{name}",
        }
        self._reply(302, b"", headers)

    def _content(self, repository: str, commit: str, name: str) -> bytes:
        content = self.hub.files[repository.replace("--", "/")][commit][name]
        return content[:-1] + b"!" if self.hub.lying else content

    def _list(self, repository: str, revision: str) -> None:
        commit = self.hub.revisions.get(repository, {}).get(revision, revision)
        names = self.hub.files[repository].get(commit, {})
        rows = [{"type": "file", "path": name, "size": 1, "oid": "0" * 40, "rfilename": name} for name in names]
        body = rows if "/tree/" in self.path else {"id": repository, "sha": commit, "siblings": rows}
        self._reply(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def _send_file(self, content: bytes) -> None:
        span = self.headers.get("Range", "")
        first = int(span.removeprefix("bytes=").partition("-")[0]) if span else 0
        body = content[first:]
        headers = {"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}"} if span else {}
        cut = self.hub.cut_after
        if cut is None or cut >= len(body):
            return self._reply(206 if span else 200, body, headers)
        self.send_response(206 if span else 200)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[:cut])
        self.wfile.flush()
        self.close_connection = self.hub.down = True

    def _refuse(self, status: int, code: str) -> None:
        self._reply(status, b"{}", {"X-Error-Code": code, "X-Error-Message": code})

    def _reply(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
