"""How much each continuous factor matters, alone and with the others (Sobol indices)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from populace.base.errors import UnknownNameError, UsageError
from populace.base.randomness import path_key, stream
from populace.statistics.intervals import Estimate, estimates_table, t_quantile
from populace.statistics.resampling import percentile
from populace.statistics.values import Numbers, check_count, check_level, complete_rows, constant, library, numeric

BLOCK = "block"
POINT = "point"


@dataclass(frozen=True)
class Sensitivity:
    """Sobol indices of an outcome.

    Assumes factors that vary evenly and independently over their bounds, and runs at the points of `sobol_sample`.
    The outcome may be noisy: what the seed does belongs to no factor alone and is in every total index, unless all
    runs of a point share their seed, or outcomes are means over seeds. Intervals come from drawing points anew and,
    where points were run several times, from leaving out seeds; estimates may lie a little outside 0 and 1.

    Attributes:
        first: For each factor, the share of variance that it explains alone.
        total: For each factor, the share that it is involved in, with interactions.
        n: Points that it rests on; each was run once for every factor and twice more.
        dropped: Points left out because one of their runs has no outcome.
    """

    first: dict[str, Estimate]
    total: dict[str, Estimate]
    n: int
    dropped: int

    def table(self) -> pl.DataFrame:
        """One row for each factor and kind of index."""
        both = [("first", name, one) for name, one in self.first.items()]
        both += [("total", name, one) for name, one in self.total.items()]
        leading = {"factor": [name for _, name, _ in both], "index": [kind for kind, _, _ in both]}
        return estimates_table([one for _, _, one in both], **leading)


def sobol_sample(bounds: Mapping[str, tuple[float, float]], n: int, seed: int) -> pl.DataFrame:
    """Points at which to run a scenario, so that `sobol_indices` can be computed.

    Args:
        bounds: Lower and upper bound of each factor.
        n: Points, a power of two; there are n × (factors + 2) runs.
        seed: Fixes the points.

    Returns:
        One row for each run: `block` and `point`, which say what it is for, and a column for each factor.

    Example:
        >>> sobol_sample({"threshold": (0.0, 1.0), "size": (10.0, 50.0)}, n=8, seed=1).shape
        (32, 4)
    """
    names = list(bounds)
    if not names:
        raise UsageError("a sample needs at least one factor.")
    for name, (low, high) in bounds.items():
        if name in (BLOCK, POINT):
            raise UsageError(f"a factor cannot be named {name!r}.")
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise UsageError(f"the bounds of {name!r} are {low:g} and {high:g}.", "Give a lower and a higher number.")
    if n < 2 or n & (n - 1):
        raise UsageError(f"the number of points is a power of two, and this is {n}.", "Try 64, 128 or 256.")
    rng = np.random.default_rng(path_key(seed, "statistics/sobol"))  # Sobol spawns its own, as a stream cannot
    points = library("scipy.stats.qmc").Sobol(2 * len(names), rng=rng).random(n)
    low, high = np.array(list(bounds.values()), dtype=np.float64).T
    first, second = (low + (high - low) * half for half in (points[:, : len(names)], points[:, len(names) :]))
    blocks = [("A", first), ("B", second)]
    for i, name in enumerate(names):
        swapped = first.copy()
        swapped[:, i] = second[:, i]
        blocks.append((f"A with {name} of B", swapped))
    frames = [
        pl.DataFrame({BLOCK: [title] * n, POINT: np.arange(n)} | {name: points[:, i] for i, name in enumerate(names)})
        for title, points in blocks
    ]
    return pl.concat(frames)


def sobol_indices(
    frame: pl.DataFrame,
    outcome: str,
    *,
    seed: int,
    replicate: str | None = None,
    resamples: int = 1000,
    level: float = 0.95,
) -> Sensitivity:
    """First-order and total indices, by the estimators of Saltelli (2010) and Jansen.

    Args:
        frame: The rows of `sobol_sample`, in any order, with the outcome of each run as a further column.
        outcome: The column with the outcomes; a point with a missing one is dropped and counted.
        seed: Fixes the draws of the bootstrap.
        replicate: The column that numbers the runs of one point, each with a seed of its own. Their outcomes are
            averaged, and the interval counts that other seeds would have given other averages.
        resamples: Draws of the bootstrap.
        level: The confidence level.

    Example:
        >>> sample = sobol_sample({"x": (0.0, 1.0), "y": (0.0, 1.0)}, 256, seed=1)
        >>> indices = sobol_indices(sample.with_columns(outcome=pl.col("x")), "outcome", seed=1)
        >>> round(indices.first["x"].value, 1), abs(round(indices.first["y"].value, 1))
        (1.0, 0.0)
    """
    check_level(level)
    rows, _ = complete_rows(frame, (BLOCK, POINT, outcome, *([replicate] if replicate else [])))
    titles = frame[BLOCK].unique(maintain_order=True).to_list()
    names = [str(title).removeprefix("A with ").removesuffix(" of B") for title in titles if title not in ("A", "B")]
    if not {"A", "B"} <= set(titles) or not names:
        raise UsageError("these are not the rows of sobol_sample.", "Keep its columns `block` and `point`.")
    for name in names:
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    names.sort(key=frame.columns.index)
    if replicate is None:
        rows, replicate = rows.with_columns(replicate=pl.lit(0)), "replicate"
    if rows.select(BLOCK, POINT, replicate).is_duplicated().any():
        raise UsageError("a point was run more than once.", "Name the column that numbers its runs as `replicate`.")
    replicates = rows[replicate].n_unique()
    whole = rows.filter(pl.len().over(POINT) == len(titles) * replicates).sort(POINT, replicate)
    points = whole[POINT].n_unique()
    dropped = frame[POINT].n_unique() - points
    check_count(points, 8, "the sample", "an interval of Sobol indices")
    surfaces = {
        str(key[0]): numeric(part, outcome).reshape(points, replicates)
        for key, part in whole.partition_by(BLOCK, as_dict=True).items()
    }
    order = ["A", "B", *(f"A with {name} of B" for name in names)]
    cube = np.stack([surfaces[title] for title in order])
    rng = stream(seed, "statistics/sobol_indices")
    index = np.vstack([np.arange(points), rng.integers(points, size=(resamples, points))])
    draws = _indices(cube.mean(axis=2), index)
    left_out = None
    if replicates > 1:
        without = (cube.sum(axis=2, keepdims=True) - cube) / (replicates - 1)
        each = [_indices(without[:, :, place], index[:1]) for place in range(replicates)]
        left_out = [np.vstack([one[kind] for one in each]) for kind in (0, 1)]
    estimates = []
    for kind in (0, 1):
        found = {}
        for i, name in enumerate(names):
            over_seeds = None if left_out is None else left_out[kind][:, i]
            found[name] = _estimate(draws[kind][:, i], over_seeds, points, level, dropped)
        estimates.append(found)
    return Sensitivity(estimates[0], estimates[1], points, dropped)


def _estimate(draws: Numbers, left_out: Numbers | None, points: int, level: float, dropped: int) -> Estimate:
    """An index with the interval over points and, by leaving out one replicate at a time, over seeds."""
    if left_out is None:
        one = percentile(draws, points, level, "bootstrap of points (percentile)", dropped)
        return replace(one, warning="from one seed the interval leaves out what other seeds would have given")
    value, n = float(draws[0]), len(left_out)
    over_points = float(np.nanvar(draws[1:]))
    over_seeds = (n - 1) / n * float(((left_out - left_out.mean()) ** 2).sum())
    total = over_points + over_seeds
    freedom = total**2 / (over_seeds**2 / (n - 1)) if over_seeds > 0 else np.inf
    half = t_quantile(level, min(freedom, 1e6)) * math.sqrt(total)
    return Estimate(
        value, value - half, value + half, points, level, "points (bootstrap) and seeds (jackknife)", dropped
    )


def _indices(surface: Numbers, index: Numbers) -> tuple[Numbers, Numbers]:
    """First and total indices, one row for each draw of points and one column for each factor."""
    if constant(surface.ravel()):
        nothing = np.full((len(index), len(surface) - 2), np.nan)
        return nothing, nothing
    a, b, *others = surface - surface[:2].mean()
    variance = np.hstack([a[index], b[index]]).var(axis=1)
    # Means over points of products that do not change from draw to draw.
    alone = np.stack([(b * (one - a))[index].mean(axis=1) for one in others], axis=1)
    involved = np.stack([((a - one) ** 2)[index].mean(axis=1) / 2 for one in others], axis=1)
    below = np.where(variance > 0, variance, np.nan)[:, None]
    return alone / below, involved / below
