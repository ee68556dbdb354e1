from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from populace.base.errors import UnknownNameError, UsageError
from populace.engine.workspace import Workspace
from populace.experiments import (
    Experiment,
    Results,
    experiment_run,
    factorial_effects,
    metric_panel,
    people_panel,
    specification_curve,
)
from populace.experiments.folder import ExperimentFolder
from populace.statistics import factorial_tests


def recorded(folder: Path, **changes: Any) -> Results:
    data: dict[str, Any] = {
        "name": "crossed",
        "scenario": "norms",
        "factors": {"counts": [True, False], "personas": ["none", "graded"], "initial_share": [0.1, 0.5, 0.9]},
        "decider": "rule",
        "replicates": 12,
        "outcomes": ["share_blue"],
    }
    experiment = Experiment(**(data | changes))
    arms, rng = experiment.arms(), np.random.default_rng(8)
    made = ExperimentFolder.make(experiment, arms, Workspace(folder))
    made.write(replicates=experiment.replicates, state="complete")
    rows = []
    for replicate in range(experiment.replicates):
        luck = rng.normal()
        for arm in arms:
            off, graded = arm.levels["counts"] is False, arm.levels["personas"] == "graded"
            value = luck + 1.0 * off + 0.8 * (off and graded) + 0.1 * rng.normal()
            row = {"arm": arm.number, "replicate": replicate, "seed": replicate, "status": "complete", "failure": ""}
            rows.append(row | {"outcomes": {"share_blue": value}, "steps": 3})
    (made.path / "rows" / "1-0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Results(made)


def test_main_effects_and_interactions_are_found_and_the_others_are_not(tmp_path: Path) -> None:
    table = factorial_effects(recorded(tmp_path))
    rows = {row["term"]: row for row in table.iter_rows(named=True)}
    assert rows["counts"]["contrast"] == "counts True against False"
    assert rows["counts"]["low"] < -1.4 < rows["counts"]["high"]
    assert rows["counts:personas"]["effect"] == pytest.approx(0.8, abs=0.15)
    assert rows["counts:personas"]["p"] < 0.001
    assert rows["initial_share"]["effect"] is None and rows["initial_share"]["df"] == 2
    assert rows["initial_share"]["p"] > 0.01 and rows["counts:initial_share"]["p"] > 0.01
    assert (table["p_adjusted"] >= table["p"]).all()


def test_terms_of_independent_runs_are_those_of_statsmodels(tmp_path: Path) -> None:
    results = recorded(tmp_path, pairing=False)
    row = factorial_effects(results).row(by_predicate=pl.col("term") == "counts:personas", named=True)
    frame = results.runs.with_columns(pl.col("counts", "initial_share").cast(pl.String)).to_pandas()
    formula = "share_blue ~ C(counts, Sum) * C(personas, Sum) * C(initial_share, Sum)"
    fit = smf.ols(formula, frame).fit(cov_type="HC3")
    name = next(
        name
        for name in fit.params.index
        if name.startswith("C(counts") and name.count(":") == 1 and "share" not in name
    )
    assert row["f"] == pytest.approx(float(fit.tvalues[name]) ** 2, rel=1e-6)


def test_bounds_hold_the_effect_that_would_have_been_there_without_missing_values() -> None:
    rng = np.random.default_rng(5)
    runs = pl.DataFrame({"a": [0, 0, 1, 1] * 30, "b": [0, 1] * 60, "y": rng.integers(0, 2, 120).astype(float)})
    whole = factorial_tests(runs, "y", ["a", "b"], ends=(0.0, 1.0))
    assert whole["bound_low"].to_list() == pytest.approx(whole["effect"].to_list())
    assert whole["bound_high"].to_list() == pytest.approx(whole["effect"].to_list())
    lost = runs.with_columns(y=pl.when((pl.col("y") == 1) & (pl.int_range(120) % 3 == 0)).then(None).otherwise("y"))
    table = factorial_tests(lost, "y", ["a", "b"], ends=(0.0, 1.0))
    assert set(table["missing"]) == {lost["y"].null_count()} and table["missing"][0] > 10
    for full, seen in zip(whole.iter_rows(named=True), table.iter_rows(named=True), strict=True):
        assert seen["bound_low"] < full["effect"] < seen["bound_high"]
        widest = lost["y"].null_count() / 120 * (2 if ":" not in seen["term"] else 4)
        assert seen["bound_high"] - seen["bound_low"] == pytest.approx(widest)


def test_a_design_with_missing_combinations_has_no_factorial_table(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="need all of them|too few to tell"):
        factorial_effects(recorded(tmp_path, design="one-at-a-time"))


def test_a_specification_curve_follows_one_effect_through_all_others(tmp_path: Path) -> None:
    results = recorded(tmp_path)
    curve = specification_curve(results, "counts")
    assert curve.table.height == 6 and curve.table["effect"].is_sorted()
    assert curve.p < 0.01 and curve.same_sign == 1.0 and "6 specifications" in str(curve)
    none = specification_curve(results, "initial_share")
    assert none.p > 0.01
    with pytest.raises(UnknownNameError):
        specification_curve(results, "start")
    with pytest.raises(UnknownNameError):
        specification_curve(results, "initial_share", versus="0.7")


def test_panels_hold_metrics_and_people_of_all_runs() -> None:
    plan: dict[str, Any] = {
        "name": "panel",
        "scenario": "norms",
        "factors": {"initial_share": [0.2, 0.8]},
        "parameters": {"workers": 4, "days": 2},
        "decider": "rule",
        "replicates": 2,
        "outcomes": ["share_blue"],
    }
    results = Experiment(**plan).run(workers=1, check=False)
    metrics = metric_panel(results)
    assert metrics.columns[:4] == ["arm", "initial_share", "replicate", "seed"]
    assert metrics.height == 2 * 2 * 3 and metrics["share_blue"].null_count() == 0
    with pytest.raises(UsageError, match="keep"):
        people_panel(results)
    kept = Experiment(**(plan | {"keep": "run"})).run(workers=1, check=False)
    assert metric_panel(kept).width > metrics.width
    people = people_panel(kept)
    assert people.height == 2 * 2 * 4 and {"arm", "replicate", "shirt"} <= set(people.columns)
    assert (
        experiment_run(kept, 1, 0).metrics["share_blue"][-1]
        == kept.runs.filter(pl.col("replicate") == 0)["share_blue"][1]
    )


def grid_runs(effect: Any, replicates: int = 25) -> pl.DataFrame:
    rows = [(r, a, b, effect(r, a, b)) for r in range(replicates) for a in (0, 1) for b in (0, 1)]
    return pl.DataFrame(rows, schema=["replicate", "a", "b", "y"], orient="row")


def test_terms_that_do_not_vary_are_no_findings_in_common_seeds() -> None:
    """Rounding made b and a:b findings with p = 2e-5, although the outcome does not depend on b."""
    table = factorial_tests(grid_runs(lambda r, a, b: float(a * (r % 3))), "y", ["a", "b"], replicate="replicate")
    a, b, both = table.iter_rows(named=True)
    assert a["p"] < 0.001 and a["low"] > 0
    for row in (b, both):
        assert (row["effect"], row["p"], row["f"], row["low"]) == (0, 1, None, None)
        assert "nothing varies" in row["warning"]
    luck = np.random.default_rng(1).normal(size=25)
    same = factorial_tests(
        grid_runs(lambda r, a, b: luck[r] + 0.1 * a + 0.3 * b), "y", ["a", "b"], replicate="replicate"
    )
    assert same["p"].to_list() == [2.0**-24, 2.0**-24, 1.0] and same["high"].null_count() == 3


def test_combinations_that_do_not_vary_show_no_precision_in_independent_runs() -> None:
    """Constant combinations had F = 1e32, p = 0 and intervals of no width."""
    nothing = factorial_tests(grid_runs(lambda r, a, b: float(a)), "y", ["a", "b"])
    assert nothing["effect"].to_list() == pytest.approx([1, 0, 0])
    assert nothing["p"].to_list() == [None, 1, 1] and nothing["low"].null_count() == 3
    one = factorial_tests(grid_runs(lambda r, a, b: float(a * b * (r % 3))), "y", ["a", "b"])
    varied = np.arange(25) % 3
    half = stats.t.ppf(0.975, 24) * np.sqrt(4 * varied.var(ddof=1) / 24) / 2
    assert (one["high"] - one["effect"])[0] == pytest.approx(half)
    assert "taken to vary like the others" in one["warning"][0]
