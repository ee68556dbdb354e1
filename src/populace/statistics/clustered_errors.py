"""Standard errors of a regression whose rows are independent between clusters only, right for few clusters too.

The variance is that of Bell and McCaffrey (CR2): the residuals of each cluster are adjusted so that it is unbiased if
rows are in truth independent and vary by the same amount. Its degrees of freedom are Satterthwaite's under the same
model. For generalised linear models both are those of the weighted least squares in which the fit ends (Pustejovsky and
Tipton, Journal of Business & Economic Statistics 36 (2018), 672–683).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from populace.statistics.values import Numbers

_FULL = 1e-9
"""A direction in which the fit follows a cluster up to this part of its variance says nothing about chance."""


@dataclass(frozen=True, eq=False)
class ClusteredErrors:
    """Standard errors of coefficients.

    Attributes:
        errors: The standard error of each coefficient; NaN where no cluster shows chance.
        freedom: Its degrees of freedom.
        parts: What each cluster adds to the error of each coefficient: clusters × coefficients.
        weights: How much the rows of each cluster count in each coefficient, without signs.
        pulls: The same with signs, so that rows of a cluster that are compared with each other cancel.
    """

    errors: Numbers
    freedom: Numbers
    parts: Numbers
    weights: Numbers
    pulls: Numbers


def clustered_errors(
    design: Numbers, residuals: Numbers, owner: npt.NDArray[np.int64], first: int | None = None
) -> ClusteredErrors:
    """The standard error of each coefficient, and its degrees of freedom.

    Args:
        design: Columns of the regression, multiplied with the square root of the weights.
        residuals: Observed minus fitted, multiplied with the square root of the weights that the residuals have.
        owner: For each row the number of its cluster.
        first: How many coefficients to look at, from the first on; all by default.

    Example:
        >>> design = np.column_stack([np.ones(8), np.repeat([0.0, 1.0], 4)])
        >>> residuals = np.array([1.0, -1, 1, -1, 2, -2, 2, -2])
        >>> found = clustered_errors(design, residuals, np.arange(8))
        >>> found.errors.round(3).tolist(), found.freedom.round(1).tolist()
        ([0.577, 1.291], [3.0, 6.0])
    """
    inverse = np.asarray(np.linalg.pinv(design.T @ design), dtype=np.float64)
    order = np.argsort(owner, kind="stable")
    sizes = np.bincount(owner)
    starts = np.cumsum(sizes) - sizes
    scores, squares, moments, weighed = [], [], [], []
    for size in np.unique(sizes[sizes > 0]):
        rows = order[starts[sizes == size][:, None] + np.arange(size)]  # clusters of one size × their rows
        adjusted = _adjusted(design[rows], inverse)
        weights = adjusted @ inverse[:, :first]  # how much each row counts in each coefficient
        plain = design[rows] @ inverse[:, :first]
        weighed.append([np.abs(plain).sum(axis=1), plain.sum(axis=1)])
        scores.append(np.einsum("cr,crk->ck", residuals[rows], weights))
        squares.append((weights**2).sum(axis=1))
        moments.append(np.einsum("crj,crk->kcj", design[rows], weights))
    freedom = _freedom(np.concatenate(squares), np.concatenate(moments, axis=1), inverse)
    parts = np.concatenate(scores)
    errors = np.sqrt((parts**2).sum(axis=0))
    row_weights = (np.concatenate(each) for each in zip(*weighed, strict=True))
    return ClusteredErrors(np.where(np.isnan(freedom), np.nan, errors), freedom, parts, *row_weights)


def _adjusted(parts: Numbers, inverse: Numbers) -> Numbers:
    """The rows of each cluster times (I − H)^(−1/2) of this cluster."""
    basis: Numbers | None = None
    if parts.shape[1] > parts.shape[2]:  # The same in the few directions that the columns have.
        basis, parts = np.linalg.qr(parts)
    values, vectors = np.linalg.eigh(np.eye(parts.shape[1]) - parts @ inverse @ parts.swapaxes(1, 2))
    powers = np.where(values > _FULL, 1 / np.sqrt(np.maximum(values, _FULL)), 0.0)
    adjusted = (vectors * powers[:, None, :]) @ (vectors.swapaxes(1, 2) @ parts)
    return np.asarray(adjusted if basis is None else basis @ adjusted)


def _freedom(squares: Numbers, moments: Numbers, inverse: Numbers) -> Numbers:
    """Satterthwaite's degrees of freedom of each coefficient: tr(Q)² / tr(Q²) for the form Q of its variance.

    Q has u'u − t'Mt on its diagonal and −t'Mt between clusters, with u the weights of the rows of a cluster, t = X'u
    and M the inverse of X'X.
    """
    result = np.empty(len(moments))
    for place, towards in enumerate(moments):
        own, follow = squares[:, place], ((towards @ inverse) * towards).sum(axis=1)
        among = inverse @ (towards.T @ towards)
        squared = float((among * among.T).sum() + (own**2).sum() - 2 * (own @ follow))
        trace = float((own - follow).sum())
        result[place] = trace**2 / squared if trace > _FULL * inverse[place, place] else np.nan
    return result
