from __future__ import annotations

import math
import string

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from populace.questions import Choice, Rating, mode_of, score, tell_ten_from_one
from populace.questions.scoring import token_owner

SHIRT = Choice("Which shirt?", options=("blue", "green"))
SURE = Choice("Will you vote?", options=("no", "not sure"))


def log(**probabilities: float) -> list[tuple[str, float]]:
    return [(token.replace("_", " "), math.log(p)) for token, p in probabilities.items()]


def test_probability_on_words_becomes_a_distribution_and_a_mass() -> None:
    result = score(SHIRT, (0, 1), "words", log(_Blue=0.5, green=0.2, I=0.1))
    assert result.probabilities == pytest.approx((5 / 7, 2 / 7))
    assert result.mass == pytest.approx(0.7)


@pytest.mark.parametrize(
    "token", ["blue", " blue", "Blue", " BLUE", "▁blue", "Ġblue", "\nblue", '"blue', "(blue", "bl"]
)
def test_spelling_variants_of_the_beginning_of_an_option_count_for_it(token: str) -> None:
    assert score(SHIRT, (0, 1), "words", [(token, -1.0)]).probabilities == (1.0, 0.0)


@pytest.mark.parametrize("token", ["", " ", ".", "\n", "The", "blueberry", "red", "A", "e"])
def test_tokens_that_begin_no_option_count_for_none(token: str) -> None:
    assert score(SHIRT, (0, 1), "words", [(token, -0.1)]) == ((0.0, 0.0), 0.0)


def test_variants_of_one_option_add_up() -> None:
    result = score(SHIRT, (0, 1), "words", log(blue=0.1, _blue=0.1, Blue=0.2, green=0.4))
    assert result.probabilities == pytest.approx((0.5, 0.5))
    assert result.mass == pytest.approx(0.8)


@pytest.mark.parametrize("token", ["n", "no", " No"])
def test_a_token_that_begins_two_options_counts_for_neither(token: str) -> None:
    result = score(SURE, (0, 1), "words", [(token, math.log(0.6)), ("not", math.log(0.3))])
    assert result.probabilities == (0.0, 1.0)
    assert result.mass == pytest.approx(0.3)


def test_a_negative_number_is_no_point_of_a_positive_scale() -> None:
    scale = Rating("How happy?", low=1, high=5)
    assert score(scale, scale.declared_order, "words", [("-3", -0.1)]).mass == 0.0
    assert score(scale, scale.declared_order, "words", [(" 3", -0.1)]).probabilities == (0.0, 0.0, 1.0, 0.0, 0.0)


@pytest.mark.parametrize("token", ["A", " A", "(A", "A.", "A)", "**A", "▁A"])
def test_labels_count_with_the_marks_around_them(token: str) -> None:
    assert score(SHIRT, (0, 1), "labels", [(token, -0.5)]).probabilities == (1.0, 0.0)


@pytest.mark.parametrize("token", ["a", "C", "blue", "AB", ""])
def test_other_tokens_are_no_labels(token: str) -> None:
    assert score(SHIRT, (0, 1), "labels", [(token, -0.5)]).mass == 0.0


def test_labels_of_another_arrangement_are_reported_in_declared_order() -> None:
    question = Choice("Which?", options=("blue", "green", "red"))
    tokens = log(A=0.5, B=0.3, C=0.1)
    assert score(question, (2, 0, 1), "labels", tokens).probabilities == pytest.approx((3 / 9, 1 / 9, 5 / 9))


def test_words_do_not_depend_on_the_arrangement() -> None:
    tokens = log(blue=0.6, green=0.2)
    assert score(SHIRT, (1, 0), "words", tokens) == score(SHIRT, (0, 1), "words", tokens)


def test_the_words_shown_are_scored_and_reported_for_the_value_they_stand_for() -> None:
    swapped = Choice("Which shirt?", options=("blue", "green"), wordings={"blue": "green", "green": "blue"})
    assert score(swapped, (0, 1), "words", log(blue=0.9)).probabilities == (0.0, 1.0)


def test_no_tokens_at_all_are_no_mass() -> None:
    assert score(SHIRT, (0, 1), "words", []) == ((0.0, 0.0), 0.0)


def test_the_mass_never_exceeds_one() -> None:
    assert score(SHIRT, (0, 1), "words", log(blue=0.8, _blue=0.21)).mass == 1.0


def test_probabilities_that_add_up_to_more_than_rounding_explains_are_no_answer():
    assert score(SHIRT, (0, 1), "words", log(blue=0.8, _blue=0.4)) == ((0.0, 0.0), 0.0)


@pytest.mark.parametrize(
    ("question", "tokens", "mode"),
    [
        (SHIRT, None, "words"),
        (SHIRT, [" blue", " green"], "words"),
        (SURE, None, "labels"),
        (SURE, [" no", " not"], "labels"),
        (SURE, ["▁no", "▁not"], "labels"),
        (Choice("Which?", options=("bread", "butter")), None, "labels"),
        (Choice("Which?", options=("bread", "butter")), [" bread", " butter"], "words"),
        (Choice("Which?", options=("bread", "butter")), [" b", " b"], "labels"),
        (Rating("How?", low=1, high=5), None, "words"),
        (Rating("How?", low=1, high=10), None, "labels"),
        (Rating("How?", low=0, high=10), [" " + str(i) for i in range(11)], "words"),
        (Rating("How?", low=0, high=10), [str(i)[0] for i in range(11)], "labels"),
        (Rating("How?", low=0, high=10), [" "] * 11, "labels"),
        (Rating("How?", low=0, high=10, scoring="labels"), [str(i) for i in range(11)], "labels"),
        (Choice("Which?", options=("a", "b"), scoring="labels"), None, "labels"),
        (Choice("Which?", options=("bread", "butter"), scoring="words"), None, "words"),
    ],
)
def test_words_are_scored_where_their_first_tokens_differ(
    question: Choice | Rating, tokens: list[str] | None, mode: str
) -> None:
    assert mode_of(question, tokens) == mode


def test_one_and_ten_are_told_apart_where_the_model_writes_each_as_one_token() -> None:
    scale = Rating("How?", low=0, high=10)
    probabilities, mass = score(
        scale, scale.declared_order, "words", [(" 1", -1.0), ("10", -2.0), ("1.", -3.0), ("I", -4.0)]
    )
    ones = math.exp(-1) + math.exp(-3)
    assert probabilities[10] == pytest.approx(math.exp(-2) / (ones + math.exp(-2)))
    assert probabilities[1] == pytest.approx(ones / (ones + math.exp(-2)))
    assert mass == pytest.approx(ones + math.exp(-2))


@pytest.mark.parametrize("low", [0, 1])
def test_a_scale_to_ten_is_read_digit_by_digit_where_a_reply_can_begin_with_a_space(low: int) -> None:
    scale = Rating("How?", low=low, high=10)
    blank = [" "] * (11 - low)
    assert mode_of(scale, blank, lead=True) == "digits"
    assert mode_of(scale, blank, lead=False) == "labels"
    assert mode_of(Rating("How?", low=0, high=11), [" "] * 12, lead=True) == "labels"
    assert mode_of(Rating("How?", low=0, high=9), [" "] * 10, lead=True) == "labels"


def test_the_probability_of_the_digit_one_is_divided_by_what_follows_it() -> None:
    scale = Rating("How?", low=0, high=10)
    first = [("1", math.log(0.5)), ("7", math.log(0.3)), ("The", math.log(0.2))]
    following = [("0", math.log(0.6)), ("5", math.log(0.1)), ("\n", math.log(0.3))]
    result = score(scale, scale.declared_order, "digits", tell_ten_from_one(first, following))
    assert result.mass == pytest.approx(0.3 + 0.5 * 0.9)
    assert result.probabilities[10] * result.mass == pytest.approx(0.5 * 0.6)
    assert result.probabilities[1] * result.mass == pytest.approx(0.5 * 0.3)
    assert result.probabilities[7] * result.mass == pytest.approx(0.3)


@pytest.mark.parametrize(("following", "ten"), [([("0", 0.0)], 1.0), ([], 0.0), ([("0", 1e-9)], 1.0)])
def test_a_certain_ending_leaves_nothing_for_the_other(following: list[tuple[str, float]], ten: float) -> None:
    scale = Rating("How?", low=0, high=10)
    result = score(scale, scale.declared_order, "digits", tell_ten_from_one([("1", 0.0)], following))
    assert (result.probabilities[1], result.probabilities[10]) == pytest.approx((1.0 - ten, ten))


WORDS = st.lists(st.text("abn", min_size=1, max_size=4), min_size=2, max_size=4, unique=True)


@given(WORDS, st.data(), st.sampled_from(["", " ", "▁", "Ġ"]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_where_words_are_chosen_the_first_token_of_every_option_counts_for_it(
    words: list[str], data: st.DataObject, mark: str
) -> None:
    question = Choice("Which?", options=tuple(words))
    tokens = [mark + word[: data.draw(st.integers(1, len(word)))] for word in words]
    assume(mode_of(question, tokens) == "words")
    for index, token in enumerate(tokens):
        assert score(question, question.declared_order, "words", [(token, 0.0)]).probabilities[index] == 1.0


TOKENS = st.lists(
    st.tuples(
        st.text(string.ascii_letters + " .)", max_size=5) | st.sampled_from(["blue", "green", "A", "B"]),
        st.floats(-20, 0),
    ),
    max_size=12,
)


@given(TOKENS, st.permutations([0, 1]), st.sampled_from(["words", "labels"]))
@settings(max_examples=150, deadline=None)
def test_probabilities_add_up_to_one_wherever_there_is_any_mass(
    tokens: list[tuple[str, float]], arrangement: list[int], mode: str
) -> None:
    result = score(SHIRT, tuple(arrangement), mode, tokens)  # type: ignore[arg-type]
    assert sum(result.probabilities) == pytest.approx(1.0 if result.mass else 0.0)
    assert all(0.0 <= p <= 1.0 for p in result.probabilities)
    assert 0.0 <= result.mass <= 1.0


@given(TOKENS, st.permutations([0, 1, 2]))
@settings(max_examples=80, deadline=None)
def test_showing_options_in_another_order_only_moves_their_labels(
    tokens: list[tuple[str, float]], arrangement: list[int]
) -> None:
    question = Choice("Which?", options=("blue", "green", "red"))
    scores = score(question, tuple(arrangement), "labels", tokens)
    declared = score(question, (0, 1, 2), "labels", tokens)
    assert [scores.probabilities[index] for index in arrangement] == pytest.approx(list(declared.probabilities))


@pytest.mark.parametrize(("token", "owner"), [("blue", 0), (" bl", 0), ("b", None), ("g", None), ("X", 2), ("?", None)])
def test_a_single_letter_begins_no_word_that_is_longer(token: str, owner: int | None) -> None:
    assert token_owner(("blue", "green", "x"), (0, 1, 2), "words")(token) == owner
