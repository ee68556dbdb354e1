from __future__ import annotations

import math
from typing import Any

import pytest

from populace.base.errors import ParameterError
from populace.minds import Capacity, Memory
from populace.models import HashingEmbedder, Request
from support.society import run_in_step


def memory(**changes: Any) -> Memory:
    return Memory(HashingEmbedder(64), **changes)


def test_people_recall_their_own_memories_only() -> None:
    mind = memory()
    mind.store([0, 1], ["The café is full.", "The café is empty."], kind="observation", now=0, importance=5)
    assert mind.recall([1], ["café"], now=10, purpose="test")["text"].to_list() == ["The café is empty."]


def test_an_empty_mind_recalls_nothing_and_says_so() -> None:
    recollection = memory().recollect([0, 1], ["café", "park"], now=0, purpose="test", top=3)
    assert recollection.texts.to_list() == ["- nothing", "- nothing"] and recollection.ids.to_list() == [[], []]


def test_a_recollection_belongs_to_whoever_asked() -> None:
    mind = memory()
    mind.store(["bo", "ann"], ["I saw a fox.", "I saw a heron."], kind="observation", now=0, importance=5)
    recollection = mind.recollect(["ann", "cy", "bo"], ["saw"] * 3, now=5, purpose="test", top=3)
    assert recollection.texts.to_list() == ["- I saw a heron.", "- nothing", "- I saw a fox."]
    assert recollection.ids.to_list() == [[1], [], [0]]


def test_equal_texts_are_shown_once() -> None:
    mind = memory()
    mind.store([0, 0, 0], ["I saw a fox.", "I saw a heron.", "I saw a fox."], kind="observation", now=0, importance=5)
    recollection = mind.recollect([0], ["fox"], now=5, purpose="test", top=3)
    assert recollection.texts.to_list() == ["- I saw a fox.\n- I saw a heron."]
    assert recollection.ids.to_list() == [[2, 1]]


def test_what_was_stored_and_recalled_is_handed_out_once() -> None:
    mind = memory()
    mind.store([3], ["I saw a fox."], kind="observation", now=60, importance=4)
    mind.recall([3], ["fox"], now=120, purpose="chat")
    tables = mind.drain_tables()
    assert tables["memories"].select("person", "kind", "time", "importance", "text").row(0) == (
        3, "observation", 60, 4.0, "I saw a fox.",
    )  # fmt: skip
    recalled = tables["recalled"].row(0, named=True)
    assert (recalled["person"], recalled["purpose"], recalled["about"]) == (3, "chat", "fox")
    assert {"recency", "importance", "relevance", "score"} <= set(recalled)
    assert mind.drain_tables() == {}


def test_the_model_rates_importance_and_what_it_cannot_rate_is_counted_not_guessed() -> None:
    def reply(request: Request) -> Any:
        return {request.options[6]: 1.0} if "fox" in request.messages[-1][1] else {"hm": 1.0}

    async def body(scenario: Any) -> Memory:
        mind = memory(rater="model")
        await mind.remember(scenario, [0, 1, 0], ["A fox!", "Hm.", "Two foxes, a fox each."], kind="observation", now=0)
        return mind

    mind, run = run_in_step(body, reply)
    assert mind.of(0)["importance"].to_list() == [7.0, 7.0]
    assert math.isnan(mind.of(1)["importance"][0])
    assert mind.unrated == 1
    assert set(run.answers()["purpose"]) == {"importance"}


def test_importance_adds_up_until_one_reflects() -> None:
    mind = memory()
    mind.store([0, 0, 1], ["a", "b", "c"], kind="observation", now=0, importance=[3, 4, math.nan])
    assert mind.importance_since_reflection([0, 1, 2]).tolist() == [7.0, 0.0, 0.0]
    mind.mark_reflected([3, 0])
    assert mind.importance_since_reflection([0]).tolist() == [0.0]


def test_a_policy_forgets() -> None:
    mind = memory(forgetting=Capacity(2))
    mind.store([0] * 4, list("abcd"), kind="observation", now=0, importance=[1, 9, 8, 2])
    assert mind.forget(now=60) == 2
    assert mind.of(0)["text"].to_list() == ["b", "c"]


def test_a_rater_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ParameterError, match="rule"):
        memory(rater="dice")
