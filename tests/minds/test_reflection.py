from __future__ import annotations

import json
from typing import Any

from populace.minds import Memory, Reflection
from populace.models import HashingEmbedder, Request
from support.society import run_in_step

SEEN = ["I saw a fox.", "I saw a heron.", "I saw an otter."]


def full(ids: list[int]) -> Memory:
    mind = Memory(HashingEmbedder(64))
    for who in ids:
        mind.store([who] * 3, SEEN, kind="observation", now=0, importance=8)
    return mind


def reflecting(replies: dict[str, Any], reflection: Reflection, ids: list[int]) -> tuple[Memory, int]:
    def reply(request: Request) -> str:
        asked = request.messages[-1][1]
        return json.dumps(replies["questions" if '"questions"' in asked else "insights"])

    async def body(scenario: Any) -> tuple[Memory, int]:
        mind = full(ids)
        due = reflection.due(mind, [0, 1, 2])
        return mind, await reflection.reflect(scenario, mind, due, now=600)

    return run_in_step(body, reply)[0]


WONDER = {"questions": ["Which animals live here?"]}


def test_only_those_to_whom_much_happened_reflect() -> None:
    insights = {"insights": [{"insight": "Animals live here.", "because": [1, 2]}]}
    mind, drawn = reflecting({"questions": WONDER, "insights": insights}, Reflection(budget=20), [0, 2])
    assert drawn == 2
    assert [mind.of(who).height for who in (0, 1, 2)] == [4, 0, 4]


def test_a_conclusion_is_a_memory_with_its_evidence() -> None:
    insights = {"insights": [{"insight": "Animals live here.", "because": [1, 3, 3]}]}
    mind, _ = reflecting({"questions": WONDER, "insights": insights}, Reflection(budget=20), [0])
    made = mind.of(0).row(-1, named=True)
    assert (made["kind"], made["text"]) == ("reflection", "Animals live here.")
    assert len(made["evidence"]) == 2
    assert set(mind.stream.rows(made["evidence"])["text"]) <= set(SEEN)


def test_citations_of_what_was_not_shown_are_counted_and_left_out() -> None:
    insights = {"insights": [{"insight": "All is well.", "because": [7, -1]}]}
    reflection = Reflection(budget=20)
    mind, _ = reflecting({"questions": WONDER, "insights": insights}, reflection, [0])
    assert mind.of(0).row(-1, named=True)["evidence"] == []
    assert (reflection.counts["bad citation"], reflection.counts["uncited"]) == (2, 1)


def test_what_cannot_be_read_is_counted_and_concludes_nothing() -> None:
    reflection = Reflection(budget=20)
    mind, drawn = reflecting({"questions": "nonsense", "insights": {}}, reflection, [0])
    assert (drawn, reflection.counts["invalid"], mind.of(0).height) == (0, 1, 3)


def test_after_reflecting_the_budget_begins_anew() -> None:
    insights = {"insights": [{"insight": "Animals live here.", "because": [1]}]}
    mind, _ = reflecting({"questions": WONDER, "insights": insights}, Reflection(budget=20), [0])
    assert mind.importance_since_reflection([0])[0] < 20
