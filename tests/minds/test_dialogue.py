from __future__ import annotations

import json
from typing import Any

from populace.minds import Dialogue, Memory, Talk
from populace.models import HashingEmbedder, Request
from support.society import run_in_step

GIVEN = "You talk with {partners}.\n{memories}\n{said}"


def talking(
    reply: Any, dialogue: Dialogue, groups: list[list[int]], memory: Memory | None = None, **changes: Any
) -> tuple[list[Talk], Any]:
    async def body(scenario: Any) -> list[Talk]:
        people = [[scenario.people.person(who) for who in group] for group in groups]
        return await dialogue.hold(scenario, people, given=GIVEN, now=60, memory=memory, **changes)

    return run_in_step(body, reply)


def says(text: str, end: str = "no") -> str:
    return json.dumps({"say": text, "end": end})


def test_two_take_turns_up_to_the_limit() -> None:
    (talk,), _ = talking(lambda request: says("Hm."), Dialogue(limit=5), [[1, 0]])
    assert [line.name for line in talk.lines] == ["Bo", "Ann", "Bo", "Ann", "Bo"]
    assert talk.ended == "limit"


def test_three_take_turns_and_go_on_without_the_one_who_left() -> None:
    def reply(request: Request) -> str:
        return says("Bye.", "yes") if "Bo" in request.messages[0][1] else says("Hm.")

    (talk,), _ = talking(reply, Dialogue(limit=6), [[0, 1, 2]])
    assert [line.name for line in talk.lines] == ["Ann", "Bo", "Cy", "Ann", "Cy", "Ann"]


def test_either_side_can_end_it() -> None:
    (talk,), _ = talking(lambda request: says("I must go.", "yes"), Dialogue(), [[0, 1]])
    assert (len(talk.lines), talk.ended) == (1, "left")


def test_a_partner_who_is_gone_ends_it() -> None:
    (talk,), _ = talking(lambda request: says("Hello?"), Dialogue(), [[0, 1]], present=lambda who: who != 1)
    assert (talk.lines, talk.ended) == ([], "gone")


def test_an_utterance_that_cannot_be_read_is_counted_and_nobody_hears_it() -> None:
    dialogue, mind = Dialogue(), Memory(HashingEmbedder(64))
    (talk,), _ = talking(lambda request: "}{", dialogue, [[0, 1]], mind)
    assert (talk.lines, talk.ended) == ([], "invalid")
    assert dialogue.counts["invalid utterance"] == 1
    assert len(mind.stream) == 0


def test_each_hears_what_was_said_so_far() -> None:
    heard: list[str] = []

    def reply(request: Request) -> str:
        heard.append(request.messages[-1][1])
        return says(f"Line {len(heard)}.")

    talking(reply, Dialogue(limit=3), [[0, 1]])
    assert "(nobody has spoken yet)" in heard[0]
    assert "Ann: Line 1." in heard[1]
    assert "I: Line 1.\nBo: Line 2." in heard[2]


def test_both_remember_it_and_on_what_it_rests() -> None:
    mind = Memory(HashingEmbedder(64))
    talking(lambda request: says("There is a fair on Sunday."), Dialogue(limit=2), [[0, 1]], mind)
    bo = mind.of(1)
    assert bo["text"].to_list() == [
        'Ann told me: "There is a fair on Sunday."',
        'I talked with Ann. I said: "There is a fair on Sunday."',
    ]
    assert bo["evidence"].to_list()[1] == [bo["memory"][0]]


def test_what_is_remembered_of_the_other_comes_to_mind() -> None:
    mind = Memory(HashingEmbedder(64))
    mind.store([0], ["Bo owes me a book."], kind="observation", now=0, importance=5)
    _, run = talking(lambda request: says("Hm."), Dialogue(limit=1), [[0, 1]], mind)
    assert "- Bo owes me a book." in run.prompts()["user"][0]


def test_conversations_side_by_side_are_asked_together() -> None:
    talks, run = talking(lambda request: says("Hm."), Dialogue(limit=4), [[0, 1]])
    assert len(talks) == 1
    assert run.answers()["path"].n_unique() == 4
