"""Several looks at one study: how small p must be at each look so that all of them together keep their level."""

import itertools
import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from populace.base.errors import UsageError

_GRID = 1201
_REACH = 8.0


def look_levels(replicates: Sequence[int], alpha: float = 0.05) -> list[float]:
    """The level of a two-sided test at each of several planned looks, which together have the size alpha.

    The size is spent evenly over the replicates (Lan and DeMets, the spending function alpha × share of the
    replicates), and the levels follow from the joint normal distribution of the looks. Assumes that the statistic is
    about normal, and that an experiment ends at a look because of p alone.

    Args:
        replicates: The number of replicates at each look, increasing.
        alpha: The size of all looks together.

    Example:
        >>> [round(level, 4) for level in look_levels([20, 40])]
        [0.025, 0.0335]
    """
    counts = list(replicates)
    if not counts or counts[0] < 2 or any(b <= a for a, b in itertools.pairwise(counts)):
        raise UsageError("looks are numbers of replicates of at least 2 that increase.", "Such as [20, 40, 80].")
    if not 0 < alpha < 1:
        raise UsageError(f"alpha lies between 0 and 1, and this is {alpha:g}.")
    normal = NormalDist()
    grid = np.linspace(-_REACH, _REACH, _GRID)
    step = grid[1] - grid[0]
    levels: list[float] = []
    density: np.ndarray[tuple[int], np.dtype[np.float64]] | None = None
    spent = 0.0
    for place, count in enumerate(counts):
        target = alpha * count / counts[-1] - spent
        share = 0.0 if place == 0 else counts[place - 1] / count
        if density is None:
            now = np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi)
        else:
            # The next statistic given the last: its mean is the last times the root of the share of replicates.
            sd = math.sqrt(1 - share)
            kernel = np.exp(-((grid[:, None] - math.sqrt(share) * grid[None, :]) ** 2) / (2 * sd**2))
            now = kernel @ density * step / (sd * math.sqrt(2 * math.pi))
        beyond = np.array([float(now[np.abs(grid) >= bound].sum()) * step for bound in grid[_GRID // 2 :]])
        bounds = grid[_GRID // 2 :]
        bound = float(np.interp(-target, -beyond, bounds)) if place else normal.inv_cdf(1 - target / 2)
        levels.append(2 * (1 - normal.cdf(bound)))
        density = np.where(np.abs(grid) < bound, now, 0.0)
        spent += target
    return levels
