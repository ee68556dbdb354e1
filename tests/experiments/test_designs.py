from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from populace.base.errors import UsageError
from populace.experiments.designs import Design, design_points


@given(st.lists(st.integers(2, 4), min_size=1, max_size=4))
def test_a_full_design_holds_every_combination_once(levels: list[int]) -> None:
    points = design_points(Design(), levels, seed=0)
    assert sorted(points) == sorted(itertools.product(*(range(count) for count in levels)))


@given(st.lists(st.integers(2, 4), min_size=1, max_size=4))
def test_one_at_a_time_differs_from_the_first_point_in_one_factor(levels: list[int]) -> None:
    first, *others = design_points(Design(kind="one-at-a-time"), levels, seed=0)
    assert set(first) == {0}
    assert len(others) == sum(levels) - len(levels)
    assert all(sum(level != 0 for level in point) == 1 for point in others)


@given(st.integers(2, 9), st.integers(3, 5))
def test_a_fraction_is_balanced_and_keeps_main_effects_apart(factors: int, resolution: int) -> None:
    points = np.array(design_points(Design(kind="fractional", resolution=resolution), [2] * factors, seed=0))
    signs = 2 * points - 1
    assert (signs.sum(axis=0) == 0).all()
    assert (signs.T @ signs == len(points) * np.eye(factors)).all()
    if resolution > 3:
        pairs = np.array([signs[:, a] * signs[:, b] for a, b in itertools.combinations(range(factors), 2)])
        assert (pairs @ signs == 0).all()
    assert tuple(points[0]) == (0,) * factors


def test_a_fraction_is_smaller_than_the_whole() -> None:
    sizes = [len(design_points(Design(kind="fractional"), [2] * factors, seed=0)) for factors in (4, 5, 6, 7, 8)]
    assert sizes == [8, 16, 16, 16, 16]


def test_a_fraction_wants_two_levels() -> None:
    with pytest.raises(UsageError, match="two levels, and one has 3"):
        design_points(Design(kind="fractional"), [2, 3], seed=0)


@given(st.integers(2, 40), st.integers(1, 4), st.integers(0, 5))
def test_a_latin_hypercube_hits_every_strip_once(points: int, factors: int, seed: int) -> None:
    made = np.array(design_points(Design(kind="latin-hypercube", points=points), [None] * factors, seed))
    strips = np.sort(np.floor(made * points), axis=0)
    assert (strips == np.arange(points)[:, None]).all()


def test_a_latin_hypercube_spreads_listed_levels_evenly() -> None:
    made = design_points(Design(kind="latin-hypercube", points=30), [None, 3], seed=1)
    assert [sum(point[1] == level for point in made) for level in range(3)] == [10, 10, 10]


def test_a_range_needs_a_design_that_draws() -> None:
    with pytest.raises(UsageError, match="latin-hypercube or sobol"):
        design_points(Design(), [2, None], seed=0)
