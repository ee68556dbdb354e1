"""Least squares on a grid of factor levels, in coordinates that keep main effects and interactions apart."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UsageError
from populace.statistics.resampling import draw_within_groups
from populace.statistics.values import Numbers

Places = npt.NDArray[np.int64]

_MAX_CELLS = 4096
_FULL = 1 - 1e-9


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
    """A least squares fit on a grid, whose coefficients have a known bias in their squares.

    Attributes:
        grid: The grid.
        solve: Outcomes to coefficients.
        leverage: How much of each run its own fitted value takes up.
        owner: For each run its cluster; None where runs are independent.
        slot: For each run, its combination and how many of its cluster came before it there.
    """

    grid: FactorGrid
    solve: Numbers
    leverage: Numbers
    owner: Places | None
    slot: Places

    @classmethod
    def of(cls, grid: FactorGrid, y: Numbers, owner: Places | None) -> FactorialFit:
        """Prepare a fit; raises an error if there are too few replicates to separate chance from effects."""
        runs, columns = grid.design.shape
        if runs <= columns:
            raise UsageError(
                f"there are {runs} runs for {columns} effects, so that chance cannot be told from effects.",
                "Run at least two replicates (seeds) of every combination, or give a lower order of interactions.",
            )
        solve = np.asarray(np.linalg.pinv(grid.design), dtype=np.float64)
        leverage = np.einsum("ij,ji->i", grid.design, solve)
        nested = pl.DataFrame({"cell": grid.cell, "owner": np.arange(runs) if owner is None else owner})
        nested = nested.with_columns(again=pl.int_range(pl.len()).over("cell", "owner"))
        slot = nested.select(pl.struct("cell", "again").rank("dense").cast(pl.Int64)).to_series().to_numpy() - 1
        return cls(grid, solve, leverage, owner, slot)

    def components(self, y: Numbers, belongs: Numbers) -> Numbers:
        """Variance of each part (its last column is chance), for each row of outcomes; unbiased, so perhaps below 0.

        Args:
            y: Outcomes, one row for each repetition of the study.
            belongs: For each term, the part in which it is counted.
        """
        coefficients = y @ self.solve.T
        residuals = y - coefficients @ self.grid.design.T
        chance = (residuals**2).sum(axis=1) / (y.shape[1] - self.solve.shape[0])
        squares = coefficients[:, 1:] ** 2 - self._bias(residuals, chance)[:, 1:]
        terms = np.zeros((len(y), len(self.grid.terms)))
        np.add.at(terms.T, self.grid.column_term, squares.T)
        parts = terms @ belongs
        parts[:, -1] = chance
        return np.asarray(parts, dtype=np.float64)

    def shrunken_fit(self, y: Numbers, belongs: Numbers) -> Numbers:
        """Fitted values, shrunk so that the variance of each part is its unbiased estimate."""
        coefficients = self.solve @ y
        target = self.components(y[None, :], belongs)[0, :-1].clip(0)
        part = belongs.argmax(axis=1)[self.grid.column_term]
        fitted = np.zeros(len(target))
        np.add.at(fitted, part, coefficients[1:] ** 2)
        factor = np.sqrt(np.divide(target, fitted, out=np.zeros_like(fitted), where=fitted > 0))
        return np.asarray(self.grid.design @ np.concatenate([coefficients[:1], coefficients[1:] * factor[part]]))

    def chance_draws(self, y: Numbers, draws: int, rng: np.random.Generator) -> Numbers:
        """Simulated residuals, one row for each draw.

        Runs on their own draw a residual of the same combination; where it has no other, of any run. Clusters draw
        normal numbers with the covariance of theirs: a few clusters, drawn anew, would show too few extremes.
        """
        noise = self._scale_residuals((y - self.grid.design @ (self.solve @ y))[None, :])[0]
        alone = self.leverage >= _FULL
        if self.owner is None:
            pool = np.flatnonzero(~alone)
            picks = draw_within_groups(self.grid.cell, draws, rng)
            return np.asarray(noise[np.where(alone, pool[rng.integers(len(pool), size=picks.shape)], picks)])
        clusters = int(self.owner.max()) + 1
        noise[alone] = noise[~alone].std() * rng.standard_normal(int(alone.sum()))
        cluster_noise = np.zeros((clusters, int(self.slot.max()) + 1))
        cluster_noise[self.owner, self.slot] = noise
        cluster_noise /= np.sqrt(np.bincount(self.slot))
        draws_by_cluster = rng.standard_normal((draws, clusters, clusters)) @ cluster_noise
        return np.asarray(draws_by_cluster[:, self.owner, self.slot])

    def _scale_residuals(self, residuals: Numbers) -> Numbers:
        free = np.sqrt(np.where(self.leverage < _FULL, 1 - self.leverage, 1.0))
        return np.asarray(residuals / free)

    def _bias(self, residuals: Numbers, chance: Numbers) -> Numbers:
        """What chance adds to the square of each coefficient (its sampling variance, robust to clusters)."""
        scaled, alone = self._scale_residuals(residuals), self.leverage >= _FULL
        weights = self.solve.T**2
        if self.owner is None:
            bias = scaled**2 @ weights
        else:
            bias = np.zeros((len(residuals), self.solve.shape[0]))
            for one in range(int(self.owner.max()) + 1):
                mine = self.owner == one
                bias += (scaled[:, mine] @ self.solve.T[mine]) ** 2
        return np.asarray(bias + chance[:, None] * weights[alone].sum(axis=0))
