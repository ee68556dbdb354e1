"""Somebody plays a person of a run: at a desk, recorded, replayed, resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pydantic
import pytest

from populace import Allocation, Choice, Form, People, Run, Scenario, SetColumns, simulate
from populace.base.errors import InterruptedRunError, PeopleError, UnknownNameError, UsageError
from populace.deciders import DeskQuestion, FunctionDesk
from populace.engine.folder_desk import FolderDesk, open_questions, send_reply
from populace.journal import Journal
from populace.questions import Speech
from populace.runs.caveats import caveats
from support.scenarios import Forms, Shirts, Talk

TESTS = Path(__file__).parents[1]


class Visitor(FunctionDesk):
    """Answers as any person of `Talk` or `Shirts` could, and remembers what was asked."""

    def __init__(self, answer: Callable[[DeskQuestion], str | None] | None = None) -> None:
        super().__init__(self._answer)
        self.questions: list[DeskQuestion] = []
        self._own = answer

    def _answer(self, question: DeskQuestion) -> str | None:
        self.questions.append(question)
        return self._own(question) if self._own else fitting(question)


def fitting(question: DeskQuestion) -> str:
    if question.options:
        return question.options[-1]
    if question.fields:
        return json.dumps({name: "yes" if "yes" in text else 7 for name, text in question.fields})
    return "7" if "number" in question.instruction.lower() else "I see."


def test_somebody_decides_for_a_person_and_reads_what_the_person_reads() -> None:
    desk = Visitor()
    run = simulate(Shirts(people_count=4, days=2), model="scripted:first", play="2", desk=desk, keep="nothing")
    assert [(each.path, each.person) for each in desk.questions] == [("1/0", 2), ("2/0", 2)]
    second = desk.questions[1]
    assert (second.profile, second.situation) == ("You belong to group 2.", "Yesterday 3 wore blue.")
    assert (second.wording, second.options) == ("Which shirt?", ("blue", "green"))
    assert run.people()["shirt"].to_list() == ["blue", "blue", "green", "blue"]
    (decision,) = run.decisions(1, 2)
    assert (decision.prompts[0]["model"], decision.prompts[0]["replies"]) == ("human", ["green"])
    assert decision.prompts[0]["user"].startswith("Yesterday 0 wore blue.")


def test_names_and_ids_may_be_mixed_and_nobody_unknown_is_played() -> None:
    scenario = Shirts(people_count=4, days=1)
    name = simulate(scenario, decider="rule", keep="nothing").people()["name"][1]
    desk = Visitor()
    simulate(scenario, decider="rule", play=f"{name}, 3", desk=desk, keep="nothing")
    assert [each.person for each in desk.questions] == [1, 3]
    with pytest.raises(UnknownNameError):
        simulate(scenario, decider="rule", play="Nobody At All", desk=desk, keep="nothing")


class Twins(Shirts):
    """Two people of one name."""

    def setup(self) -> People:
        return super().setup().with_columns(name=["Ann"] * self.people_count)


def test_one_of_two_people_of_one_name_is_played_by_id_only() -> None:
    with pytest.raises(PeopleError, match="Name one by id"):
        simulate(Twins(people_count=2), decider="rule", play="Ann", desk=Visitor(), keep="nothing")


def test_without_a_desk_nobody_can_be_played() -> None:
    with pytest.raises(InterruptedRunError, match="nobody is there"):
        simulate(Shirts(people_count=2), decider="rule", play="0", keep="nothing")


@pytest.mark.parametrize("scenario", [Shirts(people_count=6, days=2), Talk(people_count=5, days=2), Forms(days=1)])
def test_a_played_run_replays_and_is_the_same_whatever_the_concurrency(scenario: Scenario, tmp_path: Path) -> None:
    runs = [
        simulate(
            scenario,
            model="scripted:cast",
            seed=3,
            play="1,2",
            desk=Visitor(),
            workspace=tmp_path / str(width),
            concurrency=width,
        )
        for width in (1, 64)
    ]
    assert runs[0].digest == runs[1].digest
    assert runs[0].replay(verify=True).steps == runs[0].steps
    assert runs[0].statuses["ok"] == runs[0].statuses.total()


def test_a_fork_keeps_what_was_answered_and_asks_from_there_on(tmp_path: Path) -> None:
    run = simulate(Shirts(people_count=3, days=4), model="scripted:first", play="1", desk=Visitor(), workspace=tmp_path)
    desk = Visitor(lambda question: "blue")
    forked = run.fork(3, desk=desk)
    assert [each.path for each in desk.questions] == ["3/0", "4/0"]
    assert forked.people(2)["shirt"][1] == "green" and forked.people()["shirt"][1] == "blue"
    alone = run.fork(3, play="")
    assert not alone.manifest.regime.play and alone.people()["shirt"][1] == "blue"
    assert forked.replay(verify=True).steps == forked.steps


def test_somebody_takes_a_person_over_in_mid_run() -> None:
    over = SetColumns(at=2, values={"decider": "human"}, to={"ids": [1]})  # type: ignore[arg-type]
    desk = Visitor()
    run = simulate(
        Shirts(people_count=3, days=3), decider="rule", interventions=over, desk=desk, keep="nothing", seed=1
    )
    assert [each.path for each in desk.questions] == ["2/0", "3/0"]
    assert run.count("human") == 2
    assert run.replay(verify=True).steps == run.steps


def test_an_answer_that_cannot_be_used_is_asked_for_again_with_the_reason() -> None:
    replies = iter(["", "purple", "2"])
    desk = Visitor(lambda question: next(replies))
    run = simulate(Shirts(people_count=2, days=1), decider="rule", play="0", desk=desk, keep="nothing")
    assert [each.problem for each in desk.questions] == [
        "",
        "The answer is empty.",
        "That is none of the options: blue, green.",
    ]
    assert run.people()["shirt"][0] == "green"


def test_somebody_who_never_answers_properly_does_not_hold_the_run_for_ever() -> None:
    desk = Visitor(lambda question: "purple")
    run = simulate(Shirts(people_count=2, days=1), decider="rule", play="0", desk=desk, keep="nothing")
    assert dict(run.statuses) == {"ok": 1, "unparseable": 1} and len(desk.questions) == 20


def test_no_answer_in_time_is_unanswered_and_changes_nothing(tmp_path: Path) -> None:
    desk = Visitor(lambda question: None)
    run = simulate(
        Shirts(people_count=3, days=2),
        model="scripted:first",
        play="1",
        desk=desk,
        play_timeout_s=0.01,
        workspace=tmp_path,
    )
    assert dict(run.statuses) == {"ok": 4, "unanswered": 2}
    assert run.people()["shirt"][1] == "green"
    assert run.replay(verify=True).steps == run.steps
    assert not any("service" in text for text in caveats(run))


class Budget(Scenario):
    """One person divides points and fills in a form."""

    steps = 1

    def setup(self) -> People:
        return People(pl.DataFrame({"id": [0], "name": ["Ann"]}))

    async def step(self) -> None:
        points = await self.ask(self.people, Allocation("Divide.", options=("roads", "schools"), total=10), rule=str)
        parts = {"tea": Choice("Tea?", options=("yes", "no"))}
        form = await self.ask(self.people, Form("About you.", questions=parts), rule=str)
        self.event("answers", points=points.values[0], form=form.values[0])


def test_the_fields_of_a_form_are_asked_one_by_one() -> None:
    desk = Visitor(
        lambda question: json.dumps({name: "5" if "points" in text else "no" for name, text in question.fields})
    )
    run = simulate(Budget(), decider="rule", play="Ann", desk=desk, keep="nothing")
    assert [each.fields for each in desk.questions] == [
        (("roads", "points out of 10"), ("schools", "points out of 10")),
        (("tea", "Tea? (yes / no)"),),
    ]
    assert dict(run.statuses) == {"ok": 2}


PLAYER = """
import os, sys
from populace import simulate
from support.scenarios import Talk
from engine.test_play import Visitor, fitting

def answer(question):
    if len(desk.questions) > int(sys.argv[2]):
        os.kill(os.getpid(), 9)
    return fitting(question)

desk = Visitor(answer)
simulate(Talk(people_count=3, days=2), model="scripted:cast", seed=2, play="0,1", desk=desk, workspace=sys.argv[1])
"""


def test_a_killed_run_is_resumed_without_asking_again_what_was_answered(tmp_path: Path) -> None:
    whole_desk = Visitor()
    scenario = Talk(people_count=3, days=2)
    whole = simulate(scenario, model="scripted:cast", seed=2, play="0,1", desk=whole_desk, workspace=tmp_path / "whole")
    reached = len(whole_desk.questions) - 3
    command = [sys.executable, "-c", PLAYER, str(tmp_path), str(reached)]
    ended = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(TESTS)}, capture_output=True, check=False)
    assert ended.returncode == -9, ended.stderr.decode()[-2000:]
    (folder,) = (tmp_path / "runs").iterdir()
    desk = Visitor()
    resumed = Run(Journal(folder)).resume(desk=desk)
    assert len(desk.questions) == 3
    assert resumed.digest == whole.digest


def test_a_desk_in_the_run_folder_is_answered_by_another_process(tmp_path: Path) -> None:
    scenario = Shirts(people_count=2, days=2)
    runs: list[Run] = []
    thread = threading.Thread(
        target=lambda: runs.append(simulate(scenario, decider="rule", play="1", desk=FolderDesk(), workspace=tmp_path))
    )
    thread.start()
    first = wait_for(lambda: questions_in(tmp_path))
    send_reply(first[0], first[1][0], "purple")
    again = wait_for(lambda: [each for each in questions_in(tmp_path)[1:] if each and each[0].question.problem])
    with pytest.raises(UsageError, match="no longer open"):
        send_reply(first[0], first[1][0], "blue")
    send_reply(first[0], again[0][0], "blue")
    wait_for(lambda: [each for each in questions_in(tmp_path)[1:] if each and each[0].question.path == "2/0"])
    with pytest.raises(UsageError, match="at most"):
        send_reply(first[0], questions_in(tmp_path)[1][0], "x" * 200_000)
    send_reply(first[0], questions_in(tmp_path)[1][0], "green")
    thread.join(120)
    assert runs[0].people()["shirt"].to_list() == ["blue", "green"] and not open_questions(first[0])


def questions_in(workspace: Path) -> list:  # type: ignore[type-arg]
    folders = list((workspace / "runs").glob("*"))
    waiting = open_questions(folders[0]) if folders else []
    return [folders[0], waiting] if waiting else []


def wait_for(condition: Callable[[], list]) -> list:  # type: ignore[type-arg]
    end = time.monotonic() + 120
    while not (value := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return value


def test_what_another_process_leaves_on_the_desk_harms_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "desk").mkdir(parents=True)
    for name, text in (("x.json", "{"), (f"{'a' * 16}.json", "[]"), (f"{'b' * 16}.json", '{"question": {}}')):
        (run / "desk" / name).write_text(text)
    assert open_questions(run) == []
    FolderDesk().open(run)
    assert not list((run / "desk").iterdir())
    with pytest.raises(UsageError, match="not kept"):
        simulate(Shirts(people_count=2), decider="rule", play="0", desk=FolderDesk(), keep="nothing")


class Stroke(pydantic.BaseModel):
    at: str
    minutes: int
    doing: str


class DayPlan(pydantic.BaseModel):
    plan: list[Stroke]


class Planner(Scenario):
    """One person plans, and somebody rates how much it matters."""

    steps = 1

    def setup(self) -> People:
        return People(pl.DataFrame({"id": [0], "name": ["Ann"]}))

    async def step(self) -> None:
        plan = await self.ask(self.people, Form("Plan your day.", model=DayPlan))
        await self.ask(self.people, Choice("Does it matter?", options=("yes", "no")), purpose="importance")
        self.event("planned", 0, plan=plan.one)


class Chat(Scenario):
    """One person says a line."""

    steps = 1

    def setup(self) -> People:
        return People(pl.DataFrame({"id": [0], "name": ["Ann"]}))

    async def step(self) -> None:
        await self.ask(
            self.people, Speech("The conversation so far:\nBo: The mill wheel has stood still since Monday.")
        )


def test_whoever_plays_reads_why_a_line_is_no_speech() -> None:
    replies = iter(["The conversation so far:", "You told Bo that it rains.", "Bo: I see.", "It was about time."])
    desk = Visitor(lambda question: next(replies))
    run = simulate(Chat(), model="scripted:first", play="Ann", desk=desk, keep="nothing")
    assert [each.problem.partition(".")[0] for each in desk.questions] == [
        "",
        "That repeats a memory or what was said before",
        "That reports what somebody said or did",
        "That is what somebody else says",
    ]
    assert run.answers()["value"].to_list() == ["It was about time."]


def test_a_plan_is_written_in_lines_and_the_mind_rates_by_itself() -> None:
    replies = iter(["07:00 | soon | eat", "07:00 | 30 | eat | and drink\n07:30 | 60 | walk"])
    desk = Visitor(lambda question: next(replies))
    run = simulate(Planner(), model="scripted:first", play="Ann", desk=desk, keep="nothing")
    assert desk.questions[0].columns == ("at", "minutes", "doing")
    assert desk.questions[0].instruction == "Write a line for each: at | minutes | doing"
    assert desk.questions[1].problem.startswith("That cannot be used as an answer here. Write a line for each")
    plan = json.loads(json.loads(run.events["data"][0])["plan"])["plan"]
    assert [(row["minutes"], row["doing"]) for row in plan] == [(30, "eat | and drink"), (60, "walk")]
    assert run.count("human") == 1 and dict(run.statuses) == {"ok": 2}
    assert run.replay(verify=True).steps == run.steps
    over = SetColumns(at=1, values={"decider": "human"})
    taken = simulate(
        Planner(), model="scripted:first", interventions=over, desk=Visitor(lambda _: "7 | 1 | eat"), keep="nothing"
    )
    assert taken.count("human") == 1 and taken.replay(verify=True).steps == taken.steps
