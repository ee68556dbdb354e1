"""Memory as a part of a mind: a memory stream, its embedder, its retrieval, and who rates importance.

`drain_tables` returns everything that was stored and recalled since its last call, so that a run can record
what a person had in mind when they decided.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import ParameterError
from populace.minds.forgetting import ForgettingPolicy
from populace.minds.growable_arrays import Ints
from populace.minds.importance import expected_ratings, importance_question, rate_by_rule
from populace.minds.memory_place import open_stream
from populace.minds.parts import Asker, MemoryPart
from populace.minds.recollection import Recollection
from populace.minds.retrieval import Retrieval, retrieval_preset
from populace.minds.variety import varied_rows
from populace.models import CachedEmbedder, Embedder
from populace.people import Id

Rater = Literal["rule", "model"]
_CANDIDATES = 4
"""Where memories are to be varied, so many times more are looked at than come to mind."""


class Memory(MemoryPart):
    """What everybody remembers, and how it is recalled.

    Args:
        embedder: Makes the vectors from which relevance is computed.
        how: How memories are ranked, or the name of a preset.
        rater: Who rates importance: a rule over words, or the model.
        forgetting: Selects what is forgotten; nothing if left out.
        variety: The highest cosine between two memories that come to mind together; 1 takes them as they rank.
        time_label: Writes when a memory was, from its time and the present, in front of it.
        merges: Whether something that a person observes again is the same memory, accessed again.

    Attributes:
        unrated: How many texts the model gave no valid importance.

    Example:
        >>> from populace.models import HashingEmbedder
        >>> memory = Memory(HashingEmbedder(64))
        >>> texts = ["It rains.", "The ferry is late."]
        >>> _ = memory.store(["ann", "bo"], texts, kind="observation", now=0, importance=3)
        >>> memory.recall(["bo"], ["ferry"], now=60, purpose="chat")["text"].to_list()
        ['The ferry is late.']
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        how: Retrieval | str = "park2023",
        rater: Rater = "rule",
        forgetting: ForgettingPolicy | None = None,
        variety: float = 1.0,
        time_label: Callable[[int, int], str] | None = None,
        merges: bool = False,
    ) -> None:
        if rater not in ("rule", "model"):
            raise ParameterError(f"importance cannot be rated by {rater!r}.", "Use 'rule' or 'model'.")
        self.embedder = embedder if isinstance(embedder, CachedEmbedder) else CachedEmbedder(embedder)
        self.how = retrieval_preset(how) if isinstance(how, str) else how
        self.rater = rater
        self.forgetting = forgetting
        self.variety = variety
        self.time_label = time_label
        self.merges = merges
        self._observed: dict[tuple[int, str], int] = {}
        self._ratings: dict[str, float] = {}
        self.stream = open_stream(self.embedder)
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
        rated_as: Sequence[str] | None = None,
    ) -> Ints:
        """Rate the importance of a text for each person and store it; returns the ids of the memories.

        An invalid rating stays empty and is counted in `unrated`.
        """
        people, rated_texts = list(ids), texts if rated_as is None else rated_as
        if self.rater == "rule" or not people:
            rated = rate_by_rule(rated_texts)
        else:
            rated = await self._rate(asker, people, rated_texts)
        return self.store(people, texts, kind=kind, now=now, importance=rated, evidence=evidence)

    async def _rate(self, asker: Asker, people: Sequence[Id], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """The ratings of the model; every text is rated once in a run, whoever experienced it.

        A text whose rating was invalid is rated again when it is next experienced.
        """
        new = {text: who for who, text in zip(people, texts, strict=True) if text not in self._ratings}
        ids, lines = list(new.values()), list(new)
        ratings: dict[str, float] = {}
        for rows in _once_each(ids):
            answers = await asker.ask(
                asker.people.take([ids[row] for row in rows]),
                importance_question(),
                purpose="importance",
                profile="",
                about=None,
                memory=[lines[row] for row in rows],
            )
            ratings |= dict(zip([lines[row] for row in rows], expected_ratings(answers).tolist(), strict=True))
        self._ratings |= {text: rating for text, rating in ratings.items() if not np.isnan(rating)}
        rated = np.array([self._ratings.get(text, np.nan) for text in texts])
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
        if self.merges and kind == "observation":
            return self._observe(owners, texts, now, rated)
        return self._append(owners, texts, kind, now, rated, evidence)

    def _observe(self, owners: Ints, texts: Sequence[str], now: int, rated: npt.NDArray[np.float64]) -> Ints:
        """Store what people observe for the first time, and access what they observed before."""
        keys = list(zip(owners.tolist(), texts, strict=True))
        first = {key: row for row, key in reversed(list(enumerate(keys))) if key not in self._observed}
        rows = sorted(first.values())
        again = sorted({self._observed[key] for key in keys if key in self._observed})
        if again:
            self.stream.touch(again, now)
        if rows:
            new = self._append(owners[rows], [texts[row] for row in rows], "observation", now, rated[rows], None)
            self._observed |= {keys[row]: number for row, number in zip(rows, new.tolist(), strict=True)}
        return np.array([self._observed[key] for key in keys], np.int64)

    def _append(
        self,
        owners: Ints,
        texts: Sequence[str],
        kind: str,
        now: int,
        rated: npt.NDArray[np.float64],
        evidence: Sequence[Sequence[int]] | None,
    ) -> Ints:
        stored = self.stream.append(
            owners,
            texts,
            kind=kind,
            time=now,
            importance=rated,
            embeddings=self._vectors(texts),
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
        return self._present(self._retrieve(ids, queries, now, top, kinds), ids, queries, purpose)

    def _retrieve(
        self, ids: Sequence[Id], queries: Sequence[str], now: int, top: int | None, kinds: Sequence[str] | None
    ) -> pl.DataFrame:
        owners = np.array([self.owner(who) for who in ids], np.int64)
        return self.stream.retrieve(owners, self._vectors(queries), now=now, how=self.how, top=top, kinds=kinds)

    def _present(
        self, retrieved: pl.DataFrame, ids: Sequence[Id], queries: Sequence[str], purpose: str
    ) -> pl.DataFrame:
        """Retrieved memories in the order in which a prompt shows them, which are recorded as recalled."""
        presented = self.stream.present(retrieved, self.how)
        at = presented["query"]
        recalled = presented.hstack(
            [
                pl.Series("person", ids, dtype=_id_type(ids)).gather(at),
                pl.Series("about", queries, dtype=pl.String).gather(at),
                pl.Series("purpose", [purpose]).new_from_index(0, presented.height),
            ]
        )
        if recalled.height:
            # The ids of nobody have no type that would fit beside those of others.
            self._recalled.append(pl.DataFrame([column for column in recalled if column.name != "query"]))
        return recalled

    def _vectors(self, texts: Sequence[str]) -> npt.ArrayLike:
        """The vectors of texts, or the texts where the stream embeds them itself."""
        if self.stream.embeds:
            return list(texts)
        return self.embedder.embed(list(texts)) if len(texts) else np.zeros((0, 0))

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
        more = top if self.variety >= 1.0 else top * _CANDIDATES
        retrieved = self._retrieve(ids, queries, now, more, kinds)
        if self.variety < 1.0:
            vectors = self.stream.vectors(retrieved["memory"])
            retrieved = retrieved[varied_rows(retrieved["query"].to_numpy(), vectors, top, self.variety)]
        recalled = self._present(retrieved, ids, queries, purpose)
        times = recalled["time"].to_list()
        labels = {} if self.time_label is None else {time: self.time_label(time, now) for time in set(times)}
        distinct: list[dict[str, tuple[int, str]]] = [{} for _ in queries]
        columns = (recalled["query"].to_list(), recalled["memory"].to_list(), recalled["text"].to_list(), times)
        for query, memory, text, time in zip(*columns, strict=True):
            distinct[query].setdefault(text, (memory, labels.get(time, "") + text))
        return Recollection.of([list(memories.values()) for memories in distinct])

    def recent(self, ids: Sequence[Id], count: int) -> Recollection:
        """The newest memories of each person, oldest first."""
        newest = self.stream.recent([self.owner(who) for who in ids], count)
        memories: list[list[tuple[int, str]]] = [[] for _ in ids]
        for query, memory, text in reversed(newest.select("query", "memory", "text").rows()):
            memories[query].append((memory, text))
        return Recollection.of(memories)

    def importance_of(self, memories: Sequence[int]) -> npt.NDArray[np.float64]:
        """The importance of memories by id; NaN where it was not rated."""
        return self.stream.rows(memories, ["importance"])["importance"].to_numpy().astype(np.float64)

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
        if self._observed:
            gone = set(np.asarray(ids).tolist())
            self._observed = {key: number for key, number in self._observed.items() if number not in gone}
        return len(ids)

    def drain_tables(self) -> dict[str, pl.DataFrame]:
        """What was stored and recalled since the last call, as tables `memories` and `recalled`."""
        tables: dict[str, pl.DataFrame] = {}
        if self._stored:
            rows = self.stream.rows(np.concatenate(self._stored))
            people = [self._ids[owner] for owner in rows["owner"].to_list()]
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


def _id_type(ids: Sequence[Id]) -> type[pl.DataType]:
    return pl.String if ids and isinstance(ids[0], str) else pl.Int64
