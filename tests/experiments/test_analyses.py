"""Analyses: what is asked of all runs of an experiment together."""

from __future__ import annotations

from typing import Any

import pytest

from populace.base.errors import UnknownNameError, UsageError
from populace.experiments import Experiment, report, shipped_experiments
from populace.experiments.reports.experiment_report import experiment_yaml
from support.commands import populace

STARTS: dict[str, Any] = {
    "name": "starts",
    "scenario": "norms",
    "factors": {"initial_share": [0.2, 0.8], "counts": [True, False]},
    "parameters": {"workers": 10, "days": 3, "exact_start": True, "personas": "none"},
    "decider": "rule",
    "replicates": 3,
    "outcomes": ["share_blue", "consensus"],
}
DEPENDENCE = "path_dependence(share_blue, initial_share)"


def test_path_dependence_is_found_where_a_rule_makes_the_start_decide() -> None:
    results = Experiment(**STARTS | {"replicates": 7}, analyses=[DEPENDENCE]).run(workers=1, check=False)
    table = results.analyses()[DEPENDENCE]
    assert table["counts"].to_list() == [True, False]
    assert table["value"].to_list() == pytest.approx([1.0, 1.0])
    text = report(results).markdown
    assert f"Analysis: {DEPENDENCE}" in text
    text = text.replace("\\", "")
    assert "depends on initial_share strongly: omega squared 1 (no interval), n = 14" in text
    assert "Caution: runs of a start, or of a seed, all end alike" in text


def test_no_dependence_is_claimed_where_answers_are_drawn_without_regard_to_the_start() -> None:
    settings = STARTS | {"decider": "model", "model": "scripted:uniform", "factors": {"initial_share": [0.2, 0.8]}}
    results = Experiment(**settings | {"replicates": 6}, analyses=DEPENDENCE).run(workers=1, check=False)
    (row,) = results.analyses()[DEPENDENCE].iter_rows(named=True)
    assert row["value"] == 0
    assert results.experiment.analyses[0].sentence(row).startswith("No dependence of share_blue on initial_share")


def test_fluctuation_of_independent_people_falls_with_the_root_of_their_number() -> None:
    results = Experiment(
        name="sizes",
        scenario="norms",
        factors={"workers": [4, 64]},
        parameters={"days": 1},
        model="scripted:uniform",
        replicates=20,
        outcomes=["share_blue"],
        analyses=["fluctuation(share_blue, workers)"],
    ).run(workers=1, check=False)
    (row,) = results.analyses()["fluctuation(share_blue, workers)"].iter_rows(named=True)
    assert row["low"] < -0.5 < row["high"]
    sentence = results.experiment.analyses[0].sentence(row)
    assert "to the power" in sentence
    assert sentence.endswith("Caution: from 20 runs of a size the interval of a spread is too short.")


def test_an_analysis_that_the_runs_do_not_allow_says_why() -> None:
    settings = STARTS | {"outcomes": ["share_blue", "days_to_consensus"], "factors": {"initial_share": [0.2, 0.8]}}
    settings["parameters"] = settings["parameters"] | {"counts": False}
    asked = "path_dependence(days_to_consensus, initial_share)"
    results = Experiment(**settings, analyses=[asked]).run(workers=1, check=False)
    (row,) = results.analyses()[asked].iter_rows(named=True)
    assert row["value"] is None
    assert row["note"]
    assert row["note"] in report(results).markdown


def test_analyses_change_no_run_and_stand_in_the_file_of_the_report() -> None:
    plain, asking = Experiment(**STARTS), Experiment(**STARTS, analyses=[DEPENDENCE])
    assert plain.label == asking.label
    assert f"- {DEPENDENCE}" in experiment_yaml(asking)
    assert "analyses" not in experiment_yaml(plain)


@pytest.mark.parametrize(
    ("analysis", "error", "says"),
    [
        ("path_dependence(share_bleu, initial_share)", UnknownNameError, "share_blue"),
        ("path_dependence(share_blue, workers)", UnknownNameError, "initial_share"),
        ("pathdependence(share_blue, initial_share)", UnknownNameError, "path_dependence"),
        ("path_dependence", UsageError, "cannot be read"),
    ],
)
def test_a_wrong_analysis_is_refused_with_what_exists(analysis: str, error: type[UsageError], says: str) -> None:
    with pytest.raises(error) as caught:
        Experiment(**STARTS, analyses=[analysis])
    assert says in f"{caught.value.what} {caught.value.hint}"


@pytest.mark.parametrize("name", list(shipped_experiments()))
def test_every_experiment_that_ships_is_complete_and_has_distinct_arms(name: str) -> None:
    experiment = Experiment.read(name)
    arms = experiment.arms()
    assert len({arm.substance() for arm in arms}) == len(arms)
    assert experiment.replicates >= 10
    if experiment.scenario != "norms":
        return
    assert experiment.analyses or {"initial_share", "workers"}.isdisjoint(experiment.factors)
    if "workers" in experiment.factors:
        return
    assert {arm.parameters["workers"] for arm in arms} == {20}
    assert {arm.parameters["days"] for arm in arms} == {7}


def test_an_experiment_that_ships_runs_by_name_with_a_model_of_ones_own() -> None:
    done = populace("experiment", "norms-starts", "--model", "scripted:first", "--replicates", "2", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert DEPENDENCE in done.stdout
    assert "scripted:first is a script" in done.stdout + done.stderr
    wrong = populace("experiment", "norms-startz")
    assert wrong.returncode != 0
    assert "norms-starts" in wrong.stderr
