"""Means and logistic regressions of answers that share people and items: errors clustered by both.

The answers are an array with a row for each person, a column for each item, and along the third axis whatever is
compared: levels, conditions. Answers of one person are alike, and so are answers about one item. Other people and other
items would have given another result, and the intervals allow for both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from populace.base.errors import UsageError
from populace.statistics.intervals import Estimate, t_quantile, t_tail
from populace.statistics.values import check_level, library

Array = npt.NDArray[np.float64]

_ROUNDS = 50
_STEEP = 40.0
"""A difference of log-odds beyond this means that the outcome is separated."""
_FEW = 10
_NOTHING = 1e-12
_LEAST = 0.6
"""By simulation: a higher bound makes tests too cautious, a lower one lets chance make intervals too short."""


@dataclass(frozen=True)
class CrossedFit:
    """Estimates with errors that are clustered by rows (people) and by columns (items).

    The variance of a contrast is the variance between rows plus that between columns minus that between cells (Cameron,
    Gelbach and Miller 2011), each with its factor for few clusters; chance can make it too small, so it is at least 0.6
    of the larger of the first two. Its degrees of freedom are Satterthwaite's, and at least the smaller number of
    clusters minus one. A dimension with one entry is not clustered by: nothing is then said about
    other people, or other items.

    Attributes:
        values: The estimates.
        by_row: Their covariance from sums over each row.
        by_column: Their covariance from sums over each column.
        by_cell: Their covariance from cells.
        rows: The number of rows.
        columns: The number of columns.
        n: The number of answers.
        missing: The number of answers that are missing.
        warning: Why intervals may be wrong; empty where nothing was found.
    """

    values: Array
    by_row: Array
    by_column: Array
    by_cell: Array
    rows: int
    columns: int
    n: int
    missing: int = 0
    warning: str = ""

    def error(self, weights: Array) -> tuple[float, float]:
        """The standard error of a weighted sum of the estimates, and its degrees of freedom."""
        row, column, cell = (float(weights @ part @ weights) for part in (self.by_row, self.by_column, self.by_cell))
        if max(row, column) < _NOTHING**2:  # Rounding alone: nothing varies.
            return 0.0, max(self.rows, self.columns) - 1
        if self.rows < 2 or self.columns < 2:
            variance, freedom = (row, self.rows - 1) if self.columns < 2 else (column, self.columns - 1)
            return math.sqrt(max(variance, 0.0)), max(freedom, 0)
        variance = max(row + column - cell, _LEAST * max(row, column))
        noise = row**2 / (self.rows - 1) + column**2 / (self.columns - 1)
        return math.sqrt(variance), max(variance**2 / noise, min(self.rows, self.columns) - 1)

    def estimate(self, weights: Array, level: float = 0.95) -> Estimate:
        """A weighted sum of the estimates with its interval.

        There is none where nothing varies, because zero variance is no precision.
        """
        check_level(level)
        value = float(weights @ self.values)
        error, freedom = self.error(weights)
        method = "clustered by person and item" if min(self.rows, self.columns) > 1 else "clustered by person"
        method = "clustered by item" if self.rows < 2 <= self.columns else method
        if not error > 0 or freedom <= 0:
            return Estimate(value, math.nan, math.nan, self.n, level, method, self.missing, self.warning)
        half = t_quantile(level, freedom) * error
        return Estimate(value, value - half, value + half, self.n, level, method, self.missing, self.warning)

    def p_value(self, weights: Array, null: float = 0.0) -> float:
        """The two-sided p of a weighted sum against a value; NaN where nothing varies."""
        error, freedom = self.error(weights)
        if not error > 0 or freedom <= 0:
            return math.nan
        return t_tail((float(weights @ self.values) - null) / error, freedom)

    def p_within(self, weights: Array, margin: float) -> float:
        """The p of two one-sided tests (TOST): small where the sum lies within ± margin; NaN where nothing varies."""
        error, freedom = self.error(weights)
        if not error > 0 or freedom <= 0:
            return math.nan
        distance = (abs(float(weights @ self.values)) - margin) / error
        return float(library("scipy.special").stdtr(freedom, distance))

    def p_beyond(self, weights: Array, margin: float) -> float:
        """The p of the test that the sum lies beyond ± margin; small where it does."""
        within = self.p_within(weights, margin)
        return within if math.isnan(within) else 1 - within


def crossed_means(y: Array) -> CrossedFit:
    """The mean of answers at each place of the third axis, over people and items.

    Args:
        y: Answers: people × items × places; NaN where one is missing.

    Example:
        >>> y = np.array([[[0.0, 1.0]], [[1.0, 1.0]], [[0.0, 0.0]], [[0.0, 1.0]]])
        >>> fit = crossed_means(y)
        >>> fit.values.tolist(), fit.rows, fit.columns
        ([0.25, 0.75], 4, 1)
    """
    present = ~np.isnan(y)
    counts = present.sum(axis=(0, 1))
    if (counts == 0).any():
        raise UsageError(
            "there is no valid answer at one of the levels.", "See how many answers were invalid, and why."
        )
    means = np.where(present, y, 0.0).sum(axis=(0, 1)) / counts
    influence = np.where(present, y - means, 0.0) / counts
    return _fit(means, influence, present)


def crossed_logit(y: Array, design: Array) -> CrossedFit:
    """A logistic regression of shares or of 0 and 1, with errors clustered by people and by items.

    The estimates are those of a pooled regression (quasi-likelihood): what holds on average over people and items.

    Args:
        y: Answers from 0 to 1: people × items × places; NaN where one is missing.
        design: The terms: places × terms, or people × items × places × terms.

    Example:
        >>> x = np.array([0.0, 1.0, 2.0])
        >>> y = np.array([[[0.2, 0.5, 0.8]], [[0.2, 0.5, 0.8]]])
        >>> crossed_logit(y, np.column_stack([np.ones(3), x])).values.round(3).tolist()
        [-1.386, 1.386]
    """
    present = ~np.isnan(y)
    if not present.any():
        raise UsageError("there is no valid answer to fit.", "See how many answers were invalid, and why.")
    observed = np.where(present, y, 0.5)
    if ((observed < 0) | (observed > 1)).any():
        raise UsageError("a logistic regression takes answers from 0 to 1, and some lie beyond.")
    terms = np.broadcast_to(design, (*y.shape, design.shape[-1]))
    if design.ndim == 2:
        weights = present.sum(axis=(0, 1)).astype(np.float64)
        rows, answers = design[weights > 0], (np.where(present, y, 0.0).sum(axis=(0, 1)) / np.maximum(weights, 1))
        answers, weights = answers[weights > 0], weights[weights > 0]
    else:
        flat, used = terms.reshape(-1, terms.shape[-1]), present.ravel()
        rows, answers, weights = _collapsed(flat[used], observed.ravel()[used])
    if np.linalg.matrix_rank(rows) < rows.shape[1]:
        raise UsageError("the terms cannot be told apart: one follows from the others.", "Ask at more levels.")
    values, separated = _newton(rows, answers, weights)
    warning = ""
    if separated:
        warning = "the answers change from never to always at once: the log-odds have no finite value"
        values, _ = _newton(rows, (answers * weights + 0.5) / (weights + 1.0), weights + 1.0)
    residuals = np.where(present, observed - _expit(design @ values), 0.0)
    curvature = rows.T @ (rows * (weights * (mu := _expit(rows @ values)) * (1 - mu))[:, None])
    scores = np.einsum("rcp,rcpt->rct", residuals, terms) if design.ndim > 2 else residuals @ design
    return _fit(values, scores @ np.linalg.pinv(curvature), present, warning)


def identified(y: Array, design: Array) -> bool:
    """Whether the answers that are there tell all terms of a design apart.

    Args:
        y: Answers: people × items × places; NaN where one is missing.
        design: The terms, as in `crossed_logit`.

    Example:
        >>> identified(np.ones((2, 1, 2)), np.eye(2)), identified(np.ones((2, 1, 2)), np.ones((2, 2)))
        (True, False)
    """
    present = ~np.isnan(y)
    terms = np.broadcast_to(design, (*y.shape, design.shape[-1])).reshape(-1, design.shape[-1])[present.ravel()]
    if len(terms) < terms.shape[1]:
        return False
    rows, _, _ = _collapsed(terms, np.zeros(len(terms)))
    return bool(np.linalg.matrix_rank(rows) == rows.shape[1])


def _fit(values: Array, influence: Array, present: npt.NDArray[np.bool_], warning: str = "") -> CrossedFit:
    rows, columns = influence.shape[:2]
    row, column = influence.sum(axis=1), influence.sum(axis=0)
    cell = influence.reshape(-1, influence.shape[2])
    few = [f"{count} {what}" for count, what in ((rows, "people"), (columns, "items")) if 1 < count < _FEW]
    if few:
        text = f"from {' and '.join(few)} the interval is approximate"
        warning = f"{warning}; {text}" if warning else text
    return CrossedFit(
        values, _squares(row), _squares(column), _squares(cell), rows, columns, int(present.sum()),
        int((~present).sum()), warning,
    )  # fmt: skip


def _squares(sums: Array) -> Array:
    count = len(sums)
    product: Array = sums.T @ sums
    return product * (count / (count - 1)) if count > 1 else np.zeros_like(product)


def _collapsed(rows: Array, answers: Array) -> tuple[Array, Array, Array]:
    """Equal rows of terms as one row, with the mean answer and how many there are."""
    if len(rows) < 64:
        return rows, answers, np.ones(len(rows))
    # Rows are equal where their products with a vector of unrelated numbers are, which is far quicker to compare.
    keys = rows @ np.sqrt(np.arange(2, 2 + rows.shape[1]) + 0.1234567)
    _, first, owner = np.unique(keys, return_index=True, return_inverse=True)
    counts = np.bincount(owner, minlength=len(first)).astype(np.float64)
    return rows[first], np.bincount(owner, answers, minlength=len(first)) / counts, counts


def _newton(rows: Array, answers: Array, weights: Array) -> tuple[Array, bool]:
    """Coefficients by Newton's method, and whether the answers are separated, so that there are no finite ones."""
    values = np.zeros(rows.shape[1])
    share = float(np.average(answers, weights=weights))
    if 0 < share < 1:
        values = np.linalg.lstsq(rows, np.full(len(rows), math.log(share / (1 - share))), rcond=None)[0]
    for _ in range(_ROUNDS):
        mu = _expit(rows @ values)
        curve = weights * np.maximum(mu * (1 - mu), 1e-10)
        step = np.linalg.lstsq(rows.T @ (rows * curve[:, None]), rows.T @ (weights * (answers - mu)), rcond=None)[0]
        values = values + step * min(1.0, 4.0 / max(float(np.abs(rows @ step).max()), 1e-12))
        if float(np.abs(rows @ step).max()) < 1e-10:
            break
    return values, bool(np.abs(rows @ values).max() > _STEEP) or share in (0.0, 1.0)


def _expit(x: Array) -> Array:
    value: Array = 1.0 / (1.0 + np.exp(-np.clip(x, -700, 700)))
    return value
