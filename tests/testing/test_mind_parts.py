"""Parts of a mind of one's own are checked against their protocol, and what breaks it is found."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from populace.base.errors import ParameterError
from populace.minds import Action, Memory, MemoryPart, Planning, PlanningPart, Recollection, Reflection, ReflectionPart
from populace.models import HashingEmbedder
from populace.testing import check_memory, check_planning, check_reflection

HOUR = 3600


class Newest(MemoryPart):
    """The newest memories, whatever one thinks of."""

    def __init__(self) -> None:
        self.count = 0
        self.own: dict[Any, list[tuple[int, str, str]]] = defaultdict(list)

    def store(self, ids: Any, texts: Any, *, kind: str, now: int, importance: Any, evidence: Any = None) -> Any:
        numbers = np.arange(self.count, self.count + len(texts))
        self.count += len(texts)
        for who, number, text in zip(ids, numbers.tolist(), texts, strict=True):
            self.own[who].append((number, kind, text))
        return numbers

    def recollect(self, ids: Any, queries: Any, *, now: int, purpose: str, top: int, kinds: Any = None) -> Recollection:
        return Recollection.of([self.newest(who, top, kinds) for who in ids])

    def newest(self, who: Any, top: int, kinds: Any) -> list[tuple[int, str]]:
        fitting = [(number, text) for number, kind, text in self.own[who] if kinds is None or kind in kinds]
        return fitting[-top:]


@pytest.mark.parametrize(
    "make", [Newest, lambda: Memory(HashingEmbedder(32)), lambda: Memory(HashingEmbedder(32), variety=0.8, merges=True)]
)
def test_memories_that_keep_to_the_protocol_pass(make: Any) -> None:
    check_memory(make)


class Telepathic(Newest):
    def newest(self, who: Any, top: int, kinds: Any) -> list[tuple[int, str]]:
        return [each for other in self.own for each in super(Telepathic, self).newest(other, top, kinds)][:top]


class Endless(Newest):
    def newest(self, who: Any, top: int, kinds: Any) -> list[tuple[int, str]]:
        return super().newest(who, 99, kinds)


class Careless(Newest):
    def newest(self, who: Any, top: int, kinds: Any) -> list[tuple[int, str]]:
        return super().newest(who, top, None)


class Repeating(Newest):
    def store(self, ids: Any, texts: Any, **rest: Any) -> Any:
        super().store(ids, texts, **rest)
        return np.arange(len(texts))


class Paraphrasing(Newest):
    def newest(self, who: Any, top: int, kinds: Any) -> list[tuple[int, str]]:
        return [(number, text.upper()) for number, text in super().newest(who, top, kinds)]


class Empty(Newest):
    def newest(self, who: Any, top: int, kinds: Any) -> list[tuple[int, str]]:
        return []


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (Telepathic, "recalls memories that are not those of"),
        (Endless, "where top is 3"),
        (Careless, "of other kinds"),
        (Repeating, "one id to two memories"),
        (Paraphrasing, "other words than were stored"),
        (Empty, "recalls nothing for"),
    ],
)
def test_a_memory_that_breaks_the_protocol_is_refused(make: Any, what: str) -> None:
    with pytest.raises(ParameterError, match=what):
        check_memory(make)


def test_a_memory_that_depends_on_chance_is_refused() -> None:
    made = []

    class Moody(Newest):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)
            self.first = len(made) % 2

        def newest(self, who: Any, top: int, kinds: Any) -> list[tuple[int, str]]:
            fitting = super().newest(who, 99, kinds)
            return fitting[-top:] if self.first else fitting[:top]

    with pytest.raises(ParameterError, match="something else after the same history"):
        check_memory(Moody)


class Fixed(PlanningPart):
    """The same two things each day."""

    def actions(self, now: int, until: int) -> list[Action]:
        middle = (now + until) // 2
        return [Action(now, middle, "work", "working"), Action(middle, until, "home", "reading")]

    async def plan_day(self, asker: Any, people: Any, *, given: str, now: int, until: Any, **rest: Any) -> Any:
        return {who: self.actions(now, until[who]) for who in people.ids.to_list()}


@pytest.mark.parametrize("make", [Fixed, lambda: Planning(("home", "work", "café"))])
def test_planners_that_keep_to_the_protocol_pass(make: Any) -> None:
    check_planning(make)


class Overlapping(Fixed):
    def actions(self, now: int, until: int) -> list[Action]:
        return [Action(now, until, "work", "working"), Action(now, until, "home", "reading")]


class Late(Fixed):
    def actions(self, now: int, until: int) -> list[Action]:
        return [Action(now, until + HOUR, "home", "reading")]


class Astray(Fixed):
    def actions(self, now: int, until: int) -> list[Action]:
        return [Action(now, until, "the moon", "reading")]


class Partial(Fixed):
    async def plan_day(self, asker: Any, people: Any, **rest: Any) -> Any:
        return {0: []}


class Fragile(Fixed):
    async def plan_day(self, asker: Any, people: Any, **rest: Any) -> Any:
        from populace.questions import Text

        answers = await asker.ask(people, Text("What do you do?", max_words=5), given="")
        return {who: self.actions(rest["now"], rest["until"][who]) if text else [] for who, text in
                zip(people.ids.to_list(), answers.values, strict=True)}  # fmt: skip

    async def refine(self, asker: Any, people: Any, strokes: Any, **rest: Any) -> Any:
        return [[] for _ in strokes]


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (Overlapping, "overlap"),
        (Late, "beyond now or bedtime"),
        (Astray, "does not know"),
        (Partial, "where 0, 1 and 2 are asked"),
        (Fragile, "leaves nothing of a stroke"),
    ],
)
def test_a_planner_that_breaks_the_protocol_is_refused(make: Any, what: str) -> None:
    with pytest.raises(ParameterError, match=what):
        check_planning(make)


class Counting(ReflectionPart):
    """Everybody concludes how much happened."""

    kind = "reflection"

    def grounds(self, memory: Any, who: Any) -> list[int]:
        return memory.recent([who], 2).ids.to_list()[0]

    async def think(self, asker: Any, memory: Any, ids: Any, now: int) -> int:
        for who in ids:
            evidence = [self.grounds(memory, who)]
            memory.store([who], ["Much happened."], kind=self.kind, now=now, importance=5, evidence=evidence)
        return len(ids)


@pytest.mark.parametrize("make", [Counting, Reflection, lambda: Reflection(budget=10_000)])
def test_reflections_that_keep_to_the_protocol_pass(make: Any) -> None:
    check_reflection(make)


class Plagiarising(Counting):
    def grounds(self, memory: Any, who: Any) -> list[int]:
        return super().grounds(memory, 2)


class Misfiled(Counting):
    kind = "thought"


class Boasting(Counting):
    async def think(self, asker: Any, memory: Any, ids: Any, now: int) -> int:
        return await super().think(asker, memory, ids, now) + 1


class Meddling(Counting):
    async def think(self, asker: Any, memory: Any, ids: Any, now: int) -> int:
        return await super().think(asker, memory, [2], now)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (Plagiarising, "somebody else remembers"),
        (Misfiled, "not as 'reflection'"),
        (Boasting, "conclusions and stores"),
        (Meddling, "was not to reflect"),
    ],
)
def test_a_reflection_that_breaks_the_protocol_is_refused(make: Any, what: str) -> None:
    with pytest.raises(ParameterError, match=what):
        check_reflection(make)
