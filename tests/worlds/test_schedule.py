from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from populace import Choice, Field, People, Run, Scenario, simulate
from populace.base.errors import UnknownNameError, WorldError
from populace.worlds.schedule import Schedule, ScheduleEntry
from support.society import run_in_step


def exchange(schedule: Schedule, act: Any, now: int = 0) -> str:
    async def body(scenario: Any) -> str:
        return await schedule.run(scenario, act, now)

    return run_in_step(body, lambda request: "yes")[0]


def test_a_message_wakes_its_receiver_and_all_is_quiet_in_the_end() -> None:
    schedule, woken = Schedule([0, 1, 2]), []

    async def act(who: int, entries: Sequence[ScheduleEntry]) -> None:
        woken.append((who, [(entry.sender, entry.text) for entry in entries]))
        if who < 2:
            schedule.send(who, [who + 1], f"from {who}")

    schedule.send(None, [0], "begin")
    assert exchange(schedule, act) == "quiet"
    assert woken == [(0, [(None, "begin")]), (1, [(0, "from 0")]), (2, [(1, "from 1")])]


def test_what_is_sent_in_a_wave_arrives_with_the_next() -> None:
    schedule, woken = Schedule([0, 1], waves=3), []

    async def act(who: int, entries: Sequence[ScheduleEntry]) -> None:
        woken.append((who, [entry.number for entry in entries]))
        schedule.send(who, [0, 1], "again")

    schedule.send(None, [0, 1], "begin")
    assert exchange(schedule, act) == "waves"
    assert woken == [(0, [0]), (1, [1]), (0, [3]), (1, [2]), (0, [5]), (1, [4])]
    assert schedule.waiting == [0, 1], "what is left over stays due"


def test_too_many_messages_end_it() -> None:
    schedule = Schedule([0, 1], messages=4)

    async def act(who: int, entries: Sequence[ScheduleEntry]) -> None:
        schedule.send(who, [0, 1], "again")

    schedule.send(None, [0, 1], "begin")
    assert exchange(schedule, act) == "messages"


def test_nobody_is_woken_by_their_own_words() -> None:
    schedule = Schedule([0, 1])
    schedule.send(0, [0, 1], "hello")
    schedule.send(0, [0], "to myself")
    assert (schedule.waiting, schedule.sent, len(schedule)) == ([1], 1, 1)


def test_people_are_run_only_when_something_is_due() -> None:
    schedule, woken = Schedule(["ann", "bo", "cy"]), []
    schedule.script({"person": ["cy", "ann", "cy"], "at": [10, 30, 20], "text": ["open", "buy", "sweep"]})
    schedule.wake(["bo"], at=20)

    async def act(who: str, entries: Sequence[ScheduleEntry]) -> None:
        woken.append((schedule.now, who, [entry.text for entry in entries]))
        if who == "bo" and schedule.now < 40:
            schedule.wake(["bo"], at=schedule.now + 20)

    for now in (5, 20, 25, 40, 60):
        exchange(schedule, act, now)
    assert woken == [
        (20, "bo", [""]),
        (20, "cy", ["open", "sweep"]),
        (40, "ann", ["buy"]),
        (40, "bo", [""]),
    ]
    assert schedule.next_at is None


def test_what_is_due_is_taken_once_by_time_and_order_of_entry() -> None:
    schedule = Schedule(pl.Series([3, 1, 2]))
    schedule.wake([1, 2, 3], at=[5, 3, 5], text=["a", "b", "c"])
    assert schedule.due(4).select("person", "text").rows() == [(2, "b")]
    assert schedule.due(9).select("person", "text").rows() == [(1, "a"), (3, "c")]
    assert schedule.due(9).is_empty()


def test_a_million_people_are_scheduled_by_columns() -> None:
    ids = pl.int_range(1_000_000, eager=True)
    schedule = Schedule(ids)
    schedule.wake(ids, at=pl.Series(np.arange(1_000_000) % 1000))
    assert schedule.due(9).height == 10_000 and schedule.next_at == 10


def test_who_leaves_has_nothing_due() -> None:
    schedule = Schedule([0, 1])
    schedule.wake([0, 1], at=3)
    schedule.change_people([1, 2])
    schedule.wake([2], at=3)
    assert schedule.waiting == [1, 2]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda schedule: schedule.wake([7], at=1), "no person named '7'"),
        (lambda schedule: schedule.wake(["0"], at=1), "no person"),
        (lambda schedule: schedule.send(None, [9], "hello"), "no person"),
        (lambda schedule: schedule.wake([0, 1], at=[1]), "1 values of 'at' were given for 2 people"),
        (lambda schedule: schedule.wake([0, 1], at=[1, None]), "1 values of 'at'"),
        (lambda schedule: schedule.wake([0], at="soon"), "whole numbers"),
        (lambda schedule: schedule.script({"person": [0], "at": [1]}), "no column 'text'"),
    ],
)
def test_an_entry_that_cannot_be_is_refused(wrong: Any, message: str) -> None:
    schedule = Schedule([0, 1])
    with pytest.raises((WorldError, UnknownNameError), match=message):
        wrong(schedule)
    assert len(schedule) == 0
    with pytest.raises(WorldError):
        Schedule([0], waves=0)


class Shop(Scenario):
    """A shopkeeper opens by script, customers come when they are due, and gossip wakes whoever hears it."""

    steps: int = Field(6, ge=1)

    def setup(self) -> People:
        people = People.named(6, seed=self.rng)
        self.schedule = Schedule(people)
        self.schedule.script({"person": [0], "at": [2], "text": ["open the shop"]})
        self.schedule.wake([1, 2, 3, 4, 5], at=self.rng.integers(1, 7, 5).tolist(), text="buy bread")
        return people

    async def step(self) -> None:
        await self.schedule.run(self, self.act, self.t)

    async def act(self, who: int, entries: Sequence[ScheduleEntry]) -> None:
        answer = await self.ask(self.people.person(who), Choice("Do you tell anybody?", options=("yes", "no")))
        self.event("acted", who, why=[entry.text for entry in entries], answer=answer.one)
        if answer.one == "yes":
            self.schedule.send(who, [(who + 1) % 6], "gossip")


def test_a_scheduled_scenario_repeats_whatever_the_concurrency(tmp_path: Any) -> None:
    def run(width: int) -> Run:
        place = tmp_path / str(width)
        return simulate(Shop(), model="scripted:uniform", seed=2, workspace=place, concurrency=width)

    one, many = run(1), run(64)
    assert one.digest == many.digest
    assert one.replay(verify=True).steps == one.steps
    assert one.events.filter(kind="acted").height == one.statuses.total(), "nobody is asked without a reason"
