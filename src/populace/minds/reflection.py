"""Reflection: people to whom much has happened draw conclusions, and cite the memories that these rest on."""

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


# The names of these classes are part of the recorded questions; another name would make a recording unreplayable.
class _Wonder(pydantic.BaseModel):
    questions: list[str]


class _Insight(pydantic.BaseModel):
    insight: str
    because: list[int]


class _Insights(pydantic.BaseModel):
    insights: list[_Insight]


@dataclass
class Reflection(ReflectionPart):
    """When people reflect, and on how much.

    A person who has stored memories of a total importance of `budget` since the last reflection first asks a few
    questions about the newest memories, then recalls memories about these questions and draws conclusions from
    them. A conclusion is a memory too; its evidence is the memories that it cites.

    Attributes:
        budget: The total importance after which a person reflects.
        recent: How many of the newest memories the questions are about.
        questions: How many questions a person asks.
        statements: How many memories are recalled for each question.
        insights: The most conclusions of one reflection.
        counts: How often people `reflected`, conclusions without a valid citation (`uncited`), single invalid
            citations (`bad citation`) and `invalid` answers.
    """

    budget: float = 150.0
    recent: int = 100
    questions: int = 3
    statements: int = 10
    insights: int = 5
    counts: Counter[str] = field(default_factory=Counter)

    async def think(self, asker: Asker, memory: MemoryPart, ids: Sequence[Id], now: int) -> int:
        """Let people reflect to whom enough has happened; returns how many conclusions they drew."""
        if not isinstance(memory, ReflectiveMemory):
            raise ParameterError(
                f"Reflection cannot work on {memory.__class__.__name__}: it is not a ReflectiveMemory.",
                "Use populace.minds.Memory, give your memory the methods of ReflectiveMemory, or write a reflection of "
                "your own.",
            )
        return await self.reflect(asker, memory, self.due(memory, ids), now)

    def due(self, memory: ReflectiveMemory, ids: Sequence[Id]) -> list[Id]:
        """The people whose importance since the last reflection has reached the budget."""
        reached = memory.importance_since_reflection(ids) >= self.budget
        return [who for who, enough in zip(ids, reached, strict=True) if enough]

    async def reflect(self, asker: Asker, memory: ReflectiveMemory, ids: Sequence[Id], now: int) -> int:
        """Let these people reflect, all at once; returns how many conclusions they drew."""
        if not ids:
            return 0
        memory.mark_reflected(ids)
        questions = await asker.ask(
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
        self.counts["invalid"] += questions.values.null_count()
        who, about = [], []
        for person, value in zip(ids, questions.values, strict=True):
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
        conclusions = await asker.ask(
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
        for person, value, ids in zip(people, conclusions.values, recollection.ids.to_list(), strict=True):
            self.counts["reflected"] += 1
            self.counts["invalid"] += value is None
            for conclusion in json.loads(value)["insights"][: self.insights] if value else []:
                text = conclusion["insight"].strip()
                if text:
                    authors.append(person)
                    texts.append(text)
                    evidence.append(self._cited_ids(conclusion["because"], ids))
        await memory.remember(asker, authors, texts, kind="reflection", now=now, evidence=evidence)
        return len(texts)

    def _cited_ids(self, numbers: list[int], ids: list[int]) -> list[int]:
        """The ids of the cited memories; a number that stands for none is counted and left out."""
        good = [number for number in dict.fromkeys(numbers) if 1 <= number <= len(ids)]
        self.counts["bad citation"] += len(set(numbers)) - len(good)
        self.counts["uncited"] += not good
        return [ids[number - 1] for number in good]
