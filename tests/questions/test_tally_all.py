"""Many replies are read at once with the results of one after the other, to the last bit."""

import math
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from populace.base.token_columns import TokenColumns, TokenRow
from populace.questions import TokenOwners, tally, tally_all

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


def columns(token_lists: list[list[tuple[str, float]]], texts: list[str]) -> list[TokenRow]:
    pairs = [pair for tokens in token_lists for pair in tokens]
    return TokenColumns(
        texts,
        np.array([texts.index(token) for token, _ in pairs], np.int32),
        np.array([logprob for _, logprob in pairs], np.float64),
        np.cumsum([len(tokens) for tokens in token_lists]),
    ).rows()


@given(st.lists(TOKENS.filter(bool), min_size=1, max_size=12), st.randoms())
def test_replies_in_columns_are_read_as_pairs_are(token_lists: list[list[tuple[str, float]]], random: Random) -> None:
    """Also where they come from several batches, in another order, and not all of them are wanted."""
    texts, middle, owner = ["else", "c", "b", "a"], len(token_lists) // 2, {"a": 0, "b": 1, "c": 2}.get
    rows = columns(token_lists[:middle], texts) + columns(token_lists[middle:], texts) if middle else []
    rows = rows or columns(token_lists, texts)
    wanted = random.sample(rows, max(1, len(rows) - 2))
    owners = TokenOwners(owner)
    for part in (wanted, wanted[:1]):  # The second time, the option of each token is known.
        probabilities, masses = tally_all(owners, 3, part)
        for row, mine, mass in zip(part, probabilities.tolist(), masses.tolist(), strict=True):
            assert (tuple(mine), mass) == tally(owner, 3, tuple(row))


def test_tokens_of_another_model_are_looked_up_anew() -> None:
    owners = TokenOwners({"a": 0, "b": 1}.get)
    for texts in (["a", "b"], ["b", "a"], ["else", "a", "b"]):
        rows = columns([[("a", -0.5)], [("b", -0.5)]], texts)
        assert tally_all(owners, 2, rows)[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_pairs_and_columns_may_be_mixed() -> None:
    rows = [*columns([[("a", -0.5)]], ["a", "b"]), (("b", -0.5),)]
    assert tally_all({"a": 0, "b": 1}.get, 2, rows)[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
