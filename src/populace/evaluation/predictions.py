"""What an agent answers in place of each person: a distribution over the options of every item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import HumanDataError
from populace.evaluation.human_answers import EvaluationItem, HumanAnswers

Matrix = npt.NDArray[np.float64]

_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Predictions:
    """Distributions over the options of items, for the people of a table of human answers.

    Attributes:
        name: Who predicts, such as `demographics agent` or `majority`.
        items: The items.
        distributions: For each item a row for each person and a column for each option; NaN where there is none.

    Example:
        >>> item = EvaluationItem("trust", "Can most people be trusted?", ("yes", "no"))
        >>> Predictions("coin", (item,), (np.full((3, 2), 0.5),)).distributions[0].shape
        (3, 2)
    """

    name: str
    items: tuple[EvaluationItem, ...]
    distributions: tuple[Matrix, ...]

    def __post_init__(self) -> None:
        if len(self.items) != len(self.distributions):
            raise HumanDataError(f"{self.name}: {len(self.distributions)} distributions for {len(self.items)} items.")
        for item, rows in zip(self.items, self.distributions, strict=True):
            if rows.ndim != 2 or rows.shape[1] != len(item.options):
                raise HumanDataError(
                    f"{self.name}: item {item.id!r} has {len(item.options)} options, not {rows.shape}."
                )
            known = rows[~np.isnan(rows).any(1)]
            if known.size and ((known < -_TOLERANCE).any() or (np.abs(known.sum(1) - 1) > _TOLERANCE).any()):
                raise HumanDataError(f"{self.name}: the probabilities of item {item.id!r} do not add up to 1.")

    @classmethod
    def from_answers(cls, name: str, items: Sequence[EvaluationItem], codes: npt.NDArray[np.int64]) -> Predictions:
        """Predictions that are sure of one answer each, from codes as in `HumanAnswers.answers`."""
        distributions = []
        for column, item in zip(codes.T, items, strict=True):
            rows = np.full((len(column), len(item.options)), np.nan)
            known = np.flatnonzero(column >= 0)
            rows[known] = 0.0
            rows[known, column[known]] = 1.0
            distributions.append(rows)
        return cls(name, tuple(items), tuple(distributions))

    @classmethod
    def from_table(cls, name: str, table: pl.DataFrame, human: HumanAnswers) -> Predictions:
        """Predictions from a table with the columns `person`, `item` and `probabilities` (a list over the options)."""
        places = {person: row for row, person in enumerate(human.people)}
        distributions = []
        for item in human.items:
            rows = np.full((len(human.people), len(item.options)), np.nan)
            mine = table.filter((pl.col("item") == item.id) & pl.col("person").cast(pl.String).is_in(list(places)))
            mine = mine.filter(pl.col("probabilities").is_not_null())
            if mine.height:
                who = mine["person"].cast(pl.String).replace_strict(places, return_dtype=pl.Int64).to_numpy()
                rows[who] = np.stack(mine["probabilities"].to_list())
            distributions.append(rows)
        return cls(name, human.items, tuple(distributions))

    @classmethod
    def majority(cls, others: HumanAnswers, people: int) -> Predictions:
        """The floor: everybody is given the answers of other people, in the shares in which these gave them."""
        rows = [np.tile(shares, (people, 1)) for shares in others.shares()]
        return cls("majority", others.items, tuple(rows))

    def tempered(self, temperature: float) -> Predictions:
        """The predictions with probabilities raised to 1 / temperature and scaled again."""
        if not temperature > 0:
            raise HumanDataError(f"a temperature of {temperature} cannot be used.", "It must be above 0.")
        rows = []
        for each in self.distributions:
            with np.errstate(divide="ignore"):
                logs = np.log(each) / temperature
            weights = np.exp(logs - np.nanmax(logs, axis=1, keepdims=True, initial=-np.inf))
            rows.append(weights / weights.sum(1, keepdims=True))
        return Predictions(self.name, self.items, tuple(rows))
