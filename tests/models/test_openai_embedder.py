from __future__ import annotations

import gzip
import http.server
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from populace import open_run, simulate
from populace.base.errors import (
    BudgetError,
    EmbeddingError,
    ModelError,
    ModelKeyError,
    ModelUnreachableError,
    UsageError,
)
from populace.minds.memory import Memory
from populace.models import CachedEmbedder, HashingEmbedder, OpenAIEmbedder, open_embedder
from support.embedders import CountingEmbedder
from support.scenarios import Closeness

KEY = "sk-secret-of-this-test"


class Server(http.server.ThreadingHTTPServer):
    """Embeds by hashing, in reversed order, and notes what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.status = 200
        self.body: Any = None
        self.headers: dict[str, str] = {}
        self.drip_s = 0.0
        self.failures_left = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        self.server.keys.append(self.headers["authorization"])
        vectors = 5 * HashingEmbedder(body.get("dimensions", 24)).embed(body["input"])
        data = [{"object": "embedding", "index": i, "embedding": v.tolist()} for i, v in enumerate(vectors)][::-1]
        reply = {
            "object": "list",
            "model": body["model"],
            "data": data,
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }
        if self.server.body is not None:
            reply = self.server.body
        elif self.server.status != 200:
            reply = {"error": {"message": f"wrong: {self.headers['authorization']}", "type": "error", "code": None}}
        raw = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        status = self.server.status
        if self.server.failures_left:
            self.server.failures_left -= 1
            status = 503
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for at in range(0, len(raw), 1 if self.server.drip_s else len(raw)):
                self.wfile.write(raw[at : at + 1] if self.server.drip_s else raw)
                time.sleep(self.server.drip_s)
        except OSError:
            pass  # The client went away.

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def client(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIEmbedder]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embedder = OpenAIEmbedder("small", server.url, retries=0)
    yield embedder
    embedder.close()


def test_a_served_embedder_returns_unit_vectors_in_the_order_of_the_texts(server, client) -> None:
    texts = [f"text {n}" for n in range(300)] + ["text 0", ""]
    vectors = client.embed(texts)
    assert np.allclose(vectors[:301], HashingEmbedder(24).embed(texts[:301]), atol=1e-6)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert [len(body["input"]) for body in server.requests] == [256, 45], "each distinct text once, in lots"
    assert client.dimension == 24 and client.name == "openai:small"


def test_a_served_embedder_learns_its_dimension_or_asks_for_one(server, client) -> None:
    assert client.dimension == 24
    smaller = OpenAIEmbedder("small", server.url, dimension=8)
    assert smaller.embed(["tea"]).shape == (1, 8)
    assert server.requests[-1]["dimensions"] == 8
    smaller.close()


def test_the_address_may_come_from_the_environment(server, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    embedder = open_embedder("openai:small")
    assert isinstance(embedder, OpenAIEmbedder) and embedder.dimension == 24
    embedder.close()


def test_a_service_by_name_has_its_own_address_and_vectors(server, monkeypatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", server.url.removesuffix("/v1"))
    embedder = open_embedder("ollama:nomic-embed-text")
    assert isinstance(embedder, OpenAIEmbedder)
    assert (embedder.name, embedder.dimension) == ("ollama:nomic-embed-text", 24)
    embedder.close()


def test_a_missing_key_of_an_embedder_is_named_before_anything_is_sent(monkeypatch) -> None:
    for variable in ("MISTRAL_API_KEY", "MISTRAL_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelKeyError, match="MISTRAL_API_KEY"):
        open_embedder("mistral:mistral-embed").embed(["tea"])


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (401, ModelKeyError, "refuses the key"),
        (404, ModelError, "does not know the embedding model 'small'"),
        (400, ModelError, "answered 400"),
        (500, ModelError, "answered 500"),
    ],
)
def test_trouble_at_the_server_is_told_without_the_key(server, client, caplog, status, error, words) -> None:
    caplog.set_level(logging.DEBUG)
    server.status = status
    with pytest.raises(error, match=words) as caught:
        client.embed(["tea"])
    assert server.keys == [f"Bearer {KEY}"], "the key was sent"
    assert KEY not in f"{caught.value!r} {caught.value} {vars(client)} {caplog.text}"
    assert caught.value.__suppress_context__, "nor does a traceback show what the server repeated"


@pytest.mark.parametrize("body", [{}, {"data": []}, {"data": [{"index": 3, "embedding": [1.0]}]}, []])
def test_a_malformed_reply_is_told(server, client, body) -> None:
    server.body = body
    with pytest.raises(ModelError, match="malformed"):
        client.embed(["tea"])


@pytest.mark.parametrize(
    "vectors",
    [
        [[float("nan")] * 2],
        [[1e400, 1.0]],
        [[1e39, 1.0]],
        [["1.0", "2.0"]],
        [[True, False]],
        [[]],
        [None],
        ["text"],
        [[[1.0]]],
        [[1.0, 2.0], [1.0, 2.0]],
    ],
)
def test_vectors_that_are_none_are_malformed(server, client, vectors) -> None:
    server.body = {"data": [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]}
    with pytest.raises(ModelError, match="malformed"):
        client.embed(["tea"])


@pytest.mark.parametrize("usage", [{"prompt_tokens": -3}, {"prompt_tokens": "3"}, {"prompt_tokens": 10**12}])
def test_a_number_of_tokens_that_cannot_be_one_is_malformed(server, client, usage) -> None:
    server.body = {"data": [{"index": 0, "embedding": [1.0, 2.0]}], "usage": usage}
    with pytest.raises(ModelError, match="malformed: a number of tokens"):
        client.embed(["tea"])


def test_tokens_that_the_server_does_not_count_are_estimated(server) -> None:
    counted: list[tuple[int, bool]] = []
    embedder = OpenAIEmbedder("small", server.url, retries=0, on_tokens=lambda *counts: counted.append(counts))
    embedder.embed(["tea"])
    server.body = {"data": [{"index": 0, "embedding": [1.0] * 24}]}
    embedder.embed(["tea and coffee"])
    embedder.close()
    assert counted == [(1, False), (7, True)]


def test_embeddings_are_not_asked_for_at_another_address(server, client) -> None:
    with Server() as other:
        server.status, server.headers = 307, {"location": f"{other.url}/embeddings"}
        with pytest.raises(ModelError, match="redirects to '127.0.0.1'"):
            client.embed(["tea"])
        assert other.keys == []


def test_embeddings_that_are_packed_too_tightly_are_not_unpacked(server, client, monkeypatch) -> None:
    monkeypatch.setattr("populace.models.bounded_http.MAX_VECTORS_BYTES", 1 << 20)
    server.body, server.headers = gzip.compress(b" " * (64 << 20)), {"content-encoding": "gzip"}
    with pytest.raises(ModelError, match="larger than 1 MiB"):
        client.embed(["tea"])


def test_embeddings_that_drip_are_broken_off(server, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embedder = OpenAIEmbedder("small", server.url, retries=0, timeout_s=0.3)
    server.drip_s = 0.02
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"no embeddings within 0.3 s"):
        embedder.embed(["tea"])
    assert time.monotonic() - start < 10
    server.drip_s = 0.0
    embedder.close()


def test_trouble_of_an_embedding_server_that_passes_is_tried_again(server, monkeypatch) -> None:
    monkeypatch.setattr("populace.models.openai_embedder.time.sleep", lambda seconds: None)
    server.failures_left = 2
    embedder = OpenAIEmbedder("small", server.url, retries=2)
    assert embedder.embed(["tea"]).shape == (1, 24)
    assert len(server.requests) == 3
    embedder.close()


def test_a_run_whose_embedding_server_fails_can_be_resumed(server, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    undisturbed = simulate(Closeness(), model="scripted:uniform", workspace=tmp_path / "undisturbed")
    server.status = 503
    with pytest.raises(ModelError, match="answered 503"):
        simulate(Closeness(), model="scripted:uniform", retries=0)
    run = open_run("last")
    assert run.manifest.status.state == "stopped"
    assert run.manifest.status.stop is not None
    assert run.manifest.status.stop.kind == "service"
    server.status = 200
    assert run.resume().digest == undisturbed.digest


def test_vectors_of_a_server_are_paid_for_once_in_a_workspace(server, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    run = simulate(Closeness(), model="scripted:uniform")
    texts = [text for body in server.requests for text in body["input"]]
    assert sorted(texts) == ["coffee", "tea 1", "tea 2"], "and none of them only to learn the dimension"
    again = simulate(Closeness(), model="scripted:uniform", seed=2)
    assert run.replay(verify=True).metrics.equals(run.metrics)
    assert run.fork(2).metrics.equals(run.metrics)
    assert len(server.requests) == 2
    assert (run.usage().purposes["embedding"], again.usage().calls) == (2, 0)


_KILLED = """
import os, populace as pc
from populace.models import openai_embedder
from support.scenarios import Closeness

attempt = openai_embedder.OpenAIEmbedder._attempt
count = 0

def killed_at_the_second(self, body):
    global count
    count += 1
    if count == 2:
        os.kill(os.getpid(), 9)
    return attempt(self, body)

openai_embedder.OpenAIEmbedder._attempt = killed_at_the_second
pc.simulate(Closeness(), model="scripted:uniform")
"""


def test_a_run_that_was_killed_pays_for_no_vector_twice(server, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    assert subprocess.run([sys.executable, "-c", _KILLED], check=False).returncode == -9
    assert [body["input"] for body in server.requests] == [["tea 1", "coffee"]]
    run = open_run("last").resume()
    assert [body["input"] for body in server.requests] == [["tea 1", "coffee"], ["tea 2"]]
    assert run.digest == simulate(Closeness(), model="scripted:uniform", workspace=tmp_path / "other").digest


def test_vectors_are_stored_in_the_batches_in_which_they_arrive(server, client, tmp_path) -> None:
    cached = CachedEmbedder(client, tmp_path / "vectors", batch_size=2)
    assert cached.known_dimension is None and server.requests == []
    original, server.body = client._attempt, None

    def fails_at_the_third(body: dict[str, Any]) -> Any:
        return original(body) if len(server.requests) < 2 else ModelError("the server is down.")

    client._attempt = fails_at_the_third
    with pytest.raises(ModelError, match="down"):
        cached.embed(["a", "b", "c", "d", "e"])
    cached.close()
    later = CountingEmbedder(24)
    later.name = "openai:small"
    rest = CachedEmbedder(later, tmp_path / "vectors")
    assert rest.embed(["a", "b", "c", "d", "e"]).shape == (5, 24)
    assert later.requests == ["e"]
    rest.close()


def test_a_limit_that_a_batch_of_vectors_reaches_loses_none_of_them(server, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    with pytest.raises(BudgetError, match="tokens"):
        simulate(Closeness(), model="scripted:uniform", max_tokens=1)
    assert [body["input"] for body in server.requests] == [["tea 1", "coffee"]]
    open_run("last").resume()
    assert [body["input"] for body in server.requests] == [["tea 1", "coffee"], ["tea 2"]]


def test_a_stored_vector_of_another_size_than_the_servers_is_refused(server, client, tmp_path) -> None:
    CachedEmbedder(OpenAIEmbedder("small", server.url, dimension=8), tmp_path / "vectors").close()
    cached = CachedEmbedder(client, tmp_path / "vectors")
    assert cached.known_dimension == 8
    with pytest.raises(EmbeddingError, match="8 dimensions, not of openai:small with 24"):
        cached.embed(["tea"])
    cached.close()


def test_a_memory_asks_a_server_for_no_vector_before_there_is_a_text(server, client) -> None:
    memory = Memory(client)
    assert memory.recall([], [], now=0, purpose="chat").is_empty()
    memory.store(["ann"], ["It rains."], kind="observation", now=0, importance=3)
    assert memory.recall(["ann"], ["rain"], now=60, purpose="chat")["text"].to_list() == ["It rains."]
    assert [body["input"] for body in server.requests] == [["It rains."], ["rain"]]


def test_a_budget_in_money_is_refused_where_an_embedder_has_no_price(server, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    with pytest.raises(UsageError, match="no price is known for openai:small"):
        simulate(Closeness(), model="scripted:uniform", max_money=1.0)
    assert server.requests == []
    (tmp_path / "prices.toml").write_text('["openai:*"]\nprompt = 1e6\ncompletion = 0\n')
    monkeypatch.setenv("POPULACE_PRICES", str(tmp_path / "prices.toml"))
    with pytest.raises(BudgetError, match="money"):
        simulate(Closeness(), model="scripted:uniform", max_money=1.0)


def test_a_server_that_changes_its_dimension_is_refused(server, client) -> None:
    assert client.dimension == 24
    server.body = {"data": [{"object": "embedding", "index": 0, "embedding": [1.0, 2.0]}]}
    with pytest.raises(EmbeddingError, match="vectors of 2 dimensions, 24 were expected"):
        client.embed(["tea"])


def test_no_server_and_a_password_in_the_address_are_told() -> None:
    with pytest.raises(ModelUnreachableError, match="no server answers"):
        OpenAIEmbedder("small", "http://127.0.0.1:9/v1", retries=0).embed(["tea"])
    with pytest.raises(ModelKeyError, match="user name or password"):
        OpenAIEmbedder("small", "http://me:secret@127.0.0.1/v1")
