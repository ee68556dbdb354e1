"""Contrasts between levels of a factor, from a stated model of all factors: which arms count how much, and the test."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.statistics import cautions
from populace.statistics.effects import Effect, difference
from populace.statistics.intervals import Estimate, t_quantile, t_tail
from populace.statistics.values import Numbers, check_level, constant

_SMALL = 1e-9


def marginal_weights(arms: pl.DataFrame, factor: str) -> dict[Any, Numbers]:
    """For each level of a factor, how much each arm counts in its mean over the levels of the other factors.

    The model is additive: every factor adds its own effect, and least squares give the mean of each level over an even
    mix of the levels of the other factors. In a full design this is the plain mean of the arms that have the level,
    with or without interactions. In other designs it holds where factors do not interact.

    Args:
        arms: One row for each arm and one column for each factor.
        factor: The factor whose levels are compared.

    Raises:
        UsageError: The arms cannot tell the levels of the factor from those of another.

    Example:
        >>> arms = pl.DataFrame({"names": ["yes", "no", "yes"], "share": ["0.1", "0.1", "0.9"]})
        >>> {level: (weights.round(1) + 0).tolist() for level, weights in marginal_weights(arms, "share").items()}
        {'0.1': [0.5, 0.5, 0.0], '0.9': [-0.5, 0.5, 1.0]}
    """
    columns, means = [np.ones(arms.height)], [1.0]
    places: dict[str, list[tuple[Any, int]]] = {}
    for name in arms.columns:
        levels = arms[name].unique(maintain_order=True).to_list()
        places[name] = []
        for level in levels[1:]:
            places[name].append((level, len(columns)))
            columns.append((arms[name] == level).to_numpy().astype(np.float64))
            means.append(1 / len(levels))
    design, average = np.column_stack(columns), np.array(means)
    inverse = np.linalg.pinv(design)
    rows = {}
    for level in arms[factor].unique(maintain_order=True).to_list():
        at = average.copy()
        for other, place in places[factor]:
            at[place] = float(other == level)
        rows[level] = at
    first = next(iter(rows.values()))
    for level, at in rows.items():
        contrast = at - first
        if np.abs(contrast @ inverse @ design - contrast).max() > _SMALL:
            raise UsageError(
                f"the design cannot tell the effect of {factor} = {level} from those of other factors: "
                f"{arms.height} arms for {design.shape[1]} effects.",
                "Use a full, fractional or one-at-a-time design, or compare single arms.",
            )
    return {level: np.asarray(at @ inverse) for level, at in rows.items()}


def contrast(samples: Sequence[Numbers], weights: Numbers, level: float = 0.95, *, share: bool | None = None) -> Effect:
    """A weighted sum of the means of independent arms, which may vary by different amounts (Welch and Satterthwaite).

    Assumes that the mean of each arm is about normal. An arm in which nothing varies has the largest variance of the
    others. With weights 1 and −1 for two arms it is their `difference`.

    Args:
        samples: The values of each arm, two or more.
        weights: One for each arm; the positive ones make the first mean, the negative ones the second.
        level: The confidence level.
        share: Whether the values of two arms are shares; by default if all of them lie between 0 and 1.

    Example:
        >>> arms = [np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]), np.array([0.0, 1.0, 2.0])]
        >>> round(contrast(arms, np.array([0.5, 0.5, -1.0])).estimate.value, 2)
        2.0
    """
    check_level(level)
    used = [(np.asarray(values), float(w)) for values, w in zip(samples, weights, strict=True) if abs(w) > _SMALL]
    if sorted(w for _, w in used) == [-1.0, 1.0]:
        ordered = sorted(used, key=lambda item: -item[1])
        return difference(ordered[0][0], ordered[1][0], paired=False, level=level, share=share)
    means = [w * float(values.mean()) for values, w in used]
    above = sum(m for m, (_, w) in zip(means, used, strict=True) if w > 0)
    below = -sum(m for m, (_, w) in zip(means, used, strict=True) if w < 0)
    value, n = above - below, sum(len(values) for values, _ in used)
    variances = [0.0 if constant(values) else float(values.var(ddof=1)) for values, _ in used]
    n_above, n_below = (sum(len(values) for values, w in used if w * sign > 0) for sign in (1, -1))
    if not any(variances):
        warning = "nothing varies, which says nothing about how far other runs would differ"
        estimate = Estimate(value, math.nan, math.nan, n, level, "no variation", 0, warning)
        p = 1.0 if abs(value) < _SMALL else math.nan
        return Effect(estimate, p, False, "t", above, below, n_above, n_below, math.nan)
    filled = [variance or max(variances) for variance in variances]
    parts = [w * w * variance / len(values) for variance, (values, w) in zip(filled, used, strict=True)]
    freedom = sum(parts) ** 2 / sum(p * p / (len(values) - 1) for p, (values, _) in zip(parts, used, strict=True))
    error = math.sqrt(sum(parts))
    half = t_quantile(level, freedom) * error
    warning = cautions.join_sentences(
        cautions.few(min(len(values) for values, _ in used))
        or cautions.skewed_arms([values for values, _ in used], [w for _, w in used]),
        "nothing varies in one arm, which is taken to vary like the others" if not all(variances) else "",
    )
    estimate = Estimate(value, value - half, value + half, n, level, "Welch t of arms", 0, warning)
    spread = math.sqrt(sum((len(v) - 1) * s for s, (v, _) in zip(filled, used, strict=True)) / (n - len(used)))
    p = t_tail(value / error, freedom)
    return Effect(estimate, p, False, "t", above, below, n_above, n_below, value / spread)
