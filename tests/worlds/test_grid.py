from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from populace.base.errors import WorldError
from populace.worlds.grid import Grid


@given(st.integers(3, 9), st.integers(3, 9), st.booleans())
def test_neighbours_are_neighbours_of_each_other(width: int, height: int, torus: bool) -> None:
    grid = Grid(width, height, torus=torus)
    pairs = {(cell, int(other)) for cell in range(len(grid)) for other in grid.neighbours[cell] if other >= 0}
    assert pairs == {(other, cell) for cell, other in pairs}
    assert all(cell != other for cell, other in pairs)


@given(st.integers(3, 9), st.integers(3, 9))
def test_every_cell_of_a_torus_has_eight_different_neighbours(width: int, height: int) -> None:
    assert all(len(set(row)) == 8 and min(row) >= 0 for row in Grid(width, height, torus=True).neighbours.tolist())


def test_a_corner_has_three_neighbours_and_an_edge_five() -> None:
    counts = (Grid(4, 5).neighbours >= 0).sum(axis=1).reshape(5, 4)
    assert counts[0, 0] == 3
    assert counts[0, 1] == 5
    assert counts[2, 2] == 8


def test_a_wider_radius_reaches_further() -> None:
    assert (Grid(7, 7, radius=2).neighbours[24] >= 0).sum() == 24


def test_values_are_seen_around_and_something_else_beyond_the_edge() -> None:
    seen = Grid(2, 2).around(np.array([5, 6, 7, 8]), -1)
    assert sorted(seen[0].tolist()) == [-1, -1, -1, -1, -1, 6, 7, 8]


def test_a_torus_too_small_for_its_radius_says_so() -> None:
    with pytest.raises(WorldError, match="its own neighbour"):
        Grid(2, 9, torus=True)
