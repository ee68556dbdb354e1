from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from populace.minds import AIM, Dialogue, Memory, Mind, Talk
from populace.models import HashingEmbedder, Request
from support.society import run_in_step

GIVEN = "You talk with {partners}."
LINES = ("The geese left early this year.", "My sister rides a mule.", "Rain is bad for plums.", "Who took the ladder?",
         "Seven boats went out.", "Nobody mends that fence.")  # fmt: skip


def talking(
    reply: Any, dialogue: Dialogue, groups: list[list[int]], memory: Memory | None = None, **changes: Any
) -> tuple[list[Talk], Any]:
    async def body(scenario: Any) -> list[Talk]:
        if memory is not None:
            scenario.mind = Mind(scenario.profile(), memory=memory)
        people = [[scenario.people.person(who) for who in group] for group in groups]
        return await dialogue.hold(scenario, people, given=GIVEN, memory=memory, **({"now": 60} | changes))

    return run_in_step(body, reply)


def talker(*, until: int = 99, leaves: str = "") -> Callable[[Request], Any]:
    """Somebody who says one line after the other, and ends it after some lines or if they have a name."""

    def reply(request: Request) -> Any:
        asked = request.messages[-1][1]
        lines = asked.count(": ")
        if request.options:
            ends = lines >= until or (leaves and f"You are {leaves}" in request.messages[0][1])
            return {"end it": 1.0} if ends else {"answer": 1.0}
        return LINES[lines % len(LINES)]

    return reply


def test_two_take_turns_up_to_the_limit() -> None:
    (talk,), _ = talking(talker(), Dialogue(limit=5), [[1, 0]])
    assert [line.name for line in talk.lines] == ["Bo", "Ann", "Bo", "Ann", "Bo"]
    assert [line.text for line in talk.lines] == list(LINES[:5])
    assert talk.ended == "limit"


def test_three_take_turns_and_go_on_without_the_one_who_left() -> None:
    (talk,), _ = talking(talker(leaves="Bo"), Dialogue(limit=6), [[0, 1, 2]])
    assert [line.name for line in talk.lines] == ["Ann", "Bo", "Cy", "Ann", "Cy", "Ann"]
    assert talk.left == {1}


def test_either_side_can_end_it_when_both_have_spoken() -> None:
    (talk,), _ = talking(talker(until=1), Dialogue(), [[0, 1]])
    assert (len(talk.lines), talk.ended) == (2, "left")


def test_a_partner_who_is_gone_ends_it() -> None:
    (talk,), _ = talking(talker(), Dialogue(), [[0, 1]], present=lambda who: who != 1)
    assert (talk.lines, talk.ended) == ([], "gone")


@pytest.mark.parametrize(
    "line", ["", "}{", 'I told Bo: "Rain."', "I saw Bo, who was eating.", "Hello, Ann!", "Bo: Good day, Ann."]
)
def test_a_line_that_is_no_speech_is_counted_and_nobody_hears_it(line: str) -> None:
    dialogue, memory = Dialogue(), Memory(HashingEmbedder(64))
    (talk,), _ = talking(lambda request: line, dialogue, [[0, 1]], memory)
    assert (talk.lines, talk.ended) == ([], "invalid")
    assert dialogue.counts["invalid utterance"] == 1
    assert len(memory.stream) == 0


def test_somebody_who_repeats_the_other_is_asked_again() -> None:
    def reply(request: Request) -> Any:
        turn = len(request.messages)
        return LINES[0] if turn < 4 else LINES[1]

    (talk,), run = talking(reply, Dialogue(limit=2), [[0, 1]])
    assert [line.text for line in talk.lines] == list(LINES[:2])
    assert run.answers()["status"].to_list() == ["ok", "repaired"]


def test_each_hears_what_was_said_so_far() -> None:
    heard: list[str] = []

    def reply(request: Request) -> Any:
        if request.options:
            return {"answer": 1.0}
        heard.append(request.messages[-1][1])
        return LINES[len(heard)]

    talking(reply, Dialogue(limit=3), [[0, 1]])
    assert "Nobody has spoken yet" in heard[0]
    assert f"Ann: {LINES[1]}" in heard[1]
    assert f"Ann: {LINES[1]}\nBo: {LINES[2]}" in heard[2]


def test_both_remember_it_and_on_what_it_rests() -> None:
    memory = Memory(HashingEmbedder(64))
    talking(talker(), Dialogue(limit=2), [[0, 1]], memory)
    bo = memory.of(1)
    assert bo["text"].to_list() == [f'Ann told you: "{LINES[0]}"', f'You told Ann: "{LINES[1]}"']
    assert bo["kind"].to_list() == ["hearing", "speech"]
    assert bo["evidence"].to_list()[1] == [bo["memory"][0]]


def test_what_one_said_first_rests_on_nothing_that_came_after_it() -> None:
    memory = Memory(HashingEmbedder(64))
    talking(talker(), Dialogue(limit=3), [[0, 1]], memory)
    ann = {row["text"]: row["evidence"] for row in memory.of(0).iter_rows(named=True)}
    assert ann[f'You told Bo: "{LINES[0]}"'] == []
    assert len(ann[f'You told Bo: "{LINES[2]}"']) == 1


def test_what_is_remembered_of_the_other_comes_to_mind() -> None:
    memory = Memory(HashingEmbedder(64))
    memory.store([0], ["Bo owes you a book."], kind="observation", now=0, importance=5)
    _, run = talking(talker(), Dialogue(limit=1), [[0, 1]], memory)
    assert "- Bo owes you a book." in run.prompts()["user"][0]


def test_conversations_side_by_side_are_asked_together() -> None:
    talks, run = talking(talker(), Dialogue(limit=4), [[0, 1]])
    assert len(talks) == 1
    assert run.answers().filter(purpose="dialogue")["path"].n_unique() == 4


# What somebody wants who begins a conversation


def test_who_begins_puts_into_words_what_they_want_once_a_day() -> None:
    def reply(request: Request) -> Any:
        asked = request.messages[-1][1]
        return 'I want Ann to know this: "Bring\nthe ladder."' if "Before you speak" in asked else talker()(request)

    dialogue = Dialogue(limit=3, aim=AIM)
    _, run = talking(reply, dialogue, [[1, 0]])
    aims = run.prompts().filter(pl.col("user").str.contains("Before you speak"))["user"].to_list()
    lines = run.prompts().filter(pl.col("user").str.contains("Write only the next line"))["user"].to_list()
    assert len(aims) == 1
    assert 'what do you want Ann to know, or to do? Begin with "I want Ann to".' in aims[0]
    thought = 'You think, "I want Ann to know this, \'Bring the ladder." Now say it to Ann.'
    assert [thought in line for line in lines] == [True, False, False]
    _, again = talking(reply, dialogue, [[1, 0]])
    assert not again.prompts()["user"].str.contains("Before you speak").any()
    _, tomorrow = talking(reply, dialogue, [[1, 0]], now=86_460)
    assert tomorrow.prompts()["user"].str.contains("Before you speak").any()
