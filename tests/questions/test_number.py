from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import QuestionError
from populace.questions import Number

ANY = Number("How much?")
DOLLARS = Number("What do you pay?", unit="dollars")
PERCENT = Number("What share?", unit="%", low=0, high=100)
AGE = Number("How old are you?", low=0, high=120, whole=True, unit="years")


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("5", 5.0),
        ("-5", -5.0),
        ("−5", -5.0),
        ("﹣5", -5.0),
        ("+5", 5.0),
        ("0.5", 0.5),
        ("-0.25", -0.25),
        ("1,250", 1250.0),
        ("1'250", 1250.0),
        ("1\u00a0250", 1250.0),
        ("1\u202f250.5", 1250.5),
        ("-1,234,567.5", -1234567.5),
        ("1e3", 1000.0),
        ("١٢", 12.0),
        ("५", 5.0),
        ("１，２５０", 1250.0),
        ("**5**", 5.0),
        ("(5)", 5.0),
        ("I would say 5.", 5.0),
        ("Answer: 5", 5.0),
        ("There were 3 of us.\nAnswer: 5", 5.0),
    ],
)
def test_one_number_is_read_however_it_is_written(reply: str, value: float) -> None:
    answer = ANY.parse(reply)
    assert (answer.value, answer.status) == (value, "ok")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   ",
        "five",
        "nan",
        "infinity",
        "5 or 6",
        "between 5 and 10",
        "5-10",
        "5–10",
        "5 - 10",
        "5 to 10",
        "5/10",
        "5 out of 10",
        "Answer: 5 or 6",
        "5:30",
        "2024-01-05",
        "5th",
        "A5",
        "½",
        "5½",
        "5k",
        "5 thousand",
        "1.5 million",
        "two dozen",
        "3 dozen",
        "1.250,50",
        "1,2",
        "1,0000",
        "1e999",
        "0x10",
    ],
)
def test_what_is_not_clearly_one_number_is_unparseable(reply: str) -> None:
    answer = ANY.parse(reply)
    assert (answer.value, answer.status) == (None, "unparseable")


def test_a_number_with_two_points_is_no_number() -> None:
    assert ANY.parse("5.5.5").status == "unparseable"


@pytest.mark.parametrize("reply", ["5²", "10³", "3¹"])
def test_an_exponent_or_footnote_mark_does_not_become_another_digit(reply: str) -> None:
    assert ANY.parse(reply).status == "unparseable"


@pytest.mark.parametrize("reply", ["minus 5", "negative 5", "–5", "—5"])
def test_a_minus_in_another_form_is_never_dropped(reply: str) -> None:
    assert ANY.parse(reply).value in (-5.0, None)


@pytest.mark.parametrize("reply", ["My answer - 5", "The price - 5 dollars"])
def test_a_dash_after_a_word_is_not_a_minus(reply: str) -> None:
    assert DOLLARS.parse(reply).value != -5.0


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("5 dollars", 5.0),
        ("5 dollar", 5.0),
        ("5 DOLLARS.", 5.0),
        ("$5", 5.0),
        ("-$5", -5.0),
        ("$-5", -5.0),
        ("$1,250.50", 1250.5),
        ("About 1,250 dollars.", 1250.0),
        ("5", 5.0),
    ],
)
def test_a_number_is_read_with_its_unit_or_without(reply: str, value: float) -> None:
    assert DOLLARS.parse(reply).value == value


@pytest.mark.parametrize(
    "reply",
    [
        "5 euros",
        "5 euros.",
        "€5",
        "£5",
        "5€",
        "5 €",
        "5%",
        "5 %",
        "5 percent",
        "5 cents",
        "5 years",
        "5 pounds",
        "EUR 5",
        "₹5",
    ],
)
def test_a_number_in_another_unit_is_unparseable(reply: str) -> None:
    assert DOLLARS.parse(reply).status == "unparseable"


@pytest.mark.parametrize(
    ("reply", "value"), [("40%", 40.0), ("40 %", 40.0), ("40", 40.0), ("$40", None), ("140%", None), ("-3%", None)]
)
def test_a_percentage_is_read_with_its_sign(reply: str, value: float | None) -> None:
    assert PERCENT.parse(reply).value == value


def test_a_percent_sign_is_another_unit_where_none_was_asked_for() -> None:
    assert ANY.parse("40%").status == "unparseable"


@pytest.mark.parametrize(
    ("reply", "value"),
    [("41", 41), ("41 years", 41), ("41.0", 41), ("0", 0), ("120", 120), ("41.5", None), ("-1", None), ("121", None)],
)
def test_bounds_and_wholeness_are_kept(reply: str, value: int | None) -> None:
    answer = AGE.parse(reply)
    assert answer.value == value
    assert answer.status == ("unparseable" if value is None else "ok")


def test_a_whole_number_is_kept_to_the_last_digit() -> None:
    assert Number("How many?", whole=True).parse("9007199254740993").value == 9007199254740993


def test_a_whole_number_that_no_column_can_hold_is_unparseable() -> None:
    assert Number("How many?", whole=True).parse("123456789012345678901234").status == "unparseable"


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, but I can't answer that.",
        "I would rather not say.",
        "I'm sorry, but as an AI I have no age; I was released in 2024.",
        "As a language model I cannot give a number above 100.",
    ],
)
def test_a_refusal_is_recorded_as_one_even_when_it_holds_a_number(reply: str) -> None:
    answer = ANY.parse(reply)
    assert (answer.value, answer.status) == (None, "refused")


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({}, "a number,"),
        ({"whole": True, "low": 0, "high": 120}, "a whole number from 0 to 120,"),
        ({"low": 2.5}, "a number of at least 2.5,"),
        ({"high": 9, "unit": "dollars"}, "a number of at most 9 (dollars),"),
    ],
)
def test_the_instruction_names_bounds_and_unit(settings_: dict[str, object], words: str) -> None:
    assert words in Number("How much?", **settings_).instruction()  # type: ignore[arg-type]


@pytest.mark.parametrize(("low", "high"), [(5, 5), (7, 1), (math.nan, 1)])
def test_bounds_that_leave_nothing_between_them_are_refused(low: float, high: float) -> None:
    with pytest.raises(QuestionError, match="bounds"):
        Number("How much?", low=low, high=high)


@pytest.mark.parametrize("changed", [{"low": 0}, {"high": 9}, {"unit": "kg"}, {"whole": True}, {"reason": True}])
def test_the_canonical_form_changes_with_everything_that_makes_the_question(changed: dict[str, object]) -> None:
    assert Number("How much?", **changed).canonical() != ANY.canonical()  # type: ignore[arg-type]


@given(st.integers(-(10**9), 10**9), st.sampled_from(["{}", "{:,}", " {} ", "{}.", "Answer: {}", "About {:,} dollars"]))
@settings(max_examples=120, deadline=None)
def test_any_whole_number_is_read_back_from_how_people_write_it(number: int, form: str) -> None:
    assert DOLLARS.parse(form.format(number)).value == number


@given(st.floats(allow_nan=False, allow_infinity=False), st.booleans())
@settings(max_examples=120, deadline=None)
def test_any_number_comes_back_from_the_journal_as_it_went_in(number: float, from_text: bool) -> None:
    value = ANY.parse(repr(number)).value if from_text else number
    assert ANY.decode(pl.Series([ANY.encode(value)])).to_list() == [number]


@given(st.text(max_size=40).filter(lambda text: not any(c.isnumeric() for c in text)))
@settings(max_examples=150, deadline=None)
def test_a_text_without_digits_never_gives_a_number(text: str) -> None:
    assert ANY.parse(text).value is None


@given(
    st.integers(0, 999), st.integers(0, 999), st.sampled_from([" or ", " and ", "-", "–", " to ", " / ", "; ", "..."])
)
@settings(max_examples=80, deadline=None)
def test_two_numbers_never_give_one(first: int, second: int, between: str) -> None:
    assert ANY.parse(f"{first}{between}{second}").value is None
