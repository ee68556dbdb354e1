from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from populace import People, Scenario, simulate
from populace.base.errors import ParameterError
from populace.minds import Action, Asker, Capacity, Memory, MemoryPart, Mind, PlanningPart, Recollection, Reflection
from populace.models import HashingEmbedder
from populace.people import Id
from populace.questions import Choice
from populace.runs.biography import biography
from populace.runs.decision_details import recalled_memories
from populace.scenarios.party import Party
from support.society import resident


class LastThree(MemoryPart):
    """A memory of one's own: the last three things, whatever one thinks of."""

    def __init__(self) -> None:
        self.kept: dict[Id, list[str]] = defaultdict(list)

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
        for who, text in zip(ids, texts, strict=True):
            self.kept[who] = [*self.kept[who][-2:], text]
        return np.arange(len(texts))

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
        return Recollection.of([list(enumerate(self.kept[who])) for who in ids])


class AlwaysAtWork(PlanningPart):
    """Planning of one's own: no question at all."""

    async def plan_day(
        self, asker: Asker, people: People, *, given: str, now: int, until: Mapping[Id, int], **fields: Any
    ) -> dict[Id, list[Action]]:
        return {who: [Action(now, until[who], "work", "working")] for who in people.ids.to_list()}


class Simpler(Party):
    """The party among people with simpler minds."""

    def make_mind(self) -> Mind:
        return Mind(super().make_mind().profile, memory=LastThree(), planning=AlwaysAtWork())


def test_parts_of_ones_own_take_the_place_of_the_shipped_ones() -> None:
    scenario = Simpler(days=1, embedder="hashing")
    run = simulate(scenario, model=resident(), seed=1, keep="nothing")
    assert set(run.answers()["purpose"]) == {"whether to talk"}
    assert isinstance(scenario.mind.memory, LastThree)
    assert any("was working at" in text for texts in scenario.mind.memory.kept.values() for text in texts)
    assert not run.events.filter(pl.col("kind") == "said").height


def test_a_mind_of_a_profile_alone_has_no_other_part() -> None:
    mind = Mind("You are {name}.")
    assert (mind.memory, mind.reflection, mind.planning, mind.dialogue) == (None, None, None, None)


def test_who_remembers_nothing_cannot_reflect() -> None:
    with pytest.raises(ParameterError, match="nothing to reflect on"):
        Mind("", reflection=Reflection())


def test_the_shipped_reflection_says_what_memory_it_needs() -> None:
    scenario = Simpler()
    with pytest.raises(ParameterError, match=r"Reflection cannot work on LastThree.*ReflectiveMemory.*of your own"):
        asyncio.run(Reflection().think(scenario, LastThree(), [1], 0))


def test_a_memory_that_is_forgotten_in_the_step_that_stored_it_is_recorded() -> None:
    memory = Memory(HashingEmbedder(32), forgetting=Capacity(1))
    memory.store([0, 0], ["It rains.", "A party!"], kind="observation", now=0, importance=[1, 9])
    tables = asyncio.run(Mind("", memory=memory).finish_step(Simpler(), [0], 60))
    assert tables["memories"]["text"].to_list() == ["It rains.", "A party!"]
    assert memory.of(0)["text"].to_list() == ["A party!"]


def test_without_a_memory_a_step_ends_with_no_tables() -> None:
    assert asyncio.run(Mind("").finish_step(Simpler(), [0], 60)) == {}


def test_a_scenario_asks_with_the_profile_of_the_mind_that_it_made() -> None:
    class Minded(Scenario):
        """People with a mind made in setup."""

        steps: int = 1

        def setup(self) -> People:
            self.mind = Mind("You are {name}, and you remember.", memory=Memory(HashingEmbedder(32)))
            return People.named(2, seed=self.rng)

        async def step(self) -> None:
            await self.ask(self.people, Choice("Tea?", options=("yes", "no")))

    run = simulate(Minded(), model="scripted:first", keep="nothing")
    systems = [run.decisions(1, person)[0].prompts[0]["system"] for person in run.people().ids]
    assert systems == [f"You are {name}, and you remember." for name in run.people()["name"]]


class Diary(Scenario):
    """People remember, in a memory of their own, what they answered."""

    def setup(self) -> People:
        self.mind = Mind("You are {name}.", memory=LastThree(), recalled=3)
        return People({"name": ["Ann", "Bo"]})

    def length(self) -> int:
        return 2

    async def step(self) -> None:
        answers = await self.ask(self.people, Choice("Tea?", options=("yes", "no")))
        await self.remember(self.people, [f"You said {value}." for value in answers.values], kind="deed")


def test_what_a_memory_of_ones_own_stores_and_recalls_is_shown_like_that_of_others() -> None:
    run = simulate(Diary(), model="scripted:first", seed=1, keep="nothing")
    stored = run.history("memories")
    assert stored.select("step", "person", "kind", "text").rows() == [
        (step, who, "deed", "You said yes.") for step in (1, 2) for who in (0, 1)
    ]
    recalled = recalled_memories(run, run.decisions(2, 1)[0])
    assert recalled.select("text", "about", "score").rows() == [("You said yes.", "Tea?", None)]
    assert biography(run, 1).memories["text"].to_list() == ["You said yes."] * 2
    assert run.replay(verify=True).steps == run.steps
