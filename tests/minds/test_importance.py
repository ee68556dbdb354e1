from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.minds import importance_question, rate_by_rule
from populace.minds.importance import WORD_LISTS, expected_ratings
from populace.questions import Answers, Rating


def test_turning_points_matter_more_than_requests_and_requests_more_than_chores() -> None:
    chore, plain, request, turning = rate_by_rule(
        ["You sweep the floor and do the dishes.", "The cat is grey.", "Ann asked you for help.", "Your father died."]
    )
    assert chore < plain < request < turning


def test_first_times_and_feelings_add() -> None:
    plain, first, feeling = rate_by_rule(["I saw it.", "I saw it for the first time.", "I saw it and was afraid."])
    assert plain < first and plain < feeling


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.text(max_size=40), max_size=5))
def test_every_text_is_rated_from_1_to_10_whatever_stands_beside_it(texts: list[str]) -> None:
    together = rate_by_rule(texts)
    assert together.tolist() == [rate_by_rule([text])[0] for text in texts]
    assert all(1 <= rating <= 10 for rating in together)


def test_a_rule_takes_a_column_and_looks_at_whole_words() -> None:
    ratings = rate_by_rule(pl.Series(["warden", "war", "WAR"]))
    assert ratings[0] < ratings[1] == ratings[2]


def test_no_word_stands_in_two_lists() -> None:
    words = [word for name in ("mundane", "notable", "poignant", "feelings") for word in WORD_LISTS[name]["words"]]
    assert len(words) == len(set(words))


def test_the_question_is_a_rating_from_1_to_10_of_one_memory() -> None:
    question = importance_question()
    assert isinstance(question, Rating)
    assert (question.low, question.high, question.template.fields) == (1, 10, ("memory",))
    assert question.parse("7").value == 7
    assert question.parse("very much").status == "unparseable"


def test_a_rating_without_a_distribution_counts_beside_those_with_one() -> None:
    question = importance_question("It rains.")
    probabilities = np.full((2, 10), 0.1)
    probabilities[1] = np.nan
    answers = Answers(
        question,
        pl.Series("id", [0, 1, 2]),
        pl.Series("value", [5, 7, None], dtype=pl.Int64),
        pl.Series("status", ["ok", "ok", "unparseable"]),
        np.array([0, 1, 1], np.int32),
        probabilities,
    )
    np.testing.assert_array_equal(expected_ratings(answers), [5.5, 7.0, np.nan])
