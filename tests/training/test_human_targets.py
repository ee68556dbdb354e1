"""Simulated people are compared with, and learn from, what people decided in the same task and condition."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from populace.base.errors import HumanDataError, TrainingError, UnknownNameError
from populace.training.human_targets import HumanScoring, HumanTargets
from support.corpora import small_corpus


def corpus(folder: Path, shares: dict[str, float], *, people: int = 200, question: str = "Food?") -> Path:
    """People who choose the first of two words with a share that depends on what they saw."""
    task = {"id": "food", "family": "meal", "question": question, "licence": "CC0-1.0", "options": ["bread", "soup"]}
    rows = []
    for seen, share in shares.items():
        for number in range(people):
            answer = "bread" if (number * 7919 % 100) / 100 < share else "soup"
            rows.append(("food", f"{seen}-{number}", json.dumps({"weather": seen}), answer))
    folder.mkdir()
    (folder / "tasks.jsonl").write_text(json.dumps(task))
    pl.DataFrame(rows, schema=["task", "person", "seen", "answer"], orient="row").write_csv(folder / "decisions.csv")
    return folder


def decisions(
    *users: str, words: tuple[str, ...] = ("soup", "bread"), chances: tuple[float, ...] = (0.5, 0.5)
) -> pl.DataFrame:
    return pl.DataFrame(
        [{"user": user, "words": list(words), "question": "Food?", "probabilities": list(chances)} for user in users]
    )


def targets(folder: Path, **changes: object) -> HumanTargets:
    return HumanTargets(HumanScoring(**{"decisions": folder, "licences": ["CC0-1.0"]} | changes))  # type: ignore[arg-type]


def test_shares_are_those_of_the_condition_in_the_order_of_the_decision(tmp_path: Path) -> None:
    people = targets(corpus(tmp_path / "c", {"dry": 0.9, "wet": 0.2}, question="It is {weather}. Food?"))
    dry, wet, none = people.shares(decisions("Food? \n It is dry.  Hurry.", "It is wet. Food?", "It is cold. Food?"))
    assert dry == pytest.approx([0.1, 0.9], abs=0.05)
    assert wet == pytest.approx([0.8, 0.2], abs=0.05)
    assert np.isnan(none).all(), "nobody decided in the cold"
    held_out = people.shares(decisions("It is dry. Food?"), held_out=True)[0]
    assert held_out == pytest.approx([0.1, 0.9], abs=0.15)


def test_the_overlap_is_one_where_people_and_model_agree(tmp_path: Path) -> None:
    people = targets(corpus(tmp_path / "c", {"dry": 0.5}))
    even, sure = people.overlaps(decisions("Food?"))[0], people.overlaps(decisions("Food?", chances=(1.0, 0.0)))[0]
    assert even > 0.8
    assert sure == pytest.approx(0.5, abs=0.15)
    assert people.ceiling(decisions("Food?")) > 0.8


def test_a_scenario_with_words_of_its_own_is_matched_by_an_expression(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "c", {"dry": 0.9, "wet": 0.2}, question="It is {weather}. Food?")
    people = targets(folder, match={"food": r"sky is (?P<weather>\w+)"})
    assert people.shares(decisions("The sky is wet. What now?"))[0] == pytest.approx([0.8, 0.2], abs=0.05)
    with pytest.raises(TrainingError, match="its fields are weather"):
        targets(folder, match={"food": "sky"})
    with pytest.raises(TrainingError, match="no regular expression"):
        targets(folder, match={"food": "(?P<weather>"})
    with pytest.raises(UnknownNameError, match="food"):
        targets(folder, match={"fod": "x"})


def test_other_options_and_few_people_have_no_shares_and_it_is_said_why(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "c", {"dry": 0.9})
    people = targets(folder)
    other = decisions("Food?", words=("rice", "bread"))
    assert np.isnan(people.shares(other)[0]).all()
    assert "No task there has the options rice, bread" in people.explain(other)
    few = targets(folder, least=1000)
    assert np.isnan(few.overlaps(decisions("Food?"))).all()
    assert "fewer than 1000 people" in few.explain(decisions("Food?"))


def test_nobody_is_both_learned_from_and_measured_with(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "c", {"dry": 0.5}, people=60)
    people = targets(folder, least=1)
    (condition,) = people._conditions.values()
    assert condition.learned.sum() + condition.held_out.sum() == 60
    assert 0 < condition.held_out.sum() < 30


def test_licences_numbers_and_folders_are_checked(tmp_path: Path) -> None:
    folder = small_corpus(tmp_path / "corpus")
    with pytest.raises(TrainingError, match="'MIT' \\(such as price\\)"):
        targets(folder)
    with pytest.raises(TrainingError, match="asks for a number"):
        targets(folder, tasks=["price"], licences=["MIT"])
    with pytest.raises(HumanDataError, match="could not be read"):
        targets(tmp_path / "nothing")
