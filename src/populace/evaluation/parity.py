"""Parity: whether agents predict some groups of people worse than others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import HumanDataError, UnknownNameError
from populace.evaluation.human_answers import HumanAnswers
from populace.evaluation.predictions import Predictions
from populace.evaluation.scores import score_cells
from populace.statistics.intervals import t_quantile, wilson
from populace.statistics.proportions import mid_p, proportions_gap
from populace.statistics.values import ROUNDING

Matrix = npt.NDArray[np.float64]

Mask = npt.NDArray[np.bool_]

FEWEST = 5
"""A group of fewer people has no interval."""


@dataclass(frozen=True)
class Parity:
    """How well the people of each group are predicted.

    Attributes:
        name: Who predicts.
        column: The column that makes the groups.
        table: A row for each group: `group`, `people`, `accuracy`, `retest` (how often they repeat their own answer),
            `difference` (accuracy less that of everybody else), and `low` and `high`, the ends of intervals that hold
            for all groups together. The ends are null for a group of fewer than five people.
        largest: The largest difference between the accuracy of two groups of at least five people.
        level: The probability with which all intervals hold together.
    """

    name: str
    column: str
    table: pl.DataFrame
    largest: float
    level: float = 0.95

    @property
    def unequal(self) -> list[str]:
        """The groups whose interval does not hold 0."""
        return self.table.filter((pl.col("low") > 0) | (pl.col("high") < 0))["group"].to_list()


def parity(human: HumanAnswers, predictions: Predictions, by: str | pl.Series, *, level: float = 0.95) -> Parity:
    """Compare how well groups of people are predicted, with intervals that hold for all groups together.

    The interval of a difference combines those of the two shares of right answers over people (MOVER), which are right
    for small groups and near 0 and 1. They are so wide that with probability `level` every one of them holds its value
    (Bonferroni).

    Args:
        human: The people.
        predictions: What is predicted in their place.
        by: A column of the profiles, or a series with the group of each person.
        level: The probability.

    Raises:
        HumanDataError: If there are fewer than two groups.
    """
    groups = _groups(human, by)
    column = by if isinstance(by, str) else by.name or "group"
    names = sorted(set(groups.drop_nulls().to_list()))
    if len(names) < 2:
        raise HumanDataError(f"the column {column!r} makes {len(names)} group.", "Parity compares two or more.")
    correct = score_cells(human, predictions).correct
    known = ~np.isnan(correct)
    sums, counts = np.where(known, correct, 0.0).sum(1), known.sum(1).astype(np.float64)
    again = (human.retest >= 0) & (human.answers >= 0)
    repeated = ((human.answers == human.retest) & again).sum(1), again.sum(1)
    member = np.stack([(groups == name).fill_null(False).to_numpy() for name in names], axis=1).astype(np.float64)
    member *= (counts > 0)[:, None]
    size = member.sum(0)
    enough = (size >= FEWEST) & (size.sum() - size >= FEWEST)
    # Two groups have one difference, seen from both sides.
    comparisons = max(1, len(names) if len(names) > 2 else 1)
    counted = counts > 0
    ends = np.array(
        [
            _difference(sums[counted], counts[counted], mine[counted] > 0, 1 - (1 - level) / comparisons)
            for mine in member.T
        ]
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = (sums @ member) / (counts @ member)
        retest = (repeated[0] @ member) / (repeated[1] @ member)
    table = pl.DataFrame(
        {
            "group": names,
            "people": size.astype(np.int64),
            "accuracy": accuracy,
            "retest": retest,
            "difference": ends[:, 0],
            "low": np.where(enough, ends[:, 1], np.nan),
            "high": np.where(enough, ends[:, 2], np.nan),
        }
    ).with_columns(pl.selectors.float().fill_nan(None))
    compared = accuracy[enough & np.isfinite(accuracy)]
    largest = float(compared.max() - compared.min()) if len(compared) > 1 else float("nan")
    return Parity(predictions.name, column, table, largest, level)


def _groups(human: HumanAnswers, by: str | pl.Series) -> pl.Series:
    if isinstance(by, str):
        if by not in human.profiles.columns:
            raise UnknownNameError("column of the profiles", by, human.profiles.columns)
        return human.profiles[by].cast(pl.String)
    if by.len() != len(human.people):
        raise HumanDataError(f"{by.len()} groups are given for {len(human.people)} people.")
    return by.cast(pl.String)


def _difference(sums: Matrix, counts: Matrix, member: Mask, level: float) -> tuple[float, float, float]:
    """The accuracy of a group less that of everybody else, with its interval (MOVER)."""
    (ours, *our_ends), (rest, *other_ends) = (_share(sums[who], counts[who], level) for who in (member, ~member))
    low, high = proportions_gap((our_ends[0], our_ends[1]), (ours, rest), (other_ends[0], other_ends[1]))
    return ours - rest, low, high


def _share(sums: Matrix, counts: Matrix, level: float) -> tuple[float, float, float]:
    """The share of right answers with its interval over people.

    It is Wilson's with as many trials as would give the share its spread between people; where nothing varies, the
    exact one with people as trials.
    """
    people, total = len(sums), float(counts.sum())
    if people < 2 or total <= 0:
        return float(sums.sum() / total) if total > 0 else math.nan, math.nan, math.nan
    share = float(sums.sum()) / total
    variance = people / (people - 1) * float(((sums - share * counts) ** 2).sum()) / total**2
    if variance <= ROUNDING**2:
        return share, *mid_p(min(1.0, max(0.0, share)), people, level)
    return share, *wilson(share, share * (1 - share) / variance, z=t_quantile(level, people - 1))
