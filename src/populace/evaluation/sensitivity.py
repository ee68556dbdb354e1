"""How far answers move when a person's group is changed, against how far the groups of people differ.

A flip names a column of the profiles and two groups. Agents answer twice in place of the same people, once with a value
of each group and all else equal. What their answers move by is compared with the difference between the two groups of
people, for every option of every item. A slope of 1 says that agents move as far as people differ; above 1 they
exaggerate the difference (a stereotype), near 0 they ignore the group.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import HumanDataError, UnknownNameError
from populace.base.randomness import stream
from populace.evaluation.arms import Arm
from populace.evaluation.human_answers import EvaluationItem, HumanAnswers
from populace.evaluation.predictions import Predictions
from populace.statistics import Estimate
from populace.statistics.intervals import t_quantile

Matrix = npt.NDArray[np.float64]

FEWEST = 10
"""A group of fewer people who answered an item says nothing about it."""
DRAWS = 1_000

_RANGE = re.compile(r"^(-?\d+(?:\.\d+)?)\s*(?:-|–|to)\s*(-?\d+(?:\.\d+)?)$")


@dataclass(frozen=True)
class PeopleGroup:
    """Some of the people, by one column of the profiles.

    Attributes:
        column: The column.
        values: The values of its members; empty where it is a range of numbers.
        bounds: The lowest and the highest number of its members; None where it has values.
    """

    column: str
    values: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None

    @property
    def stated(self) -> str:
        """The value that an agent of this group is told: the first one, or the middle of the range."""
        if self.bounds is None:
            return self.values[0]
        return f"{sum(self.bounds) / 2:.0f}"

    @property
    def label(self) -> str:
        """The group in words."""
        return " or ".join(self.values) if self.bounds is None else f"{self.bounds[0]:g} to {self.bounds[1]:g}"

    def members(self, human: HumanAnswers) -> npt.NDArray[np.bool_]:
        """Who belongs to it."""
        if self.column not in human.profiles.columns:
            raise UnknownNameError("column of the profiles", self.column, human.profiles.columns)
        column = human.profiles[self.column]
        if self.bounds is None:
            known = column.cast(pl.String).drop_nulls().unique()
            for value in self.values:
                if value not in known:
                    raise UnknownNameError(f"value of the column {self.column!r}", value, known.to_list())
            return column.cast(pl.String).is_in(list(self.values)).fill_null(False).to_numpy()
        return column.cast(pl.Float64, strict=False).is_between(*self.bounds).fill_null(False).to_numpy()


@dataclass(frozen=True)
class GroupFlip:
    """Two groups of people that differ in one column.

    Example:
        >>> flip = GroupFlip.read("party=democrat+strong democrat|republican")
        >>> flip.first.stated, flip.second.stated
        ('democrat', 'republican')
        >>> GroupFlip.read("age=18-35|60-89").second.stated
        '74'
    """

    first: PeopleGroup
    second: PeopleGroup

    @classmethod
    def read(cls, text: str) -> GroupFlip:
        """A flip as `column=value|value`; `+` joins values of one group, and `18-35` is a range of numbers."""
        column, sign, rest = text.partition("=")
        groups = [part.strip() for part in rest.split("|")]
        if not sign or not column.strip() or len(groups) != 2 or not all(groups):
            raise HumanDataError(f"{text!r} is not a flip.", "Write it as party=democrat|republican.")
        first, second = (_group(column.strip(), part) for part in groups)
        if first == second:
            raise HumanDataError(f"the two groups of the flip {text!r} are the same.")
        return cls(first, second)

    @property
    def column(self) -> str:
        """The column in which the groups differ."""
        return self.first.column

    def members(self, human: HumanAnswers) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Who belongs to each group.

        Raises:
            HumanDataError: If a group has fewer than two people.
        """
        first, second = self.first.members(human), self.second.members(human)
        for group, mine in ((self.first, first), (self.second, second)):
            if mine.sum() < 2:
                count = "one person" if mine.any() else "nobody"
                raise HumanDataError(
                    f"the group {group.label!r} of {self.column!r} has {count}.", "A group needs at least two people."
                )
        return first, second

    def arms(self, profile: Sequence[str]) -> tuple[Arm, Arm]:
        """The agents of both groups, who know the whole profile with another value in one column."""
        if self.column not in profile:
            raise UnknownNameError("column of the profiles", self.column, profile)
        first, second = (
            Arm(f"{self.column}: {group.stated}", tuple(profile), changes={self.column: group.stated})
            for group in (self.first, self.second)
        )
        return first, second


@dataclass(frozen=True)
class GroupSensitivity:
    """How far agents move between two groups, against how far the groups of people differ.

    Attributes:
        flip: The groups.
        slope: The movement of agents for each unit of difference between people; 1 is as far as people.
        correlation: Whether they move in the direction in which people differ.
        table: A row for each item and option: `item`, `option`, `human`, `human_error` and `agents`, where `human` is
            the share in the second group less that in the first.
        people: How many people are in each group.
    """

    flip: GroupFlip
    slope: Estimate
    correlation: Estimate
    table: pl.DataFrame
    people: tuple[int, int]


def group_sensitivity(
    flip: GroupFlip, human: HumanAnswers, first: Predictions, second: Predictions, *, seed: int = 0
) -> GroupSensitivity:
    """Compare what a flip does to agents with how groups of people differ.

    The slope is that of the agents' movement on the human difference through the origin, over all options of all
    items. The human differences are known with an error, which would make the slope too small; their squares are
    reduced by it. Intervals draw items anew.

    Args:
        flip: The two groups.
        human: People of both groups; best all of them, not only the held-out ones.
        first: What agents answer with a value of the first group.
        second: What the same agents answer with a value of the second group.
        seed: The seed of the bootstrap.

    Raises:
        HumanDataError: If a group has fewer than two people, or no item has ten answers of each group.
    """
    members = flip.members(human)
    rows = []
    for place, item in enumerate(human.items):
        rows += _item_rows(
            item, human.answers[:, place], members, first.distributions[place], second.distributions[place]
        )
    schema = {
        "item": pl.String,
        "option": pl.String,
        "human": pl.Float64,
        "human_error": pl.Float64,
        "agents": pl.Float64,
    }
    table = pl.DataFrame(rows, schema=schema, orient="row")
    if not table.height:
        raise HumanDataError(f"no item has {FEWEST} answers of each group of {flip.column!r} and an answer of agents.")
    return GroupSensitivity(flip, *_figures(table, seed), table, (int(members[0].sum()), int(members[1].sum())))


def _group(column: str, text: str) -> PeopleGroup:
    found = _RANGE.match(text)
    if found:
        low, high = float(found[1]), float(found[2])
        if low > high:
            raise HumanDataError(f"the range {text!r} of {column!r} is empty.")
        return PeopleGroup(column, bounds=(low, high))
    return PeopleGroup(column, tuple(part.strip() for part in text.split("+") if part.strip()))


def _item_rows(
    item: EvaluationItem,
    codes: npt.NDArray[np.int64],
    members: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]],
    first: Matrix,
    second: Matrix,
) -> list[tuple[str, str, float, float, float]]:
    answers = [codes[mine & (codes >= 0)] for mine in members]
    known = ~(np.isnan(first).any(1) | np.isnan(second).any(1))
    if min(len(each) for each in answers) < FEWEST or not known.any():
        return []
    options = len(item.options)
    shares = [np.bincount(each, minlength=options) / len(each) for each in answers]
    errors = np.sum([s * (1 - s) / (len(each) - 1) for s, each in zip(shares, answers, strict=True)], axis=0)
    moved = (second[known] - first[known]).mean(0)
    return [
        (item.id, option, float(shares[1][k] - shares[0][k]), float(np.sqrt(errors[k])), float(moved[k]))
        for k, option in enumerate(item.options)
    ]


def _figures(table: pl.DataFrame, seed: int) -> tuple[Estimate, Estimate]:
    """Slope and correlation, with intervals of a bootstrap over items."""
    names = table["item"].unique(maintain_order=True).to_list()
    place = table["item"].replace_strict({name: k for k, name in enumerate(names)}, return_dtype=pl.Int64).to_numpy()
    x, e, y = (table[name].to_numpy() for name in ("human", "human_error", "agents"))
    sums = np.stack([np.bincount(place, w, len(names)) for w in (x * y, x * x, y * y, e * e)], axis=1)
    value = _slope_and_correlation(sums.sum(0, keepdims=True))
    draws = stream(seed, "evaluation/sensitivity").multinomial(len(names), np.full(len(names), 1 / len(names)), DRAWS)
    drawn = _slope_and_correlation(draws.astype(np.float64) @ sums)
    estimates = []
    for single, many in zip(value, drawn, strict=True):
        finite = many[np.isfinite(many)]
        spread = float(finite.std(ddof=1)) if len(finite) > 1 and len(names) > 1 else float("nan")
        half = t_quantile(0.95, max(len(names) - 1, 1)) * spread * (len(names) / max(len(names) - 1, 1)) ** 0.5
        figure = float(single[0])
        estimates.append(Estimate(figure, figure - half, figure + half, len(names), 0.95, "bootstrap over items"))
    return estimates[0], estimates[1]


def _slope_and_correlation(sums: Matrix) -> tuple[Matrix, Matrix]:
    xy, xx, yy, ee = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        # The differences of an item add up to 0 over its options, so both lines go through the origin.
        slope = np.where(xx > ee, xy / (xx - ee), np.nan)
        correlation = np.where((xx > 0) & (yy > 0), xy / np.sqrt(xx * yy), np.nan)
    return slope, correlation
