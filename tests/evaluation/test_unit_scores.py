"""Scores of single people and items agree with those of other libraries, and say nothing where nothing varies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from populace.evaluation import EvaluationItem, HumanAnswers, Predictions, score_cells, unit_scores
from populace.evaluation.unit_scores import mean_correlation

TEA = EvaluationItem("tea", "Tea?", ("no", "yes"))
LIKING = EvaluationItem("liking", "How much?", ("1", "2", "3", "4", "5"), ordered=True)
PLACE = EvaluationItem("place", "Where?", ("home", "work", "town"))
ITEMS = (
    TEA,
    LIKING,
    PLACE,
    EvaluationItem("milk", "Milk?", ("no", "yes")),
    EvaluationItem("rum", "Rum?", ("no", "yes")),
)


def people_and_agent(people: int = 40, seed: int = 1) -> tuple[HumanAnswers, Predictions]:
    rng = np.random.default_rng(seed)
    answers = np.column_stack([rng.integers(0, len(item.options), people) for item in ITEMS])
    answers[rng.random(answers.shape) < 0.1] = -1
    human = HumanAnswers(tuple(f"p{n}" for n in range(people)), ITEMS, answers, np.full_like(answers, -1))
    rows = tuple(rng.dirichlet(np.ones(len(item.options)), people) for item in ITEMS)
    return human, Predictions("agent", ITEMS, rows)


def test_the_correlation_of_an_item_is_that_of_scipy_over_people() -> None:
    human, agent = people_and_agent()
    table = unit_scores(human, agent)
    known = human.answers[:, 1] >= 0
    expected = agent.distributions[1][known] @ np.arange(5)
    assert table["correlation"][1] == pytest.approx(stats.pearsonr(human.answers[known, 1], expected).statistic)
    assert table["correlation"].is_null().to_list() == [False, False, True, False, False]
    assert table["mae"].is_null().to_list() == [True, False, True, True, True]


def test_the_correlation_of_a_person_is_over_items_on_one_scale() -> None:
    human, agent = people_and_agent()
    scales = {0: 1, 1: 4, 3: 1, 4: 1}
    places = [place for place in scales if human.answers[0, place] >= 0]
    truth = [human.answers[0, place] / scales[place] for place in places]
    expected = [agent.distributions[place][0] @ np.arange(scales[place] + 1) / scales[place] for place in places]
    table = unit_scores(human, agent, "person")
    assert table["correlation"][0] == pytest.approx(stats.pearsonr(truth, expected).statistic)
    assert table["n"][0] == (human.answers[0] >= 0).sum()


def test_means_by_unit_are_those_of_the_cells() -> None:
    human, agent = people_and_agent()
    cells = score_cells(human, agent)
    for by, axis in (("item", 0), ("person", 1)):
        table = unit_scores(human, agent, by)  # type: ignore[arg-type]
        np.testing.assert_allclose(table["accuracy"], np.nanmean(cells.correct, axis))
        np.testing.assert_allclose(table["brier"], np.nanmean(cells.brier, axis))


def test_where_nothing_varies_or_few_answered_there_is_no_correlation() -> None:
    human = HumanAnswers(("a", "b"), (TEA,), np.array([[0], [1]]), np.full((2, 1), -1))
    agent = Predictions("agent", (TEA,), (np.array([[0.9, 0.1], [0.2, 0.8]]),))
    assert unit_scores(human, agent)["correlation"].to_list() == [None]
    assert mean_correlation(human, agent, "item") is None
    many, _ = people_and_agent()
    even = Predictions("even", ITEMS, tuple(np.full((40, len(i.options)), 1 / len(i.options)) for i in ITEMS))
    assert unit_scores(many, even)["correlation"].null_count() == len(ITEMS)
