from __future__ import annotations

import re
import subprocess
import sys

import polars as pl
import pytest

from populace import Run, simulate
from populace.base.errors import ParameterError, UnknownNameError, UsageError
from populace.models import Request, Scripted
from populace.scenarios.axelrod import Axelrod
from populace.scenarios.axelrod.players import package
from populace.scenarios.axelrod.tournament import FIELD
from support.models import Counting

# Importing the package alone takes many seconds, so one process does it for all.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("axelrod")]

FEW = ["Tit For Tat", "Defector", "Grudger"]


def by_rule(seed: int = 1, **parameters: object) -> Run:
    return simulate(Axelrod(**parameters), decider="rule", seed=seed, keep="nothing")


def scores(people: pl.DataFrame) -> pl.DataFrame:
    """The points of every player in every repetition, in the order of the players."""
    return people.group_by("player", "repetition", maintain_order=True).agg(pl.col("score").sum())


def on(model: object = None, **parameters: object) -> Run:
    small = {"strategies": FEW, "turns": 4, **parameters}
    return simulate(Axelrod(**small), model=model or Counting(), seed=3, keep="nothing")  # type: ignore[arg-type]


def tit_for_tat(request: Request) -> dict[str, float]:
    """J at first, then whatever the other did in the last round told."""
    told = re.findall(r"the other ([JF])[;.]", request.messages[-1][1])
    move = told[-1] if told else "J"
    return {"J": float(move == "J"), "F": float(move == "F")}


@pytest.fixture(scope="module")
def theirs() -> dict[str, list[float]]:
    """The package's own tournament of the same strategies, turns and repetitions."""
    axelrod = package()
    named = {strategy.name: strategy for strategy in axelrod.all_strategies}
    tournament = axelrod.Tournament([named[name]() for name in FIELD], turns=30, repetitions=2, seed=1)
    results = tournament.play(progress_bar=False)
    return dict(zip(map(str, results.players), results.scores, strict=True))


def test_the_rule_tournament_scores_as_the_axelrod_package_does(theirs: dict[str, list[float]]) -> None:
    run = by_rule(model_players=0, turns=30, repetitions=2)
    table = scores(run.people().frame)
    ours = {name: table.filter(pl.col("player") == name)["score"].to_list() for name in FIELD}
    assert ours == theirs


def test_tit_for_tat_as_the_twin_gets_tit_for_tats_score(theirs: dict[str, list[float]]) -> None:
    others = [name for name in FIELD if name != "Tit For Tat"]
    table = scores(by_rule(strategies=others, turns=30, repetitions=2).people().frame)
    assert table.filter(pl.col("player") == "Model")["score"].to_list() == theirs["Tit For Tat"]


def test_a_scripted_model_that_plays_tit_for_tat_gets_tit_for_tats_score(theirs: dict[str, list[float]]) -> None:
    others = [name for name in FIELD if name != "Tit For Tat"]
    run = on(Scripted(tit_for_tat), strategies=others, turns=30, repetitions=2)
    table = scores(run.people().frame)
    assert table.filter(pl.col("player") == "Model")["score"].to_list() == theirs["Tit For Tat"]
    assert {name: table.filter(pl.col("player") == name)["score"].to_list() for name in others} == {
        name: theirs[name] for name in others
    }


def test_a_match_of_two_rounds_is_scored_by_hand() -> None:
    people = by_rule(model_players=0, strategies=["Tit For Tat", "Defector"], turns=2).people()
    assert dict(zip(people["player"], people["score"], strict=True)) == {"Tit For Tat": 0 + 1, "Defector": 5 + 1}


def test_dice_of_strategies_follow_the_seed() -> None:
    first, again, other = (
        by_rule(seed, strategies=["Random", "Tit For Tat"], turns=30).people()["score"].to_list() for seed in (1, 1, 2)
    )
    assert first == again != other


def test_all_matches_of_a_round_are_one_question() -> None:
    run = on(repetitions=3)
    assert run.answers(1).height == 3 * len(FEW)
    assert run.answers(1)["path"].n_unique() == 1


def test_the_last_rounds_are_told_the_oldest_first() -> None:
    run = on(Scripted(tit_for_tat), strategies=["Alternator"], recall=2)
    told = [run.prompts(step)["user"][0] for step in (1, 2, 3, 4)]
    assert "This is the first round." in told[0]
    assert "the oldest first: you J, the other J.\n" in told[1]
    assert "the oldest first: you J, the other J; you J, the other F.\n" in told[2]
    assert "the oldest first: you J, the other F; you F, the other J.\n" in told[3]


def test_without_recall_nothing_is_said_of_other_rounds() -> None:
    run = on(recall=0)
    assert run.prompts()["user"].n_unique() == 1
    assert "round." not in run.prompts()["user"][0].split("in the end.")[1].split("Which")[0]


def test_swapped_words_swap_the_answers_back() -> None:
    likes_j = Scripted(lambda request: {"J": 1.0, "F": 0.0}, spec="scripted:likes-j")
    assert set(on(likes_j).answers()["value"]) == {"cooperate"}
    assert set(on(likes_j, swap=True).answers()["value"]) == {"defect"}
    assert "If both choose F, each gets 3 points." in on(likes_j, swap=True).prompts()["user"][0]


@pytest.mark.parametrize("words", ["neutral", "shapes", "share", "named"])
@pytest.mark.parametrize("wording", ["plain", "short", "formal"])
def test_every_wording_is_complete_and_only_one_names_the_moves(words: str, wording: str) -> None:
    users = on(words=words, wording=wording, turns=2).prompts()["user"]
    assert not users.str.contains("{", literal=True).any()
    assert users.str.contains("defect").all() == (words == "named")


def test_both_orders_are_asked_where_that_is_wanted() -> None:
    assert on(order="rotate", turns=1).prompts()["arrangement"].unique().sort().to_list() == ["0 1", "1 0"]


def test_an_answer_that_cannot_be_read_repeats_the_last_move() -> None:
    run = on(Scripted(lambda request: "I would rather not say"), repetitions=5)
    moves = [run.people(step).where(model_seat=True)["move"].to_list() for step in (0, 1, 2)]
    assert moves[0] == moves[1] == moves[2]
    assert run.invalid_share == 1.0


def test_the_metrics_rank_the_model() -> None:
    always = {"strategies": ["Cooperator", "Tit For Tat"], "turns": 3}
    last = on(Scripted(lambda request: {"J": 0.0, "F": 1.0}), **always).metrics.tail(1).to_dicts()[0]
    assert last["model_cooperation"] == 0
    assert last["model_rank"] == 1
    assert last["model_score"] == pytest.approx((15 + 5 + 1 + 1) / 2 / 3)


def test_the_report_shows_the_conduct_of_tit_for_tat() -> None:
    table, how, against = Axelrod.report(by_rule(strategies=[name for name in FIELD if name != "Tit For Tat"]))
    assert table.table["score"].is_sorted(descending=True)
    assert how.table.filter(pl.col("before") != "first round")["cooperated"].to_list() == [1.0, 0.0, 1.0, 0.0]
    assert against.table.height == len(FIELD) - 1


def test_the_table_is_seen_while_it_runs() -> None:
    scenario = Axelrod(strategies=FEW, turns=2)
    simulate(scenario, decider="rule", keep="nothing")
    assert len(scenario.view()) == 4


def test_a_strategy_that_is_not_there_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'Tit For Tat'"):
        by_rule(strategies=["Tit for Tat"])


def test_a_strategy_that_reads_minds_is_turned_away() -> None:
    with pytest.raises(ParameterError, match="reads or changes the state of its opponent"):
        by_rule(strategies=["Darwin"])


def test_payoffs_that_are_no_dilemma_are_turned_away() -> None:
    with pytest.raises(ParameterError, match="not a prisoner's dilemma"):
        by_rule(reward=6.0)


def test_without_the_package_the_command_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "axelrod", None)
    with pytest.raises(UsageError, match=r"pip install 'populace\[games\]'"):
        by_rule()


def test_importing_the_scenario_does_not_import_the_package() -> None:
    code = "import sys, populace.scenarios.axelrod; sys.exit('axelrod' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
