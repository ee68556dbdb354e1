"""Sellers by rule: best response, trial and error, learning, random, or a cartel."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from populace.base.errors import ParameterError
from populace.worlds.market import LogitMarket

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Twin = Literal["best-response", "trial", "learning", "random", "cartel"]

LEARNS, DISCOUNT, LEFT_OVER = 0.15, 0.95, 1e-3
"""The learning rate, the discount of a later round, and the chance to explore when training ends."""
_STATES = 5000


class Trial:
    """Sellers by trial and error: they go on in a direction while profit does not fall, and turn where it falls.

    After Huck, Normann and Oechssler 2004, who show that such sellers, without any knowledge of the market, drift from
    competition towards the joint price.

    Args:
        prices: The prices of the first round.
        grid: The possible prices; a price moves by one step of the grid in a round, and turns at its ends.
        rng: Draws the first directions.
    """

    def __init__(self, prices: Floats, grid: Floats, rng: np.random.Generator) -> None:
        self.stride, self.low, self.high = float(grid[1] - grid[0]), float(grid[0]), float(grid[-1])
        self.direction = np.where(rng.random(prices.shape) < 0.5, -1.0, 1.0)
        self.last: Floats | None = None

    def next(self, prices: Floats, profit: Floats) -> Floats:
        """The next prices, after a round with these prices and profits."""
        if self.last is not None:
            self.direction = np.where(profit < self.last, -self.direction, self.direction)
        self.last = profit
        ahead = prices + self.stride * self.direction
        beyond = (ahead < self.low - self.stride / 2) | (ahead > self.high + self.stride / 2)
        self.direction = np.where(beyond, -self.direction, self.direction)
        return np.asarray(prices + self.stride * self.direction)


class Learners:
    """Q-learners who remember one round, after Calvano and others 2020, trained against each other before the run.

    Args:
        market: The market.
        grid: The possible prices.
        count: The number of markets; each has learners of its own.
        training: The number of rounds of training.
        rng: Draws the exploration.
    """

    def __init__(self, market: LogitMarket, grid: Floats, count: int, training: int, rng: np.random.Generator) -> None:
        sellers, points = market.sellers, len(grid)
        if points**sellers > _STATES:
            raise ParameterError(
                f"market: {sellers} learning sellers with {points} prices would remember {points**sellers:,} states.",
                f"Take fewer points or sellers, so that there are at most {_STATES:,}.",
            )
        self.grid = grid
        self.place = points ** np.arange(sellers)
        joint = np.array(np.unravel_index(np.arange(points**sellers), (points,) * sellers, order="F")).T
        self.profits = market.profit(grid[joint])
        first = [[self.profits[joint[:, s] == a, s].mean() for a in range(points)] for s in range(sellers)]
        q = np.array(first)[None, :, None, :] / (1 - DISCOUNT)
        self.q: Floats = np.tile(q, (count, 1, points**sellers, 1))
        self._train(training, rng)

    def _train(self, rounds: int, rng: np.random.Generator) -> None:
        count, sellers, states, points = self.q.shape
        m, s = np.arange(count)[:, None], np.arange(sellers)[None, :]
        state: Ints = rng.integers(states, size=(count,))
        decay = np.log(LEFT_OVER) / max(rounds, 1)
        for number in range(rounds):
            action = self.q[m, s, state[:, None]].argmax(axis=2)
            explores = rng.random((count, sellers)) < np.exp(decay * number)
            action = np.where(explores, rng.integers(points, size=(count, sellers)), action)
            after: Ints = np.asarray(action @ self.place)
            worth = self.profits[after] + DISCOUNT * self.q[m, s, after[:, None]].max(axis=2)
            self.q[m, s, state[:, None], action] += LEARNS * (worth - self.q[m, s, state[:, None], action])
            state = after

    def next(self, prices: Floats) -> Floats:
        """The prices with the highest value to each after a round with these prices."""
        action = np.abs(prices[..., None] - self.grid).argmin(axis=2)
        state = (action @ self.place)[:, None]
        m, s = np.arange(self.q.shape[0])[:, None], np.arange(self.q.shape[1])[None, :]
        return np.asarray(self.grid[self.q[m, s, state].argmax(axis=2)])
