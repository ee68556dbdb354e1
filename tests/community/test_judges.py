from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from populace import simulate
from populace.base.errors import UnknownNameError, UsageError
from populace.community import Community
from populace.community.design_comparison import design_effects, rate_effects
from populace.community.digest import digest, distances
from populace.community.judgements import Judgements, criteria
from populace.community.judges import judge_posts, read_judgements
from populace.models import Capabilities, HashingEmbedder, Scripted
from support.board import GARDEN, Board, board, writer
from support.board import judge as scripted_judge

LAX = {**GARDEN, "rules": GARDEN["rules"][:1]}


@pytest.fixture(scope="module")
def garden() -> Community:
    return Community(board(seed=1, offence=0.8))


def advertisements(community: Community) -> list[int]:
    return community.posts.filter(pl.col("text").str.contains("cheap soil"))["post"].to_list()


def test_every_question_is_asked_of_every_post_in_one_batch(garden: Community) -> None:
    class Batches(Scripted):
        sizes: list[int]

        async def replies(self, requests):  # type: ignore[no-untyped-def]
            self.sizes.append(len(requests))
            async for lot in super().replies(requests):
                yield lot

    model = Batches(scripted_judge().script, spec="scripted:batches")
    model.sizes = []
    judgements = judge_posts(garden, model)
    assert model.sizes == [16 * 6]
    assert judgements.table.height == 16 * 6
    assert judgements.table.select("post", "question").n_unique() == 16 * 6


def test_a_judge_finds_what_breaks_a_rule(garden: Community) -> None:
    judgements = judge_posts(garden, scripted_judge(sure=0.9))
    broken = judgements.table.filter(pl.col("question") == "rule_2", pl.col("value") == "yes")
    assert broken["post"].to_list() == advertisements(garden)
    assert broken["yes"].to_numpy() == pytest.approx(0.9)
    rates = judgements.rates().filter(pl.col("question") == "rule_2").row(0, named=True)
    share = len(advertisements(garden)) / 16
    assert rates["rate"] == share
    assert rates["low"] < share < rates["high"]
    assert rates["low_by_thread"] <= share <= rates["high_by_thread"]
    flags = judgements.verdicts().filter(pl.col("flag") == "breaks rule 2")
    assert flags["post"].to_list() == advertisements(garden)


def test_a_rate_of_nothing_still_has_a_width(garden: Community) -> None:
    row = judge_posts(garden, scripted_judge()).rates().filter(pl.col("question") == "harassment").row(0, named=True)
    assert row["rate"] == 0 and row["high"] > 0.1 and row["low_by_thread"] is None


def test_judging_leaves_the_run_as_it_is_and_is_kept_beside_it() -> None:
    run = simulate(Board(), model=writer(), seed=2)
    before = run.digest
    community = Community(run)
    one, two = judge_posts(community, scripted_judge()), judge_posts(community, scripted_judge(sure=0.7))
    assert run.digest == before
    assert run.manifest.status.state == "complete"
    again = read_judgements(Community(run))
    assert sorted(again.judges) == sorted([*one.judges, *two.judges])
    assert again.table.height == one.table.height + two.table.height
    assert set(again.table["wording"]) == {each.text for each in criteria(community.design)}
    assert again.table["fingerprint"].n_unique() == 2
    model = scripted_judge()
    judge_posts(community, model)
    assert model.request_count == 0, "what was paid for is asked again"
    assert read_judgements(Community(run)).table.height == again.table.height


def test_a_judge_without_probabilities_answers_in_words(garden: Community) -> None:
    model = Scripted(scripted_judge().script, spec="scripted:words", capabilities=Capabilities(seed=True))
    judgements = judge_posts(garden, model, questions=["rule_2"])
    assert judgements.table["yes"].null_count() == judgements.table.height
    assert judgements.table.filter(pl.col("value") == "yes")["post"].to_list() == advertisements(garden)


def test_a_verdict_that_cannot_be_read_is_no_verdict(garden: Community) -> None:
    judgements = judge_posts(garden, Scripted(lambda request: "Hm.", spec="scripted:mute", capabilities=Capabilities()))
    assert judgements.table["value"].null_count() == judgements.table.height
    assert not judgements.rates().height
    assert set(judgements.table["status"]) == {"unparseable"}


def test_some_posts_and_some_questions(garden: Community) -> None:
    judgements = judge_posts(garden, scripted_judge(), questions=["civil"], posts=[3, 5])
    assert judgements.table.select("post", "question").rows() == [(3, "civil"), (5, "civil")]
    with pytest.raises(UnknownNameError, match="Did you mean 'civil'"):
        judge_posts(garden, scripted_judge(), questions=["civl"])
    with pytest.raises(UsageError, match="no post 99"):
        judge_posts(garden, scripted_judge(), posts=[99])


def test_the_judge_is_shown_the_thread_and_what_was_answered(garden: Community) -> None:
    prompts: list[str] = []

    def listen(request):  # type: ignore[no-untyped-def]
        prompts.append(request.messages[-1][1])
        return {"yes": 0.5, "no": 0.5}

    judge_posts(garden, Scripted(listen, spec="scripted:listening"), questions=["civil"], posts=[6])
    before, text = (garden.posts.filter(pl.col("post") == post)["text"][0] for post in (2, 6))
    assert "Thread: “Thread 2”" in prompts[0]
    assert prompts[0].index(before) < prompts[0].index("The post to judge") < prompts[0].index(text)


def test_judges_who_agree_and_judges_who_do_not(garden: Community) -> None:
    same = Judgements(pl.concat([judge_posts(garden, scripted_judge(sure=s)).table for s in (0.9, 0.8)]), garden)
    assert same.agreement("rule_2")["rule_2"].alpha.value == 1.0
    other = Judgements(
        pl.concat([judge_posts(garden, scripted_judge(hint=h)).table for h in ("cheap soil", "tomatoes")]), garden
    )
    assert other.agreement("rule_2")["rule_2"].alpha.value < 0
    assert judge_posts(garden, scripted_judge()).agreement() == {}


def test_two_models_of_one_name_are_told_apart(garden: Community) -> None:
    models = [Scripted(scripted_judge(hint=h).script, spec="scripted:same") for h in ("cheap soil", "tomatoes")]
    both = Judgements(pl.concat([judge_posts(garden, model).table for model in models]), garden)
    assert len(both.judges) == 2
    assert both.agreement("rule_2")["rule_2"].raters == 2


def test_a_sample_is_filled_in_by_hand_and_compared(garden: Community, tmp_path: Path) -> None:
    judgements = judge_posts(garden, scripted_judge())
    file = judgements.sample(6, tmp_path / "check.csv", rater="Ann")
    form = pl.read_csv(file, infer_schema=False)
    assert form.height == 6
    assert form["rule_2"].fill_null("").str.len_chars().sum() == 0
    assert "yes" not in form.columns
    answers = ["Yes" if "cheap" in text else "0" for text in form["text"]]
    form.with_columns(rule_2=pl.Series(answers), civil=pl.Series(["y", *[""] * 5])).write_csv(file)
    with_people = judgements.with_check(file)
    assert "person Ann" in with_people.judges
    agreement = with_people.agreement()
    assert agreement["rule_2"].share.value == 1.0
    assert agreement["rule_2"].items == 6
    with pytest.raises(UsageError, match="exists already"):
        judgements.sample(6, file)


def test_a_check_that_cannot_be_read_is_named_by_row(garden: Community, tmp_path: Path) -> None:
    judgements = judge_posts(garden, scripted_judge())
    file = judgements.sample(2, tmp_path / "check.csv")
    pl.read_csv(file, infer_schema=False).with_columns(spam=pl.Series(["no", "perhaps"])).write_csv(file)
    with pytest.raises(UsageError, match=r"row 3: spam is 'perhaps'"):
        judgements.with_check(file)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="no column `post`"):
        judgements.with_check(tmp_path / "other.csv")


def rates_of(design: dict, seeds: range, **parameters: int) -> list[Judgements]:  # type: ignore[type-arg]
    return [
        judge_posts(Community(board(seed, 0.5, design=design, **parameters)), scripted_judge(), questions=["spam"])
        for seed in seeds
    ]


def test_a_rule_that_halves_violations_is_found_with_its_interval() -> None:
    before, after = (rates_of(design, range(6), threads=12, replies=4) for design in (LAX, GARDEN))
    effect = design_effects(before, after).row(0, named=True)
    assert effect["question"] == "spam"
    assert effect["low"] < -0.25 < effect["high"] < 0
    assert effect["p"] < 0.01
    assert effect["pairs"] == 6


def test_runs_that_make_no_pairs_are_not_compared() -> None:
    before, after = rates_of(LAX, range(2), threads=2, replies=0), rates_of(GARDEN, range(1, 3), threads=2, replies=0)
    with pytest.raises(UsageError, match="seeds before are 0, 1 and after 1, 2"):
        design_effects(before, after)
    with pytest.raises(UsageError, match="1 pair of runs cannot give an interval"):
        design_effects(before[:1], rates_of(GARDEN, range(1), threads=2, replies=0))


def null_and_planted(repetitions: int, share: float) -> tuple[float, float]:
    """How often a change is significant, and how often the interval covers it, over random tables of rates."""
    rng = np.random.default_rng(7)
    significant, covered = 0, 0
    for _ in range(repetitions):
        deviation = rng.normal(0, 0.05, 8)
        tables = [
            pl.DataFrame({"seed": range(8), "any_rule": rng.binomial(60, np.clip(rate + deviation, 0.01, 0.99)) / 60})
            for rate in (0.4, 0.4 * share)
        ]
        row = rate_effects(*tables).row(0, named=True)
        significant += row["p"] < 0.05
        covered += row["low"] <= 0.4 * (share - 1) <= row["high"]
    return significant / repetitions, covered / repetitions


def test_a_change_that_changes_nothing_is_found_as_seldom_as_stated() -> None:
    power, coverage = null_and_planted(200, 1.0)
    # 5 % of 200, give or take three standard errors.
    assert power <= 0.05 + 3 * (0.05 * 0.95 / 200) ** 0.5
    assert coverage >= 0.95 - 3 * (0.05 * 0.95 / 200) ** 0.5


def test_half_the_violations_are_found_nearly_always() -> None:
    power, coverage = null_and_planted(200, 0.5)
    assert power > 0.95
    assert coverage >= 0.90


def test_the_digest_names_what_is_unlike_the_rest(garden: Community) -> None:
    quiet = Community(board(seed=3, offence=0.1, threads=8))
    odd = advertisements(quiet)
    assert 0 < len(odd) < 6
    summary = digest(quiet, most=len(odd))
    assert sorted(summary.unusual["post"].to_list()) == odd
    assert summary.judges == ()
    assert summary.by_rule["moderated"].to_list() == [0, len(odd)]


def test_the_digest_names_violations_and_what_no_rule_covers(garden: Community) -> None:
    summary = digest(garden, judge_posts(garden, scripted_judge()))
    assert summary.by_rule["broken"].to_list() == [0, len(advertisements(garden))]
    assert summary.uncovered.height == 0
    lax = Community(board(seed=1, offence=0.8, design=LAX))
    uncovered = digest(lax, judge_posts(lax, scripted_judge())).uncovered
    assert uncovered["post"].to_list() == advertisements(lax)
    assert uncovered["flags"][0] == "off topic, spam"


def test_distance_is_nothing_where_all_are_alike() -> None:
    assert distances(["the same"] * 3, HashingEmbedder()) == pytest.approx(0, abs=1e-6)
    assert distances([], HashingEmbedder()).size == 0
