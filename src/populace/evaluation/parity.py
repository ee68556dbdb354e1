"""Parity: whether agents predict some groups of people worse than others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import HumanDataError, UnknownNameError
from populace.base.randomness import stream
from populace.evaluation.human_answers import HumanAnswers
from populace.evaluation.predictions import Predictions
from populace.evaluation.scores import score_cells

Matrix = npt.NDArray[np.float64]

DRAWS = 2_000
FEWEST = 5
"""A group of fewer people has no interval: drawn anew, 2 people gave intervals that held in .65 of 250 panels,
3 people in .79, and 5 people in .95."""


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


def parity(
    human: HumanAnswers, predictions: Predictions, by: str | pl.Series, *, level: float = 0.95, seed: int = 0
) -> Parity:
    """Compare how well groups of people are predicted, with intervals that hold for all groups together.

    People are drawn anew. The intervals are as wide as the largest of the standardised differences demands, so that
    with probability `level` every one of them holds its value.

    Args:
        human: The people.
        predictions: What is predicted in their place.
        by: A column of the profiles, or a series with the group of each person.
        level: The probability.
        seed: The seed of the bootstrap.

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
    value = _differences(np.ones((1, len(sums))), sums, counts, member)[0]
    size = member.sum(0)
    enough = size >= FEWEST
    draws = stream(seed, f"evaluation/parity/{column}").multinomial(len(sums), np.full(len(sums), 1 / len(sums)), DRAWS)
    drawn = _differences(draws.astype(np.float64), sums, counts, member)
    half = _half_widths(drawn, value, enough, level, len(sums))
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = (sums @ member) / (counts @ member)
        retest = (repeated[0] @ member) / (repeated[1] @ member)
    table = pl.DataFrame(
        {
            "group": names,
            "people": size.astype(np.int64),
            "accuracy": accuracy,
            "retest": retest,
            "difference": value,
            "low": np.where(enough, value - half, np.nan),
            "high": np.where(enough, value + half, np.nan),
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


def _differences(weights: Matrix, sums: Matrix, counts: Matrix, member: Matrix) -> Matrix:
    """The accuracy of each group less that of everybody else, a row for each draw."""
    ours, our_counts = (weights * sums) @ member, (weights * counts) @ member
    all_sums, all_counts = (weights @ sums)[:, None], (weights @ counts)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        difference: Matrix = ours / our_counts - (all_sums - ours) / (all_counts - our_counts)
    return difference


def _half_widths(drawn: Matrix, value: Matrix, enough: npt.NDArray[np.bool_], level: float, people: int) -> Matrix:
    """Half the widths of intervals that hold together: the quantile of the largest standardised difference."""
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.nanstd(drawn, axis=0, ddof=1)
        standard = np.abs(drawn - value)[:, enough] / spread[enough]
    standard = np.where(np.isfinite(standard), standard, 0.0)
    if not standard.shape[1]:
        return np.full(len(value), np.nan)
    quantile = float(np.quantile(standard.max(1), level))
    half: Matrix = quantile * spread * (people / max(people - 1, 1)) ** 0.5
    return half
