"""Scores of single people and single items: how well each of them is predicted."""

from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.evaluation.human_answers import HumanAnswers
from populace.evaluation.predictions import Predictions
from populace.evaluation.resampling import cluster_estimate
from populace.evaluation.scores import score_cells
from populace.statistics.intervals import Estimate

Matrix = npt.NDArray[np.float64]
Unit = Literal["person", "item"]

FEWEST = 3
"""A correlation over fewer answers says nothing."""


def unit_scores(human: HumanAnswers, predictions: Predictions, by: Unit = "item") -> pl.DataFrame:
    """How well each person or each item is predicted.

    Args:
        human: The people and what they answered.
        predictions: What is predicted in their place.
        by: Whether there is a row for each `item` or for each `person`.

    Returns:
        The name, `n` answers, `accuracy`, `log_loss`, `brier`, `mae` and `correlation`. The mean absolute error is
        that of answers drawn as predicted, as a share of the scale, over ordered items. The correlation is that of the
        expected answers with the answers, each as a place on the scale from 0 to 1: of an item over people, of a person
        over items. Items with more than two options without an order have none; it is null over fewer than three
        answers, and where nothing varies.

    Example:
        >>> from populace.evaluation import EvaluationItem
        >>> item = EvaluationItem("tea", "Tea?", ("no", "yes"))
        >>> human = HumanAnswers(("a", "b", "c"), (item,), np.array([[0], [1], [1]]), np.full((3, 1), -1))
        >>> rows = np.array([[0.9, 0.1], [0.2, 0.8], [0.2, 0.8]])
        >>> unit_scores(human, Predictions("agent", (item,), (rows,))).select("item", "n", "correlation").rows()
        [('tea', 3, 1.0)]
    """
    cells = score_cells(human, predictions)
    axis = 0 if by == "item" else 1
    names = [item.id for item in human.items] if by == "item" else list(human.people)
    means = {
        "accuracy": cells.correct,
        "log_loss": cells.log_loss,
        "brier": cells.brier,
        "mae": cells.distance,
    }
    columns = {name: _means(values, axis) for name, values in means.items()}
    correlations = _correlations(*_places(human, predictions), axis)
    counts = (~np.isnan(cells.correct)).sum(axis)
    table = pl.DataFrame({by: names, "n": counts, **columns, "correlation": correlations})
    return table.with_columns(pl.selectors.float().fill_nan(None))


def mean_correlation(human: HumanAnswers, predictions: Predictions, by: Unit, *, seed: int = 0) -> Estimate | None:
    """The mean of the correlations of `unit_scores`, with an interval over people or items; None for fewer than two."""
    values = unit_scores(human, predictions, by)["correlation"].drop_nulls().to_numpy()
    if len(values) < 2:
        return None
    return cluster_estimate({"value": values[:, None]}, lambda means: means["value"], clusters="people", seed=seed)


def _means(values: Matrix, axis: int) -> Matrix:
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Matrix = np.where(known, values, 0.0).sum(axis) / known.sum(axis)
    return means


def _places(human: HumanAnswers, predictions: Predictions) -> tuple[Matrix, Matrix]:
    """The answers and the expected answers as places on their scales; NaN where either is missing or has no place."""
    truth = np.full(human.answers.shape, np.nan)
    expected = np.full(human.answers.shape, np.nan)
    for place, (item, rows) in enumerate(zip(human.items, predictions.distributions, strict=True)):
        if not item.ordered and len(item.options) != 2:
            continue
        codes = human.answers[:, place]
        known = (codes >= 0) & ~np.isnan(rows).any(1)
        scale = np.arange(len(item.options)) / max(len(item.options) - 1, 1)
        truth[known, place], expected[known, place] = scale[codes[known]], rows[known] @ scale
    return truth, expected


def _correlations(truth: Matrix, expected: Matrix, axis: int) -> Matrix:
    known = ~np.isnan(truth)
    counts = known.sum(axis)
    first, second = (
        np.where(known, values - np.expand_dims(_means(values, axis), axis), 0.0) for values in (truth, expected)
    )
    spreads = np.sqrt((first**2).sum(axis) * (second**2).sum(axis))
    usable = (counts >= FEWEST) & (spreads > 1e-12)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations: Matrix = np.where(usable, (first * second).sum(axis) / spreads, np.nan)
    return correlations
