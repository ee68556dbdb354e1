from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from populace.base.errors import UnknownNameError, UsageError
from populace.experiments.structure import StructureStudy, structure_or_data
from populace.experiments.structure_design import StructureSettings, design_structure
from populace.experiments.verdict import Consensus, orderings
from support.planted import MODEL, Ruleless, Sides, probability

WINDS = [-1.0, 0.0, 1.0]
LOW, HIGH, ALIKE, CONTRARY = (f"scripted:support.planted:{name}" for name in ("low", "high", "alike", "contrary"))
SIDES: dict[str, Any] = {"outcomes": ["share_left"], "structure": {"wind": WINDS}, "wordings": ["polite"]}


def study(models: dict[str, str], **changes: Any) -> StructureStudy:
    how = {name: changes.pop(name) for name in ("margin", "workspace") if name in changes}
    return structure_or_data(StructureSettings(Sides, **(SIDES | {"models": models} | changes)), workers=1, **how)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> StructureStudy:
    return study({"low": LOW, "high": HIGH}, replicates=40, workspace=tmp_path_factory.mktemp("planted"))


def test_planted_shares_of_variance_are_recovered_within_their_intervals(planted: StructureStudy) -> None:
    cells = np.array(
        [
            [[[probability(wind, model, polite, turned) for turned in (0, 1)] for polite in (0, 1)] for wind in WINDS]
            for model in (-MODEL, MODEL)
        ]
    )
    truth = {"chance": float((cells * (1 - cells)).mean() / Sides().people_count)}
    for axis, part in enumerate(("model", "structure", "wording", "order and labels")):
        others = tuple(other for other in range(4) if other != axis)
        truth[part] = float(cells.mean(axis=others).var())
    total = sum(truth.values())
    shares = planted.finding.decomposition
    assert set(shares.shares) == {*truth, "interactions"}
    for part, variance in truth.items():
        assert shares[part].contains(variance / total), (part, variance / total, str(shares[part]))
        assert shares[part].width < 0.25
    assert shares["interactions"].low < 0.01


def test_where_every_model_orders_the_arms_alike_and_levels_differ_it_says_so(planted: StructureStudy) -> None:
    verdict = planted.verdict
    assert verdict.sentences[0] == "The ordering of arms holds in 2 of 2 models; the level does not."
    assert (verdict.ordering, verdict.level, verdict.twin) == ("holds", "does not hold", "holds")
    assert "share_left rises with wind" in str(verdict)
    assert "The rule twin orders the arms in the same way" in str(verdict)
    assert "Wording moves the mean most under" in str(verdict)
    assert "it holds under 2 of 2 ways of wording" in str(verdict)


def test_two_orders_and_two_labellings_are_four_ways_of_asking(tmp_path: Path) -> None:
    other_labels = {"variation": {"wording": "headed"}}
    settings = {"structure": {"wind": [-1.0, 1.0]}, "wordings": [], "swaps": other_labels, "twin": False}
    assert "of 4 ways of order and labels" in str(
        study({"low": LOW}, **settings, replicates=12, workspace=tmp_path).verdict
    )


def test_effects_of_models_and_of_wording_have_their_planted_size(planted: StructureStudy) -> None:
    finding = planted.finding
    for row in finding.levels.iter_rows(named=True):
        assert row["low"] < 2 * MODEL < row["high"]
    polite = finding.shifts.filter(pl.col("way") == "polite").row(0, named=True)
    assert polite["low"] < 0.16 < polite["high"]


def test_seeds_are_shared_by_models_and_arms_and_not_by_ways_of_asking(planted: StructureStudy) -> None:
    runs = planted.results.runs
    assert runs.height == planted.design.runs == 3 * 2 * 4 * 10
    assert runs["seed"].n_unique() == 40
    each = runs.group_by("seed").agg(pl.len(), pl.col("asked wording").n_unique().alias("ways"))
    assert set(each["len"]) == {6}
    assert set(each["ways"]) == {1}


def test_a_model_that_orders_them_the_other_way_is_named(tmp_path: Path) -> None:
    made = study({"low": LOW, "high": HIGH, "contrary": CONTRARY}, orders=False, twin=False)
    assert made.verdict.sentences[0].startswith(
        "The ordering of arms holds in 2 of 3 models, is contradicted in contrary"
    )
    assert made.verdict.ordering == "does not hold"
    assert made.verdict.twin is None
    assert str(made).startswith("share_left\nThe ordering")
    assert made.table()["outcome"].unique().to_list() == ["share_left"]


def test_where_levels_agree_within_the_margin_it_says_so() -> None:
    made = study({"low": LOW, "alike": ALIKE}, orders=False, wordings=None, margin=0.5, twin=False)
    assert made.verdict.sentences[0] == "The ordering of arms holds in 2 of 2 models; so does the level."
    unsure = study({"low": LOW, "alike": ALIKE}, orders=False, wordings=None, twin=False)
    assert "the level is undecided" in unsure.verdict.sentences[0]
    assert "without a margin" in str(unsure.verdict)


def test_a_way_of_asking_that_reaches_nobody_is_left_out_and_told() -> None:
    made = design_structure(StructureSettings(Sides, models=[LOW, HIGH], **SIDES))
    assert "asked labels" not in made.experiment.factors
    assert any("asked labels = exchanged" in note for note in made.notes)
    assert "3 structure arms × 2 models × 4 ways of asking × 5 seeds each = 120 runs" in str(made)
    calls = made.calls()
    assert calls is not None
    assert 1 <= calls.low <= calls.high


def test_a_scenario_without_a_rule_has_no_twin_and_says_so() -> None:
    settings = StructureSettings(
        Ruleless, **SIDES, models=[LOW], swaps=False, orders=False, replicates=4, name="ruleless"
    )
    made = structure_or_data(settings, workers=1)
    assert made.twin is None
    assert any("The rule twin could not be run" in note for note in made.notes)
    assert made.verdict.level == "none"


def test_parameters_of_the_scenario_may_be_ways_of_asking() -> None:
    made = design_structure(
        StructureSettings(Sides(people_count=5), **(SIDES | {"wordings": {"untold": {"told": False}}}), models=[LOW])
    )
    levels = made.experiment.factors["asked wording"]
    assert levels.names == ["as written", "untold"]
    assert {arm.parameters["people_count"] for arm in made.experiment.arms()} == {5}


def test_bad_studies_are_refused_before_anything_runs() -> None:
    with pytest.raises(UnknownNameError, match="wind"):
        design_structure(StructureSettings(Sides, outcomes=["share_left"], structure={"wint": WINDS}, models=[LOW]))
    with pytest.raises(UnknownNameError, match="polite"):
        design_structure(StructureSettings(Sides, models=[LOW], **(SIDES | {"wordings": ["polit"]})))
    with pytest.raises(UsageError, match="one level"):
        design_structure(StructureSettings(Sides, outcomes=["share_left"], structure={"wind": [1.0]}, models=[LOW]))
    with pytest.raises(UsageError, match="at least one model"):
        design_structure(StructureSettings(Sides, models=[], **SIDES))


def flat(noise: float, slopes: dict[str, float], seeds: int = 12) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    rows = [
        {"mind": mind, "arm": f"x={x}", "seed": seed, "y": slope * x + noise * rng.standard_normal()}
        for (mind, slope), x, seed in itertools.product(slopes.items(), (0, 1, 2), range(seeds))
    ]
    return pl.DataFrame(rows)


def test_without_any_effect_hardly_any_ordering_is_decided() -> None:
    table = orderings(flat(1.0, dict.fromkeys("abcdefgh", 0.0)), "y", "mind", ["x=0", "x=1", "x=2"], 0.95)
    decided = table.filter(pl.col("direction") != "undecided")["mind"].n_unique()
    assert decided <= 1


def test_a_difference_without_any_variation_is_decided() -> None:
    table = orderings(flat(0.0, {"a": 1.0, "b": -1.0}), "y", "mind", ["x=0", "x=1", "x=2"], 0.95)
    assert table["direction"].to_list() == ["up"] * 3 + ["down"] * 3
    consensus = Consensus.of(table, "mind", ["a", "b"])
    assert consensus.status == {"a": "holds", "b": "does not hold"}


def test_two_seeds_that_agree_do_not_order_arms() -> None:
    frame = pl.DataFrame({"arm": ["a", "a", "b", "b"], "seed": [1, 2, 1, 2], "mind": "m", "y": [1.0, 1.0, 7.0, 7.0]})
    table = orderings(frame, "y", "mind", ["a", "b"], 0.95)
    assert table["direction"].to_list() == ["undecided"]
    many = pl.concat([frame.with_columns(pl.col("seed") + 10 * k) for k in range(5)])
    assert orderings(many, "y", "mind", ["a", "b"], 0.95)["direction"].to_list() == ["up"]
