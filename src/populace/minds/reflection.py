"""Reflection: people to whom much has happened draw conclusions, and say on which memories these rest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pydantic

from populace.base.errors import ParameterError
from populace.minds.parts import Asker, MemoryPart, ReflectionPart, ReflectiveMemory
from populace.minds.recollection import Recollection
from populace.people import Id
from populace.questions import Form


class _Wonder(pydantic.BaseModel):
    questions: list[str]


class _Insight(pydantic.BaseModel):
    insight: str
    because: list[int]


class _Insights(pydantic.BaseModel):
    insights: list[_Insight]


@dataclass
class Reflection(ReflectionPart):
    """When people reflect, and how far.

    Whoever has taken in memories of a total importance of `budget` since the last time asks
    themselves a few questions about what happened lately, recalls what bears on them, and draws
    conclusions. A conclusion is a memory too; its evidence is the memories that it cites.

    Attributes:
        budget: The total importance after which one reflects.
        recent: How many of the newest memories raise questions.
        questions: How many questions.
        statements: How many memories are recalled for each.
        insights: How many conclusions at most.
        counts: What happened: `reflected`, `uncited` for a conclusion without a valid citation, `bad citation`,
            `invalid` for an answer that could not be read.
    """

    budget: float = 150.0
    recent: int = 100
    questions: int = 3
    statements: int = 10
    insights: int = 5
    counts: Counter[str] = field(default_factory=Counter)

    async def think(self, asker: Asker, memory: MemoryPart, ids: Sequence[Id], now: int) -> int:
        """Let those reflect to whom enough has happened; returns how many conclusions were drawn."""
        if not isinstance(memory, ReflectiveMemory):
            raise ParameterError(
                f"Reflection cannot work on {type(memory).__name__}: it is no ReflectiveMemory.",
                "Use populace.minds.Memory, give your memory the methods of ReflectiveMemory, or write a reflection of "
                "your own.",
            )
        return await self.reflect(asker, memory, self.due(memory, ids), now)

    def due(self, memory: ReflectiveMemory, ids: Sequence[Id]) -> list[Id]:
        """Who has enough to think about."""
        reached = memory.importance_since_reflection(ids) >= self.budget
        return [who for who, enough in zip(ids, reached, strict=True) if enough]

    async def reflect(self, asker: Asker, memory: ReflectiveMemory, ids: Sequence[Id], now: int) -> int:
        """Let these people reflect, all at once; returns how many conclusions were drawn."""
        if not ids:
            return 0
        memory.mark_reflected(ids)
        wondered = await asker.ask(
            asker.people.take(ids),
            Form(
                f"Which {self.questions} questions about your life do these raise?",
                model=_Wonder,
                example='{"questions": ["What matters to me now?"]}',
                room=160,
            ),
            given="What happened to you lately:\n{lately}",
            purpose="reflection: questions",
            lately=memory.recent(ids, self.recent),
        )
        self.counts["invalid"] += wondered.values.null_count()
        who, about = [], []
        for person, value in zip(ids, wondered.values, strict=True):
            for question in json.loads(value)["questions"][: self.questions] if value else []:
                who.append(person)
                about.append(question)
        return await self._conclude(asker, memory, who, about, now) if who else 0

    async def _conclude(self, asker: Asker, memory: ReflectiveMemory, who: list[Id], about: list[str], now: int) -> int:
        recalled = memory.recall(who, about, now=now, purpose="reflection: insights", top=self.statements)
        distinct = recalled.unique(["person", "memory"], maintain_order=True)
        statements: dict[Id, list[tuple[int, str]]] = {}
        for person, number, text in distinct.select("person", "memory", "text").iter_rows():
            statements.setdefault(person, []).append((number, text))
        people = [person for person in dict.fromkeys(who) if person in statements]
        recollection = Recollection.of([statements[person] for person in people], numbered=True)
        concluded = await asker.ask(
            asker.people.take(people),
            Form(
                f"What do you conclude from them? Give at most {self.insights} conclusions, each with the numbers of "
                "the statements that it rests on.",
                model=_Insights,
                example='{"insights": [{"insight": "I enjoy company.", "because": [1, 3]}]}',
                room=240,
            ),
            given="Statements about your life:\n{statements}",
            purpose="reflection: insights",
            statements=recollection,
        )
        authors: list[Id] = []
        texts: list[str] = []
        evidence: list[list[int]] = []
        for person, value, ids in zip(people, concluded.values, recollection.ids.to_list(), strict=True):
            self.counts["reflected"] += 1
            self.counts["invalid"] += value is None
            for made in json.loads(value)["insights"][: self.insights] if value else []:
                text = made["insight"].strip()
                if text:
                    authors.append(person)
                    texts.append(text)
                    evidence.append(self._cited(made["because"], ids))
        await memory.remember(asker, authors, texts, kind="reflection", now=now, evidence=evidence)
        return len(texts)

    def _cited(self, numbers: list[int], shown: list[int]) -> list[int]:
        """The memories behind the numbers; a number that was not shown is counted and left out."""
        good = [number for number in dict.fromkeys(numbers) if 1 <= number <= len(shown)]
        self.counts["bad citation"] += len(set(numbers)) - len(good)
        self.counts["uncited"] += not good
        return [shown[number - 1] for number in good]
