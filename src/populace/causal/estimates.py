"""What a design says about the estimand: the curve E[Y(do level)], its slope in log-odds, and areas between curves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from populace.causal.responses import Array, Cost, Responses, too_few_valid
from populace.causal.wording import CausalDesign
from populace.statistics.crossed import crossed_logit, crossed_means
from populace.statistics.intervals import Estimate, estimates_table, wilson

LEVEL = "level_of_treatment"
"""The column of levels in the table of a curve."""

Direction = Literal["falls", "rises", "either"]
Response = Literal[
    "responds",
    "does not respond",
    "responds the other way",
    "no clear direction",
    "too few valid answers",
    "not measured",
]

_FLAT = 0.02
"""A curve that is known to stay within this distance of its mean does not respond."""


@dataclass(frozen=True)
class DesignEstimate:
    """What a design says about the estimand.

    Attributes:
        design: The design.
        levels: The levels of the treatment, as numbers.
        curve: E[Y(do level)] at each level.
        slope: The change of the log-odds for one unit of the treatment, of the logistic curve that fits best.
        fall: The share at the lowest level minus that at the highest.
        response: Whether the answers respond to the treatment, and in the direction that the study expects; not judged
            with fewer than 10 valid answers at a level, or where more than half of them are invalid.
        cost: Calls, tokens and price.
        invalid: How many answers were invalid.
    """

    design: CausalDesign
    levels: tuple[float, ...]
    curve: tuple[Estimate, ...]
    slope: Estimate
    fall: Estimate
    response: Response
    cost: Cost
    invalid: int

    @property
    def informative(self) -> bool:
        """Whether the answers respond to the treatment in the direction that the study expects."""
        return self.response == "responds"

    @property
    def judged(self) -> bool:
        """Whether there are enough valid answers to judge the response."""
        return self.response not in ("too few valid answers", "not measured")

    @property
    def values(self) -> Array:
        """The curve without its intervals."""
        return np.array([estimate.value for estimate in self.curve])

    def table(self) -> pl.DataFrame:
        """The curve, a row for each level."""
        return estimates_table(list(self.curve), **{LEVEL: list(self.levels)})


def design_estimate(responses: Responses, *, level: float = 0.95) -> DesignEstimate:
    """The curve and the slope of a design, with intervals clustered by person and by item.

    Args:
        responses: The answers.
        level: The confidence level.

    Example:
        >>> from populace import Scripted, simulate
        >>> from populace.causal import CausalScenario, CausalStudy
        >>> study = CausalStudy.read({
        ...     "treatment": {"name": "price", "levels": [1, 2], "statement": "It costs {price} dollars."},
        ...     "setting": "You see apples.", "question": "Do you buy?", "options": ["yes", "no"], "success": "yes"})
        >>> model = Scripted(lambda request: {"yes": 0.8 if "costs 1" in str(request.messages) else 0.2, "no": 0.2})
        >>> run = simulate(CausalScenario(study=study), model=model, keep="nothing")
        >>> round(design_estimate(Responses.of(run)).slope.value, 2)
        -1.39
    """
    y, x = responses.y, responses.x
    if (~np.isnan(y)).sum(axis=(0, 1)).min() == 0:
        return _unmeasured(responses, level)
    means = crossed_means(y)
    places = np.eye(len(x))
    curve = tuple(_share(means.estimate(place, level)) for place in places)
    logit = crossed_logit(y, np.column_stack([np.ones(len(x)), x]))
    slope = logit.estimate(np.array([0.0, responses.study.unit]), level)
    ends = places[int(np.argmin(x))] - places[int(np.argmax(x))]
    fall = means.estimate(ends, level)
    flat = all(_is_flat(means.estimate(place - 1 / len(x), level)) for place in places)
    return DesignEstimate(
        responses.design,
        tuple(x.tolist()),
        curve,
        slope,
        fall,
        _response(y, slope, flat, responses.study.expected),
        responses.cost,
        responses.invalid,
    )


def _unmeasured(responses: Responses, level: float) -> DesignEstimate:
    """The estimates of a design without a valid answer at some level: there are none."""
    y = responses.y
    nothing = Estimate(math.nan, math.nan, math.nan, int((~np.isnan(y)).sum()), level, "", int(np.isnan(y).sum()))
    levels = tuple(responses.x.tolist())
    curve, cost = (nothing,) * len(levels), responses.cost
    return DesignEstimate(responses.design, levels, curve, nothing, nothing, "not measured", cost, responses.invalid)


def _share(estimate: Estimate) -> Estimate:
    """The interval of a share, on the scale of log-odds, so that it stays between 0 and 1."""
    value, n = min(max(estimate.value, 0.0), 1.0), estimate.n
    rest = (n, estimate.level, estimate.method, estimate.dropped, estimate.warning)
    if value in (0.0, 1.0):
        low, high = wilson(value, n, estimate.level)
        return Estimate(value, low, high, *rest)
    if math.isnan(estimate.low):
        return Estimate(value, math.nan, math.nan, *rest)
    half = (estimate.high - estimate.low) / 2 / (value * (1 - value))
    centre = math.log(value / (1 - value))
    low, high = (1 / (1 + math.exp(-min(max(centre + side * half, -700), 700))) for side in (-1, 1))
    return Estimate(value, low, high, *rest)


def _is_flat(deviation: Estimate) -> bool:
    """Whether a level is known to lie near the mean of the curve; where nothing varies, its value is known."""
    ends = (deviation.value,) * 2 if math.isnan(deviation.low) else (deviation.low, deviation.high)
    return ends[0] > -_FLAT and ends[1] < _FLAT


def _response(y: Array, slope: Estimate, flat: bool, expected: Direction) -> Response:
    """Whether there are answers enough, and whether their curve rises or falls as expected."""
    if too_few_valid(y):
        return "too few valid answers"
    if flat:
        return "does not respond"
    ends = (slope.value,) * 2 if math.isnan(slope.low) else (slope.low, slope.high)
    if ends[0] <= 0 <= ends[1]:
        return "no clear direction"
    direction = "rises" if ends[0] > 0 else "falls"
    return "responds" if expected in ("either", direction) else "responds the other way"


@dataclass(frozen=True)
class DesignDistance:
    """How far two curves lie apart, over the range of the levels.

    Attributes:
        first: The first curve.
        second: The second curve.
        signed: The mean of the first minus the second over the range (area between the curves, with its sign).
        absolute: The mean distance over the range (area between the curves, without sign). Chance alone makes it
            larger than 0; its interval is a bootstrap over people and items.
        slope: The slope of the first minus that of the second, in log-odds.
    """

    first: str
    second: str
    signed: Estimate
    absolute: Estimate
    slope: Estimate


def design_distance(a: Responses, b: Responses, *, level: float = 0.95, seed: int = 0) -> DesignDistance:
    """How far the curves of two designs lie apart.

    Designs with the same people are compared person by person; a forecast is compared as an independent sample.

    Args:
        a: The answers of the first design.
        b: The answers of the second.
        level: The confidence level.
        seed: The seed of the bootstrap.
    """
    weights = trapezoid(a.x)
    design = np.column_stack([np.ones(len(a.x)), a.x])
    unit = np.array([0.0, a.study.unit])
    if a.y.shape == b.y.shape:
        both = np.concatenate([a.y, b.y], axis=2)
        signed = crossed_means(both).estimate(np.concatenate([weights, -weights]), level)
        blocks: Array = np.kron(np.eye(2), design).astype(np.float64)
        slope = crossed_logit(both, blocks).estimate(np.concatenate([unit, -unit]), level)
    else:
        signed = _apart(crossed_means(a.y).estimate(weights, level), crossed_means(b.y).estimate(weights, level))
        slope = _apart(
            crossed_logit(a.y, design).estimate(unit, level), crossed_logit(b.y, design).estimate(unit, level)
        )
    return DesignDistance(a.design, b.design, signed, absolute_distance(a.y, b.y, a.x, level=level, seed=seed), slope)


def trapezoid(x: Array) -> Array:
    """Weights with which the values of a curve at its levels sum up to its mean over the range (trapezoid rule).

    Example:
        >>> trapezoid(np.array([0.0, 1.0, 2.0])).tolist()
        [0.25, 0.5, 0.25]
    """
    order = np.argsort(x)
    gaps = np.diff(x[order])
    weights = np.zeros(len(x))
    weights[order[:-1]] += gaps / 2
    weights[order[1:]] += gaps / 2
    total: Array = weights / weights.sum()
    return total


def absolute_distance(
    a: Array, b: Array, x: Array, *, level: float = 0.95, draws: int = 400, seed: int = 0
) -> Estimate:
    """The mean distance between two curves over the range of the levels, with a bootstrap over people and items.

    Args:
        a: Answers: people × items × levels.
        b: Others at the same levels; of the same people and items where the shapes are equal.
        x: The levels.
        level: The confidence level.
        draws: The number of bootstrap samples.
        seed: Their seed.
    """
    weights = trapezoid(x)
    value = float(weights @ np.abs(np.nanmean(a, axis=(0, 1)) - np.nanmean(b, axis=(0, 1))))
    rng = np.random.default_rng(seed)
    paired = a.shape == b.shape
    counts = [_resample(rng, size, draws) for size in a.shape[:2]]
    others = counts if paired else [_resample(rng, size, draws) for size in b.shape[:2]]
    curves = _weighted_curve(a, *counts) - _weighted_curve(b, *others)
    ends = np.nanquantile(np.abs(curves) @ weights, [(1 - level) / 2, (1 + level) / 2])
    n, missing = int((~np.isnan(a)).sum()), int(np.isnan(a).sum() + np.isnan(b).sum())
    return Estimate(value, float(ends[0]), float(ends[1]), n, level, "bootstrap over people and items", missing)


def _resample(rng: np.random.Generator, size: int, draws: int) -> Array:
    """How often each person or item is drawn in each sample; a single one is always there once."""
    return rng.multinomial(size, np.full(size, 1 / size), draws).astype(np.float64) if size > 1 else np.ones((draws, 1))


def _weighted_curve(y: Array, people: Array, items: Array) -> Array:
    present = (~np.isnan(y)).astype(np.float64)
    sums = np.einsum("di,dil->dl", items, np.tensordot(people, np.nan_to_num(y), (1, 0)))
    counts = np.einsum("di,dil->dl", items, np.tensordot(people, present, (1, 0)))
    curve: Array = sums / np.where(counts > 0, counts, np.nan)
    return curve


def _apart(a: Estimate, b: Estimate) -> Estimate:
    """The difference of two independent estimates."""
    value = a.value - b.value
    # Where nothing varies, a value is known.
    half = math.hypot(*(0.0 if math.isnan(each.high) else each.high - each.value for each in (a, b)))
    note = "; ".join(dict.fromkeys(each.warning for each in (a, b) if each.warning))
    return Estimate(value, value - half, value + half, a.n + b.n, a.level, a.method, a.dropped + b.dropped, note)
