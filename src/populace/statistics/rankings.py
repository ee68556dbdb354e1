"""Tests on ranks: whether groups differ at all, which of them do, and how far judges agree."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.base.randomness import stream
from populace.statistics.effects import adjust
from populace.statistics.values import Numbers, Values, library, named_groups


@dataclass(frozen=True)
class KruskalWallis:
    """The test of Kruskal and Wallis: whether any of several groups has higher values than another.

    Assumes values that are independent of each other. Ranks of one ranking are not, because they exclude one another,
    and rankings of the same things by several judges repeat one another: p is then too small. Use `within_blocks`.

    Attributes:
        h: The statistic, corrected for ties.
        freedom: Its degrees of freedom.
        p: Probability of a statistic as large if the groups do not differ.
        groups: How many groups there are.
        n: Values in all of them.
    """

    h: float
    freedom: int
    p: float
    groups: int
    n: int

    def table(self) -> pl.DataFrame:
        """The test as a table of one row."""
        return pl.DataFrame({"h": [self.h], "freedom": [self.freedom], "p": [self.p], "n": [self.n]})


def kruskal_wallis(groups: Mapping[str, Values]) -> KruskalWallis:
    """Whether any of several groups has higher values than another.

    Args:
        groups: The values of every group.

    Example:
        >>> test = kruskal_wallis({"a": [1, 2, 3, 4], "b": [5, 6, 7, 8]})
        >>> round(test.h, 3), round(test.p, 3)
        (5.333, 0.021)
    """
    known, _ = named_groups(dict(groups), 1, "the test of Kruskal and Wallis")
    ranks, ties = _joint_ranks(known)
    n = sum(map(len, ranks.values()))
    total = sum(float(each.sum()) ** 2 / len(each) for each in ranks.values())
    h = (12 / (n * (n + 1)) * total - 3 * (n + 1)) / (1 - ties / (n**3 - n)) if ties < n**3 - n else 0.0
    freedom = len(ranks) - 1
    p = float(library("scipy.special").gammaincc(freedom / 2, max(h, 0.0) / 2))
    return KruskalWallis(h, freedom, p, len(ranks), n)


def within_blocks(values: Numbers, *, seed: int = 0, resamples: int = 2000) -> float:
    """Whether any of several things differ, from the values that the same blocks (people, places) give to all of them.

    The p is of a permutation: in each block the values are exchanged between the things that have one. Assumes blocks
    that are independent of each other, and nothing about the values inside one, which may be means of many rankings.

    Args:
        values: A row for each block and a column for each thing; NaN where a block has no value.
        seed: Fixes the draws.
        resamples: How many draws.

    Example:
        >>> ranks = np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [1.0, 2.0, 3.0]])
        >>> within_blocks(ranks) < 0.05
        True
    """
    if values.ndim != 2 or min(values.shape) < 2:
        raise UsageError(f"a test within blocks needs two blocks and two things, and the table is {values.shape}.")
    with np.errstate(invalid="ignore"):
        centred = values - np.nanmean(values, axis=1, keepdims=True)
    rng, known = stream(seed, "statistics/within_blocks"), ~np.isnan(centred)
    counts = known.sum(axis=0)
    draws = np.tile(centred, (resamples + 1, 1, 1))
    for place, there in enumerate(known):
        rows = draws[1:, place, there]
        draws[1:, place, there] = rng.permuted(rows, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(known, draws, 0.0).sum(axis=1) / counts
    spread = np.nansum(means**2 * counts, axis=1)
    return float((spread >= spread[0] * (1 - 1e-9)).mean())


def dunn(groups: Mapping[str, Values], correction: str = "holm") -> pl.DataFrame:
    """Dunn's test of every pair of groups after a test of Kruskal and Wallis, with adjusted p values.

    Args:
        groups: The values of every group.
        correction: For the number of comparisons: `holm`, `bh` or `bonferroni`.

    Example:
        >>> dunn({"a": [1, 2, 3], "b": [4, 5, 6], "c": [1, 3, 5]})["p_adjusted"].round(3).to_list()
        [0.125, 0.497, 0.348]
    """
    known, _ = named_groups(dict(groups), 1, "Dunn's test")
    ranks, ties = _joint_ranks(known)
    n = sum(map(len, ranks.values()))
    spread = n * (n + 1) / 12 - ties / (12 * (n - 1))
    rows = []
    for a, b in itertools.combinations(ranks, 2):
        gap = float(ranks[a].mean() - ranks[b].mean())
        error = math.sqrt(spread * (1 / len(ranks[a]) + 1 / len(ranks[b])))
        z = gap / error if error else 0.0
        rows.append({"a": a, "b": b, "difference": gap, "z": z, "p": math.erfc(abs(z) / math.sqrt(2))})
    table = pl.DataFrame(rows)
    return table.with_columns(p_adjusted=pl.Series(adjust(table["p"], correction)))


def _joint_ranks(groups: Mapping[str, Numbers]) -> tuple[dict[str, Numbers], float]:
    """The rank of every value among all, and the correction for ties (the sum of t³ − t)."""
    values = pl.Series(np.concatenate(list(groups.values())))
    ends = np.cumsum([len(each) for each in groups.values()])[:-1]
    ranks = np.split(values.rank("average").to_numpy(), ends)
    counts = values.value_counts()["count"].to_numpy().astype(np.float64)
    return dict(zip(groups, ranks, strict=True)), float((counts**3 - counts).sum())


def kendall_w(ranks: Numbers) -> float:
    """Kendall's coefficient of concordance: how far judges agree in ranking the same things.

    It is 1 where all rank alike, and near 1/judges where they rank at random. It is corrected for ties.

    Args:
        ranks: The ranks, a row for each judge and a column for each thing.

    Example:
        >>> kendall_w(np.array([[1.0, 2, 3], [1, 2, 3], [2, 1, 3]])).__round__(3)
        0.778
    """
    judges, things = ranks.shape
    if judges < 2 or things < 2:
        raise UsageError(f"agreement in ranking needs two judges and two things, and there are {judges} and {things}.")
    if np.isnan(ranks).any():
        raise UsageError("a rank is missing.", "Leave out the judge, or the thing, that has none.")
    own = np.array([pl.Series(row).rank("average").to_numpy() for row in ranks])
    totals = own.sum(axis=0)
    ties = 0.0
    for row in own:
        counts = np.unique(row, return_counts=True)[1].astype(np.float64)
        ties += float((counts**3 - counts).sum())
    most = judges**2 * (things**3 - things) - judges * ties
    return float(12 * ((totals - totals.mean()) ** 2).sum() / most) if most > 0 else math.nan
