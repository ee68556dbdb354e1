from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from populace.base.errors import UnknownNameError, UsageError
from populace.engine.workspace import Workspace
from populace.experiments import Experiment, Results, factorial_effects, family_effects, specification_curve
from populace.experiments.folder import ExperimentFolder
from populace.experiments.tables import arm_means, precision_table
from populace.statistics import difference

TWO_FACTORS: dict[str, Any] = {
    "name": "planted",
    "scenario": "norms",
    "factors": {"counts": [True, False], "personas": ["none", "graded"]},
    "model": "scripted:uniform",
    "replicates": 30,
    "outcomes": ["share_blue", "consensus", "alternation"],
}


def planted(folder: Path, failing: float = 0.0, **changes: Any) -> Results:
    """Results of runs that were never run: each replicate adds the same luck to all arms, each arm its own effect."""
    experiment = Experiment(**(TWO_FACTORS | changes))
    arms = experiment.arms()
    made = ExperimentFolder.make(experiment, arms, Workspace(folder))
    made.write(replicates=experiment.replicates, state="complete")
    rng = np.random.default_rng(1)
    luck = rng.normal(0, 1, experiment.replicates)
    rows = []
    for arm in arms:
        effect = 0.5 * (arm.levels.get("counts") is False) + 0.2 * (arm.levels.get("personas") == "graded")
        for replicate in range(experiment.replicates):
            row = {
                "arm": arm.number,
                "replicate": replicate,
                "seed": experiment.seed_of(replicate, arm),
                "status": "complete",
                "failure": "",
            }
            if rng.random() < failing:
                rows.append(row | {"status": "failed", "failure": "planned"})
                continue
            value = luck[replicate] + effect + rng.normal(0, 0.1)
            ends = {"share_blue": value, "consensus": float(value > 0), "alternation": None}
            rows.append(row | {"outcomes": ends, "answers": {"ok": 7}, "calls": 3, "cost": 0.5})
    (made.path / "rows" / "1-0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Results(made)


def test_costs_carry_the_currency_of_the_price_table_at_the_time(tmp_path: Path) -> None:
    results = planted(tmp_path)
    assert results.runs["currency"].unique().to_list() == [""], "rows of earlier versions say none"
    (file,) = (results.folder.path / "rows").iterdir()
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows:
        row["currency"] = "EUR" if row["arm"] == 0 or row["replicate"] else "USD"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    again = Results(results.folder)
    assert set(again.runs["currency"]) == {"EUR", "USD"}
    assert again.arms["currency"].to_list()[0] == "EUR"
    assert again.arms["currency"].to_list()[1] == "USD and EUR"
    assert again.digest == results.digest, "what was spent is not part of it"


def test_effects_are_paired_and_find_what_was_planted(tmp_path: Path) -> None:
    effects = planted(tmp_path).effects("share_blue")
    assert effects["arm"].to_list() == [
        "counts=yes, personas=graded",
        "counts=no, personas=none",
        "counts=no, personas=graded",
    ]
    assert effects["paired"].all()
    for row, true in zip(effects.iter_rows(named=True), (0.2, 0.5, 0.7), strict=True):
        assert row["low"] < true < row["high"]
        assert row["high"] - row["low"] < 0.15
        assert row["p_adjusted"] >= row["p"]


def test_without_common_random_numbers_arms_are_independent(tmp_path: Path) -> None:
    paired, apart = planted(tmp_path / "a").effects(), planted(tmp_path / "b", pairing=False).effects()
    assert not apart["paired"].any()
    assert (apart["high"] - apart["low"]).min() > 3 * (paired["high"] - paired["low"]).max()  # type: ignore[operator]


def test_an_effect_is_the_difference_of_the_statistics_room(tmp_path: Path) -> None:
    results = planted(tmp_path, failing=0.2)
    wide = results.runs.pivot(on="arm", index="replicate", values="share_blue").sort("replicate")
    first, other = results.arm(0).name, results.arm(2).name
    expected = difference(wide[other], wide[first], paired=True)
    row = results.effects().row(by_predicate=pl.col("arm") == other, named=True)
    assert row["effect"] == expected.estimate.value
    assert row["n"] == expected.n < 30
    assert row["p"] == expected.p


def test_every_table_tells_n_seeds_and_failures(tmp_path: Path) -> None:
    results = planted(tmp_path, failing=0.2)
    tables = [results.outcome(), results.effects(), results.effects(factor="counts")]
    tables += [results.probabilities("consensus"), results.precision()]
    for table in tables:
        assert {"n", "seeds", "failed"} <= set(table.columns)
        assert table["seeds"].list.len().min() == 30
        assert 0 < table["failed"].mean() < 0.4  # type: ignore[operator]


def test_missing_values_are_counted_with_what_they_could_do(tmp_path: Path) -> None:
    results = planted(tmp_path, failing=0.2)
    lost = results.runs["share_blue"].null_count()
    assert factorial_effects(results, "share_blue")["missing"].unique().to_list() == [lost]
    curve = specification_curve(results, "counts", "share_blue").table
    assert curve["missing"].sum() == lost
    assert (curve["bound_low"] < curve["effect"]).all() and (curve["effect"] < curve["bound_high"]).all()
    above = results.probabilities("share_blue", above=0.0)
    assert above["missing"].sum() == lost
    assert (above["bound_low"] <= above["probability"]).all() and (above["probability"] <= above["bound_high"]).all()
    assert (above["bound_high"] - above["bound_low"]).to_list() == pytest.approx((above["missing"] / 30).to_list())


def test_levels_of_a_factor_are_averaged_over_the_other_factors(tmp_path: Path) -> None:
    results = planted(tmp_path)
    (row,) = results.effects(factor="counts").iter_rows(named=True)
    assert (row["counts"], row["baseline"]) == ("false", "true")
    assert row["low"] < 0.5 < row["high"]
    (turned,) = results.effects(factor="counts", baseline=False).iter_rows(named=True)
    assert turned["effect"] == pytest.approx(-row["effect"])


def test_a_baseline_is_named_numbered_or_described(tmp_path: Path) -> None:
    results = planted(tmp_path)
    named = results.effects(baseline="counts=no, personas=none")
    assert named.equals(results.effects(baseline=2))
    assert named.equals(results.effects(baseline={"counts": False, "personas": "none"}))
    with pytest.raises(UsageError, match="2 arms have"):
        results.effects(baseline={"counts": False})
    with pytest.raises(UnknownNameError, match="Did you mean 'counts'"):
        results.effects(baseline={"count": False})
    with pytest.raises(UnknownNameError, match="no arm named"):
        results.effects(baseline="nobody")


def test_probabilities_are_shares_of_seeds(tmp_path: Path) -> None:
    results = planted(tmp_path)
    above = results.probabilities("share_blue", above=0.0)
    runs = results.runs.filter(pl.col("arm") == results.arm(0).name)
    assert above["probability"][0] == pytest.approx((runs["share_blue"] > 0).mean())
    assert (above["low"] < above["probability"]).all()
    ends = results.probabilities("consensus").filter(pl.col("arm") == results.arm(0).name)
    assert ends["probability"].sum() == pytest.approx(1.0)


def test_precision_says_how_many_replicates_are_needed(tmp_path: Path) -> None:
    results = planted(tmp_path)
    few, many = results.precision(effect=0.2)["needed"], results.precision(effect=0.02)["needed"]
    assert (many > 10 * few).all()
    assert (results.precision(width=0.01)["needed"] > results.precision(width=0.1)["needed"]).all()


def test_an_outcome_that_no_run_produced_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run produced the outcome 'alternation'"):
        planted(tmp_path).effects("alternation")
    with pytest.raises(UsageError, match="The first failure: planned"):
        planted(tmp_path / "all", failing=1.0).effects()
    with pytest.raises(UnknownNameError, match="Did you mean 'share_blue'"):
        planted(tmp_path / "name").effects("share_bleu")


def test_sensitivity_finds_the_factor_that_matters() -> None:
    made = Experiment(
        name="sensitive",
        scenario="norms",
        factors={"initial_share": {"low": 0.0, "high": 1.0}, "threshold": {"low": 1.2, "high": 1.4}},
        parameters={"workers": 10, "days": 1, "personas": "none", "exact_start": True},
        decider="rule",
        design={"kind": "sobol", "points": 16},
        replicates=1,
        outcomes=["share_blue"],
    ).run(workers=1)
    assert made.runs.height == 16 * 4
    total = made.sensitivity().total
    assert total["initial_share"].value > 0.9
    assert total["threshold"].value == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(UsageError, match="needs design sobol"):
        planted(Path("other")).sensitivity()


def test_fluctuation_and_path_dependence_are_read_from_the_runs(tmp_path: Path) -> None:
    results = planted(tmp_path, factors={"workers": [10, 20, 40]})
    found = results.fluctuation("workers", "share_blue")
    assert list(found.spread) == [10, 20, 40] and found.n == 90
    # The planted luck is the same for every size, so the spread does not fall.
    assert found.exponent.value == pytest.approx(0, abs=0.1)
    start = planted(tmp_path / "start").path_dependence("counts", "share_blue")
    assert (start.measure, start.n) == ("omega squared", 120)
    with pytest.raises(UnknownNameError, match="factor"):
        results.path_dependence("word")


def test_all_outcomes_together_are_one_family(tmp_path: Path) -> None:
    results = planted(tmp_path)
    family, alone = family_effects(results), results.effects("share_blue")
    assert family["outcome"].unique(maintain_order=True).to_list() == ["share_blue", "consensus"]
    mine = family.filter(pl.col("outcome") == "share_blue")
    assert (mine["p_adjusted"] >= alone["p_adjusted"]).all() and mine["p"].to_list() == alone["p"].to_list()
    assert (mine["low_all"] < alone["low_all"]).all()


def test_an_arm_whose_outcome_is_0_in_every_run_is_no_share_where_another_arm_is_beyond_1(tmp_path: Path) -> None:
    """Ten runs without a case of an outcome that counts cases had the interval of a proportion, 0 to 0.26."""
    results = planted(tmp_path)
    counts = results.runs.with_columns(out=pl.when(pl.col("arm") == results.runs["arm"][0]).then(0.0).otherwise(7.0))
    table = arm_means(counts, "out", counts["arm"].unique(maintain_order=True).to_list(), 0.95, share=False)
    assert table["low"].null_count() == table.height
    assert "says nothing about how far others would differ" in table["warning"][0]


def test_precision_needs_two_runs_of_each_arm_and_says_nothing_without(tmp_path: Path) -> None:
    results = planted(tmp_path, pairing=False)
    arms = results.runs["arm"].unique(maintain_order=True).to_list()[:2]
    runs = results.runs.filter(pl.col("arm").is_in(arms))
    lost = runs.with_columns(
        out=pl.when((pl.col("arm") == arms[1]) & (pl.col("replicate") > 0)).then(None).otherwise(1.5)
    )
    (row,) = precision_table(lost, "out", arms, arms[0], False, None, None, 0.8).iter_rows(named=True)
    assert (row["sd"], row["needed"]) == (None, None)
