"""Tests of main effects and interactions where all combinations of levels were run."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.base.formatting import plural
from populace.statistics import cautions
from populace.statistics.effects import adjust
from populace.statistics.factorial import FactorGrid
from populace.statistics.intervals import t_quantile
from populace.statistics.values import ROUNDING, Numbers, check_level, complete_rows, constant, library, numeric

_TYPES: dict[str, Any] = dict.fromkeys(("effect", "low", "high", "f", "p"), pl.Float64) | {
    "contrast": pl.String,
    "missing": pl.Int64,
    "bound_low": pl.Float64,
    "bound_high": pl.Float64,
}


def factorial_tests(
    frame: pl.DataFrame,
    outcome: str,
    factors: Sequence[str],
    *,
    replicate: str | None = None,
    order: int = 2,
    correction: str = "holm",
    level: float = 0.95,
    ends: tuple[float, float] | None = None,
) -> pl.DataFrame:
    """A test of every main effect and interaction, each averaged over the levels of the other factors.

    Where runs of a replicate share their seed, a replicate in which all combinations have a value is one observation,
    and a term is tested by its contrasts over replicates (t, and Hotelling's T² for several): seeds may interact with
    factors. Otherwise runs are independent and may vary by different amounts in each combination (Wald F with HC3
    errors); a combination in which nothing varies has the largest variance of the others. Assumes replicates that are
    independent of each other and contrasts that are about normal; `warning` says where the values do not look so. A
    term that is the same in every replicate shows no precision: it has no interval, and p comes from exchanging signs.

    Args:
        frame: One row for each run; rows with something missing are dropped.
        outcome: The column of the outcome.
        factors: The columns of the factors.
        replicate: The column of the replicate, where its runs share their seed.
        order: The largest number of factors in an interaction.
        correction: For the number of terms: `holm`, `bh` or `bonferroni`.
        level: The confidence level.
        ends: The smallest and the largest value that the outcome can have; by default those of the runs.

    Returns:
        A row for each term: its degrees of freedom, `f`, `p`, `p_adjusted`, `n`, `missing` (runs without a value; with
        `replicate`, their whole replicates are left out), `warning`. A term of factors with two levels has an `effect`
        with its interval: the difference between the levels, or the difference of such differences; `contrast` says of
        which. `bound_low` and `bound_high` are this effect over all runs if the missing values were the smallest or
        largest possible ones, whichever makes it smaller, and larger.

    Example:
        >>> y = [1.0, 2, 3, 4.3, 1.2, 2, 3.1, 4, 1.1, 2, 3, 4]
        >>> runs = pl.DataFrame({"a": [0, 0, 1, 1] * 3, "b": [0, 1] * 6, "y": y})
        >>> factorial_tests(runs, "y", ["a", "b"])["effect"].round(2).to_list()
        [2.02, 0.98, 0.17]
    """
    check_level(level)
    shared = [] if replicate is None else [replicate]
    runs, _ = complete_rows(frame, [*shared, *factors, outcome])
    grid = FactorGrid.of(runs, factors, None)
    if grid.cells_run < grid.cells:
        raise UsageError(
            f"{grid.cells_run} of {grid.cells} combinations were run, and main effects need all of them.",
            "Compare levels with results.effects(factor=...), which assumes that factors do not interact.",
        )
    terms = [place for place, term in enumerate(grid.terms) if len(term) <= order]
    y = numeric(runs, outcome)
    rows = (
        _independent_tests(y, grid, terms, level)
        if replicate is None
        else _paired_tests(runs.select(replicate).with_columns(cell=grid.cell, y=y), replicate, grid, terms, level)
    )
    bounds = _EffectBounds(frame, outcome, grid, ends)
    rows = [row | bounds.columns(term) for row, term in zip(rows, terms, strict=True)]
    table = pl.DataFrame(rows, schema_overrides=_TYPES)
    table = table.with_columns(p_adjusted=pl.Series(adjust(table["p"], correction)))
    return table.with_columns(pl.selectors.float().fill_nan(None))


def _row(
    grid: FactorGrid, term: int, freedom: tuple[int, float], f: float, n: int, warning: str, p: float | None = None
) -> dict[str, Any]:
    """The columns of a term; without `p`, that of F, which is never 0: what is too small to compute is a bound."""
    if p is None:
        p = max(float(library("scipy.special").fdtrc(*freedom, f)), sys.float_info.min)
    row: dict[str, Any] = {"term": ":".join(grid.terms[term]), "df": freedom[0], "df_error": freedom[1], "f": f, "p": p}
    levels = dict(zip(grid.factors, grid.levels, strict=True))
    pairs = [f"{name} {levels[name][-1]} against {levels[name][0]}" for name in grid.terms[term]]
    contrast = " × ".join(pairs) if all(len(levels[name]) == 2 for name in grid.terms[term]) else None
    return row | {"n": n, "contrast": contrast, "effect": None, "low": None, "high": None, "warning": warning}


def _scale(grid: FactorGrid, term: int) -> float:
    """From the coefficient of a term of factors with two levels to a difference, or a difference of differences."""
    column = 1 + int(np.flatnonzero(grid.column_term == term)[0])
    # The last combination has the second level of every factor, for which differences count as positive.
    sign = float(np.sign(grid.design[int(grid.cell.argmax()), column]))
    return sign * 2.0 ** len(grid.terms[term])


class _EffectBounds:
    """What the runs without a value could do to effects: they count as the smallest or the largest possible value.

    Args:
        frame: All runs, those without a value among them.
        outcome: The column of the outcome.
        grid: The grid of the runs that have a value.
        ends: The smallest and the largest possible value; by default those of the runs.
    """

    def __init__(self, frame: pl.DataFrame, outcome: str, grid: FactorGrid, ends: tuple[float, float] | None) -> None:
        runs = frame.drop_nulls(grid.factors)
        codes = [
            runs[name].replace_strict(levels, range(len(levels)), default=-1, return_dtype=pl.Int64).to_numpy()
            for name, levels in zip(grid.factors, grid.levels, strict=True)
        ]
        known_level = np.all([code >= 0 for code in codes], axis=0)
        cell = np.ravel_multi_index([code[known_level] for code in codes], tuple(map(len, grid.levels)))
        y = runs[outcome].cast(pl.Float64).fill_null(np.nan).to_numpy()[known_level]
        self.grid, self.missing = grid, int(np.isnan(y).sum())
        least, most = (np.nanmin(y), np.nanmax(y)) if ends is None else ends
        counts = np.bincount(cell, minlength=grid.cells)
        sums = (np.bincount(cell, np.where(np.isnan(y), end, y), grid.cells) for end in (least, most))
        self.low, self.high = (each / counts for each in sums)
        first = [int(np.flatnonzero(grid.cell == each)[0]) for each in range(grid.cells)]
        self.coordinates = grid.design[first]

    def columns(self, term: int) -> dict[str, Any]:
        """Columns of the table for a term; without bounds where the term has no effect."""
        places = 1 + np.flatnonzero(self.grid.column_term == term)
        row: dict[str, Any] = {"missing": self.missing, "bound_low": None, "bound_high": None}
        if len(places) > 1:
            return row
        weights = _scale(self.grid, term) * self.coordinates[:, places[0]] / self.grid.cells
        row["bound_low"] = float(np.where(weights > 0, self.low, self.high) @ weights)
        row["bound_high"] = float(np.where(weights > 0, self.high, self.low) @ weights)
        return row


def _paired_tests(runs: pl.DataFrame, replicate: str, grid: FactorGrid, terms: list[int], level: float) -> list[Any]:
    wide = runs.pivot(on="cell", index=replicate, values="y")
    wide = wide.select(str(cell) for cell in range(grid.cells)).drop_nulls()
    values, n = wide.to_numpy(), wide.height
    first = [int(np.flatnonzero(grid.cell == cell)[0]) for cell in range(grid.cells)]
    coordinates = grid.design[first]
    rests = values - values.mean(axis=0) - values.mean(axis=1)[:, None] + values.mean()
    scale = float(np.abs(values).max(initial=0.0))
    rows = []
    for term in terms:
        columns = 1 + np.flatnonzero(grid.column_term == term)
        contrasts = values @ coordinates[:, columns] / grid.cells
        k = len(columns)
        if n <= k:
            raise UsageError(
                f"{plural(n, 'replicate has', 'replicates have')} a value in every arm, and a term with "
                f"{plural(k, 'degree')} of freedom needs {k + 1}.",
                "Run failed runs again, or more replicates.",
            )
        centre, spread = contrasts.mean(axis=0), np.atleast_2d(np.cov(contrasts.T, ddof=1))
        if np.linalg.svd(contrasts - centre, compute_uv=False)[-1] <= _ROUNDED * math.sqrt(n) * scale:
            rows.append(_unvaried(grid, term, contrasts, scale))
            continue
        squared = n * float(centre @ np.linalg.solve(spread, centre))
        doubts = [cautions.skewed(each) for each in contrasts.T]
        doubts += [_skewed_cells(rests, column / grid.cells) for column in coordinates[:, columns].T]
        warning = cautions.join_sentences(cautions.few(n), *doubts)
        row = _row(grid, term, (k, n - k), squared * (n - k) / (k * (n - 1)), n, warning)
        if k == 1:
            row |= _interval(float(centre[0]), float(np.sqrt(spread[0, 0] / n)), n - 1, _scale(grid, term), level)
        rows.append(row)
    return rows


_ROUNDED = 10 * ROUNDING
"""Contrasts are sums over combinations, each with its rounding."""
_NOTHING_VARIES = "nothing varies, which says nothing about how far other runs would differ"


def _unvaried(grid: FactorGrid, term: int, contrasts: Numbers, scale: float) -> dict[str, Any]:
    """A term some of whose contrasts are the same in every replicate: without F and interval."""
    n, k = contrasts.shape
    centre = contrasts.mean(axis=0)
    centre = np.where(np.abs(centre) <= _ROUNDED * scale, 0.0, centre)
    p = math.nan  # Where some contrasts vary and others do not, no test is known.
    if all(constant(each, scale) for each in contrasts.T):
        p = min(1.0, 2.0 ** (1 - n)) if centre.any() else 1.0
    row = _row(grid, term, (k, n - k), math.nan, n, _NOTHING_VARIES, p)
    return row | ({"effect": float(centre[0]) * _scale(grid, term)} if k == 1 else {})


def _skewed_cells(rests: Numbers, weights: Numbers) -> str:
    """A caution where combinations are so skewed that a contrast of few replicates does not show it."""
    n = len(rests)
    if n < 3:
        return ""
    third = float(weights**3 @ (rests**3).sum(axis=0)) * n / ((n - 1) * (n - 2)) / n**2
    variance = float(weights**2 @ (rests**2).sum(axis=0)) / (n - 1) / n
    return cautions.skewed_estimate(abs(third) / variance**1.5 if variance > 0 else 0.0, rests.T)


def _independent_tests(y: Numbers, grid: FactorGrid, terms: list[int], level: float) -> list[Any]:
    n, columns = grid.design.shape
    if n <= columns:
        raise UsageError(f"there are {n} runs for {columns} effects.", "Run more replicates.")
    scale = float(np.abs(y).max())
    cells = [y[grid.cell == cell] for cell in range(grid.cells)]
    first = [int(np.flatnonzero(grid.cell == cell)[0]) for cell in range(grid.cells)]
    # All combinations were run, so that every coefficient is a weighted sum of their means.
    weights = np.linalg.inv(grid.design[first])
    spreads = np.array([0.0 if constant(each, scale) else float(each.var(ddof=1)) for each in cells])
    varied = spreads > 0
    freedom = (
        n - columns if varied.all() else min((len(c) - 1 for c, v in zip(cells, varied, strict=True) if v), default=0)
    )
    spreads = np.where(varied, spreads, spreads.max())
    variances = spreads / np.array([max(len(each) - 1, 1) for each in cells])  # HC3
    covariance = (weights * variances) @ weights.T
    estimates = weights @ np.array([each.mean() for each in cells])
    estimates = np.where(np.abs(estimates) <= _ROUNDED * scale, 0.0, estimates)
    warning = _NOTHING_VARIES
    if varied.any():
        borrowed = "" if varied.all() else "nothing varies in one combination, which is taken to vary like the others"
        warning = cautions.join_sentences(_cell_warning(y, grid), borrowed)
    rows = []
    for term in terms:
        places = 1 + np.flatnonzero(grid.column_term == term)
        k, part = len(places), estimates[places]
        if not varied.any():
            row = _row(grid, term, (k, freedom), math.nan, n, warning, math.nan if part.any() else 1.0)
            rows.append(row | ({"effect": float(part[0]) * _scale(grid, term)} if k == 1 else {}))
            continue
        f = float(part @ np.linalg.solve(covariance[np.ix_(places, places)], part)) / k
        row = _row(grid, term, (k, freedom), f, n, warning)
        if k == 1:
            error = float(np.sqrt(covariance[places[0], places[0]]))
            row |= _interval(float(part[0]), error, freedom, _scale(grid, term), level)
        rows.append(row)
    return rows


def _cell_warning(y: Numbers, grid: FactorGrid) -> str:
    """A caution where combinations have few runs, or one of them is skewed."""
    parts = [y[grid.cell == cell] for cell in range(grid.cells)]
    fewest = min(map(len, parts))
    return cautions.join_sentences(cautions.few(fewest), *(cautions.skewed(part) for part in parts))


def _interval(value: float, error: float, freedom: int, scale: float, level: float) -> dict[str, float]:
    half = t_quantile(level, freedom) * error
    ends = sorted(((value - half) * scale, (value + half) * scale))
    return {"effect": value * scale, "low": ends[0], "high": ends[1]}
