from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm

from populace.base.errors import UsageError
from populace.engine.workspace import Workspace
from populace.experiments import Arm, Experiment, Results, export_results, family_effects, report
from populace.experiments.folder import ExperimentFolder

Outcome = Callable[[Arm, int, np.random.Generator], float | None]


def recorded(folder: Path, outcome: Outcome, metric: str = "share_blue", **changes: Any) -> Results:
    """Results of runs that were never run, with the outcome of each by its arm and replicate."""
    data: dict[str, Any] = {
        "name": "recorded",
        "scenario": "norms",
        "factors": {"names": [True, False], "initial_share": [0.1, 0.5, 0.9]},
        "decider": "rule",
        "replicates": 12,
        "outcomes": [metric],
    }
    experiment = Experiment(**(data | changes))
    arms, rng = experiment.arms(), np.random.default_rng(1)
    made = ExperimentFolder.make(experiment, arms, Workspace(folder))
    made.write(replicates=experiment.replicates, state="complete")
    rows = []
    for replicate in range(experiment.replicates):
        for arm in arms:
            value = outcome(arm, replicate, rng)
            row = {"arm": arm.number, "replicate": replicate, "seed": experiment.seed_of(replicate, arm), "steps": 30}
            name = experiment.outcomes[0].name
            rows.append(row | {"status": "complete", "failure": "", "outcomes": {name: value}})
    (made.path / "rows" / "1-0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Results(made)


def share_alone(arm: Arm, replicate: int, rng: np.random.Generator) -> float:
    """The initial share decides everything; names do nothing."""
    return float(arm.levels["initial_share"]) + rng.normal(0, 0.02)


def test_a_factor_without_effect_has_none_in_a_one_at_a_time_design(tmp_path: Path) -> None:
    results = recorded(tmp_path, share_alone, design="one-at-a-time")
    (row,) = results.effects(factor="names").iter_rows(named=True)
    assert abs(row["effect"]) < 0.05 and row["p"] > 0.01
    assert "assumes no interactions" in row["model"]
    shares = results.effects(factor="initial_share")
    assert shares["effect"].to_list() == pytest.approx([0.4, 0.8], abs=0.05)


def test_a_replicate_whose_arms_did_not_all_end_does_not_enter(tmp_path: Path) -> None:
    def lossy(arm: Arm, replicate: int, rng: np.random.Generator) -> float | None:
        lost = replicate % 2 and arm.levels["names"] is False and arm.levels["initial_share"] == 0.1
        return None if lost else share_alone(arm, replicate, rng)

    results = recorded(tmp_path, lossy)
    (row,) = results.effects(factor="names").iter_rows(named=True)
    assert abs(row["effect"]) < 0.05 and row["n"] == 6
    assert row["missing"] == 6 and row["bound_low"] < row["effect"] < row["bound_high"]


@pytest.mark.parametrize("design", ["full", "one-at-a-time"])
def test_contrasts_equal_the_additive_model_of_statsmodels(tmp_path: Path, design: str) -> None:
    def noisy(arm: Arm, replicate: int, rng: np.random.Generator) -> float:
        return 3 * share_alone(arm, replicate, rng) + 0.3 * bool(arm.levels["names"]) + 0.1 * replicate + rng.normal()

    results = recorded(tmp_path, noisy, design=design)
    runs = results.runs
    columns = {"intercept": np.ones(runs.height)}
    columns["names"] = (~runs["names"]).to_numpy().astype(float)
    for level in (0.5, 0.9):
        columns[f"share {level}"] = (runs["initial_share"] == level).to_numpy().astype(float)
    for replicate in range(1, 12):
        columns[f"block {replicate}"] = (runs["replicate"] == replicate).to_numpy().astype(float)
    fit = sm.OLS(runs["share_blue"].to_numpy(), np.column_stack(list(columns.values()))).fit()
    known = dict(zip(columns, fit.params, strict=True))
    assert results.effects(factor="names")["effect"][0] == pytest.approx(known["names"], abs=1e-9)
    found = results.effects(factor="initial_share")["effect"].to_list()
    assert found == pytest.approx([known["share 0.5"], known["share 0.9"]], abs=1e-9)


def test_contrasts_of_independent_arms_weight_their_own_variances(tmp_path: Path) -> None:
    results = recorded(tmp_path, share_alone, pairing=False)
    (row,) = results.effects(factor="names").iter_rows(named=True)
    assert not row["paired"] and row["low"] < 0 < row["high"] and row["n"] == 72


def test_a_design_that_cannot_tell_factors_apart_says_so(tmp_path: Path) -> None:
    factors = {"initial_share": {"low": 0.0, "high": 1.0}, "threshold": {"low": 1.0, "high": 1.4}}
    design = {"kind": "latin-hypercube", "points": 6}
    results = recorded(tmp_path, share_alone, factors=factors, design=design)
    with pytest.raises(UsageError, match="cannot tell the effect of initial_share"):
        results.effects(factor="initial_share")


def test_intervals_that_hold_together_stand_beside_adjusted_p_values(tmp_path: Path) -> None:
    effects = recorded(tmp_path, share_alone).effects()
    assert (effects["low_all"] < effects["low"]).all() and (effects["high_all"] > effects["high"]).all()


def test_missing_outcomes_are_counted_and_bounded_in_every_table(tmp_path: Path) -> None:
    def lossy(arm: Arm, replicate: int, rng: np.random.Generator) -> float | None:
        return None if arm.number == 0 and replicate < 3 else float(np.clip(share_alone(arm, replicate, rng), 0, 1))

    results = recorded(tmp_path, lossy)
    first = results.outcome().row(0, named=True)
    assert (first["n"], first["missing"]) == (9, 3)
    assert first["bound_low"] == pytest.approx(first["mean"] * 9 / 12)
    assert first["bound_high"] == pytest.approx((first["mean"] * 9 + 3) / 12)
    effect = results.effects().row(0, named=True)
    assert effect["missing"] == 3 and effect["bound_low"] < effect["effect"] < effect["bound_high"]


def test_runs_in_which_an_event_had_not_come_are_censored_and_not_dropped(tmp_path: Path) -> None:
    def days(arm: Arm, replicate: int, rng: np.random.Generator) -> float | None:
        day = rng.exponential(10 if arm.levels["names"] else 40) + 1
        return None if day > 30 else float(int(day))

    factors = {"names": [True, False]}
    results = recorded(tmp_path, days, "time(days_to_consensus)", factors=factors, replicates=60)
    table = results.survival()
    assert table["n"].to_list() == [60, 60]
    assert (table["events"] + table["censored"]).to_list() == [60, 60] and table["censored"][1] > 15
    assert table["median"][0] < 12 and (table["median"][1] is None or table["median"][1] > 20)
    assert table["p"][0] is None and table["p"][1] < 0.001
    means = results.outcome()
    assert means["n"].to_list() == [60, 60] and means["mean"][0] < means["mean"][1] <= 30
    assert results.effects()["effect"][0] == pytest.approx(means["mean"][1] - means["mean"][0])
    dropped = results.runs["time(days_to_consensus)"].mean()
    assert means["mean"].mean() > dropped  # type: ignore[operator]


def test_only_a_metric_at_the_end_can_be_a_time(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a time is a metric at the end"):
        recorded(tmp_path, share_alone, "time(days_to_consensus)@3")
    with pytest.raises(UsageError, match="not declared as a time"):
        recorded(tmp_path, share_alone).survival()


def test_a_proportion_of_runs_is_not_precise_because_all_runs_agree(tmp_path: Path) -> None:
    results = recorded(tmp_path, lambda arm, *_: float(bool(arm.levels["names"])), "consensus", replicates=5)
    row = results.effects().row(by_predicate=pl.col("arm") == results.arm(3).name, named=True)
    assert row["effect"] == -1 and row["high"] > -0.9 and row["p"] == pytest.approx(2 / 2**5 / 2)
    assert results.outcome()["high"].min() > 0.3  # type: ignore[operator]


def lost_arm(arm: Arm, replicate: int, rng: np.random.Generator) -> float | None:
    return None if arm.number == 1 and replicate > 0 else float(rng.random())


@pytest.mark.parametrize("pairing", [True, False])
def test_an_arm_that_lost_its_runs_leaves_the_effects_of_the_others_alone(tmp_path: Path, pairing: bool) -> None:
    """One arm with a single run took the table, the report, the export and the family of all others with it."""
    results = recorded(tmp_path, lost_arm, pairing=pairing)
    lost, *others = results.effects().iter_rows(named=True)
    assert lost["effect"] is None and lost["p_adjusted"] is None and lost["low_all"] is None
    assert lost["warning"].startswith(f"{lost['arm']} cannot be compared")
    assert all(row["low"] < row["effect"] < row["high"] for row in others)
    alone = 1 - 0.05 / len(others)
    assert others[0]["low_all"] == pytest.approx(results.effects(level=alone)["low"][1])
    assert "cannot be compared" in report(results).markdown
    assert family_effects(results).height == len(others) + 1
    assert (tmp_path / "out" / "effects.csv") in export_results(results, tmp_path / "out")


def test_events_that_all_come_at_one_step_are_no_difference(tmp_path: Path) -> None:
    """The log-rank test of statsmodels ends with a singular matrix, and so did the report."""
    results = recorded(tmp_path, lambda arm, replicate, rng: 2.0, "time(days_to_consensus)")
    assert set(results.survival()["p"].drop_nulls()) == {1.0}
    assert "log-rank" in report(results).markdown
