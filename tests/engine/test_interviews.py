"""Conversations with people of a run, as of a step: earlier turns and memories are in the prompt, the run stays."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from unittest import mock

import pytest

from populace import AddPeople, RemovePeople, Run, Selection, simulate
from populace.base.errors import UnknownNameError, UsageError
from populace.models import Request, Scripted
from populace.scenarios.discussion import Discussion
from support.commands import populace
from support.scenarios import Shirts
from support.society import debater


class Listener:
    """A model that remembers what it was asked."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.model = Scripted(self.reply, spec="scripted:listener")

    def reply(self, request: Request) -> str:
        self.prompts.append(request.messages[-1][1])
        return f"Answer {len(self.prompts)}."


@pytest.fixture
def run(tmp_path: Path) -> Run:
    changes = [AddPeople(at=2, people=[{"name": "Zoe", "group": "group 0", "shirt": "blue"}]),
               RemovePeople(at=3, to=Selection(ids=[1]))]  # fmt: skip
    return simulate(Shirts(people_count=3, days=4), decider="rule", interventions=changes, workspace=tmp_path)


def test_earlier_turns_stand_in_the_prompt_and_the_run_does_not_change(run: Run) -> None:
    listener, before = Listener(), run.digest
    with run.at(2).conversation(0, model=listener.model) as talk:
        assert [talk.ask("How are {you}?").answer, talk.ask("  Why?  ").answer] == ["Answer 1.", "Answer 2."]
    assert listener.prompts[0].startswith("Somebody talks with you.\n\nHow are {you}?")
    assert "What was said so far:\nThey: How are {you}?\nYou: Answer 1.\n\nWhy?" in listener.prompts[1]
    assert [(entry["conversation"], entry["step"]) for entry in run.interviews()] == [(1, 2), (1, 2)]
    assert Run.open(run.folder).digest == before and run.replay(verify=True).steps == run.steps


def test_a_conversation_goes_on_where_it_was_left_and_a_new_one_begins_afresh(run: Run) -> None:
    listener = Listener()
    for number in (None, 1, None):
        with run.at(2).conversation(0, model=listener.model, number=number) as talk:
            talk.ask(f"Question {len(listener.prompts)}?")
    assert "Question 0?" in listener.prompts[1] and "Question" not in listener.prompts[2].split("\n\n")[0]
    assert [entry["conversation"] for entry in run.interviews()] == [1, 1, 2]
    with pytest.raises(UsageError, match="conversation 1 of .* is with 0 as of step 2"):
        run.at(3).conversation(0, number=1)
    with pytest.raises(UsageError, match="not with 2"):
        run.at(2).conversation(2, number=1)


def test_a_number_of_no_conversation_is_refused_and_the_next_one_begins_one(run: Run) -> None:
    with pytest.raises(UsageError, match=r"has no conversation 3.*\n?.*1 begins a new one"):
        run.at(2).conversation(0, number=3)
    for number in (1, 2):
        with run.at(2).conversation(0, model=Listener().model, number=number) as talk:
            talk.ask("Well?")
    with pytest.raises(UsageError, match=r"(?s)has no conversation 4.*The last one is 2; 3 begins a new one"):
        run.at(2).conversation(0, number=4)


def test_somebody_who_left_or_has_not_come_yet_is_asked_as_of_another_step(run: Run) -> None:
    with pytest.raises(UsageError, match="1 is not there at step 4 of .*: they left after step 2"):
        run.at(4).conversation(1)
    with pytest.raises(UsageError, match="Zoe is not there at step 1 of .*: they join at step 2"):
        run.at(1).conversation("Zoe")
    with pytest.raises(UnknownNameError):
        run.at(4).conversation("Nobody At All")
    assert not run.interviews()


@pytest.mark.parametrize("text", ["", "   ", "x" * 5000])
def test_a_question_that_is_none_is_refused(run: Run, text: str) -> None:
    with run.at(2).conversation(0, model=Listener().model) as talk, pytest.raises(UsageError):
        talk.ask(text)


def test_what_people_remember_comes_to_mind_in_a_conversation() -> None:
    run = simulate(Discussion(members=3, rounds=2, embedder="hashing"), model=debater(), seed=1, keep="nothing")
    listener = Listener()
    with run.at(2).conversation(0, model=listener.model) as talk:
        talk.ask("What was said about the topic?")
    assert "What comes to your mind:" in listener.prompts[0] and "said:" in listener.prompts[0]


def test_a_conversation_works_inside_an_event_loop(run: Run) -> None:
    async def notebook() -> str | None:
        with run.at(2).conversation(0, model=Listener().model) as talk:
            return talk.ask("Hello?").answer

    assert asyncio.run(notebook()) == "Answer 1."


def test_a_conversation_at_the_keyboard_has_a_question_in_each_line(run: Run) -> None:
    workspace = run.folder.parent.parent
    model = ("--model", "scripted:uniform")
    place = ("--workspace", str(workspace))
    with mock.patch("sys.stdin", io.StringIO("Hello?\n\nWhy?\n")):
        ended = populace("interview", run.name, "--person", "0", "--at", "2", *model, *place)
    assert ended.returncode == 0 and "2 turns, kept as conversation 1" in ended.stderr
    assert len(ended.stdout.strip().splitlines()) == 2
    assert [entry["question"]["text"] for entry in run.interviews()] == ["Hello?", "Why?"]
    wrong = populace("interview", run.name, "--at", "2", *model, *place)
    assert wrong.returncode == 2 and "with one person" in wrong.stderr
