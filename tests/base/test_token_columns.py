"""The tokens of a reply in columns are the tuple of pairs that they stand for."""

import pickle

import numpy as np
import pytest

from populace.base.token_columns import TokenColumns, TokenRow

COLUMNS = TokenColumns(
    ["no", "yes", "so"], np.array([1, 0, 2, 1, 0]), np.array([-0.1, -2.5, -0.3, -1.5, -3.0]), np.array([2, 3, 5])
)
TUPLES = [(("yes", -0.1), ("no", -2.5)), (("so", -0.3),), (("yes", -1.5), ("no", -3.0))]


def test_each_row_is_equal_to_its_tuple_from_both_sides() -> None:
    rows = COLUMNS.rows()
    assert rows == TUPLES
    assert all(
        tuple.__eq__(pairs, row) is NotImplemented and pairs == row for row, pairs in zip(rows, TUPLES, strict=True)
    )
    assert rows[0] != rows[2]
    assert [hash(row) for row in rows] == [hash(each) for each in TUPLES]
    assert repr(rows) == repr(TUPLES)


@pytest.mark.parametrize("number", range(3))
def test_a_row_is_read_like_its_tuple(number: int) -> None:
    row, pairs = TokenRow(COLUMNS, number), TUPLES[number]
    assert (list(row), len(row), row[0], row[-1], row[:1]) == (list(pairs), len(pairs), pairs[0], pairs[-1], pairs[:1])
    assert {type(text) for text, _ in row} == {str} and {type(logprob) for _, logprob in row} == {float}


def test_another_process_gets_a_tuple_and_not_the_columns_of_all() -> None:
    sent = pickle.dumps(TokenRow(COLUMNS, 1))
    assert b"yes" not in sent
    assert type(pickle.loads(sent)) is tuple
    assert pickle.loads(sent) == TUPLES[1]
