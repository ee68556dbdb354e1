from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, Pipe

import pytest

import populace.cluster.cluster as cluster_module
from populace.base.errors import BudgetError, ClusterError, ModelFileError, PopulaceError, StoppedError, UsageError
from populace.cluster import Cluster, ClusterAddress
from populace.cluster.host import Host
from populace.cluster.messages import Message, error_fields, error_of


def test_a_message_holds_a_header_and_any_bytes() -> None:
    one, two = Pipe()
    assert isinstance(one, Connection)
    Message({"act": "é", "call": 3}, b"\0\xff").send(one)
    assert Message.receive(two) == Message({"act": "é", "call": 3}, b"\0\xff")
    one.close()
    two.close()


@pytest.mark.parametrize(
    "error", [UsageError("wrong.", "Do this."), ModelFileError("no file."), StoppedError("stopped.")]
)
def test_an_error_of_another_process_has_its_class_its_words_and_its_advice(error: PopulaceError) -> None:
    again = error_of(json.loads(json.dumps(error_fields(error))))
    assert (type(again), again.what, again.hint, str(again)) == (type(error), error.what, error.hint, str(error))


def test_errors_with_further_fields_and_errors_of_others_arrive_with_their_words() -> None:
    assert isinstance(error_of(error_fields(BudgetError("calls", 3, 3))), BudgetError)
    other = error_of(error_fields(KeyError("x")))
    assert type(other) is PopulaceError and "KeyError" in other.what


def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "find_spec", lambda name: None)
    with pytest.raises(ClusterError, match=r"pip install 'populace\[ray\]'"):
        Cluster(ClusterAddress.parse("ray"))


@contextmanager
def listening() -> Iterator[int]:
    """A port at which something listens that says nothing."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.mark.skipif(cluster_module.find_spec("ray") is None, reason="Ray is not installed")
def test_something_that_listens_and_is_no_ray_is_given_up_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_CONNECT_S", 1.0)
    with listening() as port, pytest.raises(ClusterError, match="did not answer within 1 seconds"):
        Cluster(ClusterAddress.parse(f"127.0.0.1:{port}"))


def surroundings(**changes: object) -> dict[str, object]:
    return cluster_module._surroundings() | changes


def test_a_part_speaks_with_its_origin_and_its_errors_are_data() -> None:
    host = Host("support.echo_part:Echo", b"x", surroundings())
    letters: list[tuple[int, str, bytes]] = []

    def serve() -> None:
        while len(letters) < 2:
            letters.extend(host.take())
        host.answer([(letters[1][0], True, b"yes")])

    thread = threading.Thread(target=serve)
    thread.start()
    assert host.call("ping", b"abc") == (True, b"xyes")
    thread.join()
    assert [(name, content) for _, name, content in letters] == [("told", b"abc"), ("asked", b"abc")]
    good, content = host.call("fail", b"")
    assert not good and json.loads(content)["what"] == "nothing can be done."


@pytest.mark.parametrize(
    ("target", "changes", "words"),
    [
        ("support.echo_part:Echo", {"version": "0.0.0"}, "Install the same version on every node"),
        ("support.echo_part:Missing", {}, "Missing"),
        ("no_such_module:Echo", {}, "no_such_module"),
    ],
)
def test_a_part_that_cannot_be_made_says_why(target: str, changes: dict[str, object], words: str) -> None:
    good, content = Host(target, b"", surroundings(**changes)).call("ping", b"")
    assert not good and words in content.decode()


def test_keys_stay_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPULACE_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("POPULACE_PRICES", "prices.toml")
    sent = json.dumps(surroundings()["environment"])
    assert "secret" not in sent and "prices.toml" in sent


def test_the_bridge_ends_with_the_process_that_started_it() -> None:
    one, other = socket.socketpair()
    with other:
        bridge = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.modules['ray'] = None; import populace.cluster.bridge as b; "
             "sys.argv[1:] = [sys.argv[1]]; b.bridge_to_ray()", str(other.fileno())],
            pass_fds=[other.fileno()],
        )  # fmt: skip
    pipe = Connection(one.detach())
    Message({"address": "", "cpus": 1}).send(pipe)
    answer = Message.receive(pipe)
    assert answer.header["act"] == "refused" and "Ray is not installed" in answer.content.decode()
    assert bridge.wait(timeout=30) == 0
    pipe.close()
