from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM

from populace.base.errors import UnknownNameError, UsageError
from populace.statistics import fit_mixed_model, one_way, tukey

GROUPS = {"a": [24.5, 23.5, 26.4, 27.1, 29.9], "b": [28.4, 34.2, 29.5, 32.2, 30.1], "c": [26.1, 28.3, 24.3, 26.2, 27.8]}


def test_a_one_way_analysis_is_that_of_scipy() -> None:
    known = stats.f_oneway(*GROUPS.values())
    found = one_way(GROUPS)
    assert (found.f, found.p) == (pytest.approx(known.statistic), pytest.approx(known.pvalue))
    assert (found.between, found.within, found.n) == (2, 12, 15)
    assert found.levene == pytest.approx(stats.levene(*GROUPS.values()).pvalue)
    assert 0 < found.omega < found.eta < 1
    assert found.groups["mean"].to_list() == pytest.approx([float(np.mean(v)) for v in GROUPS.values()])


def test_tukey_gives_the_published_example() -> None:
    # The example of scipy's documentation, which quotes SAS.
    table = tukey(GROUPS)
    assert table["difference"].to_list() == pytest.approx([-4.6, -0.26, 4.34])
    assert table["p"].to_list() == pytest.approx([0.014, 0.980, 0.020], abs=0.0006)
    assert ((table["low"] < table["difference"]) & (table["difference"] < table["high"])).all()
    assert table["n_a"].to_list() == [5, 5, 5]


def test_groups_that_do_not_vary_are_no_crash() -> None:
    same, apart = {"a": [0.1] * 3, "b": [0.1] * 3}, {"a": [0.1] * 3, "b": [0.3] * 3}
    assert (one_way(same).f, one_way(same).p) == (0, 1)
    assert math.isnan(one_way(apart).p)
    assert tukey(same)["p"][0] == 1 and math.isnan(tukey(apart)["p"][0])
    assert tukey(apart)["difference"][0] == pytest.approx(-0.2)
    assert tukey(apart)["low"].is_nan().all() and tukey(apart)["high"].is_nan().all()


def test_groups_that_vary_by_different_amounts_or_are_too_small_to_tell_warn() -> None:
    rng = np.random.default_rng(3)
    alike = {name: rng.normal(size=30) for name in "abc"}
    assert one_way(alike).warning == tukey(alike)["warning"][0] == ""
    apart = alike | {"c": 5 * alike["c"]}
    assert "different amounts" in one_way(apart).warning and "different amounts" in tukey(apart)["warning"][0]
    assert "5 values of a group are too few" in tukey(GROUPS)["warning"][0]


def test_bad_groups_are_refused_and_missing_values_counted() -> None:
    for groups, said in (
        ({"a": [1.0, 2.0]}, "at least two groups"),
        ({"a": [1.0, 2.0], "b": []}, "'b' has no value"),
        ({"a": [1.0, 2.0], "b": [1.0, None]}, "'b' has 1 value"),
    ):
        for test in (one_way, tukey):
            with pytest.raises(UsageError, match=said):
                test(groups)
    assert one_way({"a": [1.0, 2.0, None], "b": [3.0, 4.0]}).dropped == 1


def rated(seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rater, community = np.repeat(np.arange(15), 24), np.tile(np.arange(12), 30)
    arm = rng.choice(["full", "none"], 360)
    y = 1.0 + 0.8 * (arm == "none") + rng.normal(0, 0.7, 15)[rater] + rng.normal(0, 0.5, 12)[community]
    return pl.DataFrame({"rater": rater, "community": community, "arm": arm, "y": y + rng.normal(0, 0.6, 360)})


def test_a_mixed_model_finds_planted_effects() -> None:
    found = fit_mixed_model(rated(), "y", ["arm"], ["rater", "community"])
    assert found.converged and found.words.startswith("The fit converged.")
    assert found["arm[none]"].estimate.value == pytest.approx(0.8, abs=0.25) and found["arm[none]"].p < 0.001
    data = pd.DataFrame(rated().to_dict(as_series=False)).assign(one=1)
    parts = {"rater": "0 + C(rater)", "community": "0 + C(community)"}
    known = MixedLM.from_formula("y ~ arm", data, groups="one", re_formula="0", vc_formula=parts).fit()
    assert found["arm[none]"].estimate.value == pytest.approx(known.fe_params.iloc[1], abs=1e-3)
    assert found.variances["community"] == pytest.approx(known.vcomp[0], rel=0.02)
    assert found.variances["rater"] == pytest.approx(known.vcomp[1], rel=0.02)
    assert found.levels == {"rater": 15, "community": 12}
    assert found.table()["n"].to_list() == [360, 360]


def test_one_random_factor_is_the_model_of_statsmodels() -> None:
    frame = rated(2)
    data = pd.DataFrame(frame.to_dict(as_series=False))
    known = MixedLM.from_formula("y ~ arm", data, groups="rater").fit(reml=True)
    found = fit_mixed_model(frame, "y", ["arm"], ["rater"])
    assert found["arm[none]"].estimate.value == pytest.approx(known.fe_params.iloc[1], abs=1e-4)
    assert found["arm[none]"].p == pytest.approx(known.pvalues.iloc[1], abs=1e-4)
    assert found.variances["rater"] == pytest.approx(float(known.cov_re.iloc[0, 0]), rel=0.01)


def test_a_random_factor_without_effect_is_said_to_be_at_zero() -> None:
    rng = np.random.default_rng(5)
    half = rng.normal(size=40)
    frame = pl.DataFrame({"y": [*half, *-half], "g": [*range(40)] * 2, "x": rng.normal(size=80)})
    found = fit_mixed_model(frame, "y", ["x"], ["g"])
    assert found.converged
    assert found.words.startswith("The fit converged; the variance of g is at zero.")
    assert found.variances["g"] == pytest.approx(0, abs=1e-6)


def test_interactions_are_written_with_a_colon() -> None:
    frame = rated(3).with_columns(x=np.linspace(-1, 1, 360))
    found = fit_mixed_model(frame, "y", ["arm", "x", "arm:x"], ["rater"])
    assert [c.name for c in found.coefficients] == ["intercept", "arm[none]", "x", "arm[none]:x"]


def test_bad_models_are_refused() -> None:
    frame = rated()
    twin = frame.with_columns(again=pl.col("arm"), one=pl.lit("x"), row=np.arange(360), flat=pl.lit(1.0))
    for call, said in (
        (lambda: fit_mixed_model(frame, "y", ["arm"], []), "needs a random factor"),
        (lambda: fit_mixed_model(twin, "y", ["arm", "again"], ["rater"]), "told apart"),
        (lambda: fit_mixed_model(twin, "y", ["one"], ["rater"]), "one level"),
        (lambda: fit_mixed_model(twin, "y", ["arm"], ["one"]), "1 levels"),
        (lambda: fit_mixed_model(twin, "y", ["arm"], ["row"]), "360 levels"),
        (lambda: fit_mixed_model(twin, "flat", ["arm"], ["rater"]), "equal"),
        (lambda: fit_mixed_model(frame.head(2), "y", [], ["rater"]), "at least"),
        (lambda: fit_mixed_model(frame, "y", ["arm"], ["rater"])["arm"], "no coefficient"),
    ):
        with pytest.raises(UsageError, match=said):
            call()
    with pytest.raises(UnknownNameError, match="rater"):
        fit_mixed_model(frame, "y", ["arm"], ["rators"])


def test_a_mixed_model_says_that_it_takes_effects_to_be_the_same_in_all_models() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"model": np.repeat(np.arange(6), 20), "told": ["no", "yes"] * 60, "y": rng.normal(size=120)})
    assert "effect_over does not" in fit_mixed_model(frame, "y", ["told"], ["model"]).words
