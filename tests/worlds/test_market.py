from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import WorldError
from populace.worlds.market import LogitMarket

MARKETS = st.builds(
    LogitMarket,
    sellers=st.integers(2, 5),
    cost=st.floats(0.5, 3),
    quality=st.floats(1, 5),
    spread=st.floats(0.1, 1),
)


def test_the_two_prices_of_the_published_market_are_found() -> None:
    market = LogitMarket()
    assert market.competitive == pytest.approx(1.473, abs=0.0005)
    assert market.joint == pytest.approx(1.925, abs=0.0005)


@settings(max_examples=25, deadline=None)
@given(MARKETS, st.floats(-0.3, 0.3))
def test_nobody_gains_by_leaving_the_competitive_price_alone(market: LogitMarket, change: float) -> None:
    prices = np.full((1, market.sellers), market.competitive)
    moved = prices.copy()
    moved[0, 0] += change
    assert market.profit(moved)[0, 0] <= market.profit(prices)[0, 0] + 1e-9


@settings(max_examples=25, deadline=None)
@given(MARKETS, st.floats(-0.3, 0.3))
def test_all_together_earn_most_at_the_joint_price(market: LogitMarket, change: float) -> None:
    joint = np.full((1, market.sellers), market.joint)
    assert market.profit(joint + change).sum() <= market.profit(joint).sum() + 1e-9
    assert market.joint > market.competitive > market.cost


@settings(max_examples=25, deadline=None)
@given(MARKETS, st.lists(st.floats(0.5, 6), min_size=5, max_size=5))
def test_no_price_of_a_fine_grid_beats_the_best_response(market: LogitMarket, asked: list[float]) -> None:
    prices = np.array([asked[: market.sellers]])
    best = market.best_response(prices)[0, 0]
    others = np.tile(prices, (400, 1))
    others[:, 0] = np.linspace(market.cost, market.cost + 6, 400)
    answered = prices.copy()
    answered[0, 0] = best
    assert market.profit(others)[:, 0].max() <= market.profit(answered)[0, 0] + 1e-9


@settings(max_examples=25, deadline=None)
@given(MARKETS, st.lists(st.floats(0.5, 6), min_size=5, max_size=5))
def test_buyers_are_shared_out_and_none_twice(market: LogitMarket, asked: list[float]) -> None:
    demand = market.demand(np.array([asked[: market.sellers]]))
    assert (demand > 0).all()
    assert demand.sum() <= 1 + 1e-12


def test_the_index_is_nought_at_competition_and_one_at_the_cartel() -> None:
    market = LogitMarket(sellers=3)
    assert market.index(np.array([market.competitive, market.joint])).tolist() == [0, 1]


def test_a_market_without_tastes_is_turned_away() -> None:
    with pytest.raises(WorldError, match="spread"):
        LogitMarket(spread=0)
