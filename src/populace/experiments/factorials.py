"""Main effects and interactions of an experiment in which all combinations of levels were run."""

from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.experiments.results import Results
from populace.statistics import adjust
from populace.statistics.factorial import FactorGrid
from populace.statistics.intervals import t_quantile
from populace.statistics.values import Numbers, library


def factorial_effects(
    results: Results, outcome: str | None = None, *, order: int = 2, correction: str = "holm", level: float = 0.95
) -> pl.DataFrame:
    """A test of every main effect and interaction, each averaged over the levels of the other factors.

    With common random numbers a replicate in which all arms ended is one observation, and a term is tested by its
    contrasts over replicates (t, and Hotelling's T² for several): seeds may interact with factors. Without, runs are
    independent and may vary by different amounts in each arm (Wald F with HC3 errors). Assumes replicates that are
    independent of each other and contrasts that are about normal.

    Args:
        results: The results of an experiment.
        outcome: The outcome; the primary one by default.
        order: The largest number of factors in an interaction.
        correction: For the number of terms: `holm`, `bh` or `bonferroni`.
        level: The confidence level.

    Returns:
        A row for each term: its degrees of freedom, `f`, `p`, `p_adjusted`, `n`. A term of factors with two levels has
        an `effect` with its interval: the difference between the levels, or the difference of such differences;
        `contrast` says of which.
    """
    name = outcome or results.experiment.primary.name
    factors = list(results.experiment.factors)
    runs = results.values(name).select("replicate", *factors, name).drop_nulls()
    grid = FactorGrid.of(runs, factors, None)
    if grid.cells_run < grid.cells:
        raise UsageError(
            f"{grid.cells_run} of {grid.cells} combinations were run, and main effects need all of them.",
            "Compare levels with results.effects(factor=...), which assumes that factors do not interact.",
        )
    terms = [place for place, term in enumerate(grid.terms) if len(term) <= order]
    test = _paired_test if results.experiment.paired else _independent_test
    rows = test(runs, name, grid, terms, level)
    table = pl.DataFrame(rows, schema_overrides=_TYPES)
    return table.with_columns(p_adjusted=pl.Series(adjust(table["p"], correction)))


_TYPES: dict[str, Any] = dict.fromkeys(("effect", "low", "high", "f", "p"), pl.Float64) | {"contrast": pl.String}


def _row(grid: FactorGrid, term: int, freedom: tuple[int, float], f: float, n: int) -> dict[str, Any]:
    p = float(library("scipy.special").fdtrc(*freedom, f))
    row: dict[str, Any] = {"term": ":".join(grid.terms[term]), "df": freedom[0], "df_error": freedom[1], "f": f, "p": p}
    levels = dict(zip(grid.factors, grid.levels, strict=True))
    pairs = [f"{name} {levels[name][-1]} against {levels[name][0]}" for name in grid.terms[term]]
    contrast = " × ".join(pairs) if all(len(levels[name]) == 2 for name in grid.terms[term]) else None
    return row | {"n": n, "contrast": contrast, "effect": None, "low": None, "high": None}


def _scale(grid: FactorGrid, term: int) -> float:
    """From the coefficient of a term of factors with two levels to a difference, or a difference of differences."""
    column = 1 + int(np.flatnonzero(grid.column_term == term)[0])
    # The last combination has the second level of every factor, for which differences count as positive.
    sign = float(np.sign(grid.design[int(grid.cell.argmax()), column]))
    return sign * 2.0 ** len(grid.terms[term])


def _paired_test(runs: pl.DataFrame, outcome: str, grid: FactorGrid, terms: list[int], level: float) -> list[Any]:
    wide = runs.with_columns(cell=grid.cell).pivot(on="cell", index="replicate", values=outcome)
    wide = wide.select(str(cell) for cell in range(grid.cells)).drop_nulls()
    values, n = wide.to_numpy(), wide.height
    first = [int(np.flatnonzero(grid.cell == cell)[0]) for cell in range(grid.cells)]
    coordinates = grid.design[first]
    rows = []
    for term in terms:
        columns = 1 + np.flatnonzero(grid.column_term == term)
        contrasts = values @ coordinates[:, columns] / grid.cells
        k = len(columns)
        if n <= k:
            raise UsageError(
                f"{n} replicates have a value in every arm, and a term with {k} degrees of freedom needs {k + 1}.",
                "Run more replicates.",
            )
        centre, spread = contrasts.mean(axis=0), np.atleast_2d(np.cov(contrasts.T, ddof=1))
        if np.linalg.matrix_rank(spread) < k:
            raise UsageError(f"the term {':'.join(grid.terms[term])} does not vary between replicates.")
        squared = n * float(centre @ np.linalg.solve(spread, centre))
        row = _row(grid, term, (k, n - k), squared * (n - k) / (k * (n - 1)), n)
        if k == 1:
            row |= _interval(float(centre[0]), float(np.sqrt(spread[0, 0] / n)), n - 1, _scale(grid, term), level)
        rows.append(row)
    return rows


def _independent_test(runs: pl.DataFrame, outcome: str, grid: FactorGrid, terms: list[int], level: float) -> list[Any]:
    n, columns = grid.design.shape
    if n <= columns:
        raise UsageError(f"there are {n} runs for {columns} effects.", "Run more replicates.")
    fit = library("statsmodels.api").OLS(runs[outcome].to_numpy(), grid.design).fit(cov_type="HC3")
    covariance: Numbers = np.asarray(fit.cov_params())
    rows = []
    for term in terms:
        places = 1 + np.flatnonzero(grid.column_term == term)
        k, part = len(places), fit.params[places]
        f = float(part @ np.linalg.solve(covariance[np.ix_(places, places)], part)) / k
        row = _row(grid, term, (k, n - columns), f, n)
        if k == 1:
            error = float(np.sqrt(covariance[places[0], places[0]]))
            row |= _interval(float(part[0]), error, n - columns, _scale(grid, term), level)
        rows.append(row)
    return rows


def _interval(value: float, error: float, freedom: int, scale: float, level: float) -> dict[str, float]:
    half = t_quantile(level, freedom) * error
    ends = sorted(((value - half) * scale, (value + half) * scale))
    return {"effect": value * scale, "low": ends[0], "high": ends[1]}
