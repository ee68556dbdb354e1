from __future__ import annotations

import json
from typing import Any, Literal

import polars as pl
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import QuestionError
from populace.questions import Choice, Form, Number, Rating, Text

VOTE = Choice("Do you vote?", options=("yes", "none"), wordings={"none": "never"})
PARTS = {
    "vote": VOTE,
    "age": Number("Your age?", whole=True, low=0, high=120),
    "mood": Rating("Your mood?", low=1, high=5),
    "why": Text("Why?"),
}
FORM = Form("About you.", questions=PARTS)
GOOD = {"vote": "yes", "age": 41, "mood": 4, "why": "Because."}


class Visit(pydantic.BaseModel):
    place: Literal["park", "shop"]
    hours: float = pydantic.Field(ge=0)
    note: str = "none"


VISIT = Form("Where do you go?", model=Visit)


def reply(**changed: Any) -> str:
    return json.dumps(GOOD | changed)


def test_a_filled_form_is_read_field_by_field() -> None:
    answer = FORM.parse(reply(vote="Never."))
    assert answer.status == "ok"
    assert answer.value == {"vote": "none", "age": 41, "mood": 4, "why": "Because."}


@pytest.mark.parametrize(
    "text",
    [
        reply(),
        f"```json\n{reply()}\n```",
        f"Here you are: {reply()} I hope it helps.",
        f"I use {{braces}} freely. {reply()}",
        json.dumps(GOOD, indent=2),
        reply(age="41", mood="4"),
    ],
)
def test_the_object_is_found_among_other_words(text: str) -> None:
    assert FORM.parse(text).value == {"vote": "yes", "age": 41, "mood": 4, "why": "Because."}


@pytest.mark.parametrize(
    "changed",
    [
        {"vote": "maybe"},
        {"age": 121},
        {"age": 41.5},
        {"age": True},
        {"age": None},
        {"mood": 6},
        {"why": ""},
        {"more": 1},
    ],
)
def test_one_bad_field_makes_the_whole_form_unparseable(changed: dict[str, Any]) -> None:
    answer = FORM.parse(reply(**changed))
    assert (answer.value, answer.status) == (None, "unparseable")


@pytest.mark.parametrize("changed", [{"why": None}, {"why": ["a"]}, {"why": {"a": 1}}, {"mood": 3.7}])
def test_a_field_of_another_type_is_not_turned_into_an_answer(changed: dict[str, Any]) -> None:
    assert FORM.parse(reply(**changed)).status == "unparseable"


def test_an_empty_field_is_not_the_option_none() -> None:
    form = Form("About you.", questions={"pet": Choice("Which pet?", options=("cat", "none"))})
    assert form.parse('{"pet": "none"}').value == {"pet": "none"}
    assert form.parse('{"pet": null}').status == "unparseable"


@pytest.mark.parametrize(
    "text",
    ["", "yes", "{}", '{"vote": "yes"}', reply() + reply(), "[1, 2]", reply()[:-1], "{'vote': 'yes'}"],
)
def test_anything_but_one_whole_object_is_unparseable(text: str) -> None:
    assert FORM.parse(text).status == "unparseable"


@pytest.mark.parametrize(
    "text", ['{"age":' + "[" * 100_000, '{"age":' * 3000, '{"age": ' + "1" * 5000 + "}"], ids=["list", "map", "digits"]
)
def test_a_reply_that_ran_away_is_unparseable_and_does_not_stop_the_run(text: str) -> None:
    assert FORM.parse(text).status == "unparseable"
    assert VISIT.parse(text).status == "unparseable"


def test_a_refusal_of_the_form_or_of_a_field_is_a_refusal() -> None:
    assert FORM.parse("I'm sorry, I cannot fill in this form.").status == "refused"
    assert FORM.parse(reply(why="As an AI, I have no reasons.")).status == "refused"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"place": "park", "hours": 2}', {"place": "park", "hours": 2.0, "note": "none"}),
        ('{"place": "shop", "hours": "1.5", "note": "x"}', {"place": "shop", "hours": 1.5, "note": "x"}),
        ('{"place": "home", "hours": 2}', None),
        ('{"place": "park", "hours": -1}', None),
        ('{"hours": 2}', None),
        ('{"place": "park", "hours": 2} {"place": "shop", "hours": 1}', None),
    ],
)
def test_a_pydantic_model_checks_the_object(text: str, value: dict[str, Any] | None) -> None:
    answer = VISIT.parse(text)
    assert answer.value == value
    assert answer.status == ("ok" if value else "unparseable")


def test_the_schema_of_questions_requires_every_field_and_no_other() -> None:
    schema = FORM.schema()
    assert schema["required"] == ["vote", "age", "mood", "why"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["vote"] == {"type": "string", "enum": ["yes", "never"]}
    assert schema["properties"]["mood"] == {"type": "integer", "minimum": 1, "maximum": 5}
    assert schema["properties"]["age"]["type"] == "integer"
    assert schema["properties"]["why"] == {"type": "string"}


def test_the_schema_of_a_model_is_its_own_and_stands_in_the_prompt() -> None:
    assert VISIT.schema() == Visit.model_json_schema()
    assert '"enum": ["park", "shop"]' in VISIT.instruction()


def test_the_instruction_lists_every_question_with_its_options() -> None:
    lines = FORM.instruction().split("\n")
    assert lines[0] == '- "vote": Do you vote? Options: yes, never.'
    assert lines[2] == '- "mood": Your mood? Scale: a whole number from 1 to 5.'
    assert '"vote", "age", "mood", "why"' in lines[-1]


def test_a_number_in_a_form_is_asked_for_with_its_unit_and_bounds() -> None:
    price = Number("What do you pay?", unit="dollars", low=0, high=90)
    text = Form("About money.", questions={"price": price}).instruction()
    assert "dollars" in text
    assert "90" in text


def test_a_field_in_a_part_of_a_form_is_refused_because_nothing_fills_it() -> None:
    with pytest.raises(QuestionError, match="name"):
        Form("About you.", questions={"age": Number("How old is {name}?")})


def test_a_form_takes_either_a_model_or_questions() -> None:
    with pytest.raises(QuestionError, match="either"):
        Form("About you.")
    with pytest.raises(QuestionError, match="either"):
        Form("About you.", model=Visit, questions=PARTS)


@pytest.mark.parametrize("part", [FORM, Text("Why?", reason=True)])
def test_forms_neither_nest_nor_hold_reasoning(part: Form | Text) -> None:
    with pytest.raises(QuestionError, match="'inner' cannot be part"):
        Form("Outer.", questions={"inner": part})


def test_the_canonical_form_changes_with_every_part() -> None:
    other = Form("About you.", questions=PARTS | {"age": Number("Your age?", whole=True, low=18, high=120)})
    assert other.canonical() != FORM.canonical()
    assert VISIT.canonical() != FORM.canonical()


def test_a_bigger_form_gets_more_room() -> None:
    assert FORM.max_tokens > Form("About you.", questions={"vote": VOTE}).max_tokens


@given(st.sampled_from(["yes", "never"]), st.integers(0, 120), st.integers(1, 5), st.text('abc äß"\\{}', min_size=1))
@settings(max_examples=60, deadline=None)
def test_any_fitting_object_is_read_and_comes_back_from_the_journal(vote: str, age: int, mood: int, why: str) -> None:
    filled = {"vote": vote, "age": age, "mood": mood, "why": f"x{why}x"}
    answer = FORM.parse(json.dumps(filled, ensure_ascii=False))
    assert answer.value == filled | {"vote": {"yes": "yes", "never": "none"}[vote]}
    assert json.loads(FORM.decode(pl.Series([FORM.encode(answer.value)]))[0]) == answer.value
