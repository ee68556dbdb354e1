"""The fidelity report: all arms, floors and the ceiling, and the same figures in a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from populace.base.errors import HumanDataError
from populace.evaluation import EvaluationItem, FidelityReport, HumanAnswers, Predictions

ITEMS = tuple(EvaluationItem(f"q{place}", f"q{place}?", ("a", "b", "c")) for place in range(4))


def panel(people: int, seed: int, prefix: str) -> HumanAnswers:
    rng = np.random.default_rng(seed)
    answers = rng.choice(3, (people, 4), p=[0.6, 0.3, 0.1])
    retest = np.where(rng.random((people, 4)) < 0.75, answers, rng.choice(3, (people, 4)))
    return HumanAnswers(tuple(f"{prefix}{who}" for who in range(people)), ITEMS, answers, retest, licence="CC0")


HUMAN, OTHERS = panel(40, 1, "p"), panel(40, 2, "o")
COPY = Predictions.from_answers("copy <b>", ITEMS, HUMAN.retest)
MAJORITY = Predictions.majority(OTHERS, 40)


def test_the_figures_are_those_of_the_scores_and_the_ends_of_the_gap_are_0_and_1(tmp_path: Path) -> None:
    report = FidelityReport.of("study", HUMAN, OTHERS, [COPY], floors=[MAJORITY])
    files = report.write(tmp_path)
    figures = json.loads((tmp_path / "fidelity-study.json").read_text())
    copy, majority = figures["arms"]["copy <b>"], figures["arms"]["majority"]
    assert (copy["kind"], majority["kind"]) == ("agent", "floor")
    assert copy["gap_closed"]["value"] == pytest.approx(1.0)
    assert copy["normalised"]["value"] == pytest.approx(1.0)
    assert copy["accuracy"]["value"] == pytest.approx((HUMAN.answers == HUMAN.retest).mean())
    assert majority["gap_closed"]["value"] == pytest.approx(0.0)
    assert (figures["people"], figures["answers"], figures["retests"]) == (40, 160, 160)
    assert {file.suffix for file in files} >= {".html", ".md", ".json"}


def test_the_page_names_every_arm_the_published_figures_and_what_it_lacks() -> None:
    document = FidelityReport.of("study", HUMAN, OTHERS, [COPY], floors=[MAJORITY]).document()
    for text in (document.html, document.markdown.replace("\\", "")):
        assert "0.85" in text and "Park et al." in text
        assert "closes 1.000" in text
        assert "CC0" in text
        assert "does not say" in text
        assert "<b>" not in text
    assert "retest (ceiling)" in document.html


def test_without_a_retest_the_report_says_that_there_is_no_ceiling() -> None:
    once = HumanAnswers(HUMAN.people, ITEMS, HUMAN.answers, np.full_like(HUMAN.answers, -1))
    report = FidelityReport.of("once", once, OTHERS, [COPY])
    assert report.figures()["arms"]["copy <b>"]["gap_closed"] is None
    assert "no ceiling" in report.document().markdown


def test_agents_that_answer_as_the_majority_are_not_called_worse_than_it() -> None:
    agent = Predictions.from_answers("sheep", ITEMS, np.zeros_like(HUMAN.answers))
    text = FidelityReport.of("study", HUMAN, OTHERS, [agent]).document().markdown
    assert "sheep is not shown to predict single people better" in text
    assert "Single people and items" in text


def test_arms_of_one_name_and_no_arms_are_refused() -> None:
    with pytest.raises(HumanDataError, match="two arms"):
        FidelityReport.of("x", HUMAN, OTHERS, [COPY, COPY])
    with pytest.raises(HumanDataError, match="no predictions"):
        FidelityReport.of("x", HUMAN, OTHERS, [])


def test_predictions_are_read_as_answers_or_as_probabilities(tmp_path: Path) -> None:
    file = tmp_path / "agent.csv"
    pl.DataFrame({"person": ["p0", "zz"], "item": ["q1"] * 2, "answer": ["b", "a"]}).write_csv(file)
    sure = Predictions.read(file, HUMAN)
    assert sure.name == "agent"
    assert sure.distributions[1][0].tolist() == [0, 1, 0]
    assert np.isnan(sure.distributions[1][1:]).all() and np.isnan(sure.distributions[0]).all()
    long = {"person": ["p3", "p3"], "item": ["q0"] * 2, "option": ["c", "a"], "probability": [0.25, 0.75]}
    pl.DataFrame(long).write_csv(file)
    assert Predictions.read(file, HUMAN).distributions[0][3].tolist() == [0.75, 0, 0.25]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"option": ["d"], "probability": [1.0]}, "person 'p0', item 'q0': names an option"),
        ({"option": ["a"], "probability": [0.5]}, "do not add up to 1"),
        ({"option": ["a"], "probability": [1.5]}, "outside 0 to 1"),
        ({"option": ["a"], "probability": ["much"]}, "outside 0 to 1"),
        ({"option": ["a"]}, "no column 'probability'"),
    ],
)
def test_wrong_predictions_are_refused(tmp_path: Path, rows: dict[str, list[object]], message: str) -> None:
    pl.DataFrame({"person": ["p0"], "item": ["q0"]} | rows).write_csv(tmp_path / "agent.csv")
    with pytest.raises(HumanDataError, match=message):
        Predictions.read(tmp_path / "agent.csv", HUMAN)


def test_an_option_that_stands_twice_is_refused(tmp_path: Path) -> None:
    table = pl.DataFrame({"person": ["p0"] * 2, "item": ["q0"] * 2, "answer": ["a", "a"]})
    table.write_csv(tmp_path / "agent.csv")
    with pytest.raises(HumanDataError, match="stands twice"):
        Predictions.read(tmp_path / "agent.csv", HUMAN)
