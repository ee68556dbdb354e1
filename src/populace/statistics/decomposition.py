"""The variance of an outcome by source: the factors of a study, their interactions, and chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from populace.base.errors import UnknownNameError, UsageError
from populace.base.randomness import stream
from populace.statistics.cautions import join_sentences
from populace.statistics.factorial import FactorGrid, FactorialFit
from populace.statistics.intervals import Estimate, estimates_table
from populace.statistics.resampling import percentile
from populace.statistics.values import Numbers, check_choice, check_level, complete_rows, constant, numeric

CHANCE = "chance"
INTERACTIONS = "interactions"


@dataclass(frozen=True)
class Decomposition:
    """Shares of the variance of an outcome.

    Assumes that the levels of every factor are the ones to speak about, each as important as the others: shares
    are of an outcome whose combination of levels is drawn evenly from the whole grid, and another choice of levels
    gives other shares. Chance is the variance between runs that differ only in their seed. Runs are independent
    of each other; with `cluster`, only runs of different clusters are. Shares are corrected for the part that
    chance alone would give to every factor (as omega squared is), so a factor without effect is near 0. Where
    combinations are missing, interactions beyond `order` of factors are taken to be none and count as chance.
    Chance is estimated in two strata, between clusters and within them, each with its own degrees of freedom.
    Intervals assume normal chance with one variance in each stratum; `warning` says where tails are too heavy.

    Attributes:
        shares: For each factor or group, for interactions and for chance, its share with its interval.
        variance: The variance that the shares are of.
        order: The highest number of factors whose interaction was fitted.
        factors: The factors and how many levels each has.
        cells: Combinations of levels that were run, of all that there are.
        n: Runs that it rests on.
        clusters: Clusters that they belong to; None where runs are independent.
        dropped: Rows left out because something was missing.
        warning: Why the intervals may be too short; empty where nothing was found.
    """

    shares: dict[str, Estimate]
    variance: float
    order: int
    factors: dict[str, int]
    cells: tuple[int, int]
    n: int
    clusters: int | None
    dropped: int
    warning: str = ""

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.shares:
            raise UnknownNameError("share", name, self.shares)
        return self.shares[name]

    @property
    def largest(self) -> str:
        """The name of the largest share."""
        return max(self.shares, key=lambda name: self.shares[name].value)

    def table(self) -> pl.DataFrame:
        """One row for each share."""
        return estimates_table(list(self.shares.values()), source=list(self.shares)).rename({"value": "share"})

    def __str__(self) -> str:
        return "\n".join(f"{name}: {share}" for name, share in self.shares.items())


def decompose(
    frame: pl.DataFrame,
    outcome: str,
    factors: Sequence[str],
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    cluster: str | None = None,
    interactions: str = "together",
    order: int | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int,
) -> Decomposition:
    """Decompose the variance of an outcome over a factorial table with replicate runs.

    The design need not be balanced, nor complete: cells with more runs do not count for more.

    Args:
        frame: One row for each run; rows with something missing are dropped and counted.
        outcome: The column whose variance is decomposed.
        factors: The columns that were varied, each with a few levels.
        groups: Factors to be counted together, with the interactions among them, under a name.
        cluster: The column of what runs share across combinations: the seed, under common random numbers.
        interactions: `together` as one share, or `each` by its factors (`"model:wording"`).
        order: Fit interactions of at most so many factors; by default of all, or as many as the design bears.
        level: The confidence level.
        resamples: Draws of the variances that the data allow.
        seed: Fixes the draws.

    Example:
        >>> runs = pl.DataFrame({"model": [0, 0, 1, 1] * 5, "order": [0, 1] * 10, "y": [1.0, 1.1, 3.0, 3.2] * 5})
        >>> decompose(runs, "y", ["model", "order"], seed=1).largest
        'model'
    """
    check_level(level)
    check_choice("way to show interactions", interactions, ("together", "each"))
    names = _factors(frame, outcome, factors, cluster)
    runs, dropped = complete_rows(frame, [outcome, *names, *([cluster] if cluster else [])])
    y = numeric(runs, outcome)
    grid = FactorGrid.of(runs, names, order)
    label = _labels(grid, groups, interactions)
    owner = None if cluster is None else runs[cluster].rank("dense").cast(pl.Int64).to_numpy() - 1
    clusters = None if owner is None else int(owner.max()) + 1
    if clusters is not None and clusters < 2:
        raise UsageError(f"the cluster {cluster!r} has one level.", "Leave it out, or run more seeds.")
    parts = list(dict.fromkeys([*label, CHANCE]))
    belongs = np.array([[name == part for part in parts] for name in label], dtype=np.float64)
    basis = (len(y), level, "variance in strata (chi-square pivots)", dropped)
    size = {name: len(levels) for name, levels in zip(names, grid.levels, strict=True)}
    facts = (grid.order, size, (grid.cells_run, grid.cells), len(y), clusters, dropped)
    if constant(y):
        nothing = {part: Estimate(np.nan, np.nan, np.nan, *basis) for part in parts}
        return Decomposition(nothing, 0.0, *facts)
    fit = FactorialFit.of(grid, y, owner)
    parted = fit.components(belongs)[None, :]
    total = float(parted.clip(0).sum())
    rng = stream(seed, "statistics/decompose")
    draws = np.vstack([_shares(parted), _shares(fit.draws(belongs, resamples, rng))])
    warning = "" if fit.normal else "chance has heavy tails, for which the intervals of shares are too short"
    if fit.thin:
        warning = join_sentences(warning, "from so few clusters the intervals of shares are a little too short")
    shares = {part: replace(percentile(draws[:, i], *basis), warning=warning) for i, part in enumerate(parts)}
    return Decomposition(shares, total, *facts, warning)


def _factors(frame: pl.DataFrame, outcome: str, factors: Sequence[str], cluster: str | None) -> list[str]:
    names = list(factors)
    if not names:
        raise UsageError("a decomposition needs at least one factor.")
    if len(set(names)) < len(names) or outcome in names or cluster in names:
        raise UsageError("a column is named twice.", "Outcome, factors and cluster are different columns.")
    for name in names:
        if name in (CHANCE, INTERACTIONS) or ":" in name:
            raise UsageError(f"a factor cannot be named {name!r}.", "Rename the column.")
    return names


def _labels(grid: FactorGrid, groups: Mapping[str, Sequence[str]] | None, interactions: str) -> list[str]:
    group = {name: name for name in grid.factors}
    used: set[str] = set()
    for title, members in (groups or {}).items():
        for name in members:
            if name not in group:
                raise UnknownNameError("factor", name, grid.factors)
            if name in used:
                raise UsageError(f"the factor {name!r} is in two groups.")
            used.add(name)
            group[name] = title
    labels = []
    for term in grid.terms:
        titles = list(dict.fromkeys(group[name] for name in term))
        several = INTERACTIONS if interactions == "together" else ":".join(titles)
        labels.append(several if len(titles) > 1 else titles[0])
    return labels


def _shares(parts: Numbers) -> Numbers:
    """Components as shares of their sum, those below zero as zero."""
    components = parts.clip(0)
    total = components.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(components, total, out=np.zeros_like(components), where=total > 0))
