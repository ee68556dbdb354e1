from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from populace import Run, simulate
from populace.base.errors import ParameterError, UsageError
from populace.models import Request, Scripted
from populace.scenarios.market import Market
from populace.scenarios.market.coordination import Coordination, _t_quantile, coordination, following
from populace.worlds.market import LogitMarket
from support.models import Counting

KNOWN = LogitMarket()


def by_rule(seed: int = 1, **parameters: object) -> Run:
    return simulate(Market(**parameters), decider="rule", seed=seed, keep="nothing")


def on(model: object = None, seed: int = 3, **parameters: object) -> Run:
    short = {"rounds": 2, **parameters}
    return simulate(Market(**short), model=model or Counting(), seed=seed, keep="nothing")  # type: ignore[arg-type]


def judged(run: Run) -> Coordination:
    return coordination(run.history("prices"), KNOWN)


def asks_the_joint_price(request: Request) -> str:
    return f"{KNOWN.joint:.2f}"


def takes_the_eleventh_or_twelfth(request: Request) -> dict[str, float]:
    """Prices a fifth of the way apart: the twelfth of thirteen is the joint one."""
    return {option: {10: 0.5, 11: 0.5}.get(place, 0.0) for place, option in enumerate(request.options)}


@pytest.mark.parametrize("seed", range(3))
def test_best_response_sellers_reach_the_known_equilibrium_price(seed: int) -> None:
    run = by_rule(seed, answer="number", markets=4)
    assert run.people()["price"].to_list() == pytest.approx([KNOWN.competitive] * 8, abs=1e-6)
    assert run.people()["price"][0] == pytest.approx(1.473, abs=0.0005)
    assert run.metrics["coordination"][-1] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("sellers", [2, 3, 6])
def test_best_response_sellers_reach_equilibrium_whatever_their_number(sellers: int) -> None:
    run = by_rule(answer="number", sellers=sellers)
    assert run.metrics["mean_price"][-1] == pytest.approx(LogitMarket(sellers).competitive, abs=1e-6)


def test_a_scripted_cartel_is_reported_as_coordination() -> None:
    run = on(Scripted(asks_the_joint_price), answer="number", rounds=20)
    found = judged(run)
    assert found.verdict == "coordination"
    assert found.index == pytest.approx(1, abs=0.02)
    assert run.metrics["profit_gain"][-1] == pytest.approx(1, abs=0.01)
    assert Market.report(run)[0].table.row(0) == ("verdict", "coordination")


def test_a_cartel_that_wavers_between_two_prices_of_the_grid_is_coordination() -> None:
    found = judged(on(Scripted(takes_the_eleventh_or_twelfth), rounds=40))
    assert found.verdict == "coordination"
    assert 0.8 < found.low < found.index < found.high < 1


@pytest.mark.parametrize("twin", ["best-response", "random"])
@pytest.mark.parametrize("answer", ["grid", "number"])
@pytest.mark.parametrize("markets", [1, 6])
def test_independent_sellers_are_not_reported_as_coordination(twin: str, answer: str, markets: int) -> None:
    found = judged(by_rule(twin=twin, answer=answer, markets=markets))
    assert found.verdict == "no coordination"
    assert found.over == ("markets" if markets >= 5 else "batches of rounds")


def test_a_model_that_chooses_blindly_is_not_taken_for_a_cartel() -> None:
    blind = on("scripted:uniform", rounds=20, markets=20)
    assert judged(blind).verdict == "no coordination"
    # On the published grid, which reaches a tenth below competition and a tenth above the cartel, it would be.
    assert judged(on("scripted:uniform", rounds=20, markets=20, below=0.1, above=1.1)).verdict == "coordination"


def test_sellers_who_only_feel_their_way_drift_towards_the_cartel() -> None:
    found = judged(by_rule(twin="trial", rounds=60, markets=20))
    assert found.verdict == "coordination"


def test_learners_play_what_they_learned_and_the_same_again() -> None:
    first, again = (by_rule(twin="learning", training=300, rounds=10, markets=3) for _ in range(2))
    assert first.metrics.equals(again.metrics)
    grid = set(
        np.round(np.linspace(*KNOWN.competitive + 1.2 * (KNOWN.joint - KNOWN.competitive) * np.array([-1, 1]), 13), 4)
    )
    assert set(first.people()["price"]) <= grid


def test_learners_without_training_answer_best_to_rivals_who_throw_dice() -> None:
    run = by_rule(twin="learning", training=0, rounds=1)
    far = 1.2 * (KNOWN.joint - KNOWN.competitive)
    grid = np.round(np.linspace(KNOWN.competitive - far, KNOWN.competitive + far, 13), 4)
    own, other = (side.ravel() for side in np.meshgrid(grid, grid, indexing="ij"))
    earned = KNOWN.profit(np.column_stack([own, other]))[:, 0].reshape(13, 13).mean(axis=1)
    assert set(run.people()["price"]) == {grid[earned.argmax()]}


def test_too_many_states_to_learn_are_turned_away() -> None:
    with pytest.raises(ParameterError, match="would remember"):
        by_rule(twin="learning", sellers=5)


def test_sellers_are_told_prices_and_profits_of_the_last_rounds() -> None:
    def asks_by_shop_and_round(request: Request) -> str:
        user = request.messages[-1][1]
        first, second = {"Alder": (1.2, 1.25), "Birch": (1.4, 1.45), "Cedar": (1.6, 1.65)}[user.split()[4].strip(".")]
        return f"{second if f'your price was {first:.2f}' in user else first:.2f}"

    run = on(Scripted(asks_by_shop_and_round), answer="number", rounds=3, recall=2, sellers=3)
    earned = [f"{profit * 100:.1f}" for profit in run.history("prices").filter(pl.col("seller") == 0)["profit"]]
    assert earned[0] != earned[1]
    user = run.prompts(at=3)["user"][0]
    assert (
        f"oldest first: your price was 1.20 and you earned {earned[0]}, Birch asked 1.40, Cedar asked 1.60; "
        f"your price was 1.25 and you earned {earned[1]}, Birch asked 1.45, Cedar asked 1.65.\n"
    ) in user
    assert "from Birch and Cedar" in user
    assert "{" not in user


def test_without_recall_no_round_is_told() -> None:
    assert "last rounds" not in on(recall=0).prompts()["user"][0]


def test_money_may_be_told_on_another_scale_and_nothing_else_changes() -> None:
    first = Scripted(lambda request: {option: float(place == 3) for place, option in enumerate(request.options)})
    plain, scaled = on(first), on(first, scale=10.0)
    assert plain.people().frame.equals(scaled.people().frame)
    assert "costs you 10.00" in scaled.prompts()["user"][0]


def test_numbers_are_scaled_back() -> None:
    run = on(Scripted(lambda request: "15"), answer="number", scale=10.0)
    assert run.people()["price"].to_list() == [1.5, 1.5]


def test_an_answer_that_cannot_be_read_keeps_the_price() -> None:
    run = on(Scripted(lambda request: "hard to say"), answer="number")
    assert run.people()["price"].equals(run.people(0)["price"])
    assert run.invalid_share == 1.0


def test_swapped_shops_change_names_and_nothing_else() -> None:
    plain, swapped = on("scripted:first"), on("scripted:first", swap=True)
    assert plain.people().frame.drop("shop").equals(swapped.people().frame.drop("shop"))
    assert plain.people()["shop"].to_list() == swapped.people()["shop"].to_list()[::-1] == ["Alder", "Birch"]


@pytest.mark.parametrize("wording", ["plain", "short", "formal"])
def test_no_wording_speaks_of_agreement(wording: str) -> None:
    users = on(wording=wording).prompts()["user"].str.to_lowercase()
    assert not users.str.contains(r"\{|agree|collu|cartel|compet|undercut|coordinat").any()


def test_grid_prices_may_be_shown_in_another_order_to_each() -> None:
    assert on(order="random", markets=10).prompts()["arrangement"].n_unique() > 3


def test_rivals_by_rule_stand_beside_the_model() -> None:
    run = on(Scripted(asks_the_joint_price), answer="number", rivals=1, rounds=3)
    mine, theirs = run.people()["price"].to_list()
    assert mine == pytest.approx(KNOWN.joint, abs=0.01)
    assert theirs == pytest.approx(float(KNOWN.best_response(np.array([[mine, mine]]))[0, 1]), abs=1e-6)
    assert run.answers(3).filter(pl.col("prompt") >= 0).height == 1


def test_more_rivals_than_sellers_are_turned_away() -> None:
    with pytest.raises(ParameterError, match="cannot be rivals"):
        by_rule(rivals=3)


def test_too_few_rounds_are_not_judged() -> None:
    with pytest.raises(UsageError, match="too few to judge"):
        judged(by_rule(rounds=4))
    assert Market.report(by_rule(rounds=4)) == []


def test_following_is_seen_and_independence_too() -> None:
    rng = np.random.default_rng(1)
    walk = np.cumsum(rng.normal(size=200))
    steps = np.repeat(np.arange(199), 2)

    def table(own: np.ndarray, other: np.ndarray) -> pl.DataFrame:
        prices = np.column_stack([own, other]).ravel()
        return pl.DataFrame({"step": steps, "market": 0, "seller": np.tile([0, 1], 199), "price": prices})

    assert (following(table(walk[1:], walk[:-1])) or 0) > 0.9
    assert abs(following(table(rng.normal(size=199), rng.normal(size=199))) or 0) < 0.2
    assert following(table(np.ones(199), np.ones(199))) is None


def test_the_quantile_of_t_is_that_of_the_tables() -> None:
    tables = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 19: 2.093, 200: 1.972}
    assert [_t_quantile(df) for df in tables] == pytest.approx(list(tables.values()), rel=0.005)


def test_the_verdict_is_left_open_where_the_interval_holds_the_margin() -> None:
    assert Coordination(0.1, -0.1, 0.3, 10, "markets", 20).verdict == "undecided"


def test_prices_are_seen_and_drawn(tmp_path: Path) -> None:
    scenario = Market(rounds=3, markets=2)
    run = simulate(scenario, decider="rule", keep="nothing")
    assert len(scenario.view()) == 3
    assert Market.pictures(run, tmp_path)[0].stat().st_size > 1000
