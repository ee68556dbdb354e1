from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from populace import Run, Scenario, simulate
from populace.models import ReplyOrFailure, Request
from support.models import Counting
from support.scenarios import Forms, Shirts, Talk


class Shuffled(Counting):
    """Gives its replies back to front, in lots of odd sizes."""

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        replies = [(index, self._reply(request)) for index, request in enumerate(requests)]
        for last in range(len(replies), 0, -3):
            yield replies[max(0, last - 3) : last]


def journal_bytes(run: Run) -> dict[str, bytes]:
    steps = run.folder / "steps"
    return {str(path.relative_to(steps)): path.read_bytes() for path in sorted(steps.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("scenario", [Shirts(), Talk(), Forms()], ids=lambda s: type(s).__name__)
def test_one_seed_writes_one_journal_whatever_the_concurrency(scenario: Scenario, tmp_path: Path) -> None:
    journals = []
    for concurrency in (1, 7, 64):
        for turn in range(2):
            model = Counting(latency_s=0.0005, concurrency=concurrency)
            place = tmp_path / f"{concurrency}-{turn}"
            journals.append(journal_bytes(simulate(scenario, model=model, seed=3, workspace=place)))
    assert journals[0]
    assert all(journal == journals[0] for journal in journals[1:])


@pytest.mark.parametrize("scenario", [Shirts(), Talk(), Forms()], ids=lambda s: type(s).__name__)
def test_the_order_in_which_replies_arrive_changes_nothing(scenario: Scenario, tmp_path: Path) -> None:
    calm = simulate(scenario, model=Counting(), seed=3, workspace=tmp_path / "calm")
    wild = simulate(scenario, model=Shuffled(), seed=3, workspace=tmp_path / "wild")
    assert journal_bytes(calm) == journal_bytes(wild)


def test_another_seed_writes_another_journal(tmp_path: Path) -> None:
    one, two = (simulate(Shirts(), model=Counting(), seed=seed) for seed in (1, 2))
    assert one.digest != two.digest


def test_code_between_questions_runs_in_the_order_of_the_people(tmp_path: Path) -> None:
    run = simulate(Talk(people_count=5, days=1), model=Shuffled(), seed=1)
    rounds = run.events.filter(kind="round")["data"].to_list()
    assert rounds == ['{"order":"0,1,2,3,4"}']


def test_the_same_people_draw_the_same_numbers_in_a_larger_population() -> None:
    small = simulate(Shirts(people_count=6, days=1, wording="Hello."), model=Counting(), seed=5, keep="nothing")
    large = simulate(Shirts(people_count=60, days=1, wording="Hello."), model=Counting(), seed=5, keep="nothing")
    assert small.answers()["value"].to_list() == large.answers()["value"].head(6).to_list()
