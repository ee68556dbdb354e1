"""The parts that a mind may have besides its profile, as small protocols.

Each is also a base class: derive from it and write its abstract methods, and the part can take the place of the
shipped one.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.minds.agenda import Action
from populace.minds.recollection import Recollection
from populace.people import Id, People, Person
from populace.questions import Answers, Question


class Asker(Protocol):
    """Puts questions to people on behalf of a part of their mind; every scenario is one."""

    @property
    def people(self) -> People:
        """The population as it is now."""

    async def ask(
        self,
        people: Any,
        question: Question,
        *,
        given: str = "",
        purpose: str = "",
        profile: str | None = None,
        about: str | Sequence[str] | None = "",
        **fields: Any,
    ) -> Answers:
        """Put a question to people; with `about=None` no memories come to their minds."""


class MemoryPart(Protocol):
    """What people store and recall."""

    @abstractmethod
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
        """Store a text for each person; returns the ids of the memories."""

    @abstractmethod
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
        """The memories that come to mind about each query, to be shown in a prompt.

        Args:
            ids: Who recalls.
            queries: What each thinks of.
            now: The simulated time in seconds.
            purpose: The purpose of the question.
            top: How many at most for each.
            kinds: The kinds of memories to search; all if left out.
        """

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
        """Store texts whose importance nobody has rated yet.

        Args:
            asker: Puts questions about importance, where a memory has any.
            ids: Whose memories they are.
            texts: What each remembers.
            kind: The kind of all of them.
            now: The simulated time in seconds.
            evidence: For each, the ids of the memories that it rests on.
            rated_as: What is rated in the place of each text, so that memories of one event are rated once.
        """
        return self.store(ids, texts, kind=kind, now=now, importance=np.nan, evidence=evidence)

    def importance_of(self, memories: Sequence[int]) -> npt.NDArray[np.float64]:
        """The importance of memories by id; NaN where nothing is known of it."""
        return np.full(len(memories), np.nan)

    def forget(self, now: int) -> int:
        """Drop the memories that are forgotten by now; returns how many."""
        return 0

    def drain_tables(self) -> dict[str, pl.DataFrame]:
        """What was stored and recalled since the last call, as tables for the journal."""
        return {}


@runtime_checkable
class ReflectiveMemory(MemoryPart, Protocol):
    """A memory on which the shipped reflection can work."""

    def importance_since_reflection(self, ids: Sequence[Id]) -> npt.NDArray[np.float64]:
        """The total importance of what each person stored since `mark_reflected`."""

    def mark_reflected(self, ids: Sequence[Id]) -> None:
        """Count the importance of these people from 0 again."""

    def recent(self, ids: Sequence[Id], count: int) -> Recollection:
        """The newest memories of each person, oldest first."""

    def recall(
        self, ids: Sequence[Id], queries: Sequence[str], *, now: int, purpose: str, top: int | None = None
    ) -> pl.DataFrame:
        """What comes to mind about each query: a table with at least `person`, `memory` and `text`."""


class ReflectionPart(Protocol):
    """How people draw conclusions from what they remember."""

    @abstractmethod
    async def think(self, asker: Asker, memory: MemoryPart, ids: Sequence[Id], now: int) -> int:
        """Let people reflect who have reason to; returns how many conclusions they drew."""


class PlanningPart(Protocol):
    """How people plan their time."""

    @abstractmethod
    async def plan_day(
        self,
        asker: Asker,
        people: People,
        *,
        given: str,
        now: int,
        until: Mapping[Id, int],
        known: Mapping[Id, Sequence[str]] | None = None,
        about: str = "",
        **fields: Any,
    ) -> dict[Id, list[Action]]:
        """The actions of each person for the rest of the day, in order."""

    async def refine(
        self,
        asker: Asker,
        people: People,
        strokes: Sequence[Action],
        *,
        given: str,
        level: Literal["hours", "minutes"] = "minutes",
        **fields: Any,
    ) -> list[list[Action]]:
        """The finer actions of each person within the stroke that begins now; by default the stroke itself."""
        return [[stroke] for stroke in strokes]


class Line(NamedTuple):
    """One utterance of a conversation."""

    speaker: Id
    name: str
    text: str


@dataclass
class Talk:
    """A conversation that is over.

    Attributes:
        people: The ids of the people who took part.
        lines: The utterances, in order.
        ended: Why it ended: `left` when somebody ended it, `limit` at the most utterances, `gone` when a partner was
            no longer there, `invalid` when an utterance was invalid.
        importance: How much it matters, as a memory was rated; 0 where nothing is known of it.
        left: The ids of the people who ended their part in it.
    """

    people: tuple[Id, ...]
    lines: list[Line] = field(default_factory=list)
    ended: str = "limit"
    importance: float = 0.0
    left: set[Id] = field(default_factory=set)


class DialoguePart(Protocol):
    """How people talk with each other."""

    @abstractmethod
    async def hold(
        self,
        asker: Asker,
        groups: Sequence[Sequence[Person]],
        *,
        given: str,
        now: int,
        memory: MemoryPart | None = None,
        present: Callable[[Id], bool] = lambda _: True,
        **fields: Mapping[Id, Any],
    ) -> list[Talk]:
        """Let groups of people talk, all groups at the same time; the first of each group begins."""
