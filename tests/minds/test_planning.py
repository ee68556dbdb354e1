from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import ParameterError
from populace.minds import Action, Agenda, Planning
from support.society import run_in_step

HOUR = 3600
PLACES = ("home", "work", "café")
clocks = st.tuples(st.integers(0, 23), st.sampled_from([0, 15, 30, 45])).map(lambda at: f"{at[0]:02d}:{at[1]:02d}")
rows = st.lists(st.tuples(clocks, st.sampled_from([*PLACES, "the moon"]), st.sampled_from(["eat", "read", " "])))


@settings(deadline=None)
@given(rows, st.integers(0, 20 * HOUR))
def test_checked_plans_lie_ahead_follow_each_other_and_end_at_bedtime(plan: Any, now: int) -> None:
    planning = Planning(PLACES)
    actions = planning.to_actions(plan, now=now, until=22 * HOUR)
    assert all(now <= action.start < action.end <= 22 * HOUR for action in actions)
    assert all(one.end == other.start for one, other in itertools.pairwise(actions))
    dropped = sum(planning.counts[why] for why in ("in the past", "after bedtime", "overlapping", "place not known"))
    assert len(actions) + dropped == len(plan)


def test_every_repair_has_a_name() -> None:
    planning = Planning(PLACES)
    planning.to_actions(
        [("08:30", "home", "rise"), ("12:00", "café", "eat"), ("12:00", "work", "work"), ("11:00", "home", "read"),
         ("07:00", "home", "dream"), ("13:00", "moon", "dream"), ("23:30", "café", "dance")],
        now=8 * HOUR, until=23 * HOUR,
    )  # fmt: skip
    assert dict(planning.counts) == {
        "in the past": 1, "out of order": 1, "overlapping": 1, "place not known": 1, "after bedtime": 1,
    }  # fmt: skip


DAY_FROM_8 = [
    ("08:00", "home", "have breakfast"),
    ("09:00", "work", "bake bread"),
    ("12:00", "café", "lunch"),
    ("14:00", "work", "serve"),
    ("19:00", "home", "read"),
]


def day(*rows: tuple[str, str, str]) -> str:
    return json.dumps({"plan": [{"at": at, "where": where, "doing": doing} for at, where, doing in rows]})


def planned(planning: Planning, reply: Any, **changes: Any) -> tuple[dict[int, list[Action]], Any]:
    async def body(scenario: Any) -> Any:
        until = dict.fromkeys((0, 1, 2), 22 * HOUR)
        return await planning.plan_day(scenario, scenario.people, given="", now=8 * HOUR, until=until, **changes)

    return run_in_step(body, reply)


def test_a_day_is_asked_of_all_at_once_and_an_unreadable_plan_is_asked_for_once_more_and_is_none() -> None:
    planning = Planning(PLACES)

    def reply(request: Any) -> str:
        return "I would rather not say." if "You are Bo" in request.messages[0][1] else day(*DAY_FROM_8)

    plans, run = planned(planning, reply)
    assert [(a.start // HOUR, a.end // HOUR, a.doing) for a in plans[0]] == [
        (8, 9, "having breakfast"), (9, 12, "baking bread"), (12, 14, "having lunch"), (14, 19, "serving"),
        (19, 22, "reading"),
    ]  # fmt: skip
    assert plans[1] == []
    assert planning.counts["no plan"] == 1
    purposes = run.answers()["purpose"].to_list()
    assert (purposes.count("planning: day"), purposes.count("planning: day again")) == (3, 1)


@pytest.mark.parametrize(
    ("fault", "rows"),
    [
        (
            "begins late",
            [("13:00", "café", "eat"), *DAY_FROM_8[3:], ("16:00", "home", "nap"), ("17:00", "home", "cook")],
        ),
        ("hole", [*DAY_FROM_8[:3], ("13:00", "work", "serve"), ("21:30", "home", "read")]),
        ("too few", [("08:00", "home", "rest"), ("13:00", "home", "rest"), ("18:00", "home", "rest")]),
        ("no rows", [("23:00", "home", "dance")]),
    ],
)
def test_a_plan_with_a_fault_is_refused_and_asked_for_again_with_the_reason(fault: str, rows: Any) -> None:
    planning = Planning(PLACES)

    def reply(request: Any) -> str:
        return day(*(DAY_FROM_8 if "could not be used" in request.messages[-1][1] else rows))

    plans, run = planned(planning, reply)
    assert planning.counts[fault] == 3
    assert planning.counts["plans"] == 3
    assert all(actions[0].start == 8 * HOUR and actions[-1].end == 22 * HOUR for actions in plans.values())
    assert run.answers().height == 6


def test_a_plan_that_copies_the_placeholders_is_not_one() -> None:
    planning = Planning(PLACES)
    copied = day(*((at, where, "<what you do, in a few words>") for at, where, _ in DAY_FROM_8))
    plans, run = planned(planning, lambda request: copied)
    assert not any(plans.values())
    assert set(run.answers()["status"]) == {"unparseable"}
    assert planning.counts["no plan"] == 3


def test_nobody_plans_to_go_where_they_have_never_been() -> None:
    planning = Planning(PLACES)
    known = {0: ["home", "work", "café"], 1: ["home", "work"], 2: ["home", "work"]}
    plans, run = planned(planning, lambda request: day(*DAY_FROM_8), known=known)
    assert "café" in {action.where for action in plans[0]}
    assert "café" not in {action.where for who in (1, 2) for action in plans[who]}
    assert planning.counts["place not known"] >= 2
    assert "Places that you know: home; work." in run.prompts()["user"][1]


def test_who_goes_to_bed_after_midnight_plans_until_then() -> None:
    planning = Planning(PLACES)
    rows = [("20:00", "café", "play cards"), ("00:30", "home", "read")]
    actions = planning.to_actions(rows, now=20 * HOUR, until=25 * HOUR)
    assert [(action.start, action.end) for action in actions] == [
        (20 * HOUR, 24 * HOUR + 1800), (24 * HOUR + 1800, 25 * HOUR),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("level", "pieces", "expected"),
    [
        ("minutes", [(10, "bake"), (90, "serve"), (2, "sweep")],
         [(0, 10, "baking"), (10, 25, "serving"), (25, 30, "sweeping"), (30, 240, "working")]),
        ("hours", [(40, "bake"), (90, "serve")],
         [(0, 40, "baking"), (40, 130, "serving"), (130, 240, "working")]),
    ],
)  # fmt: skip
def test_a_stroke_is_divided_into_pieces_of_the_level(level: Any, pieces: Any, expected: Any) -> None:
    planning = Planning(PLACES)
    stroke = Action(9 * HOUR, 13 * HOUR, "café", "working")

    async def body(scenario: Any) -> Any:
        return await planning.refine(scenario, scenario.people.take([0]), [stroke], given="", level=level)

    def reply(request: Any) -> str:
        return json.dumps({"actions": [{"minutes": minutes, "doing": doing} for minutes, doing in pieces]})

    (actions,), _ = run_in_step(body, reply)
    assert [((a.start - 9 * HOUR) // 60, (a.end - 9 * HOUR) // 60, a.doing) for a in actions] == expected


def test_a_stroke_is_divided_only_as_far_ahead_as_needed() -> None:
    planning = Planning(PLACES)
    stroke = Action(9 * HOUR, 13 * HOUR, "café", "working")

    async def body(scenario: Any) -> Any:
        return await planning.refine(scenario, scenario.people.take([0]), [stroke], given="")

    pieces = [{"minutes": 15, "doing": "bake"}] * 6
    (actions,), _ = run_in_step(body, lambda request: json.dumps({"actions": pieces}))
    assert actions[-1] == Action(10 * HOUR, 13 * HOUR, "café", "working")
    assert planning.counts["cut short"] == 1


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
    assert agenda.next("ann", 0) == Action(0, 600, "", "waiting")
    assert agenda.next("ann", 600) == Action(600, 900, "café", "work")


def test_a_plan_needs_places() -> None:
    with pytest.raises(ParameterError):
        Planning(())
