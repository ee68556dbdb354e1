from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from populace.base.errors import UsageError
from populace.statistics import effect_over, fit_regression, look_levels
from populace.statistics.clustered_errors import clustered_errors


def clustered(seed: int = 1, clusters: int = 12) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    run = np.repeat(np.arange(clusters), 10)
    told = rng.integers(2, size=len(run))
    age = rng.normal(size=len(run))
    luck = rng.normal(size=clusters)[run]
    y = 0.5 * told + 0.3 * age + luck + rng.normal(size=len(run))
    said = (rng.random(len(run)) < 1 / (1 + np.exp(-y))).astype(float)
    return pl.DataFrame({"run": run, "told": told.astype(str), "age": age, "y": y, "said": said})


def test_coefficients_are_those_of_statsmodels() -> None:
    frame = clustered()
    found = fit_regression(frame, "y", ["told", "age"], cluster="run")
    known = smf.ols("y ~ told + age", frame.to_pandas()).fit()
    assert found["told[1]"].estimate.value == pytest.approx(known.params["told[T.1]"])
    assert found.clusters == 12 and "clusters are too few" in found["age"].estimate.warning
    assert found["age"].estimate.warning in found.warning
    logit = fit_regression(frame, "said", ["told"], family="binomial", cluster="run")
    known = smf.logit("said ~ told", frame.to_pandas()).fit(disp=0)
    assert logit["told[1]"].estimate.value == pytest.approx(known.params["told[T.1]"], abs=1e-6)


def test_errors_without_clusters_are_those_of_statsmodels() -> None:
    frame = clustered()
    known = smf.ols("y ~ told + age", frame.to_pandas()).fit(cov_type="HC3")
    half = stats.t.ppf(0.975, 117) * known.bse["told[T.1]"]
    assert fit_regression(frame, "y", ["told", "age"])["told[1]"].estimate.width == pytest.approx(2 * half)


def test_clustered_errors_are_those_of_a_t_test_of_clusters_where_there_is_one() -> None:
    frame = clustered().with_columns(
        arm=(pl.col("run") % 2).cast(pl.String), half=(pl.int_range(pl.len()) % 2).cast(pl.String)
    )
    means = frame.group_by("run", "arm", maintain_order=True).agg(pl.col("y").mean())
    arms = [means.filter(pl.col("arm") == arm)["y"].to_numpy() for arm in ("1", "0")]
    between, known = fit_regression(frame, "y", ["arm"], cluster="run")["arm[1]"], stats.ttest_ind(*arms)
    assert between.p == pytest.approx(known.pvalue)
    assert between.estimate.low == pytest.approx(known.confidence_interval().low)
    wide = frame.pivot(on="half", index="run", values="y", aggregate_function="mean")
    within, known = (
        fit_regression(frame, "y", ["half"], cluster="run")["half[1]"],
        stats.ttest_rel(wide["1"], wide["0"]),
    )
    assert within.p == pytest.approx(known.pvalue)
    assert within.estimate.high == pytest.approx(known.confidence_interval().high)
    blocked = fit_regression(frame, "y", ["half"], cluster="run", block="run")["half[1]"]
    assert blocked.estimate.width == pytest.approx(within.estimate.width)


def test_clustered_errors_are_those_of_the_formula_of_bell_and_mccaffrey() -> None:
    rng = np.random.default_rng(4)
    owner = np.sort(rng.integers(0, 6, 40))
    design = np.column_stack([np.ones(40), rng.normal(size=(40, 2)), owner % 2])
    inverse = np.linalg.inv(design.T @ design)
    rest = np.eye(40) - design @ inverse @ design.T
    residuals = rest @ rng.normal(size=40)
    scores, weights = [], []
    for cluster in range(6):
        rows = owner == cluster
        values, vectors = np.linalg.eigh(rest[np.ix_(rows, rows)])
        root = (vectors / np.sqrt(values)) @ vectors.T
        scores.append(inverse @ design[rows].T @ root @ residuals[rows])
        weights.append(rest[rows].T @ root @ design[rows] @ inverse)
    forms = [np.array(weights)[:, :, k] @ np.array(weights)[:, :, k].T for k in range(4)]
    found = clustered_errors(design, residuals, owner)
    assert found.errors == pytest.approx(np.sqrt((np.array(scores) ** 2).sum(axis=0)))
    assert found.freedom == pytest.approx([np.trace(q) ** 2 / (q**2).sum() for q in forms])


def test_a_coefficient_that_no_cluster_repeats_has_no_interval() -> None:
    frame = clustered(clusters=2).with_columns(arm=(pl.col("run") % 2).cast(pl.String))
    alone = fit_regression(frame, "y", ["arm"], cluster="run")["arm[1]"]
    assert np.isnan(alone.estimate.low) and np.isnan(alone.p) and "no two clusters" in alone.estimate.warning


def test_blocks_and_covariates_take_off_what_they_explain() -> None:
    frame = clustered(2)
    plain = fit_regression(frame, "y", ["told"])
    adjusted = fit_regression(frame, "y", ["told", "age"], block="run")
    assert adjusted["told[1]"].estimate.width < 0.9 * plain["told[1]"].estimate.width
    assert [c.name for c in adjusted.coefficients] == ["intercept", "told[1]", "age"]


def test_clusters_are_needed_where_rows_share_their_luck() -> None:
    wrong = right = 0
    for seed in range(100):
        frame = clustered(seed, clusters=20).with_columns(arm=(pl.col("run") % 2).cast(pl.String))
        wrong += fit_regression(frame, "y", ["arm"])["arm[1]"].p < 0.05
        right += fit_regression(frame, "y", ["arm"], cluster="run")["arm[1]"].p < 0.05
    assert wrong > 30 and right <= 12


def test_bad_regressions_are_refused() -> None:
    frame = clustered()
    for call in (
        lambda: fit_regression(frame, "y", ["told"], family="normal"),
        lambda: fit_regression(frame, "y", ["told"], family="binomial"),
        lambda: fit_regression(frame, "y", ["told"], family="poisson"),
        lambda: fit_regression(frame, "y", ["run", "age"], block="run"),
        lambda: fit_regression(frame.with_columns(one=pl.lit(1.0)), "one", ["told"]),
        lambda: fit_regression(frame.head(3), "y", ["told", "age"]),
    ):
        with pytest.raises(UsageError):
            call()


def test_an_effect_over_models_counts_models_and_not_runs() -> None:
    rng = np.random.default_rng(3)
    model = np.repeat(np.arange(6), 200)
    told = np.tile([0, 1], 600)
    y = (1 + rng.normal(size=6))[model] * told + rng.normal(size=1200)
    frame = pl.DataFrame({"model": model, "told": told, "y": y})
    row = effect_over(frame, "y", "told", "model").row(0, named=True)
    assert row["units"] == 6 and row["high"] - row["low"] > 1 and row["low"] < row["effect"] < row["high"]
    with pytest.raises(UsageError, match="1 of 1 levels"):
        effect_over(frame.filter(pl.col("model") == 0), "y", "told", "model")


def test_looks_keep_their_size_together() -> None:
    looks = [10, 20, 40]
    rng = np.random.default_rng(1)
    sums = rng.normal(size=(20000, 40)).cumsum(axis=1)[:, np.array(looks) - 1] / np.sqrt(looks)
    p = 2 * stats.norm.sf(np.abs(sums))
    assert 0.045 < (p < np.array(look_levels(looks))).any(axis=1).mean() < 0.055
    with pytest.raises(UsageError, match="increase"):
        look_levels([20, 20])
