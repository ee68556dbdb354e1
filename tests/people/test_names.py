from __future__ import annotations

import numpy as np
import pytest

from populace.people import draw_names
from populace.people.names import FAMILY, FEMALE, MALE


@pytest.mark.parametrize("count", [1, len(FEMALE) + len(MALE), len(FEMALE) + len(MALE) + 1, 40_000, 300_000])
def test_names_are_distinct_however_many_are_drawn(count: int) -> None:
    names = draw_names(count, np.random.default_rng(1))
    assert names.height == count
    assert names["name"].n_unique() == count


def test_the_stock_of_names_repeats_none() -> None:
    firsts = FEMALE + MALE
    assert len(set(firsts)) == len(firsts)
    assert len(set(FAMILY)) == len(FAMILY)


def test_a_few_people_have_first_names_only_and_many_have_family_names() -> None:
    rng = np.random.default_rng(1)
    assert not draw_names(100, rng)["name"].str.contains(" ").any()
    assert draw_names(1000, rng)["name"].str.count_matches(" ").unique().to_list() == [1]
    assert draw_names(300_000, rng)["name"].str.contains(r"^\w+ [A-Z]\. \w+$").all()


def test_the_sex_is_the_one_that_the_first_name_suggests() -> None:
    names = draw_names(5000, np.random.default_rng(2))
    for name, sex in names.sample(200, seed=1).iter_rows():
        assert (name.split()[0] in FEMALE) == (sex == "female")


def test_the_same_generator_state_draws_the_same_names() -> None:
    first = draw_names(500, np.random.default_rng(7))
    assert first.equals(draw_names(500, np.random.default_rng(7)))
    assert not first.equals(draw_names(500, np.random.default_rng(8)))
