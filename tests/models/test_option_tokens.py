"""Which tokens can begin an option: all beginnings of its first word or signs, in any case and with any marks."""

import numpy as np
import pytest

from populace.models.pytorch.option_tokens import OptionTokens

TEXTS = [
    " ro",
    "Roof",
    "ROO",
    "r",
    "roofs",
    " br",
    "bridge.",
    "the",
    "A",
    " a",
    "A)",
    "al",
    *("10", " 1", "7", "+", "+1", "$"),
]
TEXTS += ["é", "🙂", "☹", " "]


def begin(*options: str) -> set[str]:
    return {TEXTS[token] for token in OptionTokens(TEXTS).of(options).tolist()}


@pytest.mark.parametrize(
    ("options", "tokens"),
    [
        (("roof", "bridge"), {" ro", "Roof", "ROO", " br", "bridge."}),
        (("A", "B"), {"A", " a", "A)"}),
        (("all of it",), {"al"}),
        (("7", "8"), {"10", " 1", "7", "+1"}),
        (("+2",), {"10", " 1", "7", "+", "+1"}),
        (("$5 or more",), {"10", " 1", "7", "+1", "$"}),
        (("élan", "🙂"), {"🙂"}),
        (("é",), {"é"}),
        (("?",), set()),
        ((), set()),
    ],
)
def test_a_token_that_begins_an_option_is_among_them(options: tuple[str, ...], tokens: set[str]) -> None:
    assert begin(*options) == tokens


def test_prompts_with_the_same_options_share_a_row_of_the_table() -> None:
    tokens = OptionTokens(TEXTS)
    table = tokens.table([("roof",), ("A",), ("roof",)])
    assert table.numbers.tolist() == [0, 1, 0]
    assert table.tokens.shape == (2, 3)
    assert np.array_equal(np.sort(table.tokens[0]), np.sort(tokens.of(("roof",))))
    assert table.are_known
    assert not tokens.table([("roof",), ()]).are_known
    assert tokens.table([()]).tokens.shape == (1, 0)


def test_many_different_options_do_not_fill_the_memory() -> None:
    tokens = OptionTokens(TEXTS)
    for number in range(5000):
        tokens.of((f"name {number}",))
    assert len(tokens._known) <= 4096
