"""A memory of one's own, with a record of what is stored and recalled, so that a run shows it as it shows others."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.minds.parts import Asker, MemoryPart
from populace.minds.recollection import Recollection
from populace.people import Id

_SCORES = ("recency", "importance", "relevance", "score")


def with_record(memory: MemoryPart) -> MemoryPart:
    """The memory itself where it makes its own tables for the journal, else the memory with a record of it."""
    own = getattr(type(memory), "drain_tables", None)
    return memory if own not in (None, MemoryPart.drain_tables) else RecordedMemory(memory)


class RecordedMemory(MemoryPart):
    """A memory that keeps no tables of its own, and a record of what passes through it.

    Args:
        memory: The memory, which does all the work. What else it has is found here too.
    """

    def __init__(self, memory: MemoryPart) -> None:
        self._memory = memory
        self._texts: dict[int, tuple[str, str, int]] = {}
        self._stored: list[dict[str, Any]] = []
        self._recalled: list[dict[str, Any]] = []

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class of the memory, so that code which asks for it finds its own."""
        return type(self._memory)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_memory":
            raise AttributeError(name)
        return getattr(self._memory, name)

    def store(
        self,
        ids: Iterable[Id],
        texts: Sequence[str],
        *,
        kind: str,
        now: int,
        importance: float | npt.ArrayLike,
        evidence: Sequence[Sequence[int]] | None = None,
    ) -> npt.NDArray[np.int64]:
        """Store texts in the memory, and record them."""
        people = list(ids)
        numbers = self._memory.store(people, texts, kind=kind, now=now, importance=importance, evidence=evidence)
        marks = np.broadcast_to(np.asarray(importance, np.float64), len(people)).tolist()
        self._record(numbers, people, texts, kind, now, marks, evidence)
        return numbers

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
    ) -> npt.NDArray[np.int64]:
        """Let the memory rate and store texts, and record them."""
        people = list(ids)
        numbers = await self._memory.remember(
            asker, people, texts, kind=kind, now=now, evidence=evidence, rated_as=rated_as
        )
        marks = self._memory.importance_of(np.asarray(numbers).tolist()).tolist()
        self._record(numbers, people, texts, kind, now, marks, evidence)
        return numbers

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
        """What the memory brings to mind, which is recorded; how it ranks memories is not known here."""
        only = {} if kinds is None else {"kinds": kinds}
        recollection = self._memory.recollect(ids, queries, now=now, purpose=purpose, top=top, **only)
        for who, about, memories in zip(ids, queries, recollection.ids.to_list(), strict=True):
            for rank, number in enumerate(memories, 1):
                text, kind, time = self._texts.get(number, ("", "", now))
                row = {"rank": rank, "memory": number, **dict.fromkeys(_SCORES), "text": text, "kind": kind}
                self._recalled.append(row | {"time": time, "person": who, "about": about, "purpose": purpose})
        return recollection

    def importance_of(self, memories: Sequence[int]) -> npt.NDArray[np.float64]:
        """The importance of memories by id, as the memory says."""
        return self._memory.importance_of(memories)

    def forget(self, now: int) -> int:
        """Let the memory forget."""
        return self._memory.forget(now)

    def drain_tables(self) -> dict[str, pl.DataFrame]:
        """What was stored and recalled since the last call, as tables `memories` and `recalled`."""
        tables: dict[str, pl.DataFrame] = {}
        if self._stored:
            types = {"importance": pl.Float64(), "evidence": pl.List(pl.Int64())}
            tables["memories"] = pl.DataFrame(self._stored, schema_overrides=types, infer_schema_length=None)
        if self._recalled:
            types = dict.fromkeys(_SCORES, pl.Float64())
            tables["recalled"] = pl.DataFrame(self._recalled, schema_overrides=types, infer_schema_length=None)
        self._stored, self._recalled = [], []
        return tables

    def _record(
        self,
        numbers: npt.NDArray[np.int64],
        people: Sequence[Id],
        texts: Sequence[str],
        kind: str,
        now: int,
        marks: Sequence[float],
        evidence: Sequence[Sequence[int]] | None,
    ) -> None:
        for row, number in enumerate(np.asarray(numbers).tolist()):
            self._texts[number] = texts[row], kind, now
            stored = {"memory": number, "person": people[row], "text": texts[row], "kind": kind, "time": now}
            mark = None if np.isnan(marks[row]) else marks[row]
            self._stored.append(stored | {"importance": mark, "evidence": list(evidence[row]) if evidence else []})
