from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import TemplateError
from populace.base.templates import Template
from populace.people import People
from populace.prompting import Prompts, Situation, compose
from populace.questions import Choice

FEW_AND_MANY = pytest.mark.parametrize("times", [1, 40])
"""Small and large populations take different ways to the same prompts."""


def composed(
    people: People,
    profile: str = "",
    given: str = "",
    question: str = "Tea?",
    columns: dict[str, list[Any]] | None = None,
    variant: list[int] | None = None,
    **constants: Any,
) -> Prompts:
    filled = {name: pl.Series(name, values) for name, values in (columns or {}).items()}
    situation = Situation(Choice(question, options=("yes", "no")), Template(given), constants, filled)
    numbers = None if variant is None else np.array(variant, np.int32)
    return compose(Template(profile), people, situation, numbers)


def prompt_rows(prompts: Prompts) -> list[tuple[str, str, str, int]]:
    """What each person is told, in the order of the people."""
    table = list(zip(prompts.system, prompts.situation, prompts.wording, prompts.variant, strict=True))
    return [table[row] for row in prompts.of_person]


def crowd(times: int, **columns: list[Any]) -> People:
    return People(pl.DataFrame({name: values * times for name, values in columns.items()}))


@FEW_AND_MANY
def test_people_who_would_be_told_the_same_share_a_prompt(times: int) -> None:
    people = crowd(times, mood=["calm", "bold", "calm"], age=[30, 30, 41])
    prompts = composed(people, "You are {mood}.", "It rains.")
    assert prompts.system.to_list() == ["You are calm.", "You are bold."]
    assert prompts.of_person.tolist() == [0, 1, 0] * times
    assert len(prompts) == 2


@FEW_AND_MANY
def test_a_column_that_no_prompt_uses_does_not_split_prompts(times: int) -> None:
    people = People.named(3 * times, seed=1)
    prompts = composed(people, "You live here.", "It rains.")
    assert len(prompts) == 1
    assert set(prompts.of_person.tolist()) == {0}


def test_fields_are_filled_in_profile_situation_and_question() -> None:
    people = crowd(1, name=["Ann", "Bo"], age=[30, 41])
    prompts = composed(people, "You are {name}.", "Yesterday {blue} wore blue.", "At {age}, tea?", blue=7)
    assert prompt_rows(prompts) == [
        ("You are Ann.", "Yesterday 7 wore blue.", "At 30, tea?", 0),
        ("You are Bo.", "Yesterday 7 wore blue.", "At 41, tea?", 0),
    ]


def test_values_given_with_the_question_win_over_columns_of_the_population() -> None:
    people = crowd(1, mood=["calm", "bold"])
    assert composed(people, "{mood}", mood="tired").system.to_list() == ["tired"]
    assert composed(people, "{mood}", columns={"mood": ["sad", "glad"]}).system.to_list() == ["sad", "glad"]


@FEW_AND_MANY
def test_what_was_heard_stands_before_the_situation_of_those_who_heard_it(times: int) -> None:
    people = crowd(times, heard=["Flood!", None, ""])
    prompts = composed(people, given="It rains.")
    assert [situation for _, situation, _, _ in prompt_rows(prompts)] == [
        "Flood!\nIt rains.",
        "It rains.",
        "It rains.",
    ] * times
    assert len(prompts) == 2


def test_what_was_heard_is_the_situation_where_nothing_else_is_told() -> None:
    prompts = composed(crowd(1, heard=["Flood!", None]))
    assert [situation for _, situation, _, _ in prompt_rows(prompts)] == ["Flood!", ""]


def test_where_nobody_heard_anything_the_situation_is_as_given() -> None:
    people = People(pl.DataFrame({"heard": pl.Series([None, None], dtype=pl.String)}))
    prompts = composed(people, given="It rains.")
    assert prompts.situation.to_list() == ["It rains."]


@FEW_AND_MANY
def test_a_variant_tells_equal_prompts_apart(times: int) -> None:
    prompts = composed(crowd(times, mood=["calm", "calm", "bold"]), "{mood}", variant=[0, 1, 0] * times)
    assert prompt_rows(prompts) == [("calm", "", "Tea?", 0), ("calm", "", "Tea?", 1), ("bold", "", "Tea?", 0)] * times
    assert len(prompts) == 3


def test_a_column_that_happens_to_be_named_variant_is_told_as_it_is() -> None:
    people = crowd(1, variant=["alpha", "delta"])
    prompts = composed(people, "Yours is {variant}.", variant=[0, 1])
    assert prompts.system.to_list() == ["Yours is alpha.", "Yours is delta."]
    assert prompts.variant.to_list() == [0, 1]


@pytest.mark.parametrize(
    ("parts", "where"),
    [
        ({"profile": "You are {mod}."}, "the profile"),
        ({"given": "You feel {mod}."}, "given"),
        ({"question": "Is {mod} right?"}, "the question"),
    ],
)
def test_a_field_that_nothing_fills_is_named_with_its_place_and_the_nearest(parts: dict[str, str], where: str) -> None:
    with pytest.raises(TemplateError) as raised:
        composed(crowd(1, mood=["calm"]), **parts)  # type: ignore[arg-type]
    assert raised.value.what.startswith(where)
    assert "{mood}" in (raised.value.hint or "")


@pytest.mark.parametrize(("ids", "who"), [([4, 5, 6], "5"), (["a", "b", "c"], "'b'")])
def test_an_empty_field_names_the_person(ids: list[Any], who: str) -> None:
    people = People(pl.DataFrame({"id": ids, "mood": ["calm", None, None]}))
    with pytest.raises(TemplateError, match=rf"\{{mood\}} is empty for person {who}"):
        composed(people, "You feel {mood}.")


def test_an_empty_value_in_a_column_that_is_not_used_does_not_matter() -> None:
    people = crowd(1, mood=["calm", None], age=[30, 41])
    assert composed(people, "You are {age}.").system.to_list() == ["You are 30.", "You are 41."]


def test_an_empty_value_given_with_the_question_names_the_person() -> None:
    people = People(pl.DataFrame({"id": [4, 5]}))
    with pytest.raises(TemplateError, match="person 5"):
        composed(people, given="{luck}", columns={"luck": [1, None]})


@FEW_AND_MANY
def test_values_that_are_equal_and_read_differently_do_not_share_a_prompt(times: int) -> None:
    prompts = composed(crowd(times, change=[0.0, -0.0]), "It changed by {change}.")
    assert [system for system, _, _, _ in prompt_rows(prompts)] == ["It changed by 0.0.", "It changed by -0.0."] * times


@FEW_AND_MANY
def test_a_list_is_told_with_commas(times: int) -> None:
    prompts = composed(crowd(times, friends=[["Bo"], ["Ann", "Cy"], ["Bo"]]), "Your friends: {friends}.")
    assert prompts.system.to_list() == ["Your friends: Bo.", "Your friends: Ann, Cy."]
    assert prompts.of_person.tolist() == [0, 1, 0] * times


ROWS = st.tuples(
    st.sampled_from(["calm", "bold", "", "calm "]),
    st.integers(-2, 2),
    st.booleans(),
    st.sampled_from([None, "Flood!", "Sun."]),
    st.integers(0, 1),
)


@given(st.lists(ROWS, min_size=3, max_size=8), st.sampled_from([1, 30]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_composing_equals_writing_every_prompt_by_hand(
    rows: list[tuple[str, int, bool, str | None, int]], times: int, vary: bool
) -> None:
    rows = rows * times
    mood, age, here, heard, variant = (list(column) for column in zip(*rows, strict=True))
    people = People(pl.DataFrame({"mood": mood, "age": age, "heard": pl.Series(heard, dtype=pl.String)}))
    columns = {"here": here}
    prompts = composed(people, "<{mood}|{age}>", "{age:+d} {n}", "{here}?", columns, variant if vary else None, n="all")
    by_hand = [
        (f"<{m}|{a}>", f"{said}\n{a:+d} all" if said else f"{a:+d} all", f"{h}?", v if vary else 0)
        for m, a, h, said, v in rows
    ]
    assert prompt_rows(prompts) == by_hand
    assert len(prompts) == len(set(by_hand))
    assert list(dict.fromkeys(prompts.of_person.tolist())) == list(range(len(prompts)))
