"""Many replies are read at once with the results of one after the other, to the last bit."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from populace.questions import tally, tally_all

LOGPROBS = st.one_of(st.floats(-30, 0), st.sampled_from([math.inf, -math.inf, math.nan, 1000.0, 0.0, 0.02]))
TOKENS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "else"]), LOGPROBS), max_size=6)


@given(st.lists(TOKENS, max_size=8))
def test_every_reply_is_read_as_it_is_alone(token_lists: list[list[tuple[str, float]]]) -> None:
    owner = {"a": 0, "b": 1, "c": 2}.get
    probabilities, masses = tally_all(owner, 3, token_lists)
    assert probabilities.shape == (len(token_lists), 3)
    for tokens, row, mass in zip(token_lists, probabilities.tolist(), masses.tolist(), strict=True):
        assert (tuple(row), mass) == tally(owner, 3, tokens)
    assert np.isfinite(probabilities).all()


@given(st.lists(st.lists(st.tuples(st.sampled_from("abcdefghijkl"), st.floats(-9, -2)), min_size=12, max_size=20)))
def test_so_is_a_reply_to_a_question_with_many_options(token_lists: list[list[tuple[str, float]]]) -> None:
    owner = {letter: number for number, letter in enumerate("abcdefghij")}.get
    probabilities, masses = tally_all(owner, 10, token_lists)
    for tokens, row, mass in zip(token_lists, probabilities.tolist(), masses.tolist(), strict=True):
        assert (tuple(row), mass) == tally(owner, 10, tokens)
