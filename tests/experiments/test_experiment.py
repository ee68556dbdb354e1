from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from populace import People
from populace.base.errors import ParameterError, PopulaceError, UnknownNameError, UsageError
from populace.experiments import Experiment
from populace.experiments.rehearsal import check_experiment
from populace.scenarios.norms import Norms

NORMS: dict[str, Any] = {
    "name": "shirts",
    "scenario": "norms",
    "factors": {"counts": [True, False]},
    "parameters": {"workers": 4, "days": 3},
    "model": "scripted:uniform",
    "replicates": 3,
    "outcomes": ["share_blue"],
}


def experiment(**changes: Any) -> Experiment:
    return Experiment(**(NORMS | changes))


def test_arms_combine_levels_and_hold_every_parameter() -> None:
    arms = experiment(factors={"counts": [True, False], "personas": ["none", "graded"]}).arms()
    assert [arm.name for arm in arms] == [
        "counts=yes, personas=none",
        "counts=yes, personas=graded",
        "counts=no, personas=none",
        "counts=no, personas=graded",
    ]
    assert arms[3].parameters == Norms(counts=False, personas="graded", workers=4, days=3).parameters


def test_settings_are_factors_too() -> None:
    green = {"kind": "announce", "at": 2, "text": "Wear green."}
    factors = {
        "model": ["scripted:uniform", "scripted:first"],
        "temperature": [0.5, 1.0],
        "decider": ["model", "rule"],
        "interventions": {"none": [], "announced": green},
    }
    last = experiment(factors=factors).arms()[-1]
    assert (last.model, last.temperature, last.decider) == ("scripted:first", 1.0, "rule")
    assert last.interventions[0]["text"] == "Wear green."
    assert last.levels["interventions"] == "announced"


def test_a_factor_of_another_name_changes_several_things_at_once() -> None:
    factors = {"wording": {"plain": {"others_first": False}, "turned": {"others_first": True, "temperature": 0.5}}}
    plain, turned = experiment(factors=factors).arms()
    assert (plain.parameters["others_first"], plain.temperature) == (False, 1.0)
    assert (turned.parameters["others_first"], turned.temperature) == (True, 0.5)


def test_a_range_of_a_whole_number_stays_whole() -> None:
    factors = {"workers": {"low": 2, "high": 9}, "initial_share": {"low": 0.2, "high": 0.8}}
    arms = experiment(factors=factors, parameters={}, design={"kind": "latin-hypercube", "points": 8}).arms()
    assert len(arms) == 8
    assert all(isinstance(arm.levels["workers"], int) and 2 <= arm.levels["workers"] <= 9 for arm in arms)
    assert all(0.2 <= arm.levels["initial_share"] <= 0.8 for arm in arms)


def test_a_scenario_may_be_given_as_its_class() -> None:
    assert experiment(scenario=Norms).scenario == "norms"


def test_common_random_numbers_are_the_same_seed_in_all_arms() -> None:
    paired, apart = experiment(), experiment(pairing=False)
    one, two = paired.arms()
    assert paired.seed_of(3, one) == paired.seed_of(3, two) != paired.seed_of(4, one)
    assert apart.seed_of(3, one) != apart.seed_of(3, two)


def test_an_experiment_survives_its_way_through_data_and_yaml(tmp_path: Path) -> None:
    import yaml

    made = experiment(
        factors={"counts": [True, False], "wording": {"a": {"own": True}, "b": {"own": False}}}, fork_at=2
    )
    (tmp_path / "shirts.yaml").write_text(yaml.safe_dump(made.data()))
    assert Experiment.read(tmp_path / "shirts.yaml") == made
    assert Experiment.read(tmp_path / "shirts.yaml").label == made.label


def test_more_replicates_are_the_same_experiment_and_other_outcomes_are_not() -> None:
    assert experiment(replicates=9).label == experiment().label
    assert experiment(outcomes=["consensus"]).label != experiment().label
    assert experiment(seed=1).label != experiment().label


@pytest.mark.parametrize(
    ("changes", "kind", "says"),
    [
        ({"replicats": 3}, UnknownNameError, "Did you mean 'replicates'"),
        ({"design": {"kind": "full", "point": 3}}, UnknownNameError, "Did you mean 'points'"),
        ({"stop": {"widht": 3}}, UnknownNameError, "Did you mean 'width'"),
        ({"outcomes": [{"metrik": "share_blue"}]}, UnknownNameError, "Did you mean 'metric'"),
        ({"design": "ful"}, ParameterError, "design"),
        ({"outcomes": ["share_bleu"]}, UnknownNameError, "Did you mean 'share_blue'"),
        ({"outcomes": []}, ParameterError, "at least one outcome"),
        ({"factors": {"counts": [True]}}, UsageError, "counts has one level, so nothing varies"),
        ({"factors": {"counts": [True, True]}}, UsageError, "has the level True twice"),
        ({"factors": {"count": [True, False]}}, UnknownNameError, "Did you mean 'counts'"),
        ({"factors": {"wording": {"a": {"ovn": True}, "b": {}}}}, UnknownNameError, "Did you mean 'own'"),
        ({"parameters": {"wokers": 3}}, UnknownNameError, "Did you mean 'workers'"),
        ({"parameters": {"counts": True}}, UsageError, "both a factor and a fixed parameter"),
        ({"factors": {"model": ["scripted:uniform", "embeded"]}}, UnknownNameError, "no model named"),
        ({"factors": {"decider": ["model", "rul"]}}, UnknownNameError, "Did you mean 'rule'"),
        ({"replicates": 1}, UsageError, "one replicate shows no effect"),
        ({"scenario": "norm"}, UnknownNameError, "Did you mean 'norms'"),
        ({"outcomes": ["share_blue", "share_blue"]}, UsageError, "declared twice"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_bad_input_is_refused_before_anything_runs(
    changes: dict[str, Any], kind: type[PopulaceError], says: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=says):
        experiment(**changes)
    assert not (tmp_path / "experiments").exists()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"outcomes": ["share_blue@4"]}, "at step 4, and runs of counts=yes have 3 steps"),
        ({"fork_at": 5}, "fork at step 5"),
        ({"factors": {"workers": [5, 6.0, "6"]}, "parameters": {"days": 3}}, "the same parameters and settings"),
        ({"factors": {"threshold": [0.4, 0.6]}}, "nobody in them is asked anything different"),
        (
            {"factors": {"interventions": {"a": [], "b": {"kind": "announce", "at": 1, "text": "x"}}}, "fork_at": 2},
            "differ in interventions before step 2",
        ),
        ({"stop": {"max_money": 1.0}, "model": "openai:x"}, "no price is known for openai:x"),
    ],
)
def test_an_experiment_that_cannot_answer_is_refused_before_anything_runs(
    changes: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=says):
        experiment(**changes).run(workers=1)
    assert not (tmp_path / "experiments").exists()


class Waves(Norms):
    """Its length is known once `setup` has drawn it."""

    def setup(self) -> People:
        self.waves = list(range(self.days))
        return super().setup()

    def length(self) -> int:
        return len(self.waves)


def test_a_length_that_needs_setup_is_known_while_it_runs() -> None:
    results = experiment(scenario=Waves, parameters={}, factors={"days": [2, 3]}).run(workers=1)
    assert dict(results.runs.group_by("arm").agg(pl.col("steps").first()).iter_rows()) == {"days=2": 2, "days=3": 3}


def test_a_yaml_file_that_is_none_is_refused(tmp_path: Path) -> None:
    for text, says in (("- a\n", "holds no experiment"), ("a: [", "is not YAML"), ("name: x\n", "lacks 'scenario'")):
        (tmp_path / "x.yaml").write_text(text)
        with pytest.raises(UsageError, match=says):
            Experiment.read(tmp_path / "x.yaml")
    with pytest.raises(UsageError, match="cannot be read"):
        Experiment.read(tmp_path / "none.yaml")
    (tmp_path / "x.yaml").write_text("scenario: norms\noutcomes: [share_blue]\n")
    with pytest.raises(UsageError, match="'factors'. Every experiment has scenario, factors and outcomes, and a name"):
        Experiment.read(tmp_path / "x.yaml")


def test_a_parameter_that_acts_by_chance_is_not_taken_for_one_that_does_nothing() -> None:
    office = {"workers": 20, "days": 2}
    for seed in range(6):
        made = experiment(factors={"initial_share": [0.5, 0.6]}, parameters=office, seed=seed)
        check_experiment(made, made.arms())
        idle = experiment(factors={"threshold": [0.4, 0.6]}, parameters=office, seed=seed)
        with pytest.raises(UsageError, match="nobody in them is asked anything different"):
            check_experiment(idle, idle.arms())
