"""Regression: linear models and generalised linear models, with errors that allow for clusters."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.statistics.intervals import Estimate, estimates_table, t_quantile, t_tail
from populace.statistics.mixed_model import Coefficient, fixed_design
from populace.statistics.values import check_choice, check_count, check_level, complete_rows, constant, library, numeric

FAMILIES = ("gaussian", "binomial", "poisson")
_FEW_CLUSTERS = 20


@dataclass(frozen=True)
class Regression:
    """A fitted regression.

    Assumes that the link of the mean is a sum of the terms. With clusters, only rows of different clusters are
    independent: standard errors are robust to what rows of a cluster share (CR1), and intervals use t with the number
    of clusters minus one. Without clusters they are robust to unequal variances (HC3; HC1 for generalised models).

    Attributes:
        coefficients: The terms, on the scale of the link: log-odds for `binomial`, logs for `poisson`.
        family: `gaussian`, `binomial` or `poisson`.
        n: The number of rows.
        clusters: The number of clusters; None where rows are independent.
        dropped: Rows left out because something was missing.
        warning: Why intervals may be too short; empty where nothing was found.
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
    shown = len(names)
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
    fit, words = _fit(y, design, family, owner)
    freedom = clusters - 1 if clusters is not None else len(y) - design.shape[1]
    quantile = t_quantile(level, freedom)
    method = f"{family}, {'clustered' if clusters is not None else 'robust'} errors"
    coefficients = []
    for place, name in enumerate(names[:shown]):
        value, error = float(fit.params[place]), float(fit.bse[place])
        ends = (value - quantile * error, value + quantile * error)
        estimate = Estimate(value, *ends, len(y), level, method, dropped, words)
        coefficients.append(Coefficient(name, estimate, t_tail(value / error, freedom) if error > 0 else math.nan))
    if clusters is not None and clusters < _FEW_CLUSTERS:
        words = f"{words} from {clusters} clusters the intervals are a little too short".strip()
    return Regression(tuple(coefficients), family, len(y), clusters, dropped, words)


def _check_outcome(y: Any, outcome: str, family: str) -> None:
    if constant(y):
        raise UsageError(f"every value of {outcome!r} is equal, so there is nothing to explain.")
    if family == "binomial" and not ((y >= 0) & (y <= 1)).all():
        raise UsageError(f"a binomial outcome lies between 0 and 1, and {outcome!r} does not.")
    if family == "poisson" and (y < 0).any():
        raise UsageError(f"a count is not below 0, and {outcome!r} is.")


def _fit(y: Any, design: Any, family: str, owner: Any) -> tuple[Any, str]:
    models = library("statsmodels.api")
    linear = family == "gaussian"
    model = (
        models.OLS(y, design) if linear else models.GLM(y, design, family=getattr(models.families, family.title())())
    )
    options: dict[str, Any] = {"cov_type": "HC3" if linear else "HC1"}
    if owner is not None:
        options = {"cov_type": "cluster", "cov_kwds": {"groups": owner, "use_correction": True}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = model.fit(**options)
    perfect = any("Perfect" in str(each.message) for each in caught) or not np.isfinite(fit.bse).all()
    converged = linear or bool(fit.converged)
    if perfect or not converged:
        return fit, "the fit did not converge or separates the outcome perfectly; do not use its numbers."
    return fit, ""
