"""Sellers without a model: they answer best, feel their way, learn, throw dice, or form a cartel."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from populace.base.errors import ParameterError
from populace.worlds.market import LogitMarket

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Twin = Literal["best-response", "trial", "learning", "random", "cartel"]

LEARNS, DISCOUNT, LEFT_OVER = 0.15, 0.95, 1e-3
"""How fast a learner learns, what a later round is worth, and the chance to explore when training ends."""
_STATES = 5000


class Trial:
    """Sellers who go on in the direction in which profit did not fall, and turn where it fell.

    After Huck, Normann and Oechssler 2004, who show that such sellers, knowing nothing, drift from
    competition towards what is best for all of them together.

    Args:
        prices: The prices to begin with.
        grid: Prices that may be asked; a price moves by one of them in a round, and turns at the ends.
        rng: Chooses the first directions.
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
    """Q-learners who remember one round, as in Calvano and others 2020, trained against each other beforehand.

    Args:
        market: Where they sell.
        grid: The prices they may set.
        count: How many markets there are; each has learners of its own.
        training: How many rounds they train.
        rng: Of their exploring.
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
        self.earned = market.profit(grid[joint])
        first = [[self.earned[joint[:, s] == a, s].mean() for a in range(points)] for s in range(sellers)]
        q = np.array(first)[None, :, None, :] / (1 - DISCOUNT)
        self.q: Floats = np.tile(q, (count, 1, points**sellers, 1))
        self._train(training, rng)

    def _train(self, rounds: int, rng: np.random.Generator) -> None:
        count, sellers, states, points = self.q.shape
        m, s = np.arange(count)[:, None], np.arange(sellers)[None, :]
        state: Whole = rng.integers(states, size=(count,))
        decay = np.log(LEFT_OVER) / max(rounds, 1)
        for number in range(rounds):
            action = self.q[m, s, state[:, None]].argmax(axis=2)
            explores = rng.random((count, sellers)) < np.exp(decay * number)
            action = np.where(explores, rng.integers(points, size=(count, sellers)), action)
            after: Whole = np.asarray(action @ self.place)
            worth = self.earned[after] + DISCOUNT * self.q[m, s, after[:, None]].max(axis=2)
            self.q[m, s, state[:, None], action] += LEARNS * (worth - self.q[m, s, state[:, None], action])
            state = after

    def next(self, prices: Floats) -> Floats:
        """The prices that each thinks best after a round with these prices."""
        action = np.abs(prices[..., None] - self.grid).argmin(axis=2)
        state = (action @ self.place)[:, None]
        m, s = np.arange(self.q.shape[0])[:, None], np.arange(self.q.shape[1])[None, :]
        return np.asarray(self.grid[self.q[m, s, state].argmax(axis=2)])
