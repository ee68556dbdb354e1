"""Means and slopes of answers that share people and items."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm

from populace.base.errors import UsageError
from populace.statistics.crossed import crossed_logit, crossed_means
from support.audit import size

RNG = np.random.default_rng(7)


def test_a_mean_over_one_item_is_that_of_people() -> None:
    y = RNG.standard_normal((25, 1, 1))
    estimate = crossed_means(y).estimate(np.ones(1))
    error = float(y.std(ddof=1)) / math.sqrt(25)
    assert estimate.value == pytest.approx(float(y.mean()))
    assert (estimate.high - estimate.value) / error == pytest.approx(2.0638986, abs=1e-6)


def test_the_three_parts_of_the_variance_are_those_of_statsmodels() -> None:
    people, items = 30, 12
    x = np.array([0.0, 1.0, 2.0])
    effects = 0.5 * RNG.standard_normal((people, 1, 1)) + 0.5 * RNG.standard_normal((1, items, 1))
    y = (RNG.random((people, items, 3)) < 1 / (1 + np.exp(-(0.5 + effects - 0.6 * x)))).astype(float)
    fit = crossed_logit(y, np.column_stack([np.ones(3), x]))
    design = sm.add_constant(np.tile(x, people * items))
    owners = {
        "by_row": (np.repeat(np.arange(people), items * 3), people),
        "by_column": (np.tile(np.repeat(np.arange(items), 3), people), items),
        "by_cell": (np.repeat(np.arange(people * items), 3), people * items),
    }
    for name, (groups, count) in owners.items():
        reference = sm.GLM(y.ravel(), design, family=sm.families.Binomial()).fit(
            cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
        )
        assert fit.values == pytest.approx(reference.params, abs=1e-6)
        assert getattr(fit, name) == pytest.approx(reference.cov_params() * count / (count - 1), rel=1e-4)


def test_terms_that_differ_between_people_give_the_same_fit_as_terms_of_places() -> None:
    x = np.array([0.0, 1.0, 2.0])
    y = RNG.random((40, 5, 3))
    design = np.column_stack([np.ones(3), x])
    whole = np.broadcast_to(design, (40, 5, 3, 2)).copy()
    one, other = crossed_logit(y, design), crossed_logit(y, whole)
    assert one.values == pytest.approx(other.values)
    assert one.by_row == pytest.approx(other.by_row)


@pytest.mark.audit
@pytest.mark.parametrize(("people", "items", "by_person", "by_item"), [(40, 12, 0.5, 0.5), (60, 20, 0.0, 0.0)])
def test_intervals_hold_the_truth(people: int, items: int, by_person: float, by_item: float) -> None:
    rng = np.random.default_rng(11)
    held, sets = 0, size(150, 2000)
    for _ in range(sets):
        y = rng.standard_normal((people, items, 1)) + by_person * rng.standard_normal((people, 1, 1))
        held += crossed_means(y + by_item * rng.standard_normal((1, items, 1))).estimate(np.ones(1)).contains(0.0)
    assert 0.9 <= held / sets <= 0.99 if sets < 1000 else 0.93 <= held / sets <= 0.97


def test_missing_answers_are_left_out_and_counted() -> None:
    y = RNG.random((10, 4, 2))
    y[0, 0, 0] = np.nan
    fit = crossed_means(y)
    assert fit.values[0] == pytest.approx(np.nanmean(y[:, :, 0]))
    assert (fit.n, fit.missing) == (79, 1)
    assert crossed_logit(y, np.eye(2)).missing == 1
    with pytest.raises(UsageError, match="no valid answer at one of the levels"):
        crossed_means(np.full((2, 2, 1), np.nan))
    with pytest.raises(UsageError, match="no valid answer to fit"):
        crossed_logit(np.full((2, 2, 1), np.nan), np.ones((1, 1)))


def test_where_nothing_varies_there_is_a_value_and_no_interval() -> None:
    fit = crossed_means(np.full((8, 3, 2), 0.5))
    estimate = fit.estimate(np.array([1.0, -1.0]))
    assert estimate.value == 0 and math.isnan(estimate.low)
    assert math.isnan(fit.p_value(np.array([1.0, -1.0])))
    assert math.isnan(fit.p_within(np.array([1.0, -1.0]), 0.1))


def test_answers_beyond_a_share_and_terms_that_follow_from_others_are_refused() -> None:
    with pytest.raises(UsageError, match="from 0 to 1"):
        crossed_logit(np.full((2, 2, 2), 1.5), np.eye(2))
    with pytest.raises(UsageError, match="cannot be told apart"):
        crossed_logit(RNG.random((4, 2, 2)), np.ones((2, 2)))


def test_equivalence_and_difference_are_two_sides_of_one_test() -> None:
    fit = crossed_means(0.05 + 0.02 * RNG.standard_normal((60, 12, 1)))
    weights = np.ones(1)
    assert fit.p_within(weights, 0.1) < 0.05 < fit.p_beyond(weights, 0.1)
    assert fit.p_beyond(weights, 0.01) < 0.05
    assert fit.p_within(weights, 0.1) + fit.p_beyond(weights, 0.1) == pytest.approx(1)
