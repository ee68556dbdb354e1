"""Several groups at once: whether their means differ, and which do."""

import functools
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from populace.statistics import cautions
from populace.statistics.intervals import mean
from populace.statistics.values import ROUNDING, Numbers, Values, check_level, constant, library, named_groups


@dataclass(frozen=True)
class Anova:
    """One-way analysis of variance.

    Assumes independent values, about normal within a group, that vary by about the same amount in every group;
    `levene` is the p of a test of the last (small: they do not). Where nothing varies within the groups, F, p and
    shares of variance are NaN, or F is 0 and p is 1 if the means are equal too.

    Attributes:
        f: The F statistic.
        p: Probability of means as far apart if there were no difference.
        between: Degrees of freedom between groups.
        within: Degrees of freedom within groups.
        eta: Share of variance between the groups in this sample (eta squared).
        omega: The same without its upward bias (omega squared), not below 0.
        levene: p of the Brown–Forsythe test of equal spread.
        n: Values in all groups.
        dropped: Missing values left out.
        groups: For each group its n, mean, standard deviation and t interval.
    """

    f: float
    p: float
    between: int
    within: int
    eta: float
    omega: float
    levene: float
    n: int
    dropped: int
    groups: pl.DataFrame

    @property
    def warning(self) -> str:
        """Where p may be worse than it says: groups that vary by different amounts, or too few values to see it."""
        if math.isnan(self.f):
            return _SAME_GROUPS
        return cautions.unequal_spread(self.levene, int(self.groups["n"].min()))  # type: ignore[arg-type]

    def table(self) -> pl.DataFrame:
        """The test as a table of one row."""
        names = ("f", "p", "between", "within", "eta", "omega", "levene", "n", "dropped", "warning")
        return pl.DataFrame({name: [getattr(self, name)] for name in names})

    def __str__(self) -> str:
        if math.isnan(self.f):
            return f"no F: {_SAME_GROUPS}; n = {self.n}"
        p = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.3f}"
        return f"F({self.between}, {self.within}) = {self.f:.2f}, {p}, omega² = {self.omega:.2f}, n = {self.n}"


def one_way(groups: Mapping[str, Values], level: float = 0.95) -> Anova:
    """Whether the means of several groups differ.

    Args:
        groups: Two or more values for each named group; missing ones are dropped and counted.
        level: Confidence level of the intervals of the groups.

    Example:
        >>> print(one_way({"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 4.0], "c": [6.0, 7.0, 8.0]}))
        F(2, 6) = 21.00, p = 0.002, omega² = 0.82, n = 9
    """
    values_by_group, dropped = named_groups(groups, 2, "an analysis of variance")
    pooled = np.concatenate(list(values_by_group.values()))
    scale = float(np.abs(pooled).max())
    between, within = len(values_by_group) - 1, len(pooled) - len(values_by_group)
    effect = sum(len(v) * float(v.mean() - pooled.mean()) ** 2 for v in values_by_group.values())
    error = sum(float(((v - v.mean()) ** 2).sum()) for v in values_by_group.values())
    if all(constant(v, scale) for v in values_by_group.values()):
        same = constant(pooled)
        f, p, eta, omega = (0.0, 1.0, 0.0, 0.0) if same else (math.nan, math.nan, math.nan, math.nan)
        levene = math.nan
    else:
        stats = library("scipy.stats")
        f, p = (float(x) for x in stats.f_oneway(*values_by_group.values()))
        eta = effect / (effect + error)
        omega = max(0.0, (effect - between * error / within) / (effect + error + error / within))
        levene = _levene(stats, list(values_by_group.values()))
    return Anova(f, p, between, within, eta, omega, levene, len(pooled), dropped, _summary(values_by_group, level))


def tukey(groups: Mapping[str, Values], level: float = 0.95) -> pl.DataFrame:
    """Every pair of groups with Tukey's test (Kramer's form for unequal n).

    Assumes what `one_way` assumes. Intervals and p-values hold for all pairs together, so they need no further
    correction. Where nothing varies within the groups there are no intervals, and p is 1 or NaN.

    Args:
        groups: Two or more values for each named group; missing ones are dropped and counted.
        level: Confidence level for all pairs together.

    Returns:
        One row for each pair: `a`, `b`, `difference` (a minus b), `low`, `high`, `p`, `n_a`, `n_b`, `dropped`,
        `warning`.

    Example:
        >>> tukey({"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 4.0], "c": [6.0, 7.0, 8.0]})["difference"].to_list()
        [-1.0, -5.0, -4.0]
    """
    values_by_group, dropped = named_groups(groups, 2, "Tukey's test")
    names, values = list(values_by_group), list(values_by_group.values())
    check_level(level)
    scale = float(np.abs(np.concatenate(values)).max())
    without_variance = all(constant(v, scale) for v in values)
    within = sum(map(len, values)) - len(values)
    error = sum(float(((v - v.mean()) ** 2).sum()) for v in values) / within
    stats = library("scipy.stats")
    levene = math.nan if without_variance else _levene(stats, values)
    warning = _SAME_GROUPS if without_variance else cautions.unequal_spread(levene, min(map(len, values)))
    rows = []
    for i, j in itertools.combinations(range(len(names)), 2):
        gap = float(values[i].mean() - values[j].mean())
        if without_variance:
            low, high, p = math.nan, math.nan, 1.0 if abs(gap) <= ROUNDING * scale else math.nan
        else:
            unit = math.sqrt(error / 2 * (1 / len(values[i]) + 1 / len(values[j])))
            half = _studentized_quantile(level, len(values), within) * unit
            low, high = gap - half, gap + half
            p = float(stats.studentized_range.sf(abs(gap) / unit, len(values), within))
        sizes = len(values[i]), len(values[j])
        rows.append((names[i], names[j], gap, low, high, p, *sizes, dropped, warning))
    columns = ("a", "b", "difference", "low", "high", "p", "n_a", "n_b", "dropped", "warning")
    return pl.DataFrame(rows, schema=columns, orient="row")


_SAME_GROUPS = "nothing varies within the groups, which says nothing about how far other values would differ"


@functools.cache
def _studentized_quantile(level: float, groups: int, within: int) -> float:
    """The quantile of the studentized range, which takes a tenth of a second to find."""
    return float(library("scipy.stats").studentized_range.ppf(level, groups, within))


def _levene(stats: object, values: list[Numbers]) -> float:
    spreads = [np.abs(v - np.median(v)) for v in values]
    scale = float(max(s.max() for s in spreads))
    if all(constant(s, scale) for s in spreads):
        return 1.0 if constant(np.concatenate(spreads), scale) else math.nan
    return float(stats.f_oneway(*spreads).pvalue)  # type: ignore[attr-defined]


def _summary(values_by_group: Mapping[str, Numbers], level: float) -> pl.DataFrame:
    rows = []
    shares = cautions.binary(*values_by_group.values())
    for name, values in values_by_group.items():
        centre = mean(values, level, shares=shares)
        rows.append((name, centre.n, centre.value, float(values.std(ddof=1)), centre.low, centre.high))
    return pl.DataFrame(rows, schema=("group", "n", "mean", "sd", "low", "high"), orient="row")
