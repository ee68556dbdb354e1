"""A market of differentiated goods with logit demand, after Calvano, Calzolari, Denicolò and Pastorello 2020.

Buyers choose the good that suits them best, or buy nothing; a more expensive good loses some of them to the other
sellers and some altogether. Two prices are known: the competitive one, from which no seller gains by deviating
alone, and the joint one, at which all sellers together earn most.
"""

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from populace.base.errors import WorldError

Floats = npt.NDArray[np.float64]

_STEPS = 60


@dataclass(frozen=True)
class LogitMarket:
    """A market of sellers with the same cost and quality.

    Prices and profits are arrays with a row for each market and a column for each seller.

    Attributes:
        sellers: The number of sellers.
        cost: The cost of one unit.
        quality: The mean value of a good to buyers.
        outside: The value of buying nothing.
        spread: How much tastes differ; the smaller, the stronger the competition.

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
            raise WorldError(
                f"a market of {self.sellers} sellers with a spread of {self.spread} cannot exist.",
                "Give 1 seller or more, and a spread above 0.",
            )

    def demand(self, prices: Floats) -> Floats:
        """The share of buyers of each seller."""
        pull = (self.quality - prices) / self.spread
        stay = self.outside / self.spread
        top = np.maximum(pull.max(axis=-1, keepdims=True), stay)
        weight = np.exp(pull - top)
        return np.asarray(weight / (weight.sum(axis=-1, keepdims=True) + np.exp(stay - top)))

    def profit(self, prices: Floats) -> Floats:
        """The profit of each seller in a round."""
        return np.asarray((prices - self.cost) * self.demand(prices))

    def best_response(self, prices: Floats) -> Floats:
        """The price with the most profit for each seller if the others keep their prices.

        There price - cost = spread / (1 - share); the root is found by bisection.
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
        """The price of the one-round equilibrium (Bertrand–Nash): no seller earns more by deviating alone."""
        return self._common(1 / self.sellers)

    @functools.cached_property
    def joint(self) -> float:
        """The common price at which all sellers together earn most: that of a cartel."""
        return self._common(1.0)

    def _common(self, weight: float) -> float:
        """The common price at which price - cost = spread / (1 - weight · share of all sellers), by bisection.

        With a weight of 1 / sellers each seller counts their own share only; with 1 they count that of all.
        """
        low, high = self.cost, self.cost + self.quality + 20 * self.spread
        for _ in range(_STEPS):
            middle = (low + high) / 2
            share = weight * float(self.demand(np.full((1, self.sellers), middle)).sum())
            rising = (middle - self.cost) * (1 - share) < self.spread
            low, high = (middle, high) if rising else (low, middle)
        return (low + high) / 2

    def index(self, prices: Floats) -> Floats:
        """The position of prices between the competitive (0) and the joint price (1)."""
        return np.asarray((prices - self.competitive) / (self.joint - self.competitive))
