"""A town in which a thing burns, people react, somebody is played and a newcomer joins is killed, and goes on the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from populace import Run, simulate
from populace.deciders import DeskQuestion, FunctionDesk
from support.village import ODILE, STOVE, Village, events

TESTS = Path(__file__).parents[1]
NEWCOMER = {"kind": "add", "at": 12, "people": [{"name": "Ada Bell", "home": "Larch Lane 4"}]}


class Eventful(Village):
    """The stove burns at half past six in the kitchen where Odile is."""

    async def step(self) -> None:
        if self.t == 7:
            self.presence.send([self.row[ODILE]], [self.town.place("Larch Lane 4 > kitchen")], self.seconds)
        if self.t == 9:
            self.change_thing(STOVE, "burning")
        await super().step()


def somebody(question: DeskQuestion) -> str:
    """An answer of whoever plays Wren."""
    if question.options:
        return question.options[0]
    if "minutes" in question.columns:
        return "60 | reading\n60 | drawing"
    if question.columns:
        now = re.search(r"It is (\d\d:\d\d)", question.situation)
        return f"{now[1] if now else '06:00'} | home | reading\n12:00 | home | cooking\n17:00 | home | drawing"
    return f"I have thought of this {len(question.situation)} times."


def eventful(answer: Callable[[DeskQuestion], str | None], workspace: Path, **settings: Any) -> Run:
    return simulate(
        Eventful(embedder="hashing", residents=5, hours=True, until=24),
        model="scripted:cast",
        seed=1,
        play="Wren Farrant",
        desk=FunctionDesk(answer),
        interventions=[NEWCOMER],
        workspace=workspace,
        **settings,
    )


# Starting an interpreter takes a second, so one process starts all runs, each in a process forked from it.
PLAYERS = """
import os, sys
from pathlib import Path
from scenarios.test_town_resumed import eventful, somebody

def killed_at(last):
    count = 0
    def answer(question):
        global count
        count += 1
        if count > last:
            os.kill(os.getpid(), 9)
        return somebody(question)
    return answer

count = 0
for last in sys.argv[2].split(","):
    child = os.fork()
    if child == 0:
        eventful(killed_at(int(last)), Path(sys.argv[1], last))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, int]:
    questions: list[DeskQuestion] = []

    def answer(question: DeskQuestion) -> str | None:
        questions.append(question)
        return somebody(question)

    run = eventful(answer, tmp_path_factory.mktemp("whole"), concurrency=1)
    assert events(run, "reacted") and len(run.people()) == 6
    return run, len(questions)


def test_it_is_the_same_for_any_concurrency_and_replayed(whole: tuple[Run, int], tmp_path: Path) -> None:
    run, _ = whole
    assert eventful(somebody, tmp_path, concurrency=64).digest == run.digest
    assert run.replay(verify=True).steps == run.steps


def test_killed_while_somebody_answers_it_goes_on_as_if_nothing_had_happened(
    whole: tuple[Run, int], tmp_path: Path
) -> None:
    run, questions = whole
    moments = (questions // 2, questions - 1)
    command = [sys.executable, "-c", PLAYERS, str(tmp_path), ",".join(map(str, moments))]
    ended = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(TESTS)}, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()[-2000:]
    for moment in moments:
        (folder,) = (tmp_path / str(moment) / "runs").iterdir()
        asked: list[DeskQuestion] = []

        def answer(question: DeskQuestion, asked: list[DeskQuestion] = asked) -> str | None:
            asked.append(question)
            return somebody(question)

        assert Run.open(folder).trust().resume(desk=FunctionDesk(answer)).digest == run.digest
        assert len(asked) == questions - moment
