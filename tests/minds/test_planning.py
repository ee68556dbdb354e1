from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from populace.base.errors import ParameterError
from populace.minds import Action, Agenda, Planning
from support.society import run_in_step

HOUR = 3600
PLACES = ("home", "work", "café")
clocks = st.tuples(st.integers(0, 23), st.sampled_from([0, 15, 30, 45])).map(lambda at: f"{at[0]:02d}:{at[1]:02d}")
rows = st.lists(st.tuples(clocks, st.sampled_from([*PLACES, "the moon"]), st.sampled_from(["eat", "read", " "])))


@given(rows, st.integers(0, 20 * HOUR))
def test_checked_plans_lie_ahead_follow_each_other_and_end_at_bedtime(plan: Any, now: int) -> None:
    planning = Planning(PLACES)
    actions = planning.to_actions(plan, now=now, until=22 * HOUR)
    assert all(now <= action.start < action.end <= 22 * HOUR for action in actions)
    assert all(one.end == other.start for one, other in itertools.pairwise(actions))
    dropped = sum(planning.counts[why] for why in ("in the past", "after bedtime", "overlapping", "not an action"))
    assert len(actions) + dropped == len(plan)


def test_every_repair_has_a_name() -> None:
    planning = Planning(PLACES)
    planning.to_actions(
        [("07:00", "home", "rise"), ("12:00", "café", "eat"), ("12:00", "work", "work"), ("11:00", "home", "read"),
         ("25:00", "home", "dream"), ("23:30", "café", "dance")],
        now=8 * HOUR, until=23 * HOUR,
    )  # fmt: skip
    assert dict(planning.counts) == {
        "in the past": 1, "out of order": 1, "overlapping": 1, "not an action": 1, "after bedtime": 1,
    }  # fmt: skip


def test_a_day_is_asked_of_all_at_once_and_an_unreadable_plan_is_none() -> None:
    planning = Planning(PLACES, strokes=(1, 3))

    def reply(request: Any) -> str:
        if "Bo" in request.messages[0][1]:
            return "I would rather not say."
        return json.dumps({"plan": [{"at": "09:00", "where": "café", "doing": "work"}]})

    async def body(scenario: Any) -> Any:
        return await planning.plan_day(
            scenario, scenario.people, given="", now=8 * HOUR, until=dict.fromkeys((0, 1, 2), 22 * HOUR)
        )

    plans, run = run_in_step(body, reply)
    assert plans[0] == [Action(9 * HOUR, 22 * HOUR, "café", "work")]
    assert plans[1] == []
    assert planning.counts["no plan"] == 1
    assert run.answers().height == 3


def test_a_stroke_is_made_finer_only_as_far_ahead_as_needed() -> None:
    planning = Planning(PLACES, ahead=HOUR)
    stroke = Action(9 * HOUR, 13 * HOUR, "café", "work")

    async def body(scenario: Any) -> Any:
        return await planning.refine(scenario, scenario.people.take([0]), [stroke], given="")

    def reply(request: Any) -> str:
        return json.dumps({"actions": [{"minutes": 40, "doing": "bake"}, {"minutes": 90, "doing": "serve"}]})

    (actions,), _ = run_in_step(body, reply)
    assert [(a.start, a.end, a.doing) for a in actions] == [
        (9 * HOUR, 9 * HOUR + 2400, "bake"),
        (9 * HOUR + 2400, 10 * HOUR, "serve"),
        (10 * HOUR, 13 * HOUR, "work"),
    ]


def test_an_action_runs_until_it_ends_and_goes_on_after_an_interruption() -> None:
    agenda = Agenda(["ann"])
    agenda.set("ann", [Action(0, 1000, "café", "work"), Action(1000, 2000, "home", "rest")])
    agenda.next("ann", 0)
    agenda.interrupt("ann", Action(300, 600, "", "talk"))
    assert agenda.due(500) == []
    resumed = agenda.next("ann", 600)
    assert resumed == Action(600, 1000, "café", "work")
    assert agenda.next("ann", 1000) == Action(1000, 2000, "home", "rest")
    assert agenda.next("ann", 2000) is None


def test_an_interruption_that_lasts_longer_ends_the_action() -> None:
    agenda = Agenda(["ann"])
    agenda.set("ann", [Action(0, 500, "café", "work"), Action(500, 2000, "home", "rest")])
    agenda.next("ann", 0)
    agenda.interrupt("ann", Action(300, 900, "", "talk"))
    assert agenda.next("ann", 900) == Action(500, 2000, "home", "rest")


def test_what_begins_later_is_waited_for() -> None:
    agenda = Agenda(["ann"])
    agenda.set("ann", [Action(600, 900, "café", "work")])
    assert agenda.next("ann", 0) == Action(0, 600, "", "wait")
    assert agenda.next("ann", 600) == Action(600, 900, "café", "work")


def test_a_plan_needs_places() -> None:
    with pytest.raises(ParameterError):
        Planning(())
