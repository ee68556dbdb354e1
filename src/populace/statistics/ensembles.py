"""Statistics of many runs of one scenario: how the spread depends on size, and the end of a run on its start."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.base.randomness import stream
from populace.statistics import cautions
from populace.statistics.intervals import Estimate, estimates_table, proportion
from populace.statistics.resampling import draw_within_groups, percentile
from populace.statistics.values import ROUNDING, Numbers, check_count, check_level, complete_rows, constant, numeric


@dataclass(frozen=True)
class Fluctuation:
    """How the spread of a metric between seeds falls with the number of agents.

    Assumes runs that differ only in seed and number of agents, independent of each other, and a spread that follows
    a power of that number. Agents that act on their own give an exponent of −1/2; a spread that falls more slowly
    means that they move together. Intervals come from drawing the runs of each size anew, or the seeds where sizes
    share them; with fewer than fifty runs of a size they are a little too short, and say so.

    Attributes:
        exponent: The fitted power, with its interval.
        spread: For each number of agents, the standard deviation between seeds, with its interval.
        fitted: For each number of agents, the spread by the fitted power.
        independent: For each number of agents, the 1/√n line through the middle of the data.
        n: Runs of all sizes.
        dropped: Runs left out because something was missing.
    """

    exponent: Estimate
    spread: dict[float, Estimate]
    fitted: dict[float, float]
    independent: dict[float, float]
    n: int
    dropped: int

    def table(self) -> pl.DataFrame:
        """One row for each number of agents, for a picture with the 1/√n line."""
        table = estimates_table(list(self.spread.values()), agents=list(self.spread)).rename({"value": "sd"})
        lines = {"fitted": self.fitted, "independent": self.independent}
        return table.with_columns(**{name: pl.Series(list(line.values())) for name, line in lines.items()})


def fluctuation(
    frame: pl.DataFrame,
    metric: str,
    agents: str,
    *,
    seed: int,
    cluster: str | None = None,
    resamples: int = 1000,
    level: float = 0.95,
) -> Fluctuation:
    """Fluctuation of a metric against the number of agents, with a fitted exponent.

    Args:
        frame: One row for each run.
        metric: The column of the metric at the end of a run.
        agents: The column with the number of agents.
        seed: Fixes the draws of the bootstrap.
        cluster: The column of what runs of different sizes share, such as their seed: they are then drawn together.
        resamples: Draws of the bootstrap.
        level: The confidence level.

    Example:
        >>> runs = pl.DataFrame({"agents": [1] * 3 + [4] * 3, "share": [0.2, 0.4, 0.6, 0.3, 0.4, 0.5]})
        >>> round(fluctuation(runs, "share", "agents", seed=1).exponent.value, 2)
        -0.5
    """
    check_level(level)
    runs, dropped = complete_rows(frame, (metric, agents, *([cluster] if cluster else [])))
    if cluster is not None:
        runs, lost = _whole_clusters(runs, agents, cluster)
        dropped += lost
    numeric(runs, metric)
    parts = runs.partition_by(agents, as_dict=True)
    sizes = sorted(float(key[0]) for key in parts)
    if len(sizes) < 2:
        raise UsageError(f"{agents!r} has {len(sizes)} value.", "An exponent needs runs of two sizes or more.")
    if sizes[0] <= 0:
        raise UsageError(f"{agents!r} holds {sizes[0]:g}, and a number of agents is above 0.")
    values = {float(key[0]): numeric(part, metric) for key, part in parts.items()}
    rng = stream(seed, "statistics/fluctuation")
    together = None
    if cluster is not None:
        count = len(next(iter(values.values())))
        together = rng.integers(count, size=(resamples, count))
    spreads = []
    for size in sizes:
        one = values[size]
        check_count(len(one), 3, f"{agents} = {size:g}", "the spread between seeds")
        if constant(one):
            raise UsageError(f"every run with {agents} = {size:g} has the same {metric!r}.", "Leave that size out.")
        picks = rng.integers(len(one), size=(resamples, len(one))) if together is None else together
        index = np.vstack([np.arange(len(one)), picks])
        draws = one[index].std(axis=1, ddof=1)
        draws[draws <= 1e-12 * np.abs(one).max()] = np.nan
        spreads.append(draws)
    draws = np.column_stack(spreads)
    weights = np.array([len(values[size]) - 1 for size in sizes], dtype=np.float64)
    logs, powers = np.log(np.array(sizes)), np.log(draws)
    across = logs - np.average(logs, weights=weights)
    slopes = (powers * weights * across).sum(axis=1) / (weights * across**2).sum()
    middle = float(np.average(powers[0], weights=weights))
    centre = float(np.average(logs, weights=weights))
    basis = ("bootstrap of runs (percentile)", dropped)
    few = min(map(len, values.values()))
    warning = (
        f"from {few} runs of a size the interval of a spread is too short"
        if few < cautions.ENOUGH_FOR_BOOTSTRAP
        else ""
    )
    exponent = _drawn(replace(percentile(slopes, runs.height, level, *basis), warning=warning))
    spread = {
        size: _drawn(replace(percentile(draws[:, i], len(values[size]), level, *basis), warning=warning))
        for i, size in enumerate(sizes)
    }
    fitted = {size: math.exp(middle + exponent.value * (math.log(size) - centre)) for size in sizes}
    line = {size: math.exp(middle - 0.5 * (math.log(size) - centre)) for size in sizes}
    return Fluctuation(exponent, spread, fitted, line, runs.height, dropped)


def _drawn(estimate: Estimate) -> Estimate:
    """An estimate without an interval where all draws give the same, as those of few and equal values do."""
    if estimate.width > _ALIKE:
        return estimate
    same = (
        "all draws of so few different runs give the same spread, which says nothing about how far others would differ"
    )
    value = 0.0 if abs(estimate.value) < _ALIKE else estimate.value
    return replace(estimate, value=value, low=math.nan, high=math.nan, warning=same)


_ALIKE = 1e-9


@dataclass(frozen=True)
class PathDependence:
    """How far the end of a run depends on its start.

    Assumes runs that differ only in seed and starting state, independent of each other or, where starts share their
    seeds, of seeds that are. The p is of a permutation of starts over runs, within seeds where they are shared; the
    interval comes from drawing the runs of each start, or the seeds, anew. Where all runs of every start end alike
    there is no interval: equal runs show no precision.

    Attributes:
        strength: From 0 (the end does not depend on the start) to 1 (the start decides it): omega squared for a
            number at the end, the bias-corrected Cramér's V for a state.
        p: Probability of a dependence as strong if there were none.
        ends: For each start the n, mean and spread of a number at the end, or the probability of each state.
        measure: `omega squared` or `Cramér's V`.
        n: Runs of all starts.
        dropped: Runs left out because something was missing.
    """

    strength: Estimate
    p: float
    ends: pl.DataFrame
    measure: str
    n: int
    dropped: int

    def table(self) -> pl.DataFrame:
        """The dependence as a table of one row."""
        return self.strength.table().with_columns(p=pl.lit(self.p), measure=pl.lit(self.measure))


def path_dependence(
    frame: pl.DataFrame,
    start: str,
    end: str,
    *,
    seed: int,
    cluster: str | None = None,
    resamples: int = 1000,
    level: float = 0.95,
) -> PathDependence:
    """Whether and how far the end of a run depends on its start.

    Args:
        frame: One row for each run.
        start: The column with the starting state, at a few levels.
        end: The column with the end: a number, or a state (a word or truth value).
        seed: Fixes the draws.
        cluster: The column of what runs of different starts share, such as their seed; only seeds count that have a
            run of every start.
        resamples: Draws of the permutation test and of the bootstrap.
        level: The confidence level.

    Example:
        >>> runs = pl.DataFrame({"start": ["low"] * 4 + ["high"] * 4, "end": ["blue"] * 4 + ["green"] * 4})
        >>> round(path_dependence(runs, "start", "end", seed=1, resamples=100).strength.value, 2)
        1.0
    """
    check_level(level)
    runs, dropped = complete_rows(frame, (start, end, *([cluster] if cluster else [])))
    if cluster is not None:
        runs, lost = _whole_clusters(runs, start, cluster)
        dropped += lost
    for key, part in runs.partition_by(start, as_dict=True).items():
        check_count(
            part.height, 2, f"the start {key[0]!r}", "a measure of dependence (cut a continuous start into levels)"
        )
    codes = runs[start].rank("dense").cast(pl.Int64).to_numpy() - 1
    if not len(codes) or codes.max() < 1:
        raise UsageError(f"the start {start!r} has fewer than two levels.", "Run at least two.")
    number = runs[end].dtype.is_numeric()
    if number:
        values = numeric(runs, end)[:, None]
        summary = runs.group_by(start).agg(n=pl.len(), mean=pl.col(end).mean(), sd=pl.col(end).std()).sort(start)
    else:
        known = runs[end].rank("dense").cast(pl.Int64).to_numpy() - 1
        values = np.eye(int(known.max()) + 1)[known]
        summary = _state_table(runs, start, end, level)
    measure, rng = _omega if number else _cramer, stream(seed, "statistics/path_dependence")
    observed = measure(codes, values)
    if cluster is None:
        orders = rng.permuted(np.tile(np.arange(len(codes)), (resamples, 1)), axis=1)
        picks = draw_within_groups(codes, resamples, rng)
    else:
        # Rows are ordered by start and seed, so that a column of places is a seed.
        places = np.arange(len(codes)).reshape(int(codes.max()) + 1, -1)
        orders = rng.permuted(np.tile(places, (resamples, 1, 1)), axis=1).reshape(resamples, -1)
        drawn = rng.integers(places.shape[1], size=(resamples, places.shape[1]))
        picks = places[:, drawn].transpose(1, 0, 2).reshape(resamples, -1)
    shuffled = np.array([measure(codes, values[order]) for order in orders])
    p = (
        1.0
        if constant(values[:, 0]) and number
        else float(((shuffled >= observed - 1e-12).sum() + 1) / (resamples + 1))
    )
    draws = np.array([observed, *(measure(codes, values[pick]) for pick in picks)]).clip(0)
    strength = percentile(draws, runs.height, level, "bootstrap of runs (percentile)", dropped)
    strength = replace(strength, warning=cautions.few_drawn(int(np.bincount(codes).min()), "runs of a start"))
    if np.ptp(draws) <= ROUNDING:
        strength = replace(strength, low=math.nan, high=math.nan, warning=_SAME_ENDS)
    return PathDependence(strength, p, summary, "omega squared" if number else "Cramér's V", runs.height, dropped)


_SAME_ENDS = "runs of a start, or of a seed, all end alike, which says nothing about how far others would differ"


def _whole_clusters(runs: pl.DataFrame, by: str, cluster: str) -> tuple[pl.DataFrame, int]:
    """The runs of clusters that have one run of every level, ordered by level and cluster, and how many others were."""
    levels = runs[by].n_unique()
    whole = runs.filter((pl.len().over(cluster) == levels) & (pl.col(by).n_unique().over(cluster) == levels)).sort(
        by, cluster
    )
    if whole.height < 2 * levels:
        raise UsageError(
            f"{whole.height // max(1, levels)} of {runs[cluster].n_unique()} values of {cluster!r} have one run for "
            f"every {by}.",
            "Leave out the cluster, or run what is missing.",
        )
    return whole, runs.height - whole.height


def _state_table(runs: pl.DataFrame, start: str, end: str, level: float) -> pl.DataFrame:
    states = runs[end].unique().sort().to_list()
    cells = [
        (key[0], part, state)
        for key, part in sorted(runs.partition_by(start, as_dict=True).items())
        for state in states
    ]
    shares = [proportion(int((part[end] == state).sum()), part.height, level) for _, part, state in cells]
    leading = {start: [value for value, _, _ in cells], "state": [state for _, _, state in cells]}
    return estimates_table(shares, **leading).rename({"value": "probability"})


def _omega(codes: Any, values: Numbers) -> float:
    """Omega squared of a one-way table, as it is estimated: perhaps below 0."""
    x = values[:, 0]
    if constant(x):
        return 0.0
    sizes = np.bincount(codes)
    means = np.bincount(codes, weights=x) / sizes
    between = float((sizes * (means - x.mean()) ** 2).sum())
    total = float(((x - x.mean()) ** 2).sum())
    error = max(0.0, total - between) / (len(x) - len(sizes))
    return (between - (len(sizes) - 1) * error) / (total + error)


def _cramer(codes: Any, values: Numbers) -> float:
    """Cramér's V of a table of starts and states, corrected for its bias (Bergsma)."""
    counts = np.zeros((codes.max() + 1, values.shape[1]))
    np.add.at(counts, codes, values)
    counts = counts[:, counts.sum(axis=0) > 0]
    n, (r, c) = counts.sum(), counts.shape
    if c < 2:
        return 0.0
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / n
    excess = float(((counts - expected) ** 2 / expected).sum() / n - (r - 1) * (c - 1) / (n - 1))
    least = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return math.copysign(math.sqrt(abs(excess) / least), excess) if least > 0 else 0.0
