"""Memory as a part of a mind: a memory stream, its embedder, its retrieval, and who rates importance.

`drain_tables` returns everything that was stored and recalled since its last call, so that a run can record
what a person had in mind when they decided.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import ParameterError
from populace.minds.forgetting import ForgettingPolicy
from populace.minds.growable_arrays import Ints
from populace.minds.importance import importance_question, rate_by_rule
from populace.minds.memory_stream import MemoryStream
from populace.minds.parts import Asker, MemoryPart
from populace.minds.recollection import Recollection
from populace.minds.retrieval import Retrieval, retrieval_preset
from populace.models import CachedEmbedder, Embedder
from populace.people import Id

Rater = Literal["rule", "model"]


class Memory(MemoryPart):
    """What everybody remembers, and how it is recalled.

    Args:
        embedder: Makes the vectors from which relevance is computed.
        how: How memories are ranked, or the name of a preset.
        rater: Who rates importance: a rule over words, or the model.
        forgetting: Selects what is forgotten; nothing if left out.

    Attributes:
        unrated: How many texts the model gave no valid importance.

    Example:
        >>> from populace.models import HashingEmbedder
        >>> memory = Memory(HashingEmbedder(64))
        >>> texts = ["It rains.", "A party is planned."]
        >>> _ = memory.store(["ann", "bo"], texts, kind="observation", now=0, importance=3)
        >>> memory.recall(["bo"], ["party"], now=60, purpose="chat")["text"].to_list()
        ['A party is planned.']
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        how: Retrieval | str = "park2023",
        rater: Rater = "rule",
        forgetting: ForgettingPolicy | None = None,
    ) -> None:
        if rater not in ("rule", "model"):
            raise ParameterError(f"importance cannot be rated by {rater!r}.", "Use 'rule' or 'model'.")
        self.embedder = embedder if isinstance(embedder, CachedEmbedder) else CachedEmbedder(embedder)
        self.how = retrieval_preset(how) if isinstance(how, str) else how
        self.rater = rater
        self.forgetting = forgetting
        self.stream = MemoryStream(embedder=embedder.name, dimension=self.embedder.known_dimension)
        self._unreflected: npt.NDArray[np.float64] = np.zeros(0)
        self.unrated = 0
        self._owners: dict[Id, int] = {}
        self._ids: list[Id] = []
        self._stored: list[Ints] = []
        self._recalled: list[pl.DataFrame] = []

    def owner(self, who: Id) -> int:
        """The number of a person in the stream; somebody new gets one."""
        number = self._owners.get(who)
        if number is None:
            number = self._owners[who] = len(self._ids)
            self._ids.append(who)
            self._unreflected = np.append(self._unreflected, 0.0)
        return number

    def of(self, who: Id) -> pl.DataFrame:
        """All memories of one person, oldest first."""
        return self.stream.of(self.owner(who))

    async def remember(
        self,
        asker: Asker,
        ids: Iterable[Id],
        texts: Sequence[str],
        *,
        kind: str,
        now: int,
        evidence: Sequence[Sequence[int]] | None = None,
    ) -> Ints:
        """Rate the importance of a text for each person and store it; returns the ids of the memories.

        An invalid rating stays empty and is counted in `unrated`.
        """
        people = list(ids)
        if self.rater == "rule" or not people:
            rated = rate_by_rule(texts)
        else:
            rated = await self._rated(asker, people, texts)
        return self.store(people, texts, kind=kind, now=now, importance=rated, evidence=evidence)

    async def _rated(self, asker: Asker, people: Sequence[Id], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """The ratings of the model; a person with several texts is asked about one after the other."""
        rated = np.full(len(texts), np.nan)
        for rows in _once_each(people):
            answers = await asker.ask(
                asker.people.take([people[row] for row in rows]),
                importance_question(),
                purpose="importance",
                about=None,
                memory=[texts[row] for row in rows],
            )
            rated[rows] = answers.values.cast(pl.Float64).fill_null(np.nan).to_numpy()
        self.unrated += int(np.isnan(rated).sum())
        return rated

    def store(
        self,
        ids: Iterable[Id],
        texts: Sequence[str],
        *,
        kind: str,
        now: int,
        importance: float | npt.ArrayLike,
        evidence: Sequence[Sequence[int]] | None = None,
    ) -> Ints:
        """Store a text for each person with a known importance; returns the ids of the memories."""
        owners = np.array([self.owner(who) for who in ids], np.int64)
        if not len(owners):
            return owners
        rated = np.broadcast_to(np.asarray(importance, np.float64), owners.shape)
        stored = self.stream.append(
            owners,
            texts,
            kind=kind,
            time=now,
            importance=rated,
            embeddings=self.embedder.embed(list(texts)),
            evidence=evidence,
            embedder=self.embedder.name,
        )
        np.add.at(self._unreflected, owners, np.nan_to_num(rated))
        self._stored.append(stored)
        return stored

    def recall(
        self,
        ids: Sequence[Id],
        queries: Sequence[str],
        *,
        now: int,
        purpose: str,
        top: int | None = None,
        kinds: Sequence[str] | None = None,
    ) -> pl.DataFrame:
        """The memories that come to mind about each query, with scores, in the order in which a prompt shows them.

        Args:
            ids: Who recalls; a person may occur several times.
            queries: What each thinks of.
            now: The simulated time in seconds.
            purpose: What it is for; the purpose of the question that shows the memories.
            top: How many memories for each query; as many as the preset says if left out.
            kinds: The kinds of memories to search; all if left out.
        """
        owners = np.array([self.owner(who) for who in ids], np.int64)
        vectors = self.embedder.embed(list(queries)) if len(queries) else np.zeros((0, 0))
        retrieved = self.stream.retrieve(owners, vectors, now=now, how=self.how, top=top, kinds=kinds)
        presented = self.stream.present(retrieved, self.how)
        at = presented["query"].to_numpy()
        recalled = presented.with_columns(
            pl.Series("person", [ids[row] for row in at], dtype=_id_type(ids)),
            pl.Series("about", [queries[row] for row in at], dtype=pl.String),
            pl.lit(purpose).alias("purpose"),
        )
        self._recalled.append(recalled.drop("query"))
        return recalled

    def recollect(
        self,
        ids: Sequence[Id],
        queries: Sequence[str],
        *,
        now: int,
        purpose: str,
        top: int,
        kinds: Sequence[str] | None = None,
    ) -> Recollection:
        """What comes to mind about each query, to be shown in a prompt; equal texts are shown once."""
        recalled = self.recall(ids, queries, now=now, purpose=purpose, top=top, kinds=kinds)
        distinct = recalled.unique(["query", "text"], keep="first", maintain_order=True)
        return Recollection.of(_memories_by_query(distinct, len(queries)))

    def recent(self, ids: Sequence[Id], count: int) -> Recollection:
        """The newest memories of each person, oldest first."""
        newest = self.stream.recent([self.owner(who) for who in ids], count)
        return Recollection.of(_memories_by_query(newest.reverse(), len(ids)))

    def importance_since_reflection(self, ids: Sequence[Id]) -> npt.NDArray[np.float64]:
        """The total importance of what each person stored since `mark_reflected`."""
        owners = [self.owner(who) for who in ids]
        return self._unreflected[owners]

    def mark_reflected(self, ids: Sequence[Id]) -> None:
        """Count the importance of these people from 0 again."""
        owners = [self.owner(who) for who in ids]
        self._unreflected[owners] = 0.0

    def forget(self, now: int) -> int:
        """Drop the memories that the policy selects; returns how many."""
        if self.forgetting is None:
            return 0
        ids = self.forgetting.select(self.stream, now)
        self.stream.forget(ids)
        return len(ids)

    def drain_tables(self) -> dict[str, pl.DataFrame]:
        """What was stored and recalled since the last call, as tables `memories` and `recalled`."""
        tables: dict[str, pl.DataFrame] = {}
        if self._stored:
            rows = self.stream.rows(np.concatenate(self._stored))
            people = [self._ids[owner] for owner in rows["owner"]]
            whose = pl.Series("person", people, dtype=_id_type(people))
            tables["memories"] = rows.drop("owner", "last_access").insert_column(1, whose)
        if self._recalled:
            tables["recalled"] = pl.concat(self._recalled)
        self._stored, self._recalled = [], []
        return tables


def _once_each(people: Sequence[Id]) -> list[list[int]]:
    """The rows in rounds, each person at most once in a round."""
    counts: Counter[Id] = Counter()
    rounds: list[list[int]] = []
    for row, who in enumerate(people):
        if counts[who] == len(rounds):
            rounds.append([])
        rounds[counts[who]].append(row)
        counts[who] += 1
    return rounds


def _memories_by_query(memories: pl.DataFrame, count: int) -> list[list[tuple[int, str]]]:
    by_query: list[list[tuple[int, str]]] = [[] for _ in range(count)]
    for query, memory, text in memories.select("query", "memory", "text").iter_rows():
        by_query[query].append((memory, text))
    return by_query


def _id_type(ids: Sequence[Id]) -> type[pl.DataType]:
    return pl.String if ids and isinstance(ids[0], str) else pl.Int64
