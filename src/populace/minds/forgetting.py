"""Forgetting: policies that look at all memories at once and select those to drop.

A policy only selects; `stream.forget(policy.select(stream, now))` drops. `Summaries` selects what to summarise; the
caller gets the summaries present, and `replace_with_summaries` puts them in the place of the memories.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import MemoryStreamError, ParameterError
from populace.minds.growable_arrays import Ints
from populace.minds.memory_stream import MemoryStream
from populace.minds.retrieval import HOUR


@runtime_checkable
class ForgettingPolicy(Protocol):
    """Selects the memories to drop."""

    def select(self, stream: MemoryStream, now: int) -> Ints:
        """The ids of the memories to drop, ascending."""


@dataclass(frozen=True)
class Capacity:
    """Everybody keeps a fixed number of memories: those with the most importance and recency.

    A memory is worth a tenth of its importance (0 where it was not rated) plus `decay` to the power of the hours
    since the last access. Ties keep the newest, then the highest id.

    Attributes:
        most: How many memories a person keeps.
        decay: The factor by which recency falls in an hour.

    Example:
        >>> stream = MemoryStream(embedder="by hand", dimension=1)
        >>> _ = stream.append([0, 0, 0], ["a", "b", "c"], kind="told", time=0, importance=[2, 9, 5],
        ...                   embeddings=[[1], [1], [1]])
        >>> Capacity(2).select(stream, now=60).tolist()
        [0]
    """

    most: int
    decay: float = 0.995

    def __post_init__(self) -> None:
        if self.most < 0 or not 0 < self.decay <= 1:
            raise ParameterError(f"{self} is invalid: most is at least 0, and decay above 0 and at most 1.")

    def select(self, stream: MemoryStream, now: int) -> Ints:
        """The ids of the memories to drop, ascending."""
        table = stream.columns("memory", "owner", "time", "importance", "last_access")
        crowded = table.filter(pl.len().over("owner") > self.most)
        hours = np.maximum(now - crowded["last_access"].to_numpy(), 0) / HOUR
        rated = np.nan_to_num(crowded["importance"].to_numpy() / 10, nan=0.0)
        worth = rated + np.exp(hours * np.log(self.decay))
        order = ["owner", "worth", "time", "memory"]
        ranked = crowded.with_columns(worth=worth).sort(order, descending=[False, True, True, True])
        dropped = ranked.filter(pl.int_range(pl.len()).over("owner") >= self.most)
        return np.sort(dropped["memory"].to_numpy())


@dataclass(frozen=True)
class Decay:
    """Memories fade unless they are used, the more slowly the more important they are.

    Its strength is its importance (1 where it was not rated), halved for every `half_life` seconds since the last
    access. Memories with a strength under `below` are dropped.

    Attributes:
        half_life: In simulated seconds, after which the strength is half.
        below: The strength under which a memory is dropped.

    Example:
        >>> stream = MemoryStream(embedder="by hand", dimension=1)
        >>> _ = stream.append([0, 0], ["a", "b"], kind="told", time=0, importance=[2, 9], embeddings=[[1], [1]])
        >>> Decay(half_life=100, below=1).select(stream, now=200).tolist()
        [0]
    """

    half_life: float
    below: float

    def __post_init__(self) -> None:
        if not self.half_life > 0 or not self.below >= 0:
            raise ParameterError(f"{self} is invalid: half_life is above 0, and below at least 0.")

    def select(self, stream: MemoryStream, now: int) -> Ints:
        """The ids of the memories to drop, ascending."""
        table = stream.columns("memory", "importance", "last_access")
        ages = np.maximum(now - table["last_access"].to_numpy(), 0)
        strength = np.nan_to_num(table["importance"].to_numpy(), nan=1.0) * np.exp2(-ages / self.half_life)
        return np.sort(table["memory"].to_numpy()[strength < self.below])


@dataclass(frozen=True)
class Summaries:
    """Old memories of a person are replaced by a summary of them.

    Attributes:
        after: The age in simulated seconds from which a memory is summarised.
        keep: How many old memories, those with the most importance, a person keeps as they are.
        least: The fewest memories that are summarised; fewer are left as they are.

    Example:
        >>> stream = MemoryStream(embedder="by hand", dimension=1)
        >>> _ = stream.append([4] * 3, ["a", "b", "c"], kind="told", time=[0, 1, 90], importance=3,
        ...                   embeddings=[[1]] * 3)
        >>> groups = Summaries(after=50, keep=0).groups(stream, now=100)
        >>> groups.rows()
        [(4, [0, 1])]
        >>> new = replace_with_summaries(stream, groups, ["a and b"], time=100, importance=3, embeddings=[[1]])
        >>> stream.of(4)["text"].to_list(), stream.rows(new)["evidence"].to_list()
        (['c', 'a and b'], [[0, 1]])
    """

    after: int
    keep: int = 0
    least: int = 2

    def __post_init__(self) -> None:
        if self.after < 0 or self.keep < 0 or self.least < 1:
            raise ParameterError(f"{self} is invalid: after and keep are at least 0, and least is at least 1.")

    def groups(self, stream: MemoryStream, now: int) -> pl.DataFrame:
        """The memories to summarise: a row for each person concerned, with `owner` and their ids, oldest first."""
        table = stream.columns("memory", "owner", "time", "importance").filter(pl.col("time") <= now - self.after)
        order = ["owner", "importance", "time", "memory"]
        ranked = table.with_columns(pl.col("importance").fill_nan(0.0)).sort(
            order, descending=[False, True, True, True]
        )
        rest = ranked.filter(pl.int_range(pl.len()).over("owner") >= self.keep).sort("owner", "time", "memory")
        grouped = rest.group_by("owner", maintain_order=True).agg(memories=pl.col("memory"))
        return grouped.filter(pl.col("memories").list.len() >= self.least)

    def select(self, stream: MemoryStream, now: int) -> Ints:
        """The ids of all memories to be summarised, ascending."""
        return np.sort(self.groups(stream, now)["memories"].explode().drop_nulls().to_numpy().astype(np.int64))


def replace_with_summaries(
    stream: MemoryStream,
    groups: pl.DataFrame,
    texts: Sequence[str | None],
    *,
    time: int,
    importance: float | npt.ArrayLike,
    embeddings: npt.ArrayLike,
    kind: str = "reflection",
) -> Ints:
    """Put summaries in the place of what they summarise; returns their ids.

    A group whose text is None stays as it was. The evidence of a summary is what it replaces.

    Args:
        stream: The memories.
        groups: What `Summaries.groups` returned.
        texts: A summary for each group, None where present is none.
        time: The simulated time in seconds.
        importance: The importance of each summary, or of all.
        embeddings: A vector for each group; those of missing summaries are not used.
        kind: The kind of memory that a summary is.
    """
    if len(texts) != groups.height:
        raise MemoryStreamError(f"there are {groups.height} groups and {len(texts)} summaries.", "Give one for each.")
    present = np.array([text is not None for text in texts], np.bool_)
    summarised = groups.filter(pl.Series(present))
    rated = np.broadcast_to(np.asarray(importance, np.float64), (groups.height,))
    vectors = np.asarray(embeddings, np.float32).reshape(groups.height, -1)
    ids = stream.append(
        summarised["owner"].to_numpy(),
        [text for text in texts if text is not None],
        kind=kind,
        time=time,
        importance=rated[present],
        embeddings=vectors[present],
        evidence=summarised["memories"].to_list(),
    )
    stream.forget(summarised["memories"].explode().drop_nulls())
    return ids
