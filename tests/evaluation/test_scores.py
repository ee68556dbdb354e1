"""Scores against people: floor, ceiling, and what stands between."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from populace.base.errors import HumanDataError, UsageError
from populace.evaluation import (
    EvaluationItem,
    FidelityReport,
    HumanAnswers,
    Predictions,
    calibration,
    cluster_estimate,
    fidelity,
    population_distances,
    score_cells,
)
from populace.statistics import proportion

TEA = EvaluationItem("tea", "Tea?", ("yes", "no"))
CUPS = EvaluationItem("cups", "How many?", ("none", "one", "two", "three"), ordered=True)


def panel(people: int = 60, items: int = 8, seed: int = 1, prefix: str = "p") -> HumanAnswers:
    """People who repeat about three answers of four, and give the first option most often."""
    rng = np.random.default_rng(seed)
    questions = tuple(EvaluationItem(f"q{place}", f"q{place}?", ("a", "b", "c")) for place in range(items))
    answers = rng.choice(3, (people, items), p=[0.6, 0.3, 0.1])
    retest = np.where(rng.random((people, items)) < 0.75, answers, rng.choice(3, (people, items)))
    return HumanAnswers(tuple(f"{prefix}{who}" for who in range(people)), questions, answers, retest)


def human(answers: list[list[int]], items: tuple[EvaluationItem, ...]) -> HumanAnswers:
    codes = np.array(answers)
    return HumanAnswers(tuple(f"p{who}" for who in range(len(codes))), items, codes, np.full_like(codes, -1))


def test_an_agent_that_copies_the_retest_closes_the_whole_gap() -> None:
    people, others = panel(), panel(seed=2, prefix="o")
    copy = Predictions.from_answers("retest", people.items, people.retest)
    result = fidelity(people, copy, others)
    assert result.gap_closed is not None
    assert result.normalised is not None
    assert result.gap_closed.value == pytest.approx(1.0, abs=1e-12)
    assert result.normalised.value == pytest.approx(1.0, abs=1e-12)


def test_the_majority_closes_nothing_of_the_gap() -> None:
    people, others = panel(), panel(seed=2, prefix="o")
    result = fidelity(people, Predictions.majority(others, len(people.people)), others)
    assert result.gap_closed is not None
    assert result.gap_closed.value == pytest.approx(0.0, abs=1e-12)
    assert result.accuracy.value == pytest.approx(result.majority.value)
    assert result.left_out == 0


def test_scores_of_a_cell_are_those_computed_by_hand() -> None:
    cells = score_cells(human([[2]], (CUPS,)), Predictions("x", (CUPS,), (np.array([[0.1, 0.2, 0.3, 0.4]]),)))
    assert cells.correct[0, 0] == 0
    assert cells.probability[0, 0] == pytest.approx(0.3)
    assert cells.log_loss[0, 0] == pytest.approx(-math.log(0.3))
    assert cells.brier[0, 0] == pytest.approx(0.01 + 0.04 + 0.49 + 0.16)
    assert cells.distance[0, 0] == pytest.approx((0.1 * 2 + 0.2 * 1 + 0.3 * 0 + 0.4 * 1) / 3)


def test_options_that_tie_share_the_point_and_a_sure_mistake_costs_a_bounded_loss() -> None:
    rows = np.array([[0.5, 0.5], [1.0, 0.0]])
    cells = score_cells(human([[1], [1]], (TEA,)), Predictions("x", (TEA,), (rows,)))
    assert cells.correct[:, 0].tolist() == [0.5, 0.0]
    assert cells.log_loss[1, 0] == pytest.approx(-math.log(1e-4))


def test_cells_without_answer_or_prediction_are_left_out_and_counted() -> None:
    people, others = panel(), panel(seed=2, prefix="o")
    rows = [np.full((60, 3), 1 / 3) for _ in people.items]
    rows[0][:10] = np.nan
    people.answers[:5, 0] = -1
    result = fidelity(people, Predictions("half", people.items, tuple(rows)), others)
    assert result.cells == 60 * 8 - 10
    assert result.left_out == 5


def test_log_loss_brier_and_calibration_agree_with_scikit_learn_where_it_is_installed() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    rng = np.random.default_rng(1)
    chances = rng.uniform(0.01, 0.99, 500)
    truth = (rng.random(500) < chances).astype(int)
    people = human((1 - truth)[:, None].tolist(), (TEA,))
    predictions = Predictions("x", (TEA,), (np.column_stack([chances, 1 - chances]),))
    cells = score_cells(people, predictions)
    assert cells.log_loss.mean() == pytest.approx(metrics.log_loss(truth, chances))
    assert cells.brier.mean() / 2 == pytest.approx(metrics.brier_score_loss(truth, chances))


def test_calibration_compares_probabilities_with_frequencies() -> None:
    rng = np.random.default_rng(1)
    chances = rng.choice([0.15, 0.85], 4_000)
    truth = (rng.random(4_000) < chances).astype(int)
    predictions = Predictions("x", (TEA,), (np.column_stack([chances, 1 - chances]),))
    table = calibration(human((1 - truth)[:, None].tolist(), (TEA,)), predictions)
    assert table["n"].sum() == 8_000
    assert table["predicted"].to_list() == pytest.approx([0.15, 0.85])
    assert table["observed"].to_list() == pytest.approx([0.15, 0.85], abs=0.02)


def test_distances_of_populations_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    people = human([[0], [0], [1], [3]], (CUPS,))
    row = [0.1, 0.2, 0.3, 0.4]
    table = population_distances(people, Predictions("x", (CUPS,), (np.array([row] * 4),)))
    scale = np.arange(4) / 3
    expected = stats.wasserstein_distance(scale, scale, row, [0.5, 0.25, 0.0, 0.25])
    assert table["wasserstein"][0] == pytest.approx(expected)
    assert table["total_variation"][0] == pytest.approx((0.4 + 0.05 + 0.3 + 0.15) / 2)


@pytest.mark.parametrize("clusters", ["people", "items", "both"])
def test_intervals_are_wider_where_whole_clusters_differ(clusters: Any) -> None:
    rng = np.random.default_rng(1)
    alike = (rng.random((80, 30)) < 0.6).astype(float)
    shift = np.zeros((80, 30))
    shift += rng.normal(0, 0.3, (80, 1)) if clusters != "items" else 0
    shift += rng.normal(0, 0.3, (1, 30)) if clusters != "people" else 0
    clustered = (rng.random((80, 30)) < np.clip(0.6 + shift, 0, 1)).astype(float)
    widths = [
        cluster_estimate({"v": cells}, lambda means: means["v"], clusters=clusters, draws=300).width
        for cells in (alike, clustered)
    ]
    assert widths[1] > 1.5 * widths[0]


def test_intervals_cover_the_true_accuracy() -> None:
    """A fast part of the audit: 120 panels whose people and items differ."""
    rng = np.random.default_rng(4)
    covered = 0
    for data in range(120):
        chance = np.clip(0.6 + rng.normal(0, 0.08, (60, 1)) + rng.normal(0, 0.1, (1, 25)), 0, 1)
        cells = (rng.random((60, 25)) < chance).astype(float)
        estimate = cluster_estimate({"v": cells}, lambda m: m["v"], clusters="both", draws=200, seed=data)
        covered += estimate.contains(0.6)
    assert 106 <= covered <= 120


def test_a_person_who_is_on_both_sides_is_refused() -> None:
    people = panel()
    with pytest.raises(HumanDataError, match="'p0'"):
        fidelity(people, Predictions.majority(people, 60), people)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"person": ["a"], "item": ["tea"]}, "'answer'"),
        ({"person": ["a", "a"], "item": ["tea", "tea"], "answer": ["yes", "no"]}, "twice"),
        ({"person": ["a"], "item": ["tea"], "answer": ["perhaps"]}, "'perhaps'"),
        ({"person": ["a"], "item": ["coffee"], "answer": ["yes"]}, "nobody answers"),
        ({"person": ["a"], "item": ["tea"], "answer": ["yes"], "retest": ["x"]}, "retest 'x'"),
    ],
)
def test_human_data_that_cannot_be_used_are_refused(table: dict[str, list[str]], words: str) -> None:
    with pytest.raises(HumanDataError, match=words):
        HumanAnswers.from_table(pl.DataFrame(table), [TEA])


def test_a_wave_serves_as_retest_and_a_missing_one_is_named() -> None:
    table = pl.DataFrame(
        {"person": ["a", "a", "b"], "wave": [1, 2, 1], "item": ["tea"] * 3, "answer": ["yes", "no", "no"]}
    )
    people = HumanAnswers.from_waves(table, [TEA], first=1, second=2)
    assert (people.answers.tolist(), people.retest.tolist()) == ([[0], [1]], [[1], [-1]])
    with pytest.raises(HumanDataError, match="no wave 3"):
        HumanAnswers.from_waves(table, [TEA], first=1, second=3)


def test_probabilities_that_are_none_are_refused() -> None:
    for rows in ([[0.5, 0.6]], [[-0.1, 1.1]], [[1.0]]):
        with pytest.raises(HumanDataError):
            Predictions("x", (TEA,), (np.array(rows),))


def test_one_person_gives_no_interval() -> None:
    with pytest.raises(UsageError, match="at least two"):
        cluster_estimate({"v": np.ones((1, 3))}, lambda means: means["v"])


def test_people_are_split_without_overlap_and_repeatably() -> None:
    people = panel()
    first, again = people.split(0.2, seed=3), people.split(0.2, seed=3)
    assert not set(first[0].people) & set(first[1].people)
    assert len(first[1].people) == 12
    assert first[1].people == again[1].people


def test_an_agent_that_is_always_right_is_not_known_to_be_so_for_everybody() -> None:
    """Ten people with one answer each, all right, had the interval [1, 1], which held .95 in 40 % of data sets."""
    sure = cluster_estimate({"value": np.ones((10, 1))}, lambda means: means["value"], share=True)
    assert (sure.value, sure.high) == (1, 1)
    assert sure.low == pytest.approx(proportion(10, 10).low)
    same = cluster_estimate({"value": np.full((10, 3), 0.4)}, lambda means: means["value"])
    assert math.isnan(same.low) and "nothing about how far others would differ" in same.warning


def test_shares_cover_near_0_and_1_and_stay_between() -> None:
    rng, held, share = np.random.default_rng(3), 0, 0.97
    for seed in range(150):
        cells = {"value": (rng.random((20, 2)) < share).astype(float)}
        found = cluster_estimate(cells, lambda means: means["value"], draws=200, seed=seed, share=True)
        held += found.contains(share)
        assert 0 <= found.low < found.high <= 1
    assert held >= 135


def test_figures_from_few_people_or_decided_by_a_few_cases_warn() -> None:
    rng = np.random.default_rng(1)
    few = cluster_estimate({"value": rng.random((5, 20))}, lambda means: means["value"])
    assert few.warning == "5 people are too few to tell how far others would differ"
    many = rng.random((60, 3))
    assert cluster_estimate({"value": many}, lambda means: means["value"]).warning == ""
    many[0] = 80
    assert "a few cases decide" in cluster_estimate({"value": many}, lambda means: means["value"]).warning
    unasked = np.vstack([rng.random((6, 2)), np.full((50, 2), np.nan)])
    assert cluster_estimate({"value": unasked}, lambda means: means["value"]).n == 6


def test_there_is_no_gap_to_close_where_people_repeat_less_than_the_majority_predicts() -> None:
    """A retest below the majority turned the sign: agents that beat the majority closed less than nothing of the gap."""
    rng = np.random.default_rng(4)
    answers = (rng.random((80, 6)) < 0.3).astype(int)
    retest = np.where(rng.random((80, 6)) < 0.5, answers, 1 - answers)
    items = tuple(EvaluationItem(f"q{place}", f"q{place}?", ("a", "b")) for place in range(6))
    people = HumanAnswers(tuple(f"p{who}" for who in range(80)), items, answers, retest)
    others = HumanAnswers(tuple(f"o{who}" for who in range(80)), items, answers[::-1], retest[::-1])
    good = np.where(rng.random((80, 6)) < 0.9, answers, 1 - answers)
    result = fidelity(people, Predictions.from_answers("good", items, good), others)
    assert result.gap_closed is not None and math.isnan(result.gap_closed.value)
    assert "there is no gap" in result.gap_closed.warning
    assert result.advantage.low > 0
    report = FidelityReport.of("small", people, others, [Predictions.from_answers("good", items, good)])
    text = report.document().markdown
    assert report.headline == "is right in 91% of the answers on these items, the majority in 74%"
    assert "nan" not in text
    assert "worse than the majority" not in text and "there is no gap" in text


def test_a_gap_that_may_be_nothing_is_not_divided_by() -> None:
    items = tuple(EvaluationItem(f"q{place}", f"q{place}?", ("a", "b")) for place in range(2))
    answers = np.tile([[0, 0], [1, 1], [0, 1]], (4, 1))
    changed = np.arange(24).reshape(12, 2) % 3 == 0
    people = HumanAnswers(tuple("abcdefghijkl"), items, answers, np.where(changed, 1 - answers, answers))
    others = HumanAnswers(("x", "y"), items, np.zeros((2, 2), int), np.zeros((2, 2), int))
    result = fidelity(people, Predictions.from_answers("ones", items, np.ones_like(answers)), others)
    assert result.retest is not None and result.retest.value > result.majority.value
    assert result.gap_closed is not None and math.isnan(result.gap_closed.value)
    assert "cannot be told from 0" in result.gap_closed.warning
    nobody = HumanAnswers(people.people, items, answers, 1 - answers)
    without = fidelity(nobody, Predictions.from_answers("copy", items, answers), others)
    assert without.normalised is not None and math.isnan(without.normalised.value)
    assert without.normalised.warning == "nobody repeated an answer"


def test_a_distance_of_nothing_that_varies_has_an_interval_from_nothing_on() -> None:
    cells = {"value": np.array([[1.0], [0.0], [1.0], [0.0], [1.0], [0.0]])}
    distance = cluster_estimate(cells, lambda means: np.abs(means["value"] - 0.5), share=True)
    assert (distance.value, distance.low) == (0.0, 0.0)
    assert 0 < distance.high <= 1


def test_lists_of_probabilities_of_another_length_than_the_options_are_refused() -> None:
    human = HumanAnswers.from_table(pl.DataFrame({"person": ["a"], "item": ["tea"], "answer": ["yes"]}), [TEA])
    table = pl.DataFrame({"person": ["a"], "item": ["tea"], "probabilities": [[1.0]]})
    with pytest.raises(HumanDataError, match=f"'tea' has {len(TEA.options)} options"):
        Predictions.from_table("mine", table, human)
