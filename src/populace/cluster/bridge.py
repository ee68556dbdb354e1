"""The process that holds the connection to Ray: `python -m populace.cluster.bridge FD`.

Ray ends the process that is connected to it where the head of the cluster is lost, and tries for minutes where an
address does not answer. So it is given a process of its own: what the user started outlives it, says what happened,
and has lost nothing.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from populace.base.errors import ClusterError, PopulaceError
from populace.cluster.host import Host
from populace.cluster.messages import Message, error_fields

_NODE_PATIENCE_S = 2.0


class Bridge:
    """Starts parts on the cluster, calls them and passes their letters on.

    Args:
        ray: The module, connected.
        pipe: Leads to the process that started this one.
        near: Whether this machine is a node of the cluster.
    """

    def __init__(self, ray: Any, pipe: Connection, *, near: bool) -> None:
        self._ray, self._pipe, self._near = ray, pipe, near
        self._sending = threading.Lock()
        self._actors: dict[int, Any] = {}
        self._remote = ray.remote(Host)
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._handle_events, daemon=True).start()

    def serve(self) -> None:
        """Do what is asked until the other process ends or says so."""
        while True:
            message = Message.receive(self._pipe)
            getattr(self, f"_{message.header['act']}")(message)

    def send(self, header: dict[str, Any], content: bytes = b"") -> None:
        """Send to the process that started this one."""
        with self._sending:
            Message(header, content).send(self._pipe)

    def _start(self, message: Message) -> None:
        """Start a part."""
        header = message.header
        options: dict[str, Any] = {
            "num_cpus": header["cpus"],
            "num_gpus": header["gpus"],
            "scheduling_strategy": "SPREAD",
        }
        if header["node"]:
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(header["node"], soft=False)
        remote = self._remote.options(max_concurrency=header["concurrent"], max_restarts=0, **options)
        actor = remote.remote(header["target"], message.content, header["surroundings"])
        self._actors[header["part"]] = actor
        if header["letters"]:
            self._take(header["part"])

    def _call(self, message: Message) -> None:
        """Call a method of a part; the result is sent when there is one."""
        part, number = message.header["part"], message.header["call"]
        actor = self._actors.get(part)
        if actor is None:
            self.send({"act": "lost", "part": part, "call": number, "why": "it was stopped"})
            return

        def ended(result: tuple[bool, bytes]) -> None:
            good, content = result
            self.send({"act": "result", "part": part, "call": number, "good": good}, content)

        self._when_done(
            actor.call.remote(message.header["method"], message.content),
            ended,
            lambda why: self.send({"act": "lost", "part": part, "call": number, "why": why}),
        )

    def _take(self, part: int) -> None:
        """Wait for letters of a part, and again, for as long as it lives."""
        actor = self._actors.get(part)
        if actor is None:
            return

        def arrived(letters: list[tuple[int, str, bytes]]) -> None:
            for number, name, content in letters:
                self.send({"act": "letter", "part": part, "letter": number, "name": name}, content)
            self._take(part)

        self._when_done(actor.take.remote(), arrived, lambda why: None)

    def _answer(self, message: Message) -> None:
        """Answer a letter."""
        actor = self._actors.get(message.header["part"])
        if actor is not None:
            actor.answer.remote([(message.header["letter"], message.header["good"], message.content)])

    def _stop(self, message: Message) -> None:
        """End a part."""
        actor = self._actors.pop(message.header["part"], None)
        if actor is not None:
            self._ray.kill(actor)

    def _nodes(self, message: Message) -> None:
        """Say which nodes live."""
        nodes = living_nodes(self._ray, near=self._near)
        self.send({"act": "nodes", "call": message.header["call"], "nodes": nodes})

    def _end(self, message: Message) -> None:
        raise EOFError

    def _when_done(self, ref: Any, arrived: Callable[[Any], None], lost: Callable[[str], None]) -> None:
        def done(future: Any) -> None:
            error = future.exception()
            if error is None:
                self._events.put(lambda: arrived(future.result()))
            else:
                text = str(error).strip()
                self._events.put(lambda: lost(f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"))

        ref.future().add_done_callback(done)

    def _handle_events(self) -> None:
        """Do what follows from results: not in the threads of Ray, in which nothing may wait for Ray."""
        try:
            while True:
                self._events.get()()
        except (OSError, EOFError):
            os._exit(0)  # The process that started this one is gone.


def living_nodes(ray: Any, *, near: bool) -> list[dict[str, Any]]:
    """The nodes that live, with their processors and GPUs, in the order of their ids.

    Args:
        ray: The module, connected.
        near: Whether this machine is a node, so that it reaches the others. Ray notices only after a while that a node
            is gone; nodes that do not answer are left out here.
    """
    nodes = []
    for node in ray.nodes():
        if node["Alive"] and (not near or _listens(node["NodeManagerAddress"], node["NodeManagerPort"])):
            has = node["Resources"]
            facts = {"id": node["NodeID"], "name": node["NodeManagerHostname"]}
            nodes.append(facts | {"cpus": int(has.get("CPU", 0)), "gpus": int(has.get("GPU", 0))})
    return sorted(nodes, key=lambda node: str(node["id"]))


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=_NODE_PATIENCE_S).close()
    except OSError:
        return False
    return True


def connect(address: str, cpus: int | None) -> tuple[Any, dict[str, Any]]:
    """Ray, connected, and what is known of the cluster; ClusterError where it cannot be had."""
    try:
        import ray
    except ImportError as error:
        raise ClusterError("Ray is not installed.", "Install it with: pip install 'populace[ray]'") from error
    where: dict[str, Any] = {"address": address} if address else {"address": "local", "num_cpus": cpus}
    client = address.startswith("ray://")
    if not client:
        where |= {"log_to_driver": False, "configure_logging": False}
    try:
        context = ray.init(**where)
    except Exception as error:
        why = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ClusterError(
            f"the Ray cluster {address or 'on this machine'} cannot be used: {why.strip()}",
            "Every machine needs the same versions of Ray and Python. HOST:PORT is for a machine that is a node of the "
            "cluster; from another one, use ray://HOST:PORT, by default with port 10001.",
        ) from error
    return ray, {"nodes": living_nodes(ray, near=not client), "dashboard": getattr(context, "dashboard_url", "") or ""}


def bridge_to_ray() -> None:
    """Connect, and serve until the process that started this one ends."""
    pipe = Connection(int(sys.argv[1]))
    request = Message.receive(pipe).header
    try:
        ray, facts = connect(request["address"], request["cpus"])
    except PopulaceError as error:
        Message({"act": "refused"}, json.dumps(error_fields(error)).encode()).send(pipe)
        return
    bridge = Bridge(ray, pipe, near=not request["address"].startswith("ray://"))
    bridge.send({"act": "connected", **facts})
    try:
        bridge.serve()
    except (EOFError, OSError):
        ray.shutdown()


if __name__ == "__main__":
    bridge_to_ray()
