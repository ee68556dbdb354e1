"""Floors: simple models on the same information, fitted on other people."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from populace.base.errors import HumanDataError, UnknownNameError
from populace.evaluation import EvaluationItem, HumanAnswers, Predictions, cross_fitted_floor, fit_floor, score_cells
from populace.evaluation.floors import FloorKind

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

VIEW = EvaluationItem("view", "View?", ("a", "b", "c"))
SIGN = EvaluationItem("sign", "Sign?", ("yes", "no"))
CHANCES = {"left": [0.8, 0.1, 0.1], "right": [0.1, 0.1, 0.8]}


def people(count: int, seed: int, prefix: str) -> HumanAnswers:
    """People whose view follows their party, and whose sign follows whether age and party go together."""
    rng = np.random.default_rng(seed)
    party, old = rng.integers(0, 2, count), rng.integers(0, 2, count)
    chances = np.array(list(CHANCES.values()))[party]
    view = (rng.random(count)[:, None] > chances.cumsum(1)).sum(1)
    sign = np.where(rng.random(count) < 0.9, party ^ old, 1 - (party ^ old))
    profiles = pl.DataFrame(
        {"party": np.array(list(CHANCES))[party], "age": np.where(old, 70, 30) + rng.integers(0, 9, count)}
    )
    answers = np.column_stack([view, sign]).astype(np.int64)
    return HumanAnswers(
        tuple(f"{prefix}{who}" for who in range(count)), (VIEW, SIGN), answers, np.full_like(answers, -1), profiles
    )


HUMAN, OTHERS = people(300, 1, "h"), people(800, 2, "o")


def accuracy(predictions: Predictions, item: int, human: HumanAnswers = HUMAN) -> float:
    return float(np.nanmean(score_cells(human, predictions).correct[:, item]))


def test_a_regression_finds_the_chances_of_each_group() -> None:
    rows = fit_floor("regression", HUMAN, OTHERS, profile=["party"]).distributions[0]
    left = HUMAN.profiles["party"].to_numpy() == "left"
    assert rows[left].mean(0) == pytest.approx(CHANCES["left"], abs=0.06)
    assert rows[~left].mean(0) == pytest.approx(CHANCES["right"], abs=0.06)


def test_a_regression_is_that_of_scikit_learn_with_the_penalty_of_least_loss() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    rows = fit_floor("regression", HUMAN, OTHERS, profile=["party"]).distributions[0]
    columns = [
        np.column_stack([side.profiles["party"].to_numpy() == name for name in CHANCES]) for side in (OTHERS, HUMAN)
    ]
    fits = [
        LogisticRegression(C=ridge, max_iter=2_000).fit(columns[0], OTHERS.answers[:, 0]) for ridge in (0.01, 0.1, 1.0)
    ]
    candidates = [fit.predict_proba(columns[1]) for fit in fits]
    assert min(np.abs(rows - each).max() for each in candidates) < 1e-6
    losses = [log_loss(HUMAN.answers[:, 0], each) for each in candidates]
    assert log_loss(HUMAN.answers[:, 0], rows) < max(losses)


@pytest.mark.parametrize("kind", ["regression", "boosting"])
def test_a_floor_depends_on_who_the_others_are_and_not_on_their_order(kind: FloorKind) -> None:
    order = np.random.default_rng(5).permutation(len(OTHERS.people))
    floor, of_another_order = (fit_floor(kind, HUMAN, others) for others in (OTHERS, OTHERS.take(order)))
    for rows, again in zip(floor.distributions, of_another_order.distributions, strict=True):
        assert again == pytest.approx(rows, abs=1e-6)


def test_boosted_trees_find_an_interaction_that_a_regression_cannot() -> None:
    trees, line = (fit_floor(kind, HUMAN, OTHERS) for kind in ("boosting", "regression"))  # type: ignore[arg-type]
    assert accuracy(trees, 1) == pytest.approx(0.9, abs=0.04)
    assert accuracy(line, 1) == pytest.approx(0.5, abs=0.12)


def test_the_majority_is_the_shares_of_others() -> None:
    rows = fit_floor("majority", HUMAN, OTHERS).distributions[1]
    assert rows[0].tolist() == pytest.approx([(OTHERS.answers[:, 1] == code).mean() for code in (0, 1)])


def test_without_information_every_floor_is_the_majority() -> None:
    nothing = fit_floor("boosting", HUMAN, OTHERS, profile=[])
    assert nothing.distributions[0] == pytest.approx(fit_floor("majority", HUMAN, OTHERS).distributions[0])


def test_an_answer_is_never_predicted_from_itself_and_other_answers_count_only_as_context() -> None:
    itself = fit_floor("regression", HUMAN, OTHERS, profile=[], context=["view"])
    assert itself.distributions[0] == pytest.approx(fit_floor("majority", HUMAN, OTHERS).distributions[0])
    changed = HumanAnswers(HUMAN.people, HUMAN.items, HUMAN.answers[:, ::1].copy(), HUMAN.retest, HUMAN.profiles)
    changed.answers[:, 0] = (changed.answers[:, 0] + 1) % 3
    both = ["view", "sign"]
    before, after = (fit_floor("regression", who, OTHERS, context=both) for who in (HUMAN, changed))
    assert after.distributions[0] == pytest.approx(before.distributions[0])
    assert not np.allclose(after.distributions[1], before.distributions[1])


def test_cross_fitting_predicts_nobody_from_a_fit_that_saw_them() -> None:
    human = people(30, 3, "n")
    changed = HumanAnswers(human.people, human.items, human.answers.copy(), human.retest, human.profiles)
    changed.answers[0] = (human.answers[0] + 1) % 2
    before, after = (cross_fitted_floor("boosting", who, folds=3) for who in (human, changed))
    majority_before, majority_after = (cross_fitted_floor("majority", who, folds=3) for who in (human, changed))
    assert after.distributions[0][0] == pytest.approx(before.distributions[0][0])
    assert majority_after.distributions[0][0] == pytest.approx(majority_before.distributions[0][0])
    moved = np.abs(majority_after.distributions[0] - majority_before.distributions[0]).max(1) > 0
    assert moved.sum() == 20


def test_cross_fitting_reaches_about_what_other_people_teach() -> None:
    crossed = cross_fitted_floor("regression", HUMAN, folds=2, profile=["party"])
    assert not np.isnan(crossed.distributions[0]).any()
    assert accuracy(crossed, 0) == pytest.approx(
        accuracy(fit_floor("regression", HUMAN, OTHERS, profile=["party"]), 0), abs=0.04
    )


def test_unknown_and_missing_values_of_the_held_out_are_taken() -> None:
    strange = HUMAN.take(range(3))
    profiles = pl.DataFrame({"party": ["new", None, "left"], "age": [None, 900, 30]})
    human = HumanAnswers(strange.people, strange.items, strange.answers, strange.retest, profiles)
    rows = fit_floor("regression", human, OTHERS).distributions[0]
    assert rows.sum(1) == pytest.approx([1, 1, 1])


def test_mistakes_are_refused() -> None:
    with pytest.raises(HumanDataError, match="predicted and fitted on"):
        fit_floor("majority", HUMAN, HUMAN)
    with pytest.raises(HumanDataError, match="folds"):
        cross_fitted_floor("majority", HUMAN, folds=1)
    with pytest.raises(UnknownNameError, match="party"):
        fit_floor("regression", HUMAN, OTHERS, profile=["parti"])
    with pytest.raises(UnknownNameError, match="view"):
        fit_floor("regression", HUMAN, OTHERS, context=["views"])
    with pytest.raises(UnknownNameError, match="boosting"):
        fit_floor("bosting", HUMAN, OTHERS)  # type: ignore[arg-type]
