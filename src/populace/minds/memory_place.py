"""Where the memories of a population are held: in this process, or in processes on a Ray cluster.

Where they are held changes nothing that a run records, so it is no setting of the run: it is said around it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from populace.base.errors import UsageError
from populace.base.formatting import plural
from populace.cluster import Cluster, ClusterAddress
from populace.minds.memory_stream import MemoryStream
from populace.minds.sharded_stream import ShardedStream, shard_setup
from populace.models import CachedEmbedder, HashingEmbedder, MiniLM

_TARGET = "populace.minds.stream_part:StreamPart"
_PLACE: ContextVar[_Place | None] = ContextVar("populace_memory_place", default=None)


class _Place:
    """A cluster that holds memories, and over how many processes each stream is divided."""

    def __init__(self, cluster: Cluster, shards: int) -> None:
        self.cluster, self.shards = cluster, shards

    def open(self, embedder: CachedEmbedder) -> ShardedStream:
        """A new stream on the cluster."""
        nodes, spec = self.cluster.nodes, _spec(embedder)
        setup = shard_setup(embedder.name, embedder.known_dimension, spec)
        # Memories take room and little time, so that they reserve no processor.
        shards = [
            self.cluster.start(_TARGET, setup, cpus=0, node=nodes[number % len(nodes)].id, ordered=True)
            for number in range(self.shards)
        ]
        return ShardedStream(
            shards, embedder=embedder.name, dimension=embedder.known_dimension, embeds=spec is not None
        )


@contextlib.contextmanager
def memories_on(place: str) -> Iterator[None]:
    """Hold memories and their embeddings in processes on a Ray cluster, divided by person, for runs made meanwhile.

    A run made so writes the same journal. If a process is lost, the run stops and can be resumed.

    Args:
        place: `ray` for a cluster on this machine, `ray://HOST:PORT` or `HOST:PORT` for one that runs; `*N` at the end
            divides the people among N processes, by default one for each node.

    Raises:
        ClusterError: The cluster does not answer.

    Example:
        >>> with memories_on("ray*0"):
        ...     pass
        Traceback (most recent call last):
        populace.base.errors.UsageError: 'ray*0': memories cannot be divided among '0' processes. Write ray*4, say.
    """
    text, star, count = place.rpartition("*")
    if star and not (count.isascii() and count.isdecimal() and 0 < int(count) <= 1000):
        raise UsageError(f"{place!r}: memories cannot be divided among {count!r} processes.", "Write ray*4, say.")
    address = ClusterAddress.parse(text if star else place)
    with Cluster(address) as cluster:
        processors = sum(node.cpus for node in cluster.nodes)
        shards = int(count) if star else len(cluster.nodes)
        if shards > max(processors, len(cluster.nodes)):
            raise UsageError(
                f"{place} asks for {plural(shards, 'process', 'processes')}, and the cluster has "
                f"{plural(processors, 'processor')}.",
                f"Write at most *{processors}.",
            )
        token = _PLACE.set(_Place(cluster, shards))
        try:
            yield
        finally:
            _PLACE.reset(token)


def open_stream(embedder: CachedEmbedder) -> MemoryStream:
    """A new memory stream, where memories are held now.

    Args:
        embedder: Makes its vectors.
    """
    place = _PLACE.get()
    if place is None:
        return MemoryStream(embedder=embedder.name, dimension=embedder.known_dimension)
    return place.open(embedder)


def _spec(embedder: CachedEmbedder) -> str | None:
    """The string that opens an embedder in another process; None for one that only this process has, or that costs."""
    inner = embedder.embedder
    if isinstance(inner, HashingEmbedder):
        return f"hashing:{inner.dimension}"
    return "minilm" if isinstance(inner, MiniLM) else None
