"""A market of sellers whose goods differ, with logit demand, after Calvano, Calzolari, Denicolò and Pastorello 2020.

Buyers choose the good that suits them best or nothing at all; a dearer good loses some of them to
the others and some altogether. Both the price at which nobody gains by changing alone and the
price at which all together earn most are known.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from populace.base.errors import WorldError

Floats = npt.NDArray[np.float64]

_STEPS = 60


@dataclass(frozen=True)
class LogitMarket:
    """Sellers alike in cost and quality.

    Prices and profits are arrays with a row for each market and a column for each seller.

    Attributes:
        sellers: How many sell.
        cost: What one unit costs to make.
        quality: What a good is worth to buyers, on average.
        outside: What it is worth to buy nothing.
        spread: How much tastes differ; the smaller, the fiercer the competition.

    Example:
        >>> market = LogitMarket()
        >>> round(market.competitive, 3), round(market.joint, 3)
        (1.473, 1.925)
    """

    sellers: int = 2
    cost: float = 1.0
    quality: float = 2.0
    outside: float = 0.0
    spread: float = 0.25

    def __post_init__(self) -> None:
        if self.sellers < 1 or self.spread <= 0:
            raise WorldError(f"a market of {self.sellers} sellers with a spread of {self.spread} is none.")

    def demand(self, prices: Floats) -> Floats:
        """The share of buyers of each seller."""
        pull = (self.quality - prices) / self.spread
        stay = self.outside / self.spread
        top = np.maximum(pull.max(axis=-1, keepdims=True), stay)
        drawn = np.exp(pull - top)
        return np.asarray(drawn / (drawn.sum(axis=-1, keepdims=True) + np.exp(stay - top)))

    def profit(self, prices: Floats) -> Floats:
        """What each seller earns in a round."""
        return np.asarray((prices - self.cost) * self.demand(prices))

    def best_response(self, prices: Floats) -> Floats:
        """The price that would earn each seller most, were the others to stay where they are.

        At it, price less cost is spread / (1 - share); the root is found by halving.
        """
        pull = np.exp((self.quality - prices) / self.spread)
        others = pull.sum(axis=-1, keepdims=True) - pull + np.exp(self.outside / self.spread)
        low, high = np.full_like(prices, self.cost), np.full_like(prices, self.cost + self.quality + 20 * self.spread)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            own = np.exp((self.quality - middle) / self.spread)
            cheap = middle - self.cost < self.spread * (1 + own / others)
            low, high = np.where(cheap, middle, low), np.where(cheap, high, middle)
        return np.asarray((low + high) / 2)

    @functools.cached_property
    def competitive(self) -> float:
        """The price of the one-round equilibrium (Bertrand–Nash): nobody earns more by changing alone."""
        return self._common(1 / self.sellers)

    @functools.cached_property
    def joint(self) -> float:
        """The common price at which all sellers together earn most: that of a cartel."""
        return self._common(1.0)

    def _common(self, weighed: float) -> float:
        """The common price at which price less cost is spread / (1 - share), by halving.

        The share is that of one seller where each thinks of themselves, of all where they think together.
        """
        low, high = self.cost, self.cost + self.quality + 20 * self.spread
        for _ in range(_STEPS):
            middle = (low + high) / 2
            share = weighed * float(self.demand(np.full((1, self.sellers), middle)).sum())
            rising = (middle - self.cost) * (1 - share) < self.spread
            low, high = (middle, high) if rising else (low, middle)
        return (low + high) / 2

    def index(self, prices: Floats) -> Floats:
        """Where prices lie between the competitive (0) and the joint one (1)."""
        return np.asarray((prices - self.competitive) / (self.joint - self.competitive))
