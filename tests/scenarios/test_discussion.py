from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from populace import Run, simulate
from populace.models import Request, Scripted
from populace.scenarios.discussion import Discussion
from support.society import chance


def speaker(replies: float = 0.5) -> Scripted:
    def reply(request: Request) -> Any:
        if request.top:
            if "reply" in request.options:
                return {"reply": replies, "silent": 1 - replies}
            place = int(chance(request) * len(request.options))
            return {request.options[place]: 1.0}
        return json.dumps({"say": f"I think {chance(request):.3f}.", "stance": "for"})

    return Scripted(reply, spec=f"scripted:speaker-{replies}")


def discussion(model: Any = None, *, concurrency: int = 16, **parameters: Any) -> Run:
    return simulate(
        Discussion(embedder="hashing", **parameters), model=model or speaker(), seed=2, keep="nothing",
        concurrency=concurrency,
    )  # fmt: skip


def test_positions_are_asked_privately_before_and_after() -> None:
    made = discussion()
    asked = made.answers().filter(pl.col("purpose") == "position")
    assert asked.group_by("step", maintain_order=True).len().rows() == [(1, 6), (3, 6)]
    assert made.metrics["shift"][-1] > 0


def test_moderated_turns_let_everybody_speak_equally() -> None:
    made = discussion(rounds=2, members=4)
    assert made.metrics["utterances"][-1] == 8
    assert made.metrics["inequality"][-1] == 0


def test_free_turns_go_to_whoever_wants_most() -> None:
    made = discussion(turns="free", speakers=2, rounds=2)
    assert made.metrics["utterances"][-1] == 4
    assert made.answers().filter(pl.col("purpose") == "urge").height == 2 * 2 * 6


@pytest.mark.parametrize(("replies", "heard"), [(0.0, 3), (1.0, 3 * (1 + 5 + 6))])
def test_in_agent_mode_what_is_said_wakes_the_others(replies: float, heard: int) -> None:
    made = discussion(speaker(replies), mode="agent", replies=2)
    assert made.metrics["utterances"][-1] == heard


def test_people_recall_what_was_said() -> None:
    made = discussion(members=3, rounds=2)
    assert made.prompts(at=2)["user"].str.contains('said: "I think').any()
    forgetful = discussion(members=3, rounds=2, remembers=False)
    assert not forgetful.prompts(at=2)["user"].str.contains('said: "I think').any()


@pytest.mark.parametrize("mode", ["script", "agent"])
def test_a_discussion_is_the_same_for_any_concurrency(mode: str) -> None:
    one, many = (discussion(mode=mode, concurrency=concurrency) for concurrency in (1, 64))
    assert one.answers().equals(many.answers())
    assert one.events.equals(many.events)


def test_what_cannot_be_read_is_heard_by_nobody() -> None:
    made = discussion(Scripted(lambda request: {"hm": 1.0} if request.top else "}{", spec="scripted:mute"))
    assert made.metrics["utterances"][-1] == 0
    assert made.metrics["mean_position"][-1] is None
