"""One model in several processes on a Ray cluster: `ray:SPEC*N`.

The processes answer to one broker, so equal requests are asked once and every reply is stored before it is used, as
with a model in this process. Replies are stored under the fingerprint of the model itself: it is the same model.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from populace.base.errors import ClusterError, ClusterLostError, ModelError, WorkerLostError
from populace.base.formatting import plural
from populace.cluster import LOCAL, Cluster, ClusterAddress, Node, RemotePart
from populace.models.base import Capabilities, Failure, Model, ModelTraits, Reply, ReplyOrFailure, Request
from populace.models.code import model_code

_TARGET = "populace.models.cluster_part:ModelPart"
_SECONDS_A_LOT = 1.0
_FIRST_LOT = 8
_AHEAD = 2
_ADDRESS = "RAY_ADDRESS"
_MOST = 4096


class ClusterSpec(NamedTuple):
    """What `ray:SPEC*N` names.

    Attributes:
        model: The model string of each process.
        processes: How many processes.

    Example:
        >>> ClusterSpec.parse("ray:embedded*4")
        ClusterSpec(model='embedded', processes=4)
    """

    model: str
    processes: int

    @classmethod
    def parse(cls, spec: str) -> ClusterSpec:
        """The parts of a model string; ModelError where it has another form."""
        model, star, count = spec.removeprefix("ray:").rpartition("*")
        number = int(count) if star and count.isascii() and count.isdecimal() and len(count) < 6 else 0
        if not model or not 0 < number <= _MOST or model.startswith("ray:"):
            raise ModelError(f"{spec!r} does not say which model and how often.", "Write ray:SPEC*N, as ray:embedded*4")
        return cls(model, number)


class ClusterModel(Model):
    """A model that several processes on a Ray cluster run, each with its own copy.

    The cluster is that of the environment variable `RAY_ADDRESS`, else one that is started on this machine.

    Args:
        spec: The model string.
        traits: The traits of the model that each process runs.

    Example:
        >>> ClusterModel("ray:embedded*2", ModelTraits(local=True)).spec
        'ray:embedded*2'
    """

    def __init__(self, spec: str, traits: ModelTraits) -> None:
        self.spec, self.traits = spec, traits
        self._model, self._count = ClusterSpec.parse(spec)
        if not traits.local:
            raise ModelError(
                f"{spec}: {self._model} is asked through a server, which can answer many at once.",
                f"Write --model {self._model} with a higher --concurrency.",
            )
        self.capabilities = Capabilities()
        self._cluster: Cluster | None = None
        self._parts: list[RemotePart] = []
        self._shares: dict[RemotePart, _Share] = {}
        self._seconds: float | None = None

    async def start(self, facts: Mapping[str, Any] | None = None) -> None:
        """Connect, start the processes, and load the model in each of them."""
        if self._cluster is not None:
            return
        self._cluster = await asyncio.to_thread(Cluster, ClusterAddress.parse(os.environ.get(_ADDRESS) or LOCAL))
        shares = share_nodes(self._cluster.nodes, self._count, self.spec, gpus=self._uses_gpus())
        for share in shares:
            self._start_part(share)
        calls = [asyncio.wrap_future(part.call("load")) for part in self._parts]
        loaded = await asyncio.gather(*calls, return_exceptions=True)
        for each in loaded:
            if isinstance(each, BaseException) and not isinstance(each, WorkerLostError):
                raise each
        described = [json.loads(each) for each in loaded if isinstance(each, bytes)]
        if not described:
            raise ClusterError(f"all processes of {self.spec} were lost while they started.", "See `ray status`.")
        self._parts = [part for part, each in zip(self._parts, loaded, strict=True) if isinstance(each, bytes)]
        fingerprints = {each["fingerprint"] for each in described}
        if len(fingerprints) > 1:
            raise ModelError(
                f"the nodes of the cluster run {plural(len(fingerprints), 'different model')} as {self._model}: "
                f"{'; '.join(sorted(fingerprints))}.",
                "Put the same file on every node, on machines of one kind.",
            )
        self.fingerprint = fingerprints.pop()
        self.capabilities = Capabilities(**described[0]["capabilities"])
        self.notes = (*described[0]["notes"],)
        if len(described) < self._count:
            self.notes += (f"Only {len(described)} of {self._count} processes of {self.spec} could be started.",)

    async def close(self) -> None:
        """End the processes and the connection."""
        cluster, self._cluster, self._parts = self._cluster, None, []
        if cluster is not None:
            await asyncio.to_thread(cluster.close)

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        """The replies, in lots as the processes give them; the lot of a process that is lost goes to another one."""
        waiting = deque(sorted(range(len(requests)), key=lambda index: requests[index].messages))
        under_way: dict[asyncio.Future[bytes], tuple[RemotePart, list[int], float]] = {}
        busy = dict.fromkeys(self._parts, 0)
        while True:
            while waiting and not self.halted:
                part = min(self._parts, key=lambda each: busy.get(each, 0))
                if busy.setdefault(part, 0) >= _AHEAD:
                    break
                lot = [waiting.popleft() for _ in range(min(self._lot_size(len(requests)), len(waiting)))]
                content = json.dumps([requests[index] for index in lot]).encode()
                future: Future[bytes] = part.call("replies", content)
                under_way[asyncio.wrap_future(future)] = part, lot, time.monotonic()
                busy[part] += 1
            if not under_way:
                return
            ended, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for each in ended:
                part, lot, began = under_way.pop(each)
                busy[part] -= 1
                try:
                    outcomes = [_outcome(fields) for fields in json.loads(each.result())]
                except WorkerLostError:
                    waiting.extendleft(reversed(lot))
                    await asyncio.to_thread(self._replace, part)
                    continue
                self._seconds = (time.monotonic() - began) / len(lot) / _AHEAD
                yield list(zip(lot, outcomes, strict=True))

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        """The first token of each text, by the model's tokeniser."""
        tokens: list[str] | None = self._ask("first_tokens", texts)
        return tokens

    def count_tokens(self, texts: Sequence[str]) -> Sequence[int] | None:
        """The number of tokens of each text, by the model's tokeniser."""
        counts: list[int] | None = self._ask("count_tokens", texts)
        return counts

    def _ask(self, method: str, texts: Sequence[str]) -> Any:
        return json.loads(self._parts[0].call(method, json.dumps(list(texts)).encode()).result())

    def _uses_gpus(self) -> bool:
        return self._model.startswith("transformers:") and "device=cpu" not in self._model

    def _lot_size(self, count: int) -> int:
        """So many requests that a process has about a second to do, and every process has something to do."""
        wanted = _FIRST_LOT if self._seconds is None else int(_SECONDS_A_LOT / max(self._seconds, 1e-6))
        return max(1, min(wanted, math.ceil(count / (len(self._parts) * _AHEAD))))

    def _start_part(self, share: _Share) -> RemotePart:
        if self._cluster is None:
            raise ModelError(f"{self.spec} is not started.")
        digests = [code.digest for code in model_code(self._model)]
        setup = {"spec": self._model, "threads": share.cpus, "trusted": digests}
        node = share.node.id
        part = self._cluster.start(_TARGET, json.dumps(setup).encode(), cpus=share.cpus, gpus=share.gpus, node=node)
        self._parts.append(part)
        self._shares[part] = share
        return part

    def _replace(self, lost: RemotePart) -> None:
        """Start another process in the place of a lost one, where its node still lives."""
        if lost not in self._parts or self._cluster is None:
            return
        self._parts.remove(lost)
        share = self._shares.pop(lost)
        if any(node.id == share.node.id for node in self._cluster.living_nodes()):
            part = self._start_part(share)
            try:
                part.call("load").result()
            except WorkerLostError:
                self._parts.remove(part)
        if not self._parts:
            raise ClusterLostError(f"all processes of {self.spec} were lost.")


class _Share(NamedTuple):
    """What a process has of its node."""

    node: Node
    cpus: int
    gpus: int


def share_nodes(nodes: Sequence[Node], count: int, spec: str, *, gpus: bool) -> list[_Share]:
    """A share of a node for each of so many processes: a GPU where there are some, else processors.

    Args:
        nodes: The nodes.
        count: How many processes.
        spec: The model string, for the message.
        gpus: Whether the model uses a GPU where there is one.
    """
    on_gpus = gpus and any(node.gpus for node in nodes)
    room = {node: node.gpus if on_gpus else node.cpus for node in nodes}
    most = sum(room.values())
    if count > most:
        what = "GPU" if on_gpus else "processor"
        raise ModelError(
            f"{spec} asks for {plural(count, 'process', 'processes')}, and the cluster has {plural(most, what)}.",
            f"Each process needs a {what} of its own: write at most *{most}.",
        )
    places: dict[Node, int] = dict.fromkeys(nodes, 0)
    for _ in range(count):
        roomiest = max(nodes, key=lambda node: (room[node] / (places[node] + 1), -places[node]))
        places[roomiest] += 1
    return [_Share(node, max(1, node.cpus // held), int(on_gpus)) for node, held in places.items() for _ in range(held)]


def _outcome(fields: Any) -> ReplyOrFailure:
    return Failure(*fields["failure"]) if isinstance(fields, dict) else Reply.from_json(fields)
