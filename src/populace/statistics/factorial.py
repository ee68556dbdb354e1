"""Least squares on a grid of factor levels, in coordinates that keep main effects and interactions apart."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UsageError
from populace.statistics.cautions import looks_normal
from populace.statistics.values import Numbers

Places = npt.NDArray[np.int64]

_MAX_CELLS = 4096
_FEW = 15


@dataclass(frozen=True, eq=False)
class FactorGrid:
    """Every combination of the levels of some factors, and the combination of each run.

    Attributes:
        factors: The names of the factors.
        levels: The levels of each.
        terms: Main effects and interactions that are fitted, as the factors that they join.
        cell: For each run, its combination.
        design: For each run, the coordinates of its combination, the mean first; columns are orthogonal over the
            whole grid, so that the squares of the coefficients of a term sum to its variance.
        column_term: For each column after the first, the term that it belongs to.
    """

    factors: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    terms: tuple[tuple[str, ...], ...]
    cell: Places
    design: Numbers
    column_term: Places

    @property
    def cells(self) -> int:
        """The number of combinations of levels."""
        return int(np.prod([len(levels) for levels in self.levels]))

    @property
    def cells_run(self) -> int:
        """The number of combinations that were run."""
        return len(np.unique(self.cell))

    @property
    def order(self) -> int:
        """The largest number of factors in a term."""
        return max(map(len, self.terms))

    @classmethod
    def of(cls, frame: pl.DataFrame, factors: Sequence[str], order: int | None) -> FactorGrid:
        """The grid of a table without missing rows, with interactions up to an order, or as high as it bears."""
        levels, codes = [], []
        for name in factors:
            known = tuple(frame[name].unique().sort().to_list())
            if len(known) < 2:
                raise UsageError(
                    f"the factor {name!r} has {'one level, ' + repr(known[0]) if known else 'no level'}.",
                    "Leave it out, or run it at two levels or more.",
                )
            levels.append(known)
            codes.append(frame[name].rank("dense").cast(pl.Int64).to_numpy() - 1)
        shape = tuple(map(len, levels))
        if np.prod(shape, dtype=float) > _MAX_CELLS:
            sizes = ", ".join(f"{name} {size}" for name, size in zip(factors, shape, strict=True))
            raise UsageError(
                f"the factors have too many combinations for a decomposition (levels: {sizes}).",
                "Cut continuous factors into a few levels, or use sobol_indices for them.",
            )
        cell = np.ravel_multi_index(codes, shape).astype(np.int64)
        highest = len(shape) if order is None else order
        if not 1 <= highest <= len(shape):
            raise UsageError(f"order lies between 1 and {len(shape)}, the number of factors, and this is {order}.")
        for order_tried in range(highest, 0, -1):
            design, terms, column_term = _coordinates(tuple(factors), shape, order_tried)
            at = design[np.unique(cell)]
            if design.shape[1] <= len(at) and np.linalg.matrix_rank(at) == design.shape[1]:
                return cls(tuple(factors), tuple(levels), terms, cell, design[cell], column_term)
            if order is not None:
                break
        raise UsageError(
            f"{len(np.unique(cell))} of {np.prod(shape)} combinations were run, too few to tell effects apart.",
            "Run the missing combinations, fewer factors, or a lower order of interactions.",
        )


def _coordinates(
    factors: tuple[str, ...], shape: tuple[int, ...], order: int
) -> tuple[Numbers, tuple[tuple[str, ...], ...], Places]:
    contrasts = [_contrasts(size) for size in shape]
    blocks: list[Numbers] = [np.ones((int(np.prod(shape)), 1))]
    terms: list[tuple[str, ...]] = []
    column_term: list[int] = []
    for count in range(1, order + 1):
        for joined_factors in itertools.combinations(range(len(shape)), count):
            parts = [contrasts[i] if i in joined_factors else np.ones((size, 1)) for i, size in enumerate(shape)]
            block = functools.reduce(lambda left, right: np.asarray(np.kron(left, right), dtype=np.float64), parts)
            column_term += [len(terms)] * block.shape[1]
            blocks.append(block)
            terms.append(tuple(factors[i] for i in joined_factors))
    return np.hstack(blocks), tuple(terms), np.array(column_term, dtype=np.int64)


def _contrasts(size: int) -> Numbers:
    """Columns of mean 0 and mean square 1 over the levels, orthogonal to each other."""
    centring = np.eye(size) - 1 / size
    vectors = np.linalg.svd(centring)[0][:, : size - 1]
    return np.asarray(vectors * np.sqrt(size), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class FactorialFit:
    """A least squares fit on a grid, with the variance of chance in two strata: between clusters and within them.

    Where runs are independent every run is a cluster of its own, and there is nothing within.

    Attributes:
        grid: The grid.
        squares: For each term, the sum of the squares of its coefficients.
        sizes: For each term, its number of coefficients.
        between: For each term, how much of the variance between clusters is in the square of a coefficient.
        within: The same for the variance within clusters.
        sums: The sum of squares of the residuals between clusters, and within.
        freedom: The degrees of freedom of both.
        runs: The number of runs in a cluster.
        normal: Whether the residuals look normal, between clusters and within them.
        thin: Whether terms are judged by the differences between few clusters.
    """

    grid: FactorGrid
    squares: Numbers
    sizes: Places
    between: Numbers
    within: Numbers
    sums: tuple[float, float]
    freedom: tuple[int, int]
    runs: float
    normal: bool
    thin: bool

    @classmethod
    def of(cls, grid: FactorGrid, y: Numbers, owner: Places | None) -> FactorialFit:
        """The fit; raises an error if there are too few replicates to separate chance from effects."""
        design = grid.design
        n, columns = design.shape
        owner = np.arange(n) if owner is None else owner
        counts = np.bincount(owner).astype(np.float64)
        clusters = len(counts)
        means = _cluster_means(owner, counts, np.column_stack([y, design]))
        alone = clusters == n
        inside = np.column_stack([y, design]) - means[owner]
        weights = np.sqrt(counts)
        rank_between, rest_between = _residual(means[:, 1:] * weights[:, None], means[:, 0] * weights)
        rank_within, rest_within = (0, np.zeros(n)) if alone else _residual(inside[:, 1:], inside[:, 0])
        freedom = clusters - rank_between, 0 if alone else n - clusters - rank_within
        if n <= columns or max(freedom) < 1 or (freedom[0] < 1 and alone):
            raise UsageError(
                f"there are {n} runs for {columns} effects, so that chance cannot be told from effects.",
                "Run at least two replicates (seeds) of every combination, or give a lower order of interactions.",
            )
        solve = np.asarray(np.linalg.pinv(design), dtype=np.float64)
        coefficients = solve @ y
        shared = _cluster_means(owner, counts, solve.T)[owner].T
        terms = len(grid.terms)
        per_column = [coefficients[1:] ** 2, (shared[1:] ** 2).sum(axis=1), ((solve - shared)[1:] ** 2).sum(axis=1)]
        squares, between, within = (_sums(grid.column_term, each, terms) for each in per_column)
        sizes = np.bincount(grid.column_term, minlength=terms)
        sums = float((rest_between**2).sum()), float((rest_within**2).sum())
        per_cluster = (n - float((counts**2).sum()) / n) / max(1, clusters - 1)
        rests = (rest_between,) if alone else (rest_between, rest_within)
        normal = all(_light_tails(rest) and looks_normal(rest) for rest in rests)
        counted = (squares, sizes.astype(np.int64), between / sizes, within / sizes)
        thin = not alone and rank_between > 1 and freedom[0] < _FEW
        return cls(grid, *counted, sums, freedom, per_cluster, normal, thin)

    @property
    def strata(self) -> tuple[Numbers, Numbers]:
        """The mean squares of the residuals between clusters and within them."""
        between = self.sums[0] / self.freedom[0] if self.freedom[0] > 0 else np.nan
        within = self.sums[1] / self.freedom[1] if self.freedom[1] > 0 else np.nan
        return self._known(np.array([between]), np.array([within]))

    def components(self, belongs: Numbers) -> Numbers:
        """The variance of each part, the last of which is chance; unbiased, so perhaps below 0.

        Args:
            belongs: For each term, the part in which it is counted.
        """
        between, within = (float(each[0]) for each in self.strata)
        bias = self.sizes * (self.between * between + self.within * within)
        parts = (self.squares - bias) @ belongs
        parts[-1] = self._chance(between, within)
        return np.asarray(parts, dtype=np.float64)

    def draws(self, belongs: Numbers, count: int, rng: np.random.Generator) -> Numbers:
        """Variances of the parts that the data allow, one row for each draw.

        The variance of each stratum is its sum of squares divided by a chi-square number. The coefficients of a term
        are drawn around their estimates, and what chance adds to their squares is taken off.
        """
        chi = [rng.chisquare(max(1, freedom), count) for freedom in self.freedom]
        between, within = self._known(
            *(
                sums / each if freedom > 0 else np.full(count, np.nan)
                for sums, each, freedom in zip(self.sums, chi, self.freedom, strict=True)
            )
        )
        noise = np.outer(between, self.between) + np.outer(within, self.within)
        noise = np.maximum(noise, 1e-300)
        # A sum of squares of k drawn coefficients is too large by k times their variance, and so is the observed one.
        drawn = noise * (rng.noncentral_chisquare(self.sizes, self.squares / noise) - 2 * self.sizes)
        parts = drawn @ belongs
        parts[:, -1] = self._chance(between, within)
        return np.asarray(parts, dtype=np.float64)

    def _known(self, between: Numbers, within: Numbers) -> tuple[Numbers, Numbers]:
        """A stratum without degrees of freedom has the mean square of the other."""
        return np.where(np.isnan(between), within, between), np.where(np.isnan(within), between, within)

    def _chance(self, between: Any, within: Any) -> Any:
        """The variance between runs of different seeds: that of the seeds and that within them."""
        return between / self.runs + within * (1 - 1 / self.runs)


def _sums(places: Places, values: Numbers, count: int) -> Numbers:
    return np.asarray(np.bincount(places, values, count), dtype=np.float64)


def _cluster_means(owner: Places, counts: Numbers, columns: Numbers) -> Numbers:
    sums = np.zeros((len(counts), columns.shape[1]))
    np.add.at(sums, owner, columns)
    return np.asarray(sums / counts[:, None])


def _residual(design: Numbers, y: Numbers) -> tuple[int, Numbers]:
    """The rank of a design, and what is left of the outcomes."""
    coefficients, _, rank, _ = np.linalg.lstsq(design, y, rcond=1e-9)
    return int(rank), np.asarray(y - design @ coefficients)


def _light_tails(residuals: Numbers) -> bool:
    """Whether the kurtosis of residuals is one that normal ones may have."""
    variance = float((residuals**2).mean())
    if variance <= 0:
        return True
    return float((residuals**4).mean()) / variance**2 - 3 <= 2 * math.sqrt(24 / len(residuals))
