from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from populace.base.errors import UsageError
from populace.statistics import Estimate, bootstrap, difference, mean, mean_share, p_text, proportion
from populace.statistics import values as reading
from populace.statistics.intervals import mean_band, t_tail

numbers = st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=2, max_size=30)


def test_a_share_has_the_interval_that_inverts_the_binomial_test_with_half_of_what_was_observed() -> None:
    for successes, n in ((0, 5), (3, 10), (49, 120), (7, 7)):
        found = proportion(successes, n, level=0.9)
        if successes:
            above = stats.binom.sf(successes, n, found.low) + stats.binom.pmf(successes, n, found.low) / 2
            assert above == pytest.approx(0.05, abs=1e-9)
        if successes < n:
            below = stats.binom.cdf(successes - 1, n, found.high) + stats.binom.pmf(successes, n, found.high) / 2
            assert below == pytest.approx(0.05, abs=1e-9)
    assert (proportion(0, 5).low, proportion(5, 5).high) == (0, 1)


@pytest.mark.parametrize("n", [5, 10, 20, 40])
def test_the_interval_of_a_share_covers_every_share_near_0_and_1(n: int) -> None:
    counts = np.arange(n + 1)
    ends = [proportion(k, n) for k in counts]
    for truth in (0.01, 0.02, 0.05, 0.1, 0.3, 0.5, 0.95, 0.98):
        covered = sum(stats.binom.pmf(k, n, truth) for k in counts if ends[k].contains(truth))
        assert covered >= 0.93


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 500), st.data())
def test_a_share_lies_in_its_interval_and_mirrors(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    found, mirrored = proportion(successes, n), proportion(n - successes, n)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert (1 - found.high, 1 - found.low) == pytest.approx((mirrored.low, mirrored.high))


def test_a_mean_has_the_interval_of_t() -> None:
    values = [2.0, 4.0, 4.5, 7.0, 1.0]
    known = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (mean(values).low, mean(values).high) == pytest.approx((known.low, known.high))


@settings(max_examples=40, deadline=None)
@given(numbers, st.floats(-100, 100), st.floats(0.1, 10))
def test_a_mean_moves_and_grows_with_its_values(values: list[float], shift: float, scale: float) -> None:
    if np.ptp(values) < 1e-3 or set(values) <= {0.0, 1.0}:
        return
    one, other = mean(values), mean([scale * x + shift for x in values])
    assert one.contains(one.value)
    for name in ("value", "low", "high"):
        assert getattr(other, name) == pytest.approx(scale * getattr(one, name) + shift, rel=1e-6, abs=1e-6)


def test_intervals_cover_what_they_should() -> None:
    rng = np.random.default_rng(1)
    by_t = np.mean([mean(row).contains(0) for row in rng.normal(size=(1000, 8))])
    shares = [proportion(int(k), 40) for k in rng.binomial(40, 0.3, 1000)]
    assert 0.93 <= by_t <= 0.97
    assert 0.92 <= np.mean([share.contains(0.3) for share in shares]) <= 0.98


def test_a_bootstrap_agrees_with_t_where_t_is_right() -> None:
    values = np.random.default_rng(2).normal(size=200)
    by_t, drawn = mean(values), bootstrap(values, seed=1)
    assert (drawn.low, drawn.high) == pytest.approx((by_t.low, by_t.high), abs=0.02)
    assert drawn == bootstrap(values, seed=1) != bootstrap(values, seed=2)


def test_clusters_make_a_wider_interval_where_their_members_are_alike() -> None:
    rng = np.random.default_rng(3)
    values = np.repeat(rng.normal(size=30), 20) + 0.1 * rng.normal(size=600)
    alone = bootstrap(values, seed=1, resamples=500)
    held = bootstrap(values, seed=1, resamples=500, cluster=np.repeat(np.arange(30), 20))
    assert held.width > 3 * alone.width
    assert held.n == 600 and "30 clusters" in held.method


def test_any_function_of_numbers_can_be_resampled() -> None:
    found = bootstrap([1.0, 2.0, 3.0, 10.0], lambda x: float(x.max()), seed=1, resamples=200)
    assert found.value == 10.0 and found.low <= 10.0 <= found.high


def test_what_is_missing_is_dropped_and_counted() -> None:
    for values in ([1.0, None, 3.0, math.nan], pl.Series([1, None, 3, None]), np.array([1, np.nan, 3, np.nan])):
        found = mean(values)
        assert (found.value, found.n, found.dropped) == (2.0, 2, 2)
    assert "(2 missing)" in str(mean([1.0, None, 3.0, math.nan]))
    assert bootstrap([1.0, None, 3.0, 5.0], seed=1, cluster=[1, 1, 2, 3]).dropped == 1


def test_values_that_do_not_vary_show_no_precision() -> None:
    for found in (mean([7.1] * 7), bootstrap([7.1] * 7, seed=1)):
        assert math.isnan(found.low) and math.isinf(found.width) and found.value == pytest.approx(7.1)
        assert "same" in found.warning and "no interval" in str(found)
    assert mean([1.0] * 5).low == proportion(5, 5).low < 0.6
    assert mean_share([0.3] * 5).width > 0.5


def test_small_and_skewed_samples_say_so() -> None:
    rng = np.random.default_rng(5)
    assert "too few" in mean(rng.normal(size=8)).warning
    assert mean(rng.normal(size=40)).warning == ""
    assert "skewed" in mean(rng.lognormal(size=40)).warning
    assert "may not have been seen" in mean_share(0.97 + 0.01 * rng.random(30)).warning


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0], "1 value"),
        ([], "no value"),
        ([None], "no value"),
        (["a", "b"], "not numbers"),
        ([1.0, math.inf], "infinite"),
    ],
)
def test_what_cannot_be_averaged_is_refused(values: list[float], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        mean(values)


def test_bad_shares_levels_and_clusters_are_refused() -> None:
    for call in (
        lambda: proportion(1, 0),
        lambda: proportion(3, 2),
        lambda: proportion(1, 2, level=95),
        lambda: mean([1.0, 2.0], level=0),
        lambda: mean(np.ones((2, 2))),
        lambda: bootstrap([1.0, 2.0], seed=1, cluster=[1]),
        lambda: bootstrap([1.0, 2.0], seed=1, cluster=[1, 1]),
    ):
        with pytest.raises(UsageError):
            call()


@settings(max_examples=40, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_an_estimate_can_always_be_read(value: float, half: float) -> None:
    assert "n = 3" in str(Estimate(value, value - half, value + half, 3))
    assert Estimate(value, value - half, value + half, 3).table().height == 1


def test_statistics_load_without_scipy() -> None:
    code = "import sys, populace.statistics; assert not {'scipy', 'statsmodels', 'pandas'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_library_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)

    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name="scipy")

    monkeypatch.setattr(reading.importlib, "import_module", absent)
    with pytest.raises(UsageError, match=r"needs scipy.*populace\[analysis\]"):
        mean([1.0, 2.0])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=12), st.sampled_from([0.5, 0.9, 0.99]))
def test_the_interval_of_a_mean_of_shares_holds_the_mean_and_stays_between_0_and_1(
    values: list[float], level: float
) -> None:
    estimate = mean_share(values, level)
    assert 0 <= estimate.low <= estimate.value + 1e-12
    assert estimate.value - 1e-12 <= estimate.high <= 1


def test_the_interval_of_a_mean_of_shares_is_exact_for_0_and_1_and_that_of_t_far_from_them() -> None:
    exact, ours = proportion(30, 100), mean_share([1.0] * 30 + [0.0] * 70)
    assert (ours.low, ours.high) == (exact.low, exact.high)
    values = 0.5 + 0.01 * np.random.default_rng(1).standard_normal(40)
    assert mean_share(values).low == pytest.approx(mean(values).low, abs=1e-4)
    assert mean_share([0.0] * 20).high == proportion(0, 20).high
    with pytest.raises(UsageError, match="between 0 and 1"):
        mean_share([0.5, 1.2])


def test_the_interval_of_a_mean_of_shares_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    covered = [mean_share(rng.beta(0.5, 9.5, 20)).contains(0.05) for _ in range(600)]
    assert 0.9 < np.mean(covered) < 0.99


def test_bands_of_shares_stay_between_0_and_1() -> None:
    band = mean_band([[[0, 1, 2], [0.0, 0.0, 0.4]], [[0, 1, 2], [0.0, 0.1, 0.6]]])
    assert band["low"].min() >= 0  # type: ignore[operator]
    assert band["high"].max() <= 1  # type: ignore[operator]
    assert band["high"][0] > 0
    wide = mean_band([[[0], [-3.0]], [[0], [5.0]]])
    assert wide["low"][0] < -3


def test_a_p_value_is_never_0_and_a_missing_one_is_a_dash() -> None:
    assert 0 < t_tail(1e9, 1000) < 1e-300
    assert [p_text(p) for p in (None, math.nan, 1e-300, 0.05)] == ["–", "–", "< 0.001", "0.050"]
    assert "p = 0.500" in str(difference([7.0, 7.0], [3.0, 3.0], paired=True))


def test_numbers_whose_square_overflows_are_refused() -> None:
    with pytest.raises(UsageError, match="too large"):
        mean([1e200, 2e200])


def test_a_hundred_shares_near_0_may_still_have_missed_another_end() -> None:
    """With 60 to 200 runs, an end of probability .02 was missed by up to 30 % of data sets, without a warning."""
    values = 0.03 + 0.01 * np.sin(np.arange(100))
    assert "with a probability below 3 %, may not have been seen" in mean_share(values).warning
    assert mean_share(np.tile(values, 4)).warning == ""
