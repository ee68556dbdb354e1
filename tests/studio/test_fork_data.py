from __future__ import annotations

from typing import Any

import pytest

from populace import People, Run, simulate
from populace.base.errors import InterventionError, ParameterError, PopulaceError, UnknownNameError, UsageError
from populace.scenarios.discussion import Discussion
from populace.scenarios.norms import Norms
from populace.studio.pages.fork.data import Fork, check_changes, fork_point
from populace.studio.pages.fork.selection import ColumnCondition, column_value, columns_of, selection
from populace.tools.describe import parameters_of
from support.society import debater

PARAMETERS = parameters_of(Norms)


@pytest.fixture(scope="module")
def run() -> Run:
    return simulate(Norms(workers=6, days=3), model="scripted:uniform", seed=1, keep="nothing")


def test_the_parent_is_shown_as_the_fork_leaves_it(run: Run) -> None:
    found = fork_point(run, 2)
    assert (found.at, found.last, found.people, found.regime.seed, found.regime.model) == (
        2,
        4,
        6,
        1,
        "scripted:uniform",
    )
    assert found.metrics["share_blue"] == run.metrics["share_blue"][1]
    assert found.parameters["days"] == 3
    assert ("shirt", "text") in [(each.name, each.kind) for each in found.columns]
    assert fork_point(run).at == 3


@pytest.mark.parametrize("at", [0, 5, -1])
def test_a_fork_lies_between_the_first_step_and_the_one_after_the_last(run: Run, at: int) -> None:
    with pytest.raises(UsageError, match="cannot be forked"):
        fork_point(run, at)


def change(kind: str, at: int = 2, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "at": at, **more}


def test_every_kind_of_change_is_told_in_a_sentence(run: Run) -> None:
    colour = run.people(1)["shirt"][0]
    fitting = run.people(1).count(shirt=colour)
    fork = Fork(run.name, 2, [
        change("announce", text="Wear green.", steps=2),
        change("thing", place="stove", state="burning"),
        change("set", values={"shirt": "green"}, to={"where": {"shirt": colour}}),
        change("add", people=[{"name": "Zoe", "shirt": "blue"}]),
        change("remove", who={"ids": [0]}),
        change("change", parameters={"days": 5}),
        change("swap", model="scripted:first", to={"share": 0.5}),
        change("swap", at=3, model="scripted:first"),
    ])  # fmt: skip
    assert check_changes(run, fork, PARAMETERS) == [
        "At step 2, tell everybody: “Wear green.”, for 2 steps",
        "At step 2, stove is now burning",
        f"At step 2, set shirt to green for {fitting} of 6 people (shirt is {colour})",
        "At step 2, 1 person joins: Zoe",
        "At step 2, 1 of 7 people (id 0) leave",
        "At step 2, days becomes 5",
        "At step 2, scripted:first decides for 3 of 6 people (50% of them at random)",
        "At step 3, scripted:first decides for everybody",
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (change("announce", text=""), "announce.text.: it should not be empty"),
        (change("announce", at=1, text="Early."), "before the fork"),
        pytest.param(
            change("announce", text="Hello.", to={"where": {"shirt": "red"}}),
            "shirt|nobody",
            marks=pytest.mark.filterwarnings("ignore:column 'shirt' never holds 'red'"),
        ),
        (change("announce", text="Hello.", to={"ids": [99]}), "no person with id 99"),
        (change("announce", text="Hello.", to={"share": 2}), "less than or equal to 1"),
        (change("set", values={"hat": "red"}), "no column named 'hat'"),
        (change("set", values={"shirt": "red"}), "shirt"),
        (change("add", people=[{"hat": "red"}]), "hat"),
        (change("remove", who={}), "nobody would be left"),
        (change("change", parameters={"days": 0}), "must be >= 1"),
        (change("change", parameters={"hats": 0}), "no parameter named 'hats'"),
        (change("swap", model="nonsense"), "no model named"),
        (change("swap"), "swap.model.: it is missing"),
        (change("dance"), "no kind of intervention named .dance."),
    ],
)
def test_a_change_that_would_fail_is_refused_before_anything_starts(run: Run, wrong: Any, said: str) -> None:
    with pytest.raises(PopulaceError, match=said):
        check_changes(run, Fork(run.name, 2, [wrong]), PARAMETERS)


def test_trying_a_change_leaves_the_parent_as_it_is(run: Run) -> None:
    before = run.people(1).frame
    check_changes(run, Fork(run.name, 2, [change("set", values={"shirt": "green"})]), PARAMETERS)
    assert run.people(1).frame.equals(before)


def test_what_begins_with_the_fork_is_its_setting_and_the_rest_an_intervention() -> None:
    changes = [
        change("change", parameters={"days": 5}),
        change("change", at=3, parameters={"own": False}),
        change("swap", model="scripted:first"),
    ]
    made = Fork("norms-1", 2, changes, {"seed": "7", "temperature": ""}).command()
    assert made[:10] == [
        "fork", "norms-1", "--at", "2", "--set", "days=5", "--model", "scripted:first", "--seed", "7",
    ]  # fmt: skip
    assert made[10:] == ["--intervention", '{"kind": "change", "at": 3, "parameters": {"own": false}}']


def test_the_address_of_a_fork_gives_the_same_fork() -> None:
    fork = Fork("norms-1", 2, [change("announce", text="Grüße & “more”")], {"seed": "7"})
    query = {name: value for name, value in fork.query().items() if value is not None}
    assert Fork.read("norms-1", int(query["at"]), query) == fork
    with pytest.raises(InterventionError):
        Fork.read("norms-1", 2, {"changes": "[{]"})
    with pytest.raises(InterventionError):
        Fork.read("norms-1", 2, {"changes": '[{"kind": "dance", "at": 2}]'})


def test_changes_go_with_the_fork_when_it_moves() -> None:
    fork = Fork("norms-1", 2, [change("announce", text="a"), change("announce", at=4, text="b")])
    fork.move(3)
    assert [each["at"] for each in fork.changes] == [3, 4]
    fork.move(5)
    assert [each["at"] for each in fork.changes] == [5, 5]
    assert fork.at == 5


def test_a_selection_is_made_from_what_was_typed() -> None:
    people = People.named(4).with_columns(age=[20, 30, 40, 50], job=["a", "b", "a", None])
    conditions = [
        ColumnCondition("age", "ge", "30"),
        ColumnCondition("age", "lt", "50"),
        ColumnCondition("job", "in", "a,b"),
    ]
    assert selection(conditions, "", "", people) == {"where": {"age": {"ge": 30, "lt": 50}, "job": ["a", "b"]}}
    assert selection([ColumnCondition("job", "empty")], "", "0.25", people) == {"where": {"job": None}, "share": 0.25}
    names = people["name"].to_list()
    assert selection([], f"{names[1]}, 3", "", people) == {"ids": [1, 3]}
    assert selection([], "", "", people) == {}


def test_a_selection_that_makes_no_sense_is_refused() -> None:
    people = People.named(2).with_columns(age=[20, 30])
    with pytest.raises(ParameterError, match="whole number"):
        selection([ColumnCondition("age", "ge", "old")], "", "", people)
    with pytest.raises(UnknownNameError, match="column"):
        selection([ColumnCondition("hat", "eq", "red")], "", "", people)
    with pytest.raises(UnknownNameError, match="person"):
        selection([], "Nobody", "", people)
    with pytest.raises(ParameterError, match="<= 1"):
        selection([], "", "2", people)
    with pytest.raises(InterventionError, match="value"):
        selection([ColumnCondition("age", "eq", " ")], "", "", people)
    with pytest.raises(InterventionError, match="together"):
        selection([ColumnCondition("age", "eq", "3"), ColumnCondition("age", "eq", "4")], "", "", people)


def test_a_value_has_the_kind_of_its_column() -> None:
    people = People.named(1).with_columns(age=[20], tall=[True], weight=[1.5])
    typed = {"age": "7", "tall": "false", "weight": "2", "name": "Ida"}
    found = {each.name: column_value(each, typed[each.name]) for each in columns_of(people) if each.name in typed}
    assert found == {"age": 7, "tall": False, "weight": 2.0, "name": "Ida"}


def test_a_thought_is_refused_before_the_start_where_nobody_remembers(run: Run) -> None:
    fork = Fork(run.name, 2, [change("think", text="You like green.")])
    with pytest.raises(InterventionError, match="have none"):
        check_changes(run, fork, PARAMETERS)
    with_memory = simulate(Discussion(members=3, rounds=2, embedder="hashing"), model=debater(), seed=1, keep="nothing")
    assert check_changes(with_memory, fork, parameters_of(Discussion)) == [
        "At step 2, put a thought into the memories of everybody: “You like green.”"
    ]
