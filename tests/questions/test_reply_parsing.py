from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.questions.reply_parsing import bare_form, is_refusal, mentions, normal_form, text_after_marker


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("  Yes ", "yes"),
        ("“Not   sure”", "not sure"),
        ("**bold**", "bold"),
        ("ＦＵＬＬ", "full"),
        ("Straße", "strasse"),
        ("no\u00a0way", "no way"),
        ("yes.", "yes."),
        ("", ""),
    ],
)
def test_normal_form_has_one_case_single_spaces_and_no_outer_marks(text: str, shape: str) -> None:
    assert normal_form(text) == shape


@pytest.mark.parametrize(("text", "shape"), [("Yes!", "yes"), ("(no)", "no"), ("- a, b -", "a, b"), ("...", "")])
def test_bare_text_has_no_outer_punctuation_either(text: str, shape: str) -> None:
    assert bare_form(text) == shape


@given(st.text(max_size=30))
@settings(max_examples=100, deadline=None)
def test_the_normal_form_of_a_normal_form_is_the_same(text: str) -> None:
    assert bare_form(bare_form(text)) == bare_form(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Answer: blue", "blue"),
        ("I like both.\nFinal answer: blue", "blue"),
        ("answer = blue", "blue"),
        ("The answer is: blue", "blue"),
        ("Answer: blue\nAnswer: green", "green"),
        ("My response: 5 or so", "5 or so"),
        ("blue", None),
        ("The answer is blue", None),
        ("Answer:", None),
        ("", None),
    ],
)
def test_the_text_after_the_last_marker_is_found(text: str, found: str | None) -> None:
    assert text_after_marker(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't choose.",
        "I’m sorry, I cannot help with that.",
        "I am unable to answer.",
        "I'm not comfortable with this question.",
        "I apologise, but no.",
        "I refuse to answer.",
        "I must decline.",
        "As an AI, I have no shirt.",
        "As a large language model I do not vote.",
        "I don't have personal opinions.",
        "I'd prefer not to say.",
        "I would rather not answer.",
    ],
)
def test_declining_to_answer_is_a_refusal(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "blue",
        "Sorry seems to be the hardest word.",
        "Blue, as I am not sorry",
        "I can and I will.",
        "He said as much.",
        "I can't wait for the weekend.",
        "I won't be long.",
        "I work as an assistant.",
    ],
)
def test_other_texts_are_not_refusals(text: str) -> None:
    assert not is_refusal(text)


def test_a_refusal_is_looked_for_in_the_opening_only() -> None:
    assert not is_refusal("It was a long day. " * 20 + "I refuse to answer.")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no", {0}),
        ("not sure", {1}),
        ("I am not sure, no", {0, 1}),
        ("nothing", set()),
        ("NO!", {0}),
        ("no-one", {0}),
        ("snow", set()),
    ],
)
def test_words_are_found_whole_and_a_longer_one_hides_those_inside_it(text: str, found: set[int]) -> None:
    assert mentions(text, ["no", "not sure"]) == found


def test_a_word_inside_a_longer_option_is_not_mentioned_itself() -> None:
    assert mentions("I strongly agree", ["agree", "strongly agree"]) == {1}
    assert mentions("what (if)?", ["what (if)"]) == {0}
