from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import QuestionError
from populace.questions import Text

DAY = Text("How was your day?")


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("  Long, but good. ", "Long, but good."),
        ("First\nsecond\tthird", "First\nsecond\tthird"),
        ("Bell\x07 and\x00 null", "Bell and null"),
        ("One\r\ntwo", "One\ntwo"),
        ("Émile dit « non »", "Émile dit « non »"),
        ("42", "42"),
    ],
)
def test_words_are_kept_as_said_without_outer_space_and_control_characters(reply: str, value: str) -> None:
    answer = DAY.parse(reply)
    assert (answer.value, answer.status) == (value, "ok")


@pytest.mark.parametrize("reply", ["12\u00a0euros", "今日は\u3000晴れ", "👩\u200d👧", "می\u200cروم"])
def test_spaces_and_joiners_of_other_scripts_are_kept_inside_the_words(reply: str) -> None:
    assert DAY.parse(reply).value == reply


@pytest.mark.parametrize("reply", ["", "   ", "\n\t\r\n", "\x00", "\u00a0"])
def test_an_empty_reply_is_unparseable(reply: str) -> None:
    answer = DAY.parse(reply)
    assert (answer.value, answer.status) == (None, "unparseable")


def test_a_refusal_is_recorded_as_one_and_its_words_are_not_taken_for_an_answer() -> None:
    answer = DAY.parse("I'm sorry, but as an AI I do not have days.")
    assert (answer.value, answer.status) == (None, "refused")


@pytest.mark.parametrize(
    "reply",
    [
        "I can't wait for the weekend.",
        "I won't lie, it was good.",
        "I will not go there again.",
        "I work as an assistant in a bank, so it was busy.",
    ],
)
def test_an_answer_that_only_sounds_like_a_refusal_is_kept(reply: str) -> None:
    assert DAY.parse(reply).value == reply


def test_the_instruction_and_the_room_for_the_reply_follow_the_number_of_words() -> None:
    short, long = Text("Why?", max_words=5), Text("Why?", max_words=500)
    assert "at most 5 words" in short.instruction()
    assert short.max_tokens < long.max_tokens
    assert short.canonical() != long.canonical()


@pytest.mark.parametrize("words", [0, -3])
def test_a_text_of_no_words_cannot_be_asked_for(words: int) -> None:
    with pytest.raises(QuestionError, match=f"{words} words"):
        Text("Why?", max_words=words)


def test_the_reminder_repeats_how_to_answer() -> None:
    assert DAY.instruction() in DAY.reminder()


def test_a_free_text_has_no_schema_and_a_column_of_strings() -> None:
    assert DAY.schema() is None
    assert DAY.dtype == pl.String


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf", "Zs", "Zl", "Zp", "Cn", "Co"]), min_size=1))
@settings(max_examples=100, deadline=None)
def test_a_reply_of_visible_characters_is_kept_exactly(reply: str) -> None:
    # No refusal is made of visible characters alone: each has a space between its words.
    answer = DAY.parse(reply)
    assert (answer.value, answer.status) == (reply, "ok")
