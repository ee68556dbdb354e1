from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.stats

from populace.base.errors import UsageError
from populace.statistics.rankings import dunn, kendall_w, kruskal_wallis, within_blocks
from populace.statistics.skill import SkillScale, true_skill, update_skills


def groups(seed: int, *, ties: bool) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = {f"group {place}": rng.normal(place / 3, 1, size=12 + place) for place in range(4)}
    return {name: each.round() if ties else each for name, each in values.items()}


@pytest.mark.parametrize("ties", [False, True])
def test_kruskal_wallis_agrees_with_scipy(ties: bool) -> None:
    data = groups(3, ties=ties)
    ours, theirs = kruskal_wallis(data), scipy.stats.kruskal(*data.values())
    assert ours.h == pytest.approx(theirs.statistic, abs=1e-10)
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-10)


@pytest.mark.parametrize("ties", [False, True])
def test_dunn_with_holm_agrees_with_scikit_posthocs(ties: bool) -> None:
    posthocs = pytest.importorskip("scikit_posthocs")
    data = groups(4, ties=ties)
    theirs = posthocs.posthoc_dunn([each.tolist() for each in data.values()], p_adjust="holm").to_numpy()
    names = list(data)
    for row in dunn(data).iter_rows(named=True):
        assert row["p_adjusted"] == pytest.approx(theirs[names.index(row["a"]), names.index(row["b"])], abs=1e-9)


def test_dunn_gives_the_figures_that_scikit_posthocs_gave() -> None:
    # scikit_posthocs.posthoc_dunn([[1,2,3,5,1],[3,5,4,2,4],[12,31,10,11,9]], p_adjust="holm"), version 0.17.1
    data = {"a": [1, 2, 3, 5, 1], "b": [3, 5, 4, 2, 4], "c": [12, 31, 10, 11, 9]}
    assert dunn(data)["p_adjusted"].to_list() == pytest.approx([0.3940244, 0.0060100, 0.0505208], abs=1e-6)


def test_groups_of_equal_values_show_no_difference() -> None:
    same = {"a": [1.0, 1.0], "b": [1.0, 1.0]}
    assert kruskal_wallis(same).p == 1
    assert dunn(same)["p"].to_list() == [1.0]


def test_kendalls_w_is_one_for_equal_rankings_and_follows_friedman() -> None:
    assert kendall_w(np.tile([1.0, 2, 3, 4], (5, 1))) == pytest.approx(1)
    rng = np.random.default_rng(1)
    ranks = rng.integers(1, 4, size=(6, 5)).astype(float)
    chi = scipy.stats.friedmanchisquare(*ranks.T).statistic
    assert kendall_w(ranks) == pytest.approx(chi / (6 * 4))
    with pytest.raises(UsageError, match="two judges"):
        kendall_w(np.ones((1, 3)))


def test_skills_agree_with_the_package_trueskill_with_and_without_draws() -> None:
    package = pytest.importorskip("trueskill")
    environment, rng = package.TrueSkill(), np.random.default_rng(0)
    for trial in range(20):
        count = int(rng.integers(2, 7))
        means, sds = rng.normal(25, 6, count), rng.uniform(1, 8, count)
        ranks = rng.integers(0, count, count) if trial % 2 else rng.permutation(count)
        teams = [(environment.create_rating(mean, sd),) for mean, sd in zip(means, sds, strict=True)]
        rated = environment.rate(teams, ranks=ranks.tolist())
        theirs = [[team[0].mu for team in rated], [team[0].sigma for team in rated]]
        assert update_skills(means, sds, ranks.tolist()) == pytest.approx(np.array(theirs), abs=1e-4)


def test_skills_are_those_that_the_package_trueskill_gave() -> None:
    # trueskill 0.4.5: rate([(Rating(),)] * 5, ranks=[0, 1, 2, 2, 4])
    means, sds = update_skills([25.0] * 5, [25 / 3] * 5, [0, 1, 2, 2, 4])
    assert means.tolist() == pytest.approx([33.4286, 27.76454, 23.23709, 23.25696, 17.3128], abs=1e-4)
    assert sds.tolist() == pytest.approx([6.21056, 5.53901, 5.3134, 5.31484, 6.17588], abs=1e-4)


def test_one_who_takes_no_part_keeps_their_skill() -> None:
    means, sds = update_skills([20.0, 25, 30], [8.0, 8, 8], [1, float("nan"), 2])
    two = update_skills([20.0, 30], [8.0, 8], [1, 2])
    assert (means[1], sds[1]) == (25, 8)
    assert means[[0, 2]] == pytest.approx(two[0])


def rankings(order: list[str], noise: float, judged: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    rows = []
    for ranking in range(judged):
        scores = np.arange(len(order)) + rng.normal(0, noise, len(order))
        rows += [
            (ranking, ranking % 12, who, float(rank))
            for who, rank in zip(order, scores.argsort().argsort(), strict=True)
        ]
    return pl.DataFrame(rows, schema=["ranking", "person", "who", "rank"], orient="row")


def test_a_planted_order_is_recovered_with_intervals_that_tell_neighbours_apart() -> None:
    order = ["delta", "alpha", "echo", "bravo", "charlie"]
    table = true_skill(
        rankings(order, 0.8), competitor="who", rank="rank", ranking=["ranking"], cluster="person", resamples=40
    )
    assert table["who"].to_list() == order
    assert (table["low_by_cluster"] < table["mean"]).all()
    assert (table["mean"] < table["high_by_cluster"]).all()
    assert (table["low_by_cluster"][:-1].to_numpy() > table["mean"][1:].to_numpy()).all()


def test_skills_are_the_same_for_equal_seeds_and_a_draw_margin_is_that_of_the_authors() -> None:
    frame = rankings(["a", "b"], 2.0, 10)
    one, two = (true_skill(frame, competitor="who", rank="rank", ranking=["ranking"], seed=3) for _ in range(2))
    assert one.equals(two)
    assert SkillScale().margin == pytest.approx(0.7404667)


def test_competitors_may_be_numbers() -> None:
    frame = rankings(["0", "1"], 2.0, 10)
    numbered = frame.with_columns(pl.col("who").cast(pl.Int64))
    texts, numbers = (
        true_skill(each, competitor="who", rank="rank", ranking=["ranking"], seed=3) for each in (frame, numbered)
    )
    assert numbers["who"].to_list() == [int(name) for name in texts["who"]]
    assert numbers["mean"].to_list() == texts["mean"].to_list()


def test_one_cluster_shows_no_precision_and_a_competitor_may_have_the_name_of_a_column() -> None:
    rows = [(game, who, place, "town") for game in range(10) for place, who in enumerate(["game", "life", "bo"])]
    frame = pl.DataFrame(rows, schema=["game", "who", "place", "life"], orient="row")
    table = true_skill(frame, competitor="who", rank="place", ranking=["game"], cluster="life", resamples=20)
    assert table["who"].to_list() == ["game", "life", "bo"]
    assert table["low_by_cluster"].null_count() == 3


def test_who_was_never_ranked_beside_another_keeps_the_prior_and_a_count_of_none() -> None:
    rows = [(0, "ann", 1.0), (0, "bo", 2.0), (1, "cy", 1.0), (2, "ann", 1.0), (2, "di", float("nan"))]
    frame = pl.DataFrame(rows, schema=["game", "who", "place"], orient="row")
    table = true_skill(frame, competitor="who", rank="place", ranking=["game"])
    found = {row["who"]: row for row in table.iter_rows(named=True)}
    assert list(found) == ["ann", "cy", "bo"]
    assert (found["cy"]["n"], found["cy"]["mean"], found["ann"]["n"]) == (0, 25.0, 1)
    with pytest.raises(UsageError, match="two ranks in one ranking"):
        true_skill(pl.concat([frame, frame]), competitor="who", rank="place", ranking=["game"])


def test_a_missing_rank_is_refused_and_not_ranked_last() -> None:
    with pytest.raises(UsageError, match="rank is missing"):
        kendall_w(np.array([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0]]))


def test_judges_who_repeat_each_other_find_nothing_within_blocks() -> None:
    """Three judges of the same answers of ten people: Kruskal and Wallis found a difference in 62 % of such data."""
    rng, found, naive = np.random.default_rng(5), 0, 0
    for seed in range(60):
        quality = rng.normal(size=(10, 5, 1, 4)) + rng.normal(0, 0.3, size=(10, 5, 3, 4))
        ranks = quality.argsort(axis=-1).argsort(axis=-1) + 1.0
        found += within_blocks(ranks.mean(axis=(1, 2)), seed=seed, resamples=200) < 0.05
        naive += kruskal_wallis({str(place): ranks[..., place].ravel() for place in range(4)}).p < 0.05
    assert found <= 8 < naive


def test_a_difference_within_blocks_is_found_and_missing_values_take_no_part() -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(size=(12, 3)) + np.array([0.0, 0.0, 2.5])
    values[0, 0] = values[1, 2] = np.nan
    assert within_blocks(values) < 0.01
    assert within_blocks(np.ones((5, 3))) == 1
    with pytest.raises(UsageError, match="two blocks"):
        within_blocks(np.ones((1, 3)))
