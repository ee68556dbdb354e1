"""Regression: linear models and generalised linear models, with errors that allow for clusters."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.statistics import cautions
from populace.statistics.clustered_errors import ClusteredErrors, clustered_errors
from populace.statistics.intervals import Estimate, estimates_table, t_quantile, t_tail
from populace.statistics.mixed_model import Coefficient, fixed_design
from populace.statistics.values import (
    Numbers,
    check_choice,
    check_count,
    check_level,
    complete_rows,
    constant,
    library,
    numeric,
)

FAMILIES = ("gaussian", "binomial", "poisson")


@dataclass(frozen=True)
class Regression:
    """A fitted regression.

    Assumes that the link of the mean is a sum of the terms. With clusters, only rows of different clusters are
    independent: standard errors are robust to what rows of a cluster share (CR2), and intervals use t with the degrees
    of freedom of Satterthwaite, which are right for few clusters too. Without clusters they are robust to unequal
    variances (HC3, and CR2 of single rows for generalised models).

    Attributes:
        coefficients: The terms, on the scale of the link: log-odds for `binomial`, logs for `poisson`.
        family: `gaussian`, `binomial` or `poisson`.
        n: The number of rows.
        clusters: The number of clusters; None where rows are independent.
        dropped: Rows left out because something was missing.
        warning: Why intervals may be too short; empty where nothing was found. Each estimate has its own.
    """

    coefficients: tuple[Coefficient, ...]
    family: str
    n: int
    clusters: int | None
    dropped: int
    warning: str = ""

    def __getitem__(self, name: str) -> Coefficient:
        for coefficient in self.coefficients:
            if coefficient.name == name:
                return coefficient
        names = ", ".join(coefficient.name for coefficient in self.coefficients)
        raise UsageError(f"the regression has no coefficient {name!r}.", f"It has {names}.")

    def table(self) -> pl.DataFrame:
        """One row for each term."""
        names, p = [c.name for c in self.coefficients], pl.Series("p", [c.p for c in self.coefficients])
        return estimates_table([c.estimate for c in self.coefficients], name=names).insert_column(4, p)

    def __str__(self) -> str:
        return "\n".join(f"{c.name}: {c.estimate}" for c in self.coefficients)


def fit_regression(
    frame: pl.DataFrame,
    outcome: str,
    terms: Sequence[str],
    *,
    family: str = "gaussian",
    cluster: str | None = None,
    block: str | None = None,
    level: float = 0.95,
) -> Regression:
    """Fit a linear model or a generalised linear model with robust or clustered errors.

    Within-person designs are regressions of a table with a row for each answer, with `block` or `cluster` the person.

    Args:
        frame: One row for each observation; rows with something missing are dropped and counted.
        outcome: The column to explain: numbers, for `binomial` 0 and 1 or shares, for `poisson` counts.
        terms: Columns: numbers as they are (covariates, which should be centred), others as levels against the first
            in order. `"a:b"` is the interaction of two of them.
        family: `gaussian`, `binomial` (log-odds) or `poisson` (logs).
        cluster: The column of what rows share that are not independent: the seed, the run, the person.
        block: A column whose levels each get a mean of their own, which is not shown: seeds, runs, people.
        level: The confidence level.

    Example:
        >>> runs = pl.DataFrame({"told": ["no", "yes"] * 6, "y": [1.0, 2.1, 0.9, 2.0, 1.1, 1.8] * 2})
        >>> round(fit_regression(runs, "y", ["told"])["told[yes]"].estimate.value, 2)
        0.97
    """
    check_level(level)
    check_choice("family", family, FAMILIES)
    parts = [name.split(":") for name in terms]
    extra = [name for name in (cluster, block) if name is not None]
    rows, dropped = complete_rows(frame, [outcome, *(column for part in parts for column in part), *extra])
    y = numeric(rows, outcome)
    _check_outcome(y, outcome, family)
    names, design = fixed_design(rows, parts)
    count = len(names)
    if block is not None:
        dummies = rows.select(pl.col(block).cast(pl.String)).to_dummies().to_numpy().astype(np.float64)[:, 1:]
        design = np.column_stack([design, dummies])
    check_count(len(y), design.shape[1] + 1, f"the outcome {outcome!r}", "this regression")
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise UsageError(
            "the terms cannot be told apart: one column follows from the others.",
            "Leave one of them out, or run the combinations that are missing.",
        )
    owner = None if cluster is None else rows[cluster].rank("dense").cast(pl.Int64).to_numpy() - 1
    clusters = None if owner is None else int(owner.max()) + 1
    if clusters is not None and clusters < 2:
        raise UsageError(f"the cluster {cluster!r} has one level.", "Leave it out, or run more of them.")
    fit, trouble = _fit(y, design, family)
    errors = _errors(fit, y, design, family, owner, count)
    method = f"{family}, {'clustered' if clusters is not None else 'robust'} errors"
    coefficients = []
    for place, name in enumerate(names[:count]):
        value, error, freedom = (float(each[place]) for each in (fit.params, errors.errors, errors.freedom))
        known = error > 0
        half = t_quantile(level, freedom) * error if known else math.nan
        warning = trouble or _caution(errors, place, family, "clusters" if clusters is not None else "rows")
        estimate = Estimate(value, value - half, value + half, len(y), level, method, dropped, warning)
        coefficients.append(Coefficient(name, estimate, t_tail(value / error, freedom) if known else math.nan))
    warning = cautions.join_sentences(*(each.estimate.warning for each in coefficients))
    return Regression(tuple(coefficients), family, len(y), clusters, dropped, warning)


def _caution(errors: ClusteredErrors, place: int, family: str, units: str) -> str:
    if not errors.errors[place] > 0:
        return f"no two {units} show how far this coefficient varies by chance"
    weights, pull = errors.weights[:, place], errors.pulls[:, place]
    # A cluster in which the arms are compared with each other is on no side.
    sides = np.sign(np.where(np.abs(pull) > weights / 2, pull, 0.0))
    enough = cautions.ENOUGH if family == "gaussian" and units == "rows" else cautions.ENOUGH_FOR_GROUPS
    return cautions.skewed_sum(errors.parts[:, place], weights, sides, units, enough)


def _check_outcome(y: Any, outcome: str, family: str) -> None:
    if constant(y):
        raise UsageError(f"every value of {outcome!r} is equal, so there is nothing to explain.")
    if family == "binomial" and not ((y >= 0) & (y <= 1)).all():
        raise UsageError(f"a binomial outcome lies between 0 and 1, and {outcome!r} does not.")
    if family == "poisson" and (y < 0).any():
        raise UsageError(f"a count is not below 0, and {outcome!r} is.")


def _fit(y: Numbers, design: Numbers, family: str) -> tuple[Any, str]:
    models = library("statsmodels.api")
    linear = family == "gaussian"
    model = (
        models.OLS(y, design) if linear else models.GLM(y, design, family=getattr(models.families, family.title())())
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = model.fit(cov_type="HC3") if linear else model.fit()
    perfect = any("Perfect" in str(each.message) for each in caught) or not np.isfinite(fit.bse).all()
    converged = linear or bool(fit.converged)
    if perfect or not converged:
        return fit, "the fit did not converge or separates the outcome perfectly; do not use its numbers."
    return fit, ""


def _errors(fit: Any, y: Numbers, design: Numbers, family: str, owner: Any, count: int) -> ClusteredErrors:
    """The standard errors of the coefficients that are shown, and their degrees of freedom."""
    mean = np.asarray(fit.fittedvalues)
    if family == "gaussian" and owner is None:
        inverse = np.asarray(np.linalg.pinv(design), dtype=np.float64).T
        rest = (y - mean) / np.maximum(1 - (design * inverse).sum(axis=1), 1e-12)
        freedom = np.full(design.shape[1], float(len(y) - design.shape[1]))
        return ClusteredErrors(np.asarray(fit.bse), freedom, inverse * rest[:, None], np.abs(inverse), inverse)
    spread = {"gaussian": np.ones(len(y)), "binomial": mean * (1 - mean), "poisson": mean}[family]
    # Of canonical links, the weights of the last step of the fit are the variances that the family gives to the rows.
    weight = np.sqrt(np.maximum(spread, 1e-12))
    owner = np.arange(len(y)) if owner is None else owner
    return clustered_errors(design * weight[:, None], (y - mean) / weight, owner, count)
