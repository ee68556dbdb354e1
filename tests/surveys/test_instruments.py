"""Instruments: keys, reverse coding, scoring, estimands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import populace as pc
from populace.base.errors import QuestionnaireError, UnknownNameError
from populace.surveys import Instrument, instrument_names

OPTIONS = ["low", "middle", "high"]
OWN: dict[str, Any] = {
    "title": "Own",
    "source": "here",
    "licence": "CC0",
    "questionnaire": {
        "items": [
            {"id": "a", "type": "single", "text": "A?", "options": OPTIONS},
            {"id": "b", "type": "rating", "text": "B?", "low": 0, "high": 10},
            {"id": "c", "type": "number", "text": "C?", "low": 0, "high": 4},
        ]
    },
    "scales": {
        "total": {"statistic": "sum", "keys": {"a": 1, "b": -1}},
        "average": {"keys": {"a": -1, "b": 1, "c": 1}},
        "place": {"statistic": "share", "keys": {"a": 1, "b": -1, "c": 1}},
    },
}


def test_scores_are_those_computed_by_hand() -> None:
    answers = pl.DataFrame({"a": ["high", "low", None], "b": [2, None, None], "c": [1.0, 4.0, 3.0]})
    scores = Instrument.read(OWN).score(answers)
    assert scores["total"].to_list() == [3 + (10 - 2), None, None]
    assert scores["average"].to_list() == pytest.approx([(1 + 2 + 1) / 3, (3 + 4) / 2, None])
    assert scores["place"].to_list() == pytest.approx([(1 + 0.8 + 0.25) / 3, (0 + 1) / 2, None])


def test_the_big_five_have_ten_items_each_and_the_public_sign_keys() -> None:
    big_five = Instrument.read("big-five")
    reversed_items = {name: sum(key < 0 for key in scale.keys.values()) for name, scale in big_five.scales.items()}
    assert [len(scale.keys) for scale in big_five.scales.values()] == [10] * 5
    assert reversed_items == {
        "extraversion": 5, "agreeableness": 4, "conscientiousness": 4, "emotional_stability": 8, "intellect": 3,
    }  # fmt: skip
    assert len(big_five.questionnaire.items) == 50
    same = pl.DataFrame({item.id: ["very accurate"] for item in big_five.questionnaire.items})
    assert big_five.score(same).row(0) == pytest.approx((3.0, 3.4, 3.4, 1.8, 3.8))


def test_somebody_who_answers_with_the_keys_has_the_highest_score() -> None:
    big_five = Instrument.read("big-five")
    ends = {1: "very accurate", -1: "very inaccurate"}
    answers = {name: [ends[key]] for scale in big_five.scales.values() for name, key in scale.keys.items()}
    assert big_five.score(pl.DataFrame(answers)).row(0) == (5.0,) * 5


@pytest.mark.parametrize("name", instrument_names())
def test_every_instrument_says_where_it_comes_from_and_scores_or_estimates(name: str) -> None:
    instrument = Instrument.read(name)
    assert instrument.source and instrument.licence
    assert instrument.scales or instrument.estimands


def test_an_effect_is_the_difference_that_the_estimand_declares() -> None:
    answers = pl.DataFrame(
        {
            "gains": ["plan A"] * 6 + ["plan B"] * 2 + [None] * 8,
            "losses": [None] * 8 + ["plan B"] * 6 + ["plan A"] * 2,
            "one_child": [3.0, 2.0] * 4 + [None] * 8,
            "many_children": [None] * 8 + [1.0, 2.0] * 4,
        }
    )
    vignettes = Instrument.read("vignettes")
    assert vignettes.effect("framing", answers).estimate.value == pytest.approx(0.5)
    assert vignettes.effect("identifiable_victim", answers).estimate.value == pytest.approx(1.0)
    with pytest.raises(UnknownNameError, match="framing"):
        vignettes.effect("framin", answers)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scales": {"total": {"keys": {"a": 1, "b": 1}}}}, "the item 'c' has no key"),
        ({"scales": OWN["scales"] | {"x": {"keys": {"d": 1}}}}, "names the item 'd', which is not"),
        ({"scales": OWN["scales"] | {"x": {"keys": {"a": 2}}}}, "1 or -1"),
        ({"scales": OWN["scales"] | {"x": {"keys": {}}}}, "scales.x.keys"),
        ({"licence": ""}, "licence"),
        ({"estimands": {"x": {"about": "x", "treatment": "a", "control": "a"}}}, "with itself"),
        ({"questionnaire": {"items": [{"id": "a", "type": "text", "text": "A?"}]}, "scales": {"x": {"keys": {"a": 1}}}},
         "no lowest and highest"),
    ],
)  # fmt: skip
def test_a_wrong_instrument_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(QuestionnaireError, match=message):
        Instrument.read(OWN | change)


@pytest.mark.parametrize(
    ("scales", "message"),
    [
        ("  total:\n    keys: {a: 1}\n", "own.yaml, line 7: the item 'b' has no key in any scale or estimand."),
        ("  total:\n    keys:\n      a: 1\n      c: 1\n", "own.yaml, line 12: scale 'total' names the item 'c'"),
        ("  total:\n    kesy: {a: 1}\n", "own.yaml, line 9: scales.total.kesy: there is no such key."),
    ],
)
def test_what_is_wrong_with_the_file_of_an_instrument_is_named_with_its_line(
    tmp_path: Path, scales: str, message: str
) -> None:
    file = tmp_path / "own.yaml"
    items = "".join(f"  - {{id: {name}, type: rating, text: '{name}?', low: 1, high: 5}}\n" for name in "ab")
    file.write_text(f"title: T\nsource: S\nlicence: L\nquestionnaire:\n  items:\n{items}scales:\n{scales}")
    with pytest.raises(QuestionnaireError) as caught:
        Instrument.read(file)
    assert caught.value.what.startswith(message)


def test_answers_that_cannot_be_scored_are_refused() -> None:
    own = Instrument.read(OWN)
    with pytest.raises(QuestionnaireError, match="no column 'b'"):
        own.score(pl.DataFrame({"a": ["low"]}))
    with pytest.raises(QuestionnaireError, match="'tall' to item 'a'"):
        own.score(pl.DataFrame({"a": ["tall"], "b": [1], "c": [1]}))
    with pytest.raises(QuestionnaireError, match="11 to item 'b'"):
        own.score(pl.DataFrame({"a": ["low"], "b": [11], "c": [1]}))


def test_a_survey_takes_an_instrument_by_name_and_from_a_file(tmp_path: Path) -> None:
    results = pc.Survey.read("big-five").ask({"age": [20, 40]}, model="scripted:uniform", keep="nothing", seed=1)
    scores = Instrument.read("big-five").score(results.table)
    assert scores.shape == (2, 5)
    assert scores.null_count().row(0) == (0,) * 5
    file = tmp_path / "own.yaml"
    file.write_text((Path(pc.__file__).parent / "surveys" / "instruments" / "games.yaml").read_text())
    assert [item.id for item in pc.Survey.read(file).questionnaire.items][:2] == ["dictator", "trust_first"]


def test_an_unknown_instrument_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="big-five"):
        Instrument.read("bigfive")
