"""Scores of predicted actions: exact match, outcome, distribution of actions and length of sessions.

Every interval is a bootstrap over people, since the actions of one person resemble each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import HumanDataError
from populace.evaluation.next_action.cases import KINDS, NextActionCases, action_category, ending
from populace.evaluation.next_action.predictions import NextActionPredictions
from populace.evaluation.resampling import cell_means, cluster_estimate
from populace.statistics.intervals import Estimate, estimates_table

Matrix = npt.NDArray[np.float64]
Means = Mapping[str, Matrix]

OUTCOMES = ("purchase", "terminate")
LONGEST = 30
"""Lengths of sessions are compared up to so many actions."""


@dataclass(frozen=True)
class NextActionScores:
    """How well the next actions of people are predicted.

    Attributes:
        name: Who predicts.
        accuracy: Exact match of action, element and text: the mean over sessions of the share in each session.
        by_action: The share of exact matches among the actions of each type that people took.
        right_type: The share of cases with the right type of action.
        outcome_f1: For the last action of sessions, the F1 score of each outcome.
        macro_f1: Their mean.
        type_log_loss: The mean log-loss of the type of action; None where no probabilities are known.
        distance: The total variation distance between the categories of actions that people took and those drawn.
        length: The mean length of sessions that the predictions imply, up to `LONGEST` actions.
        human_length: The same of the people.
        cases: How many cases were scored.
        invalid: In how many of them there was no valid prediction; they count as wrong.
    """

    name: str
    accuracy: Estimate
    by_action: Mapping[str, Estimate]
    right_type: Estimate
    outcome_f1: Mapping[str, Estimate]
    macro_f1: Estimate | None
    type_log_loss: Estimate | None
    distance: Estimate
    length: Estimate
    human_length: Estimate
    cases: int
    invalid: int

    def table(self) -> pl.DataFrame:
        """A row for each figure."""
        figures: dict[str, Estimate] = {"accuracy": self.accuracy, "right type": self.right_type}
        figures |= {f"accuracy of {kind}": value for kind, value in self.by_action.items()}
        figures |= {f"F1 of {outcome}": value for outcome, value in self.outcome_f1.items()}
        more = {
            "macro F1 of outcomes": self.macro_f1,
            "log-loss of types": self.type_log_loss,
            "distance of actions": self.distance,
            "session length": self.length,
            "human session length": self.human_length,
        }
        figures |= {name: value for name, value in more.items() if value is not None}
        return estimates_table(list(figures.values()), predictions=[self.name] * len(figures), figure=list(figures))


def score_next_actions(
    cases: NextActionCases, predictions: NextActionPredictions, *, seed: int = 0
) -> NextActionScores:
    """Score predicted actions against what people did.

    Args:
        cases: The cases.
        predictions: What was predicted.
        seed: The seed of the bootstrap.
    """
    table = _joined(cases, predictions)
    people = _Sums(table["person"])

    def mean(values: pl.Series, *, share: bool = True) -> Estimate:
        return _estimate(people.of(values), _ratio, seed, share=share)

    by_action = {
        kind: mean(_only(table["right"], table["action"] == kind)) for kind in KINDS if (table["action"] == kind).any()
    }
    f1 = _outcome_scores(table, people, seed)
    known = table["log_loss"].null_count() < table.height
    return NextActionScores(
        predictions.name,
        accuracy=_session_mean(table, "right", seed),
        by_action=by_action,
        right_type=mean(table["right_type"]),
        outcome_f1={name: value for name, value in f1.items() if name in OUTCOMES},
        macro_f1=f1.get("macro"),
        type_log_loss=mean(table["log_loss"], share=False) if known else None,
        distance=_distribution_distance(table, people, seed),
        length=_length(table, people, "drawn_ends", seed),
        human_length=_length(table, people, "ends", seed),
        cases=table.height,
        invalid=predictions.invalid,
    )


def accuracy_difference(
    cases: NextActionCases, first: NextActionPredictions, second: NextActionPredictions, *, seed: int = 0
) -> Estimate:
    """How much more of the actions the first predicts exactly than the second, over the same sessions.

    The difference is of the means over sessions of the share in each session; its interval is over people.
    """
    right = [_joined(cases, each).select("person", "session", "right") for each in (first, second)]
    both = right[0].with_columns(other=right[1]["right"])
    sessions = both.group_by("person", "session", maintain_order=True).agg(pl.col("right", "other").mean())
    people = _Sums(sessions["person"])
    cells = people.of(sessions["right"], "first") | people.of(sessions["other"], "second")
    return _estimate(cells, lambda means: _ratio(means, "first") - _ratio(means, "second"), seed)


def category_shares(cases: NextActionCases, *predictions: NextActionPredictions) -> pl.DataFrame:
    """The share of each category of action: of the people, and of what each predictor draws."""
    columns = {"people": action_category(cases.table)}
    columns |= {each.name: action_category(_joined(cases, each), "drawn_") for each in predictions}
    names = sorted({name for column in columns.values() for name in column.unique().to_list()})
    counts = {name: dict(column.value_counts().iter_rows()) for name, column in columns.items()}
    shares = {name: [counts[name].get(each, 0) / len(cases) for each in names] for name in columns}
    return pl.DataFrame({"category": names, **shares}).sort("people", descending=True)


def _joined(cases: NextActionCases, predictions: NextActionPredictions) -> pl.DataFrame:
    """The cases with what was predicted, and whether it is right."""
    mine = predictions.table
    if not mine["case"].equals(cases.table["case"]):
        raise HumanDataError(f"{predictions.name} predicts other cases than these.")
    names = ("action", "element", "text")
    drawn = [mine[f"drawn_{name}"] for name in ("action", "element")]
    chances = [mine[name].alias(name) if name in mine.columns else pl.Series(name, [None] * mine.height, pl.Float64)
               for name in (f"p_{kind}" for kind in KINDS)]  # fmt: skip
    table = cases.table.with_columns(*(mine[name].alias(f"predicted_{name}") for name in names), *drawn, *chances)
    same = [pl.col("predicted_action") == pl.col("action"), pl.col("predicted_element").eq_missing(pl.col("element"))]
    same.append(_plain("predicted_text").eq_missing(_plain("text")))
    of_truth = pl.coalesce(pl.when(pl.col("action") == kind).then(pl.col(f"p_{kind}")) for kind in KINDS)
    return table.with_columns(
        right=pl.all_horizontal(same).fill_null(False).cast(pl.Float64),
        right_type=same[0].fill_null(False).cast(pl.Float64),
        log_loss=-of_truth.clip(lower_bound=1e-4).log(),
        ends=ending(table, cases.purchase_elements),
        predicted_ends=ending(table, cases.purchase_elements, "predicted_"),
        drawn_ends=ending(table, cases.purchase_elements, "drawn_"),
    )


def _plain(name: str) -> pl.Expr:
    """A text as it is compared: without case, and with single spaces."""
    return pl.col(name).str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()


class _Sums:
    """Sums over the rows of each person: all that a bootstrap over people needs."""

    def __init__(self, people: pl.Series) -> None:
        self._person = (people.rank("dense") - 1).cast(pl.Int64).to_numpy()
        self._count = int(self._person.max()) + 1

    def of(self, values: pl.Series, name: str = "value") -> dict[str, Matrix]:
        """The sum of the values that are there, and under `… n` their number, a row for each person."""
        numbers = values.cast(pl.Float64).fill_null(np.nan).to_numpy()
        known = ~np.isnan(numbers)
        sums = np.bincount(self._person[known], numbers[known], minlength=self._count).astype(np.float64)
        counts = np.bincount(self._person[known], minlength=self._count).astype(np.float64)
        # Who has no such value says nothing about how far others would differ.
        sums[counts == 0], counts[counts == 0] = np.nan, np.nan
        return {name: sums[:, None], f"{name} n": counts[:, None]}


def _ratio(means: Means, name: str = "value") -> Matrix:
    with np.errstate(invalid="ignore", divide="ignore"):
        share: Matrix = means[name] / means[f"{name} n"]
    return share


def _estimate(
    cells: dict[str, Matrix], statistic: Callable[[Means], Matrix], seed: int, *, share: bool = False
) -> Estimate:
    """A figure with its interval over people; without one where fewer than two people have a part in it."""
    people = int(np.any([~np.isnan(values) for values in cells.values()], axis=(0, 2)).sum())
    if people < 2:
        one = np.ones((1, len(next(iter(cells.values())))))
        value = float(statistic({name: cell_means(values, one, np.ones((1, 1))) for name, values in cells.items()})[0])
        return Estimate(value, math.nan, math.nan, people, warning="one person only, which shows no precision")
    return cluster_estimate(cells, statistic, seed=seed, share=share)


def _only(values: pl.Series, chosen: pl.Series) -> pl.Series:
    return pl.select(pl.when(chosen).then(values)).to_series()


def _session_mean(table: pl.DataFrame, column: str, seed: int) -> Estimate:
    sessions = table.group_by("person", "session", maintain_order=True).agg(pl.col(column).mean())
    return _estimate(_Sums(sessions["person"]).of(sessions[column]), _ratio, seed, share=True)


def _outcome_scores(table: pl.DataFrame, people: _Sums, seed: int) -> dict[str, Estimate]:
    """The F1 score of each outcome that occurs, over the last actions of sessions with a known outcome."""
    last = table["is_last"] & table["outcome"].is_not_null()
    if not last.any():
        return {}
    cells: dict[str, Matrix] = {}
    names = [name for name in OUTCOMES if (table["outcome"] == name).any()]
    for name in names:
        truth = table["outcome"] == name
        guess = (table["predicted_ends"] == name).fill_null(value=False)
        for part, values in {"hit": truth & guess, "extra": ~truth & guess, "missed": truth & ~guess}.items():
            cells |= people.of(_only(values.cast(pl.Float64), last), f"{name} {part}")

    def f1(name: str) -> Callable[[Means], Matrix]:
        def score(means: Means) -> Matrix:
            hit, extra, missed = (means[f"{name} {part}"] for part in ("hit", "extra", "missed"))
            with np.errstate(invalid="ignore", divide="ignore"):
                value: Matrix = np.where(2 * hit + extra + missed > 0, 2 * hit / (2 * hit + extra + missed), 0.0)
            return value

        return score

    scores = {name: _estimate(cells, f1(name), seed, share=True) for name in names}
    macro = _estimate(cells, lambda means: np.mean([f1(name)(means) for name in names], axis=0), seed, share=True)
    return scores | {"macro": macro}


def _distribution_distance(table: pl.DataFrame, people: _Sums, seed: int) -> Estimate:
    """The total variation distance between categories of actions taken and drawn."""
    truth, drawn = action_category(table), action_category(table, "drawn_")
    names = sorted({*truth.unique().to_list(), *drawn.unique().to_list()})
    cells: dict[str, Matrix] = {}
    for name in names:
        cells |= people.of((truth == name).cast(pl.Float64), f"people {name}")
        cells |= people.of((drawn == name).cast(pl.Float64), f"drawn {name}")

    def distance(means: Means) -> Matrix:
        gaps = [np.abs(_ratio(means, f"people {name}") - _ratio(means, f"drawn {name}")) for name in names]
        half: Matrix = np.sum(gaps, axis=0) / 2
        return half

    return _estimate(cells, distance, seed, share=True)


def _length(table: pl.DataFrame, people: _Sums, column: str, seed: int) -> Estimate:
    """The mean length of sessions if at each step they end as often as in a column, up to `LONGEST` actions."""
    steps = [step for step in sorted(table["step"].unique().to_list()) if step <= LONGEST]
    ends = table[column].is_not_null().cast(pl.Float64)
    cells: dict[str, Matrix] = {}
    for step in steps:
        cells |= people.of(_only(ends, table["step"] == step), str(step))

    def length(means: Means) -> Matrix:
        going = np.ones_like(next(iter(means.values())))
        total = np.full_like(going, steps[0] - 1.0)
        for step in steps:
            total = total + going
            going = going * (1 - np.nan_to_num(_ratio(means, str(step))))
        return total

    return _estimate(cells, length, seed)
