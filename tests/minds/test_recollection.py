"""The memories that a prompt shows are recorded with the answer, and found again behind the decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from populace import People, Run, Scenario, simulate
from populace.base.errors import ScenarioError
from populace.minds import Memory, Recollection
from populace.models import HashingEmbedder
from populace.questions import Choice
from populace.runs.decision_details import UNRECORDED, memories_note, recalled_memories

TEA = Choice("Tea?", options=("yes", "no"))


def test_a_numbered_recollection_can_be_cited() -> None:
    assert Recollection.of([[(7, "a"), (3, "b")]], numbered=True).texts.to_list() == ["1. a\n2. b"]


def test_rows_select_texts_and_ids_alike() -> None:
    some = Recollection.of([[(1, "a")], [], [(2, "b")]]).rows(np.array([2, 1]))
    assert (some.texts.to_list(), some.ids.to_list()) == (["- b", "- nothing"], [[2], []])


class Recalling(Scenario):
    """People remember a drink each; the second of them decides by rule."""

    steps: int = 1

    def setup(self) -> People:
        self.memory = Memory(HashingEmbedder(64))
        drinks = ["I like tea.", "I like milk.", "I like rum."]
        self.memory.store([0, 1, 2], drinks, kind="observation", now=0, importance=5)
        self.memory.store([2], ["Tea keeps me awake."], kind="observation", now=0, importance=5)
        people = pl.DataFrame({"id": [0, 1, 2], "name": ["Ann", "Bo", "Cy"], "decider": ["model", "rule", "model"]})
        return People(people)

    async def step(self) -> None:
        await self.ask(self.people, Choice("Rain?", options=("yes", "no")), rule=lambda people: ["no"] * len(people))
        for _ in range(2):
            memories = self.memory.recollect([0, 1, 2], ["tea"] * 3, now=60, purpose="drink", top=1)
            await self.ask(
                self.people,
                TEA,
                given="You think of this:\n{memories}",
                purpose="drink",
                rule=lambda people: ["no"] * len(people),
                memories=memories,
            )
            self.memory.store([2], ["Tea, tea and more tea."], kind="observation", now=60, importance=9)
        self.tables.update(self.memory.drain_tables())


@pytest.fixture(scope="module")
def run() -> Run:
    return simulate(Recalling(), model="scripted:first", seed=1, keep="nothing")


def test_the_ids_are_recorded_with_the_answers_whoever_decides(run: Run) -> None:
    answers = run.answers().select("purpose", "person", "memories").rows()
    assert answers[:3] == [("decision", 0, None), ("decision", 1, None), ("decision", 2, None)]
    assert answers[3:6] == [("drink", 0, [0]), ("drink", 1, [1]), ("drink", 2, [3])]
    assert answers[8] == ("drink", 2, [4])


def test_the_memories_behind_a_decision_are_those_that_its_prompt_shows(run: Run) -> None:
    rain, first, second = run.decisions(1, 2)
    assert recalled_memories(run, rain).height == 0 and memories_note(run, rain) != UNRECORDED
    assert recalled_memories(run, first)["text"].to_list() == ["Tea keeps me awake."]
    assert recalled_memories(run, second)["text"].to_list() == ["Tea, tea and more tea."]
    assert "- Tea, tea and more tea." in second.prompts[0]["user"]


def test_a_run_that_did_not_record_them_says_so_and_guesses_nothing(run: Run) -> None:
    _, first, _ = run.decisions(1, 2)
    earlier = replace(first, memories=None)
    assert recalled_memories(run, earlier).height == 0 and memories_note(run, earlier) == UNRECORDED


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"memories": Recollection.nothing(1)}, "holds 1 value for 2 people"),
        ({"memories": Recollection.nothing(2), "more": Recollection.nothing(2)}, "two fields of a question"),
    ],
)
def test_memories_that_do_not_fit_are_refused(fields: dict[str, Any], message: str) -> None:
    class Wrong(Scenario):
        """Memories that do not fit."""

        steps: int = 1

        def setup(self) -> People:
            return People.named(2, seed=self.rng)

        async def step(self) -> None:
            await self.ask(self.people, TEA, given="{memories}", **fields)

    with pytest.raises(ScenarioError, match=message):
        simulate(Wrong(), model="scripted:first", keep="nothing")
