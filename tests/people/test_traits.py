from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import PeopleError
from populace.people import draw_column


@pytest.mark.parametrize(
    ("count", "shares", "values"),
    [
        (5, {"calm": 2, "bold": 1}, ["calm"] * 3 + ["bold"] * 2),
        (4, {"calm": 0.5, "bold": 0.5}, ["calm"] * 2 + ["bold"] * 2),
        (3, {"a": 1, "b": 1}, ["a", "a", "b"]),
        (2, {"a": 1, "b": 0}, ["a", "a"]),
        (0, {"a": 1}, []),
    ],
)
def test_values_come_in_proportion_and_in_order(count: int, shares: dict[str, float], values: list[str]) -> None:
    assert draw_column(count, shares).to_list() == values


@given(
    st.integers(0, 500),
    st.lists(st.floats(0, 100), min_size=1, max_size=6).filter(lambda weights: sum(weights) > 0.01),
)
@settings(max_examples=80, deadline=None)
def test_every_value_is_within_one_person_of_its_share(count: int, weights: list[float]) -> None:
    shares = {f"v{i}": weight for i, weight in enumerate(weights)}
    counts = draw_column(count, shares).value_counts()
    by_value = dict(counts.iter_rows())
    assert sum(by_value.values()) == count
    for name, weight in shares.items():
        assert abs(by_value.get(name, 0) - count * weight / sum(weights)) < 1 + 1e-6


def test_a_seed_shuffles_without_changing_the_proportions() -> None:
    shares = {"calm": 3, "bold": 1}
    ordered, first, again, other = (draw_column(400, shares, seed=seed).to_list() for seed in (None, 1, 1, 2))
    assert first == again
    assert len({tuple(ordered), tuple(first), tuple(other)}) == 3
    assert sorted(first) == sorted(ordered)


def test_a_generator_is_used_as_it_stands() -> None:
    rng = np.random.default_rng(1)
    assert (
        draw_column(100, {"a": 1, "b": 1}, seed=rng).to_list() != draw_column(100, {"a": 1, "b": 1}, seed=rng).to_list()
    )


@pytest.mark.parametrize(
    "shares",
    [{}, {"a": 0}, {"a": -1, "b": 2}, {"a": float("nan")}, {"a": float("inf"), "b": 1.0}, {"a": "half"}, "calm", None],
)
def test_weights_that_are_not_proportions_are_refused(shares: Any) -> None:
    with pytest.raises(PeopleError, match="proportions"):
        draw_column(3, shares)


def test_values_without_weights_are_answered_with_the_mapping_to_write() -> None:
    with pytest.raises(PeopleError, match=r"Write: \{'busy': 1, 'generous': 1\}"):
        draw_column(30, ["busy", "generous"], seed=1)  # type: ignore[arg-type]
