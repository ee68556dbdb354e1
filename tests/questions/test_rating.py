from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import QuestionError
from populace.questions import Rating

HAPPY = Rating("How happy are you?", low=1, high=7, anchors=("not at all", "very"))
CHANGE = Rating("Better or worse?", low=-2, high=2)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("5", 5),
        (" 5. ", 5),
        ("**7**", 7),
        ("(4)", 4),
        ("３", 3),
        ("Answer: 2", 2),
        ("6, because the sun shines.", 6),
        ("5\nIt was a good day.", 5),
    ],
)
def test_a_point_of_the_scale_is_read(reply: str, value: int) -> None:
    answer = HAPPY.parse(reply)
    assert (answer.value, answer.status) == (value, "ok")


@pytest.mark.parametrize(
    "reply",
    ["", "0", "8", "10", "55", "five", "3-4", "3–4", "3 or 4", "3/7", "3 out of 7", "5, or rather 3", "5%", "$5"],
)
def test_what_is_not_one_point_of_the_scale_is_unparseable(reply: str) -> None:
    answer = HAPPY.parse(reply)
    assert (answer.value, answer.status) == (None, "unparseable")


@pytest.mark.parametrize("reply", ["4.5", "4.9", "5.5", "4,9", "Answer: 5.5", "3:30"])
def test_a_number_between_two_points_is_not_cut_to_the_lower(reply: str) -> None:
    assert HAPPY.parse(reply).status == "unparseable"


@pytest.mark.parametrize("reply", ["-3", "–3", "−3", "-3."])
def test_a_negative_number_is_not_a_point_of_a_positive_scale(reply: str) -> None:
    assert HAPPY.parse(reply).status == "unparseable"


@pytest.mark.parametrize(
    ("reply", "value"),
    [("-2", -2), ("2", 2), ("-1, I fear", -1), ("0", 0), ("Answer: -2.", -2), ("-3", None), ("- 2", None)],
)
def test_a_scale_below_zero_keeps_its_signs(reply: str, value: int | None) -> None:
    assert CHANGE.parse(reply).value == value


@pytest.mark.parametrize("reply", ["−2", "–2"])
def test_a_typographic_minus_is_never_read_as_plus(reply: str) -> None:
    assert CHANGE.parse(reply).value in (-2, None)


def test_a_positive_number_is_not_a_point_of_a_negative_scale() -> None:
    assert Rating("How bad?", low=-2, high=0).parse("2").status == "unparseable"


def test_a_refusal_is_recorded_as_one() -> None:
    assert HAPPY.parse("As an AI, I have no feelings.").status == "refused"


def test_the_scale_is_shown_with_its_ends_explained() -> None:
    upwards, downwards = HAPPY.arrangements()
    text = HAPPY.options_text(upwards, labels=False)
    assert text == "Scale: a whole number from 1 to 7. 1 means not at all, 7 means very."
    assert HAPPY.options_text(downwards, labels=False).startswith("Scale: a whole number from 7 to 1. 1 means")
    assert "number" in HAPPY.instruction()


def test_a_labelled_scale_maps_letters_back_whichever_end_comes_first() -> None:
    downwards = HAPPY.arrangements()[1]
    lines = HAPPY.options_text(downwards, labels=True).split("\n")
    assert lines[0] == "Scale: 1 means not at all, 7 means very."
    assert lines[1] == "A. 7"
    assert HAPPY.parse("A", downwards, labels=True).value == 7
    assert "letter" in HAPPY.instruction(labels=True)


@pytest.mark.parametrize(("low", "high"), [(5, 5), (7, 1), (0, 26)])
def test_an_invalid_scale_is_refused(low: int, high: int) -> None:
    with pytest.raises(QuestionError, match=r"How happy\?"):
        Rating("How happy?", low=low, high=high)


def test_the_anchors_are_part_of_the_question() -> None:
    assert HAPPY.canonical() != Rating("How happy are you?", low=1, high=7).canonical()
    assert HAPPY.describe()["values"] == [1, 2, 3, 4, 5, 6, 7]


@given(st.integers(-12, 12), st.integers(1, 13), st.data())
@settings(max_examples=60, deadline=None)
def test_every_point_and_only_points_are_read_from_plain_digits(low: int, span: int, data: st.DataObject) -> None:
    question = Rating("How much?", low=low, high=low + span)
    number = data.draw(st.integers(-30, 30))
    expected = number if low <= number <= low + span else None
    assert question.parse(str(number)).value == expected


def test_values_come_back_from_the_journal_as_whole_numbers() -> None:
    decoded = CHANGE.decode(pl.Series([CHANGE.encode(-2), CHANGE.encode(1), None]))
    assert decoded.to_list() == [-2, 1, None]
    assert decoded.dtype == pl.Int64
