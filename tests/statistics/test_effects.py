from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower, TTestPower
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from populace.base.errors import UnknownNameError, UsageError
from populace.statistics import adjust, difference, equivalence, power, replicates_for_effect, replicates_for_width

A = [5.0, 6.1, 7.3, 8.0, 5.5, 6.6]
B = [4.0, 5.5, 6.0, 6.5, 5.6, 4.9]

values = st.lists(st.floats(-100, 100).map(lambda x: round(x, 2)), min_size=3, max_size=15)


def test_unpaired_arms_are_compared_by_welch() -> None:
    known = stats.ttest_ind(A, B[:5], equal_var=False)
    found = difference(A, B[:5], paired=False)
    assert found.p == pytest.approx(known.pvalue)
    interval = known.confidence_interval(0.95)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((interval.low, interval.high))
    assert (found.n, found.n_a, found.n_b) == (11, 6, 5)


def test_paired_arms_are_compared_by_their_differences() -> None:
    known = stats.ttest_rel(A, B)
    found = difference(A, B, paired=True)
    interval = known.confidence_interval(0.95)
    assert (found.p, found.n) == (pytest.approx(known.pvalue), 6)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((interval.low, interval.high))
    gaps = np.subtract(A, B)
    assert found.standardised == pytest.approx(gaps.mean() / gaps.std(ddof=1) * (1 - 3 / 19))


@settings(max_examples=25, deadline=None)
@given(values, values, st.sampled_from([True, False]))
def test_swapping_the_arms_turns_the_sign(a: list[float], b: list[float], paired: bool) -> None:
    if paired:
        a, b = a[: len(b)], b[: len(a)]
    one, other = difference(a, b, paired=paired), difference(b, a, paired=paired)
    assert one.estimate.value == pytest.approx(-other.estimate.value, abs=1e-9)
    assert one.estimate.low == pytest.approx(-other.estimate.high, abs=1e-9)
    assert one.p == pytest.approx(other.p, nan_ok=True)
    assert one.estimate.contains(one.estimate.value)


@pytest.mark.parametrize("paired", [True, False])
def test_the_bootstrap_agrees_with_t_where_t_is_right(paired: bool) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.3, 1, 150), rng.normal(0, 1, 150)
    by_t, drawn = difference(a, b, paired=paired), difference(a, b, paired=paired, method="bootstrap", seed=3)
    assert (drawn.estimate.low, drawn.estimate.high) == pytest.approx((by_t.estimate.low, by_t.estimate.high), abs=0.04)
    assert drawn.p == pytest.approx(by_t.p, abs=0.05)
    assert drawn.table().height == 1


@pytest.mark.parametrize("paired", [True, False])
def test_intervals_of_effects_are_honest(paired: bool) -> None:
    rng = np.random.default_rng(4)
    shared = rng.normal(size=(1000, 8)) if paired else 0
    a, b = rng.normal(size=(2, 1000, 8)) + shared
    found = [difference(x + 1, y, paired=paired).estimate.contains(1) for x, y in zip(a, b, strict=True)]
    false = [difference(x, y, paired=paired).p < 0.05 for x, y in zip(a, b, strict=True)]
    assert 0.93 <= np.mean(found) <= 0.97
    assert 0.03 <= np.mean(false) <= 0.07


def test_a_pair_with_one_missing_value_is_dropped_and_counted() -> None:
    found = difference([1.0, None, 3.0, 4.5], [0.0, 1.0, math.nan, 2.0], paired=True)
    assert (found.n, found.dropped) == (2, 2)
    assert difference([1.0, None, 3.0], [0.0, 1.0], paired=False).dropped == 1


@pytest.mark.parametrize("method", ["t", "bootstrap"])
@pytest.mark.parametrize("paired", [True, False])
def test_where_nothing_varies_the_interval_has_no_width(method: str, paired: bool) -> None:
    same = difference([0.1] * 5, [0.1] * 5, paired=paired, method=method)
    apart = difference([0.3] * 5, [0.1] * 5, paired=paired, method=method)
    assert (same.estimate.width, same.p, same.standardised) == (0, 1, 0)
    assert apart.estimate.width == 0 and math.isnan(apart.p)


def test_a_constant_gain_in_pairs_does_not_vary_either() -> None:
    b = [0.1, 0.7, 12.3, 5.5]
    assert difference([x + 0.1 for x in b], b, paired=True).estimate.width == 0


def test_bad_arms_are_refused() -> None:
    with pytest.raises(UsageError, match="one length"):
        difference([1.0, 2.0], [1.0, 2.0, 3.0], paired=True)
    with pytest.raises(UsageError, match="second arm has 1 value"):
        difference([1.0, 2.0], [1.0], paired=False)
    with pytest.raises(UsageError, match="no value"):
        difference([], [], paired=True)
    with pytest.raises(UnknownNameError, match="bootstrap"):
        difference(A, B, paired=True, method="bootstrp")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.sampled_from(["holm", "bh", "bonferroni"]))
def test_correction_never_makes_a_p_smaller_nor_changes_their_order(p: list[float], method: str) -> None:
    found = adjust(p, method)
    assert (found >= np.array(p) - 1e-12).all() and (found <= 1).all()
    assert (np.diff(found[np.argsort(p, kind="stable")]) >= -1e-12).all()


def test_a_missing_p_counts_as_no_test() -> None:
    found = adjust([0.01, None, 0.04], "bonferroni")
    assert found[[0, 2]] == pytest.approx([0.02, 0.08]) and math.isnan(found[1])
    assert adjust([]).size == 0
    assert adjust([0.01, 0.02, 0.03], "bh") == pytest.approx(multipletests([0.01, 0.02, 0.03], method="fdr_bh")[1])


def test_bad_p_values_and_corrections_are_refused() -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        adjust([1.2])
    with pytest.raises(UnknownNameError, match="holm"):
        adjust([0.1], "hlm")


def test_equivalence_is_the_test_of_statsmodels() -> None:
    a, b = np.array(A), np.array(B)
    assert equivalence(A, B, 2.0, paired=False).p == pytest.approx(ttost_ind(a, b, -2, 2, usevar="unequal")[0])
    assert equivalence(A, B, 2.0, paired=True).p == pytest.approx(ttost_paired(a, b, -2, 2)[0])


@settings(max_examples=25, deadline=None)
@given(values, values, st.floats(0.5, 50))
def test_p_and_interval_of_an_equivalence_say_the_same(a: list[float], b: list[float], margin: float) -> None:
    found = equivalence(a, b, margin, paired=False)
    if not math.isnan(found.p) and abs(found.p - 0.05) > 1e-6:
        assert found.equivalent == (found.p < 0.05)
    assert found.verdict in ("equivalent", "different", "undecided")
    assert found.table()["n"][0] == len(a) + len(b)


def test_an_equivalence_has_three_verdicts() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=100)
    assert equivalence(a, a + 0.01 * rng.normal(size=100), 0.1, paired=True).verdict == "equivalent"
    assert equivalence(a + 2, a + 0.01 * rng.normal(size=100), 0.1, paired=True).verdict == "different"
    assert equivalence(a[:5], a[5:10], 0.1, paired=False).verdict == "undecided"
    still = equivalence([1.0, 1.0], [1.0, 1.0], 0.1, paired=False)
    assert still.equivalent and math.isnan(still.p)


def test_power_is_that_of_statsmodels() -> None:
    for n in (2, 5, 20, 100):
        for effect in (0.1, 0.5, 2.0):
            assert power(n, 1.0, effect) == pytest.approx(TTestIndPower().power(effect, n, 0.05), abs=1e-6)
            assert power(n, 2.0, effect, paired=True) == pytest.approx(
                TTestPower().power(effect / 2, n, 0.05), abs=1e-6
            )
    assert power(50, 1.0, 1e4) == 1.0


@settings(max_examples=25, deadline=None)
@given(st.floats(0.1, 10), st.floats(0.2, 5), st.booleans())
def test_the_replicates_needed_are_the_fewest_that_are_enough(sd: float, effect: float, paired: bool) -> None:
    n = replicates_for_effect(sd, effect, paired=paired)
    assert power(n, sd, effect, paired=paired) >= 0.8
    assert n == 2 or power(n - 1, sd, effect, paired=paired) < 0.8


def test_a_narrower_interval_needs_more_replicates() -> None:
    assert replicates_for_width(1.0, 0.25) > 3.5 * replicates_for_width(1.0, 0.5)


def test_impossible_studies_are_refused() -> None:
    for call in (
        lambda: replicates_for_effect(1.0, 0.0),
        lambda: replicates_for_effect(0.0, 1.0),
        lambda: replicates_for_effect(1.0, 1.0, power=1.0),
        lambda: replicates_for_width(1.0, 0.0),
        lambda: replicates_for_effect(1.0, 1e-9),
        lambda: power(1, 1.0, 1.0),
        lambda: equivalence(A, B, 0.0, paired=True),
        lambda: equivalence(A, B, 1.0, paired=True, alpha=0.6),
    ):
        with pytest.raises(UsageError):
            call()
