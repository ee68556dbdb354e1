"""A cluster as the process sees it that uses it: nodes, parts that run on them, and their letters."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from importlib.metadata import version
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Self

from populace.base.errors import ClusterError, ClusterLostError, PopulaceError, WorkerLostError
from populace.cluster.address import ClusterAddress
from populace.cluster.messages import Message, error_fields, error_of

_CONNECT_S = 30.0
_START_S = 120.0
_HEAD_PATIENCE_S = 10
_CONCURRENT = 8
"""How many methods of a part run at once: its work, its letters, a halt, and work that waits for its turn."""

Answer = Callable[[str, bytes], bytes]
"""Takes the name and the content of a letter of a part, and returns the answer."""


class Node(NamedTuple):
    """A machine of a cluster.

    Attributes:
        id: Ray's name for it.
        name: The name of the machine.
        cpus: How many processors it offers.
        gpus: How many GPUs it offers.
    """

    id: str
    name: str
    cpus: int
    gpus: int


class RemotePart:
    """An object that lives in a process on a node.

    Attributes:
        node: The id of the node that was chosen for it; empty where Ray chooses.
    """

    def __init__(self, cluster: Cluster, number: int, node: str) -> None:
        self._cluster, self._number, self.node = cluster, number, node

    def call(self, method: str, content: bytes = b"") -> Future[bytes]:
        """Call a method of the object; the future raises WorkerLostError if its process is lost."""
        return self._cluster.call(self._number, method, content)

    def stop(self) -> None:
        """End the process."""
        self._cluster.send({"act": "stop", "part": self._number})


class Cluster:
    """A connection to a Ray cluster.

    Args:
        address: Where it is.
        cpus: How many processors a cluster offers that is started here; those of this machine by default.

    Attributes:
        nodes: The nodes that lived when it was connected.
        dashboard: The address of its dashboard; empty where it has none.

    Raises:
        ClusterError: It does not answer, or cannot be used.
    """

    def __init__(self, address: ClusterAddress, *, cpus: int | None = None) -> None:
        if find_spec("ray") is None:
            raise ClusterError("Ray is not installed.", "Install it with: pip install 'populace[ray]'")
        address.check()
        self.address = address
        self._pending: dict[int, Future[Any]] = {}
        self._part_of: dict[int, int] = {}
        self._numbers = itertools.count(1)
        self._answers: dict[int, Answer] = {}
        self._letters: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._lost = ""
        self._log = tempfile.NamedTemporaryFile("w+", prefix="populace-ray-", suffix=".log")  # noqa: SIM115
        self._process, self._pipe = self._start_process()
        try:
            greeting = self._connect(cpus)
        except BaseException:
            self._end_process()
            raise
        self.nodes = [Node(**node) for node in greeting["nodes"]]
        self.dashboard = f"http://{greeting['dashboard']}" if greeting["dashboard"] else ""
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._read, self._serve_letters)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(
        self,
        target: str,
        setup: bytes = b"",
        *,
        cpus: float = 1,
        gpus: float = 0,
        node: str = "",
        answer: Answer | None = None,
        ordered: bool = False,
    ) -> RemotePart:
        """Start a part; it is ready when its first call returns.

        Args:
            target: `module:Class` of the part, called with the setup and an `Origin`.
            setup: What it is made from.
            cpus: How many processors are reserved for it.
            gpus: How many GPUs are reserved for it.
            node: The id of the node; Ray chooses if left out.
            answer: Answers the letters of the part, one after the other in a thread; without it, it may send none.
            ordered: Whether calls are executed one after the other, in the order in which they were made; such a part
                sends no letters.
        """
        number = next(self._numbers)
        if answer is not None:
            self._answers[number] = answer
        header = {"act": "start", "part": number, "target": target, "cpus": cpus, "gpus": gpus, "node": node}
        header |= {"concurrent": 1 if ordered else _CONCURRENT}
        self.send(header | {"letters": answer is not None, "surroundings": _surroundings()}, setup)
        return RemotePart(self, number, node)

    def call(self, part: int, method: str, content: bytes) -> Future[bytes]:
        """Call a method of a part."""
        return self._request({"act": "call", "part": part, "method": method}, content)

    def living_nodes(self) -> list[Node]:
        """The nodes that live now."""
        return [Node(**node) for node in self._request({"act": "nodes"}).result()]

    def send(self, header: Mapping[str, Any], content: bytes = b"") -> None:
        """Send something to the process that holds the connection."""
        try:
            with self._lock:
                Message(dict(header), content).send(self._pipe)
        except OSError as error:
            raise self._loss() from error

    def close(self) -> None:
        """End all parts and the connection; a cluster that was started here ends too."""
        if self._pipe.closed:
            return
        self._lost = self._lost or "it was closed"
        with contextlib.suppress(ClusterLostError):
            self.send({"act": "end"})
        self._end_process(patience_s=10.0)
        self._letters.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout=10.0)

    def _request(self, header: dict[str, Any], content: bytes = b"") -> Future[Any]:
        number = next(self._numbers)
        future: Future[Any] = Future()
        with self._lock:
            if self._lost:
                raise self._loss()
            self._pending[number] = future
        self.send(header | {"call": number}, content)
        return future

    def _start_process(self) -> tuple[subprocess.Popen[bytes], Connection]:
        own, other = socket.socketpair()
        environment = {"RAY_gcs_rpc_server_reconnect_timeout_s": str(_HEAD_PATIENCE_S)} | os.environ
        environment |= {
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")])),
        }
        with other:
            process = subprocess.Popen(
                [sys.executable, "-m", "populace.cluster.bridge", str(other.fileno())],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the process that the user started.
            )
        return process, Connection(own.detach())

    def _connect(self, cpus: int | None) -> dict[str, Any]:
        address = "" if self.address.local else self.address.text
        patience = _START_S if self.address.local else _CONNECT_S
        Message({"address": address, "cpus": cpus}).send(self._pipe)
        try:
            if not self._pipe.poll(patience):
                raise ClusterError(
                    f"the Ray cluster {self.address.text} did not answer within {patience:.0f} seconds.",
                    "Something listens there, but it does not answer as Ray does: look at `ray status` on its head.",
                )
            message = Message.receive(self._pipe)
        except (EOFError, OSError):
            raise ClusterError(
                f"Ray ended while it connected to {self.address.text}.{self._last_words()}",
                "`ray status` on the head node shows whether the cluster works.",
            ) from None
        if message.header["act"] == "refused":
            raise error_of(json.loads(message.content))
        return message.header

    def _read(self) -> None:
        """Pass results to those who wait for them, until the other process ends."""
        try:
            while True:
                message = Message.receive(self._pipe)
                act = message.header["act"]
                if act == "letter":
                    self._letters.put(message)
                    continue
                future = self._pending.pop(message.header["call"])
                if act == "nodes":
                    future.set_result(message.header["nodes"])
                elif act == "lost":
                    future.set_exception(WorkerLostError(f"a worker was lost: {message.header['why']}"))
                elif message.header["good"]:
                    future.set_result(message.content)
                else:
                    future.set_exception(error_of(json.loads(message.content)))
        except (EOFError, OSError):
            with self._lock:
                self._lost = self._lost or "the head of the cluster does not answer any more"
                waiting, self._pending = self._pending, {}
            for future in waiting.values():
                future.set_exception(self._loss())

    def _serve_letters(self) -> None:
        """Answer the letters of all parts, one after the other."""
        while (message := self._letters.get()) is not None:
            header = message.header
            try:
                good, content = True, self._answers[header["part"]](header["name"], message.content)
            except PopulaceError as error:
                good, content = False, json.dumps(error_fields(error)).encode()
            except Exception as error:  # noqa: BLE001 - the part that asked must not wait for ever.
                good, content = False, json.dumps(error_fields(error)).encode()
            if header["letter"]:
                with contextlib.suppress(ClusterLostError):
                    self.send(
                        {"act": "answer", "part": header["part"], "letter": header["letter"], "good": good}, content
                    )

    def _loss(self) -> ClusterLostError:
        return ClusterLostError(f"the Ray cluster {self.address.text} was lost: {self._lost or 'it ended'}.")

    def _last_words(self) -> str:
        """The last line that Ray wrote, as a sentence that begins with a blank; empty where it wrote none."""
        self._log.seek(0)
        lines = [line.strip() for line in self._log.read()[-4000:].splitlines() if line.strip()]
        return f" It said: {lines[-1][:300]}" if lines else ""

    def _end_process(self, patience_s: float = 0.0) -> None:
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._pipe.close()
        self._log.close()


def _surroundings() -> dict[str, Any]:
    """Where modules are found, the version, and settings of Populace; keys stay on this machine."""
    settings = {name: value for name, value in os.environ.items() if name.startswith("POPULACE_") and "KEY" not in name}
    return {"version": version("populace"), "path": sys.path, "folder": str(Path.cwd()), "environment": settings}
