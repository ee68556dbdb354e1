"""Coordination: whether the prices of a run lie above those of competition."""

import statistics
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UsageError
from populace.worlds.market import LogitMarket

Verdict = Literal["coordination", "no coordination", "undecided"]

MARGIN = 0.1
"""The smallest index that counts as coordination: a tenth of the way from competition to the cartel."""
_BATCHES = 10


@dataclass(frozen=True)
class Coordination:
    """How far prices lie above competition, with an interval.

    The interval is a t interval over the means of markets where there are at least five, otherwise over batches of
    successive rounds, which assumes that batches are long enough to be nearly independent. It says how high prices
    are, not why: a seller who does not understand the market can be as expensive as a cartel.

    Attributes:
        index: The mean index, 0 for the competitive and 1 for the joint price.
        low: The lower end of the 95 % interval.
        high: The upper end.
        units: The number of markets or batches that the interval rests on.
        over: What the units are.
        rounds: The number of rounds that were used: the second half of the run.
    """

    index: float
    low: float
    high: float
    units: int
    over: Literal["markets", "batches of rounds"]
    rounds: int

    @property
    def verdict(self) -> Verdict:
        """Coordination if the whole interval lies above the margin, no coordination if it lies below."""
        if self.low > MARGIN:
            return "coordination"
        return "no coordination" if self.high < MARGIN else "undecided"


def coordination(prices: pl.DataFrame, market: LogitMarket) -> Coordination:
    """The coordination in the second half of a run.

    Args:
        prices: A table of `step`, `market` and `price`, as `run.history("prices")` gives it.
        market: The market, with its two known prices.
    """
    last = prices["step"].max()
    late = prices.filter(pl.col("step") * 2 > last)
    rounds = late["step"].n_unique()
    if rounds < 4:
        raise UsageError(f"{rounds} rounds are too few to judge.", "Let the market run for at least 8 rounds.")
    table = late.group_by("market", "step").agg(pl.col("price").mean()).sort("market", "step")
    index = market.index(table["price"].to_numpy().reshape(-1, rounds))
    if len(index) >= 5:
        return _interval(index.mean(axis=1), "markets", rounds)
    batches = np.array_split(index, min(_BATCHES, rounds // 2), axis=1)
    return _interval(np.concatenate([batch.mean(axis=1) for batch in batches]), "batches of rounds", rounds)


def _interval(
    units: npt.NDArray[np.float64], over: Literal["markets", "batches of rounds"], rounds: int
) -> Coordination:
    mean = float(units.mean())
    reach = _t_quantile(len(units) - 1) * float(units.std(ddof=1)) / len(units) ** 0.5
    return Coordination(mean, mean - reach, mean + reach, len(units), over, rounds)


def _t_quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's t; to 3 degrees of freedom by table, above by the expansion in their number."""
    # populace.statistics takes it from scipy, an extra that the report of a run must not need.
    if freedom <= 3:
        return {1: 12.706, 2: 4.303, 3: 3.182}[freedom]
    z = statistics.NormalDist().inv_cdf(0.975)
    terms = ((z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return z + sum(term / float(freedom) ** (power + 1) for power, term in enumerate(terms))


def following(prices: pl.DataFrame) -> float | None:
    """The correlation of a seller's price with the others' mean price one round before, about the seller's own mean.

    Near 1 where sellers follow each other, up or down; None where prices do not move.
    """
    table = prices.sort("market", "seller", "step").with_columns(
        others=(pl.col("price").sum().over("market", "step") - pl.col("price")) / (pl.len().over("market", "step") - 1)
    )
    table = table.with_columns(before=pl.col("others").shift(1).over("market", "seller")).drop_nulls("before")
    centred = table.select(
        (pl.col(name) - pl.col(name).mean().over("market", "seller")).alias(name) for name in ("price", "before")
    )
    own, before = centred["price"].to_numpy(), centred["before"].to_numpy()
    if own.std() < 1e-9 or before.std() < 1e-9:
        return None
    return float(np.corrcoef(own, before)[0, 1])
