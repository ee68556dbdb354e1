"""What is forgotten: policies that look at everybody at once and name the memories to drop.

A policy only chooses; `stream.forget(policy.select(stream, now))` drops. Summaries are written by whoever asks the
question for them: `Summaries` chooses what to summarise, and `replace_with_summaries` puts the summaries in its place.
"""

from __future__ import annotations

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
    """A way of forgetting."""

    def select(self, stream: MemoryStream, now: int) -> Ints:
        """The ids of the memories to drop, ascending."""


@dataclass(frozen=True)
class Capacity:
    """Everybody keeps so many memories: those with the most importance and recency.

    The two are added up as tenths of importance (0 where it was not rated) and `decay` to the power of the hours
    since the last access. Ties keep the newest, then the highest id.

    Attributes:
        most: How many memories a person keeps.
        decay: What is left of recency after an hour.

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
            raise ParameterError(f"{self} cannot be: most is at least 0, and decay above 0 and at most 1.")

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
    """A memory fades unless it is used, the more slowly the more important it is.

    Its strength is its importance (1 where it was not rated), halved for every `half_life` seconds since the last
    access; below `below`, it is dropped.

    Attributes:
        half_life: In simulated seconds.
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
            raise ParameterError(f"{self} cannot be: half_life is above 0, and below at least 0.")

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
        after: How old in simulated seconds, by the time it was made, a memory must be.
        keep: How many of the old ones with the most importance a person keeps as they are.
        least: How many memories a summary needs; fewer are left as they are.

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
            raise ParameterError(f"{self} cannot be: after and keep are at least 0, and least is at least 1.")

    def groups(self, stream: MemoryStream, now: int) -> pl.DataFrame:
        """The columns owner and memories, the ids to be summarised, oldest first; a row for each person concerned."""
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

    A group whose text is None, because nobody could write it, stays as it was. A summary names what it replaces as
    its evidence.

    Args:
        stream: Where.
        groups: What `Summaries.groups` chose.
        texts: A summary for each group.
        time: When, in simulated seconds.
        importance: Of each summary, or of all.
        embeddings: A vector for each group; those of missing texts are not used.
        kind: What a summary is.
    """
    if len(texts) != groups.height:
        raise MemoryStreamError(f"there are {groups.height} groups and {len(texts)} summaries.", "Give one for each.")
    there = np.array([text is not None for text in texts], np.bool_)
    done = groups.filter(pl.Series(there))
    rated = np.broadcast_to(np.asarray(importance, np.float64), (groups.height,))
    vectors = np.asarray(embeddings, np.float32).reshape(groups.height, -1)
    ids = stream.append(
        done["owner"].to_numpy(),
        [text for text in texts if text is not None],
        kind=kind,
        time=time,
        importance=rated[there],
        embeddings=vectors[there],
        evidence=done["memories"].to_list(),
    )
    stream.forget(done["memories"].explode().drop_nulls())
    return ids
