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
from populace.statistics import (
    Estimate,
    adjust,
    contrast,
    difference,
    equivalence,
    power,
    replicates_for_effect,
    replicates_for_width,
)

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
    assert one.estimate.low == pytest.approx(-other.estimate.high, abs=1e-9, nan_ok=True)
    assert one.p == pytest.approx(other.p)
    assert math.isinf(one.estimate.width) or one.estimate.contains(one.estimate.value)


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


@pytest.mark.parametrize("method", ["t", "bootstrap", "bootstrap-t", "permutation"])
@pytest.mark.parametrize("paired", [True, False])
def test_where_nothing_varies_no_precision_is_claimed(method: str, paired: bool) -> None:
    same = difference([7.0] * 5, [7.0] * 5, paired=paired, method=method)
    apart = difference([7.0] * 5, [3.0] * 5, paired=paired, method=method)
    assert (same.p, same.standardised) == (1, 0)
    assert math.isinf(same.estimate.width) and math.isinf(apart.estimate.width)
    assert apart.p == pytest.approx(2 / 32 if paired else 2 / 252) and "nothing varies" in apart.warning
    shares = difference([0.3] * 5, [0.1] * 5, paired=paired, method=method)
    assert shares.estimate.low < 0 < shares.estimate.high and shares.estimate.width > 0.5


def test_two_seeds_that_agree_decide_nothing() -> None:
    assert difference([9.0, 9.0], [3.0, 3.0], paired=True).p == 0.5


def test_a_constant_gain_in_pairs_does_not_vary_either() -> None:
    b = [0.1, 0.7, 12.3, 5.5]
    assert math.isinf(difference([x + 0.1 for x in b], b, paired=True).estimate.width)


def test_an_arm_that_does_not_vary_is_not_taken_as_known() -> None:
    rng = np.random.default_rng(2)
    varied = rng.normal(5, 1, 20)
    found = difference(np.full(20, 3.0), varied, paired=False)
    assert found.estimate.width > 2 * 1.9 * varied.std(ddof=1) * math.sqrt(2 / 20)
    assert "nothing varies in one arm" in found.warning


def _joint(p: float, q: float, dependence: float) -> np.ndarray:
    both = p * q + dependence * (min(p, q) - p * q)
    return np.array([both, p - both, q - both, 1 - p - q + both])


@pytest.mark.parametrize("n", [5, 10, 20])
def test_differences_of_proportions_cover_near_0_and_1(n: int) -> None:
    """The coverage is exact: every table of n pairs, or of two times n runs, is counted with its probability."""
    pairs = [(a, b, c, n - a - b - c) for a in range(n + 1) for b in range(n + 1 - a) for c in range(n + 1 - a - b)]
    intervals = {}
    for table in pairs:
        one = np.repeat([1.0, 1.0, 0.0, 0.0], table)
        two = np.repeat([1.0, 0.0, 1.0, 0.0], table)
        intervals[table] = difference(one, two, paired=True).estimate
    for p, q, dependence in ((0.98, 0.02, 0), (0.95, 0.05, 0), (0.98, 0.9, 0.5), (0.5, 0.5, 0.8), (0.7, 0.4, 0.5)):
        weights = stats.multinomial(n, _joint(p, q, dependence)).pmf(pairs)
        hits = [intervals[table].contains(p - q) for table in pairs]
        assert weights[hits].sum() >= 0.93
    apart = {(i, j): _proportions_apart(i, j, n) for i in range(n + 1) for j in range(n + 1)}
    for p, q in ((0.98, 0.02), (0.95, 0.05), (0.98, 0.9), (0.9, 0.1), (0.5, 0.5), (0.02, 0.1)):
        chance = {at: stats.binom.pmf(at[0], n, p) * stats.binom.pmf(at[1], n, q) for at in apart}
        assert sum(chance[at] for at, estimate in apart.items() if estimate.contains(p - q)) >= 0.93


def _proportions_apart(i: int, j: int, n: int) -> Estimate:
    one, two = np.repeat([1.0, 0.0], [i, n - i]), np.repeat([1.0, 0.0], [j, n - j])
    return difference(one, two, paired=False).estimate


def test_proportions_have_the_p_of_fisher_and_mcnemar_with_half_of_what_was_observed() -> None:
    one, two = [1] * 9 + [0] * 1, [1] * 2 + [0] * 8
    exact = stats.fisher_exact([[9, 1], [2, 8]]).pvalue
    assert exact / 3 < difference(one, two, paired=False).p < exact
    pairs = difference([1] * 9 + [0] + [1] * 5, [0] * 9 + [1] + [1] * 5, paired=True)
    assert pairs.p == pytest.approx(stats.binomtest(1, 10).pvalue - stats.binom.pmf(1, 10, 0.5))


@pytest.mark.parametrize("paired", [True, False])
def test_bootstrap_t_and_permutation_agree_with_t_where_t_is_right(paired: bool) -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(0.4, 1, 60), rng.normal(0, 1, 60)
    by_t = difference(a, b, paired=paired)
    for method in ("bootstrap-t", "permutation"):
        drawn = difference(a, b, paired=paired, method=method, seed=1)
        assert (drawn.estimate.low, drawn.estimate.high) == pytest.approx(
            (by_t.estimate.low, by_t.estimate.high), abs=0.08
        )
        assert drawn.p == pytest.approx(by_t.p, abs=0.02)


def test_bootstrap_t_follows_the_longer_tail() -> None:
    values = np.random.default_rng(3).lognormal(size=20)
    by_t, drawn = (difference(values, np.zeros(20) - 1e-3, paired=True, method=m) for m in ("t", "bootstrap-t"))
    assert drawn.estimate.high > by_t.estimate.high and drawn.estimate.low > by_t.estimate.low


def test_a_warning_of_skewed_values_says_what_helps_wherever_it_is_read() -> None:
    found = difference([0.9] * 15 + [0.1] * 5, [0.1] * 18 + [0.9] * 2, paired=False)
    assert (
        found.warning == "the values are so skewed that the interval is too short; it gets better with many more runs"
    )


def test_a_standardised_effect_says_by_what_it_is_divided() -> None:
    assert difference(A, B, paired=True).table()["standardised_as"][0].startswith("d_z")
    assert difference(A, B, paired=False).table()["standardised_as"][0].startswith("Hedges")


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
    assert still.verdict == "undecided" and still.p > 0.3
    assert equivalence([7.0, 7.0], [7.0, 7.0], 0.1, paired=False).verdict == "undecided"
    rare = equivalence([0] * 199 + [1], [0] * 200, 0.05, paired=False)
    assert rare.equivalent and rare.p < 0.05


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
        lambda: replicates_for_effect(1.0, math.nan),
        lambda: replicates_for_width(1.0, math.inf),
        lambda: power(5, 1.0, math.nan),
        lambda: power(1, 1.0, 1.0),
        lambda: equivalence(A, B, 0.0, paired=True),
        lambda: equivalence(A, B, 1.0, paired=True, alpha=0.6),
    ):
        with pytest.raises(UsageError):
            call()


def test_a_contrast_of_arms_warns_where_one_of_them_is_skewed() -> None:
    rng, weights = np.random.default_rng(2), np.array([0.5, 0.5, -1.0])
    normal = rng.normal(size=(3, 40))
    assert contrast(list(normal), weights).warning == ""
    skewed = [*normal[:2], rng.lognormal(size=40)]
    assert "so skewed" in contrast(skewed, weights).warning
    assert "too few" in contrast([values[:10] for values in normal], weights).warning
