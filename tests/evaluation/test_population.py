"""Parity, population measures, sensitivity and effects, against scipy, numpy, statsmodels and by hand."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from populace.base.errors import HumanDataError, UnknownNameError
from populace.evaluation import (
    DecisionTask,
    EvaluationItem,
    GroupFlip,
    HumanAnswers,
    HumanDecisions,
    Predictions,
    group_sensitivity,
    parity,
    population_distances,
)
from populace.evaluation.effects import (
    ExperimentEffect,
    effect_agreement,
    effects_table,
    experiment_effect,
    slope_with_errors,
    standardised_difference,
)
from populace.evaluation.population import covariance_structure, distortions, order_effect, response_style
from populace.statistics import Estimate

SCALE = tuple(EvaluationItem(f"s{k}", f"s{k}?", ("1", "2", "3", "4", "5"), ordered=True) for k in range(6))


def people(count: int = 400, seed: int = 1, shift: float = 0.8) -> HumanAnswers:
    """Two groups whose answers differ, people with a stable leaning, and a retest."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, count)
    leaning = rng.normal(size=(count, 1)) + shift * group[:, None]
    loads = np.array([1.0, 1.0, 0.8, -0.8, 0.3, 0.0])
    first, second = (
        np.digitize(leaning * loads + 0.7 * rng.normal(size=(count, 6)), [-1, -0.2, 0.5, 1.2]) for _ in range(2)
    )
    profiles = pl.DataFrame({"party": np.array(["left", "right"])[group]})
    return HumanAnswers(tuple(f"p{n}" for n in range(count)), SCALE, first, second, profiles)


def test_wasserstein_and_total_variation_are_those_of_scipy() -> None:
    human = people(200)
    rng = np.random.default_rng(3)
    agents = Predictions("a", SCALE, tuple(rng.dirichlet(np.ones(5), 200) for _ in SCALE))
    table = population_distances(human, agents)
    for place in range(6):
        shares = np.bincount(human.answers[:, place], minlength=5) / 200
        chances = agents.distributions[place].mean(0)
        expected = stats.wasserstein_distance(range(5), range(5), shares, chances) / 4
        assert table["wasserstein"][place] == pytest.approx(expected)
        assert table["total_variation"][place] == pytest.approx(0.5 * np.abs(shares - chances).sum())


def test_agents_that_copy_people_have_no_distortion_and_those_alike_have() -> None:
    human = people(2_000)
    copies = Predictions.from_answers("copies", SCALE, human.retest)
    flip = GroupFlip.read("party=left|right")
    values = dict(distortions(human, copies, flip=flip, best={"s0": "1"}).select("distortion", "value").iter_rows())
    stable = sum(np.cov(human.answers[:, k], human.retest[:, k])[0, 1] for k in range(6))
    assert values["individuation"] == pytest.approx(sum(human.retest[:, k].var(ddof=1) for k in range(6)) / stable)
    assert values["dispersion"] == pytest.approx(1.0, abs=0.03)
    assert values["stereotyping"] == pytest.approx(1.0, abs=0.15)
    assert abs(values["representation"]) < 0.02
    assert abs(values["ideology"]) < 0.05
    assert abs(values["hyper-rationality"]) < 0.02
    alike = Predictions.majority(human, 2_000)
    flat = dict(distortions(human, alike, flip=flip).select("distortion", "value").iter_rows())
    assert (flat["individuation"], flat["stereotyping"]) == (pytest.approx(0.0), pytest.approx(0.0))
    assert flat["dispersion"] == pytest.approx(1.0, abs=0.01)


def test_leaning_to_one_side_and_giving_the_rational_answer_show() -> None:
    human = people(2_000)
    right = (human.profiles["party"] == "right").to_numpy()
    partisan = Predictions(
        "right", SCALE, tuple(np.tile(share, (2_000, 1)) for share in human.take(np.flatnonzero(right)).shares())
    )
    values = distortions(human, partisan, flip=GroupFlip.read("party=left|right"), best={"s1": "5"})
    ideology, rational = (
        values.filter(pl.col("distortion") == n)["value"].item() for n in ("ideology", "hyper-rationality")
    )
    assert ideology == pytest.approx(0.5, abs=0.05)
    assert rational == pytest.approx((human.answers[right, 1] == 4).mean() - (human.answers[:, 1] == 4).mean())
    with pytest.raises(UnknownNameError):
        distortions(human, partisan, best={"s1": "9"})


def test_the_covariance_structure_is_that_of_numpy_where_agents_are_sure() -> None:
    human = people(500)
    copies = Predictions.from_answers("copies", SCALE, human.retest)
    structure = covariance_structure(human, copies)
    ours, theirs = (np.corrcoef(codes.T)[np.triu_indices(6, 1)] for codes in (human.answers, human.retest))
    assert structure.pairs == 15
    assert structure.correlation == pytest.approx(np.corrcoef(ours, theirs)[0, 1])
    assert structure.ratio == pytest.approx(np.abs(theirs).mean() / np.abs(ours).mean())
    assert structure.mean_difference == pytest.approx(np.abs(ours - theirs).mean())


def test_draws_from_distributions_hang_together_as_much_as_the_formula_says() -> None:
    human = people(4_000)
    rng = np.random.default_rng(5)
    chances = np.eye(5)[human.answers[:, 0]] * 0.5 + 0.1
    agents = Predictions("a", SCALE, (chances,) * 6)
    drawn = np.stack([(rng.random((4_000, 1)) > chances.cumsum(1)).sum(1) for _ in SCALE], axis=1)
    expected = np.corrcoef(drawn.T)[np.triu_indices(6, 1)]
    ours = np.corrcoef(human.answers.T)[np.triu_indices(6, 1)]
    structure = covariance_structure(human, agents)
    assert structure.ratio == pytest.approx(np.abs(expected).mean() / np.abs(ours).mean(), abs=0.05)


def test_extremes_the_middle_and_the_order_of_options_by_hand() -> None:
    items = (SCALE[0], EvaluationItem("four", "four?", ("1", "2", "3", "4"), ordered=True))
    human = HumanAnswers(("a", "b"), items, np.array([[0, 3], [2, -1]]), np.full((2, 2), -1))
    rows = np.array([[0.5, 0, 0.25, 0, 0.25], [0, 0, 1.0, 0, 0]])
    agents = Predictions("a", items, (rows, np.full((2, 4), 0.25)))
    style = response_style(human, agents)
    assert (style.extreme_human, style.middle_human, style.items) == (pytest.approx(2 / 3), 0.5, 2)
    assert style.extreme_agents == pytest.approx((0.75 + 0 + 0.5) / 3)
    assert style.middle_agents == pytest.approx((0.25 + 1) / 2)
    other = Predictions("b", items, (rows[:, ::-1], np.full((2, 4), 0.25)))
    assert order_effect(agents, other)["total_variation"].to_list() == [pytest.approx(0.125), 0.0]


def test_parity_finds_a_group_that_is_predicted_worse_and_leaves_a_handful_of_people_without_an_interval() -> None:
    human = people(300)
    groups = np.array(["a", "b", "c"], dtype=object)[np.arange(300) % 3]
    groups[0], groups[3:15:3] = "alone", "few"
    human = replace(human, profiles=pl.DataFrame({"town": groups.tolist()}))
    rng = np.random.default_rng(1)
    right = rng.random((300, 6)) < np.where(groups == "b", 0.3, 0.7)[:, None]
    codes = np.where(right, human.answers, (human.answers + 1) % 5)
    result = parity(human, Predictions.from_answers("agent", SCALE, codes), "town")
    assert "b" in result.unequal
    row = result.table.filter(pl.col("group") == "b").row(0, named=True)
    mine = groups == "b"
    assert row["accuracy"] == pytest.approx(right[mine].mean())
    assert row["difference"] == pytest.approx(right[mine].mean() - right[~mine].mean())
    assert row["retest"] == pytest.approx((human.answers == human.retest)[mine].mean())
    alone = result.table.filter(pl.col("group") == "alone").row(0, named=True)
    assert (alone["people"], alone["low"], alone["high"]) == (1, None, None)
    few = result.table.filter(pl.col("group") == "few").row(0, named=True)
    assert (few["people"], few["low"], few["high"]) == (4, None, None)
    accuracies = result.table.filter(pl.col("people") >= 5)["accuracy"]
    assert result.largest == pytest.approx(accuracies.max() - accuracies.min())
    with pytest.raises(HumanDataError, match="makes 1 group"):
        parity(human, Predictions.majority(human, 300), pl.Series("all", ["x"] * 300))


def test_a_small_group_in_which_all_answers_are_right_is_not_called_unequal() -> None:
    """Five of 105 people, each with one answer: where all five were right, the interval had no width of its own."""
    item, rng = EvaluationItem("tea", "Tea?", ("yes", "no")), np.random.default_rng(6)
    groups, unequal = pl.Series("town", ["small"] * 5 + ["large"] * 100), 0
    for _ in range(60):
        answers = (rng.random((105, 1)) > 0.9).astype(int)
        human = HumanAnswers(tuple(map(str, range(105))), (item,), answers, np.full_like(answers, -1))
        result = parity(human, Predictions.from_answers("yes", (item,), np.zeros_like(answers)), groups)
        unequal += bool(result.unequal)
    assert unequal <= 6


def test_a_flip_moves_agents_as_far_as_people_where_agents_are_people() -> None:
    human = people(4_000)
    left, right = (
        human.take(np.flatnonzero((human.profiles["party"] == name).to_numpy())).shares() for name in ("left", "right")
    )
    first, second = (
        Predictions(name, SCALE, tuple(share[None, :] for share in shares))
        for name, shares in (("l", left), ("r", right))
    )
    flip = GroupFlip.read("party=left|right")
    same = group_sensitivity(flip, human, first, second)
    assert same.correlation.value == pytest.approx(1.0)
    assert same.slope.value == pytest.approx(1.0, abs=0.05) and same.slope.low < same.slope.value < same.slope.high
    back = group_sensitivity(flip, human, second, first)
    assert (back.correlation.value, back.slope.value) == pytest.approx((-1.0, -same.slope.value))
    x, y = same.table["human"].to_numpy(), 0.3 * same.table["human"].to_numpy()
    assert stats.pearsonr(x, y)[0] == pytest.approx(same.correlation.value)


def test_noise_in_human_differences_does_not_flatten_the_slope() -> None:
    slopes = []
    truth = people(60_000, seed=50)
    left, right = (
        truth.take(np.flatnonzero((truth.profiles["party"] == name).to_numpy())).shares() for name in ("left", "right")
    )
    first, second = (Predictions("x", SCALE, tuple(s[None, :] for s in shares)) for shares in (left, right))
    for seed in range(40):
        human = people(150, seed=seed)
        slopes.append(group_sensitivity(GroupFlip.read("party=left|right"), human, first, second).slope.value)
    assert np.median(slopes) == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize("text", ["party", "party=left", "party=left|left", "age=9-2|3-4", "=a|b"])
def test_flips_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(HumanDataError):
        GroupFlip.read(text)


def test_a_flip_to_a_group_of_one_person_is_refused() -> None:
    human = people(50)
    profiles = human.profiles.with_columns(party=pl.Series(["green", *human.profiles["party"].to_list()[1:]]))
    agents = Predictions.majority(human, 50)
    with pytest.raises(HumanDataError, match="the group 'green' of 'party' has one person"):
        group_sensitivity(GroupFlip.read("party=left|green"), replace(human, profiles=profiles), agents, agents)


def test_a_value_that_nobody_has_is_named() -> None:
    human = people(50)
    with pytest.raises(UnknownNameError, match="no value of the column 'party' named 'rigth'"):
        group_sensitivity(GroupFlip.read("party=left|rigth"), human, *[Predictions.majority(human, 50)] * 2)


def experiment(effect: float, count: int = 300, seed: int = 1) -> HumanDecisions:
    rng = np.random.default_rng(seed)
    task = DecisionTask("gift", "experiment", "A {thing}. How generous?", "CC0", ("1", "2", "3", "4", "5", "6"))
    condition = np.arange(count) % 2
    answer = np.clip(np.round(3 + effect * condition + rng.normal(size=count)), 1, 6).astype(int)
    seen = ['{"condition": "coat", "thing": "coat"}', '{"condition": "scarf", "thing": "scarf"}']
    table = pl.DataFrame(
        {
            "task": ["gift"] * count,
            "person": [f"p{n}" for n in range(count)],
            "seen": [seen[c] for c in condition],
            "answer": answer.astype(str),
        }
    )
    return HumanDecisions.from_table(table, {"gift": task})


def test_an_effect_is_cohens_d_of_people_and_of_draws_from_the_distributions() -> None:
    decisions = experiment(0.8)
    answers = pl.DataFrame(
        {
            "situation": [0, 1],
            "order": ["fixed"] * 2,
            "probabilities": [[0, 0.5, 0.5, 0, 0, 0], [0, 0, 0.5, 0.5, 0, 0]],
        },
        schema_overrides={"probabilities": pl.List(pl.Float64)},
    )
    effect = experiment_effect(decisions, answers, "gift", control="coat", treatment="scarf")
    values = decisions.table["answer"].cast(pl.Float64).to_numpy()
    first, second = values[::2], values[1::2]
    pooled = np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 2)
    assert effect.human.value == pytest.approx((second.mean() - first.mean()) / pooled)
    t = stats.ttest_ind(second, first).statistic
    assert effect.human.value == pytest.approx(t * np.sqrt(4 / 300), rel=1e-6)
    assert effect.agents.value == pytest.approx(1.0 / 0.5)
    with pytest.raises(UnknownNameError, match="no condition of the task 'gift' named 'hat'. Known: coat, scarf"):
        experiment_effect(decisions, answers, "gift", control="hat", treatment="scarf")


def test_decisions_of_one_person_are_not_counted_as_those_of_many() -> None:
    """Ten equal decisions of each person gave intervals that were three times too short."""
    once = experiment(0.8, 40)
    often = HumanDecisions.from_table(pl.concat([once.table] * 10), once.tasks)
    answers = pl.DataFrame(
        {"situation": [0, 1], "order": ["fixed"] * 2, "probabilities": [[0, 1.0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0, 0]]},
        schema_overrides={"probabilities": pl.List(pl.Float64)},
    )
    one, ten = (experiment_effect(d, answers, "gift", control="coat", treatment="scarf") for d in (once, often))
    assert ten.human.value == pytest.approx(one.human.value, rel=0.05)
    assert ten.human.width == pytest.approx(one.human.width, rel=0.05)
    assert np.isnan(one.agents.value) and "cannot be standardised" in one.agents.warning
    assert effects_table([one])["agents"].to_list() == ["– (no variation)"]


def test_the_interval_of_d_is_that_of_statsmodels_to_the_second_digit() -> None:
    meta = pytest.importorskip("statsmodels.stats.meta_analysis")
    value, variance = meta.effectsize_smd(1.0, 1.5, 40, 0.4, 1.2, 50)
    ours = standardised_difference((0.4, 1.0), (1.44, 2.25), (50, 40))
    correction = 1 - 3 / (4 * 88 - 1)
    assert ours.value * correction == pytest.approx(value, rel=1e-3)
    assert (ours.high - ours.low) / (2 * 1.96) == pytest.approx(np.sqrt(variance), rel=0.03)


def test_the_slope_with_errors_in_both_variables_is_that_of_orthogonal_regression() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        odr = pytest.importorskip("scipy.odr")
        rng = np.random.default_rng(2)
        x = rng.normal(size=12)
        sx, sy = rng.uniform(0.05, 0.3, 12), rng.uniform(0.05, 0.3, 12)
        y = 0.6 * x + sy * rng.normal(size=12)
        x = x + sx * rng.normal(size=12)
        fit = odr.ODR(odr.RealData(x, y, sx=sx, sy=sy), odr.Model(lambda b, v: b[0] * v), beta0=[1.0]).run()
    ours = slope_with_errors(x, y, sx, sy)
    assert ours.value == pytest.approx(fit.beta[0], rel=1e-4)
    assert ours.low < fit.beta[0] < ours.high


def effect(human: float, agents: float, error: float = 0.05) -> ExperimentEffect:
    both = [Estimate(v, v - 1.96 * error, v + 1.96 * error, 100) for v in (human, agents)]
    return ExperimentEffect("e", ("a", "b"), both[0], both[1], (50, 50))


def test_agreement_counts_signs_and_what_is_replicated_beside_a_human_half() -> None:
    result = effect_agreement([effect(0.8, 0.4), effect(0.4, -0.4), effect(1.0, 0.5), effect(0.02, 0.5)])
    assert (result.signs, result.experiments, result.with_effect) == (0.75, 4, 3)
    assert result.replicated == pytest.approx(2 / 3)
    assert result.human_half > 0.9
    weak = effect_agreement([effect(0.12, 0.12)])
    p = stats.norm.sf(1.96 - 0.12 / (0.05 * 2**0.5)) + stats.norm.cdf(-1.96 - 0.12 / (0.05 * 2**0.5))
    assert weak.human_half == pytest.approx(p, abs=0.06)
