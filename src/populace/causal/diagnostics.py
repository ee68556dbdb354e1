"""Diagnostics of a causal study: what an unstated variable does, where a response becomes a step, what a range does.

| diagnostic | question | answers it needs |
|---|---|---|
| drift | does the unstated value of a covariate change with the treatment? | covariates asked for under each level |
| focalism | does the response jump where the treatment passes a stated covariate? | the design with covariates |
| range | does the same level get another answer inside another range? | a design that tells the range, run twice |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from populace.base.errors import CausalStudyError
from populace.causal.covariate import Covariate
from populace.causal.responses import Array, Responses, too_few_valid
from populace.causal.study import CausalStudy, Treatment
from populace.statistics import adjust
from populace.statistics.crossed import CrossedFit, crossed_logit, crossed_means, identified
from populace.statistics.intervals import Estimate

MARGIN = 0.1
"""The change of an unstated variable that does not matter, in its standard deviations."""

MIN_RANGE = 3
"""A range has at least so many levels: one in the middle, and one on each side."""

DriftVerdict = Literal["constant", "drifts", "undecided", "not measured"]


@dataclass(frozen=True)
class Drift:
    """How the unstated value of a covariate changes with the treatment.

    Attributes:
        covariate: The covariate.
        contrast: Which levels are compared.
        drift: The change from the lowest to the highest level (for words: from the first to this one), in standard
            deviations of the covariate at one level.
        sd: The standard deviation, in the units of the declaration.
        p_constant: The p of the test that it stays within the margin, corrected for all covariates (Holm).
        p_drifts: The p of the test that it lies beyond, corrected in the same way.
        verdict: `constant` (within the margin), `drifts` (beyond it), or `undecided`.
        means: The mean value at each level, in the units of the declaration.
        bias: What this change adds to the slope of the blind design, in log-odds for one unit: the change of the
            covariate for one unit of the treatment × the effect of the covariate. None where the effect is not known.
    """

    covariate: str
    contrast: str
    drift: Estimate
    sd: float
    p_constant: float
    p_drifts: float
    verdict: DriftVerdict
    means: tuple[Estimate, ...]
    bias: Estimate | None = None


def drifts(
    elicited: Responses, stated: Responses | None = None, *, margin: float = MARGIN, alpha: float = 0.05
) -> list[Drift]:
    """How the unstated values of covariates change with the treatment, judged by equivalence.

    Args:
        elicited: The answers of a run with `drift`.
        stated: The answers of the design with covariates, for the effect of each covariate on the answer.
        margin: The largest change that does not matter, in standard deviations.
        alpha: The level of the tests, over all covariates together.
    """
    study = elicited.study
    measured = stated is not None and (~np.isnan(stated.y)).sum(axis=(0, 1)).min() > 0
    effects = covariate_effects(stated) if stated is not None and measured else {}
    found = []
    for name, z in elicited.elicited.items():
        fit = _fit_levels(z)
        for label, weights in _contrasts(study.treatment):
            found.append(_drift(study, study.covariate(name), z, fit, label, weights, margin, effects.get(name)))
    constant, beyond = (adjust([getattr(each, name) for each in found]) for name in ("p_constant", "p_drifts"))
    return [
        replace(
            each,
            p_constant=float(within),
            p_drifts=float(outside),
            verdict=_drift_verdict(each, within, outside, alpha),
        )
        for each, within, outside in zip(found, constant, beyond, strict=True)
    ]


def _fit_levels(z: Array) -> CrossedFit | None:
    """Means at each level; None where a level has too few answers."""
    if too_few_valid(z):
        return None
    return crossed_means(z)


def _drift(
    study: CausalStudy,
    covariate: Covariate,
    z: Array,
    fit: CrossedFit | None,
    label: str,
    weights: Array,
    margin: float,
    effect: Estimate | None,
) -> Drift:
    nothing = Estimate(math.nan, math.nan, math.nan, int((~np.isnan(z)).sum()), dropped=int(np.isnan(z).sum()))
    if fit is None:
        return Drift(covariate.name, label, nothing, math.nan, math.nan, math.nan, "not measured", ())
    sd = covariate.sd or spread(z)
    means = tuple(fit.estimate(place) for place in np.eye(z.shape[2]))
    if not sd > 0:
        change = float(weights @ fit.values)
        value = 0.0 if change == 0 else math.copysign(math.inf, change)
        still = replace(nothing, value=value)
        p = (0.0, 1.0) if value == 0 else (1.0, 0.0)
        return Drift(covariate.name, label, still, 0.0, *p, "undecided", means)
    estimate = fit.estimate(weights / sd)
    p_constant, p_drifts = fit.p_within(weights / sd, margin), fit.p_beyond(weights / sd, margin)
    if math.isnan(p_constant):  # Every person gives the same value: it is known exactly.
        p_constant, p_drifts = (0.0, 1.0) if abs(estimate.value) < margin else (1.0, 0.0)
    bias = None if effect is None else _product(fit.estimate(weights / _reach(study.treatment)), effect)
    return Drift(covariate.name, label, estimate, sd, p_constant, p_drifts, "undecided", means, bias)


def spread(z: Array) -> float:
    """The standard deviation of a covariate between people at one level and for one item.

    Where people do not differ at all it is that over the levels.

    Example:
        >>> spread(np.array([[[1.0, 5.0]], [[3.0, 7.0]]]))
        1.4142135623730951
    """
    counts = (~np.isnan(z)).sum(axis=0)
    squares = np.nansum((z - np.nanmean(z, axis=0)) ** 2, axis=0)
    freedom = np.maximum(counts - 1, 0).sum()
    within = math.sqrt(float(squares.sum() / freedom)) if freedom else 0.0
    if within > 1e-12:
        return within
    levels = np.nanmean(z, axis=(0, 1))
    return float(np.nanstd(levels))


def _contrasts(treatment: Treatment) -> list[tuple[str, Array]]:
    """Which levels are compared: the line through all levels, or each word against the first."""
    x = np.array(treatment.numbers)
    if treatment.numeric or len(x) == 2:
        centred = x - x.mean()
        names = treatment.values
        low, high = int(np.argmin(x)), int(np.argmax(x))
        return [(f"{_text(names[low])} to {_text(names[high])}", centred / (centred @ centred) * np.ptp(x))]
    places = np.eye(len(x))
    return [(f"{treatment.values[0]} to {treatment.values[k]}", places[k] - places[0]) for k in range(1, len(x))]


def _reach(treatment: Treatment) -> float:
    return float(np.ptp(treatment.numbers)) if treatment.numeric else 1.0


def _drift_verdict(drift: Drift, p_constant: float, p_drifts: float, alpha: float) -> DriftVerdict:
    if drift.verdict == "not measured":
        return drift.verdict
    return "constant" if p_constant < alpha else "drifts" if p_drifts < alpha else "undecided"


def covariate_effects(stated: Responses) -> dict[str, Estimate]:
    """The effect of each stated covariate on the answer: log-odds for one unit of its declaration.

    Covariates that have one value only have no effect that could be estimated, and few people may not tell the effects
    of several covariates apart; then there are none.

    Args:
        stated: The answers of the design with covariates.
    """
    varied = {name: values for name, values in stated.covariates.items() if np.ptp(values) > 0}
    if not varied:
        return {}
    levels = np.broadcast_to(np.eye(len(stated.x)), (*stated.y.shape, len(stated.x)))
    columns = [np.broadcast_to(z[:, :, None, None], (*stated.y.shape, 1)) for z in varied.values()]
    design = np.concatenate([levels, *columns], axis=3)
    if not identified(stated.y, design):
        return {}
    fit = crossed_logit(stated.y, design)
    places = np.eye(len(fit.values))
    return {name: fit.estimate(places[len(stated.x) + place]) for place, name in enumerate(varied)}


def _product(a: Estimate, b: Estimate) -> Estimate:
    """The product of two independent estimates, with an interval by the delta method."""
    value = a.value * b.value
    errors = [0.0 if math.isnan(each.low) else (each.high - each.low) / 2 for each in (a, b)]
    half = math.hypot(b.value * errors[0], a.value * errors[1])
    return Estimate(value, value - half, value + half, min(a.n, b.n), a.level, "drift × effect")


@dataclass(frozen=True)
class Focalism:
    """How far the response becomes a step at a stated covariate.

    The model is log-odds = level + value of the covariate + jump × (the treatment lies above the covariate). Whatever
    treatment and covariate do separately, also together, leaves the jump at 0; only a response that changes where one
    passes the other does not.

    Attributes:
        covariate: The covariate.
        jump: The jump in log-odds where the treatment passes the covariate.
        p: The p of a jump of 0.
        step_share: The share of the whole change of the answer, from the lowest level to the highest, that happens at
            this step.
        verdict: `step` where p is small, `not measured` where the answers cannot tell, else `no step found`.
    """

    covariate: str
    jump: Estimate
    p: float
    step_share: float
    verdict: Literal["step", "no step found", "not measured"]


def focalism(stated: Responses, covariate: str, *, alpha: float = 0.05) -> Focalism:
    """How far the response becomes a step where the treatment passes a stated covariate.

    Args:
        stated: The answers of the design with covariates.
        covariate: A covariate on the scale of the treatment, with at least two values between the levels.
        alpha: The level of the test.
    """
    if not stated.study.covariate(covariate).comparable or covariate not in stated.covariates:
        raise CausalStudyError(
            f"the covariate {covariate!r} is not on the scale of the treatment, so no level passes it.",
            "Write `comparable: true` beside a covariate such as another price.",
        )
    z = stated.covariates[covariate]
    above = (stated.x[None, None, :] > z[:, :, None] + 1e-9).astype(np.float64)
    values = np.unique(z)
    parts = [np.broadcast_to(np.eye(len(stated.x)), (*stated.y.shape, len(stated.x)))]
    parts += [np.broadcast_to((z == value)[:, :, None, None], (*stated.y.shape, 1)) for value in values[1:]]
    design = np.concatenate([*parts, above[..., None]], axis=3).astype(np.float64)
    if len(np.unique(above.sum(axis=2))) < 2:
        raise CausalStudyError(
            f"all values of {covariate!r} lie between the same two levels, so a step there cannot be told from the "
            "response to the treatment.",
            "Give the covariate values with a level between them.",
        )
    if too_few_valid(stated.y):
        nothing = Estimate(math.nan, math.nan, math.nan, 0, dropped=int(np.isnan(stated.y).sum()))
        return Focalism(covariate, nothing, math.nan, math.nan, "not measured")
    if not identified(stated.y, design):
        nothing = Estimate(math.nan, math.nan, math.nan, 0, warning="too few people to tell a step from the rest")
        return Focalism(covariate, nothing, math.nan, math.nan, "not measured")
    fit = crossed_logit(stated.y, design)
    place = np.eye(len(fit.values))[-1]
    jump, p = fit.estimate(place), fit.p_value(place)
    mean = np.nanmean(stated.y, axis=(0, 1))
    whole = float(mean[np.argmax(stated.x)] - mean[np.argmin(stated.x)])
    share = _step_size(design, fit.values) / whole if abs(whole) > 1e-6 else math.nan
    known = fit.values[-1] if math.isnan(p) else 0.0
    found = p < alpha if not math.isnan(p) else abs(known) > 1e-6
    return Focalism(covariate, jump, p, share, "step" if found else "no step found")


def _step_size(design: Array, values: Array) -> float:
    """How much the step changes the answer, on average over the levels at which it can happen."""
    without = design.copy()
    without[..., -1] = 0.0
    base = without @ values
    change = 1 / (1 + np.exp(-base - values[-1])) - 1 / (1 + np.exp(-base))
    mixed = design[..., -1].mean(axis=(0, 1))
    inside = (mixed > 0) & (mixed < 1)
    return float(change[..., inside].mean())


@dataclass(frozen=True)
class RangeEffect:
    """Whether one level gets another answer inside another range.

    Attributes:
        design: The design, which tells the whole range.
        level: The level that both ranges share.
        lower: The share of the answer that counts inside the lower range.
        upper: The same inside the upper range.
        difference: Upper minus lower, person by person where the people are the same.
        p: The p of a difference of 0.
        verdict: `range matters` where p is small, else `no effect found`.
    """

    design: str
    level: float
    lower: Estimate
    upper: Estimate
    difference: Estimate
    p: float
    verdict: Literal["range matters", "no effect found", "not measured"]


def range_halves(study: CausalStudy) -> tuple[CausalStudy, CausalStudy]:
    """The study with the lower and with the upper half of its levels; both have the level in the middle.

    Example:
        >>> study = CausalStudy.read({
        ...     "treatment": {"name": "price", "levels": [1, 2, 3], "statement": "It costs {price} dollars."},
        ...     "setting": "You see apples.", "question": "Do you buy?", "options": ["yes", "no"], "success": "yes"})
        >>> [half.treatment.values for half in range_halves(study)]
        [(1.0, 2.0), (2.0, 3.0)]
    """
    if not study.treatment.numeric or len(study.treatment.values) < MIN_RANGE:
        raise CausalStudyError("a range has at least three levels that are numbers.", "Declare more levels.")
    order = np.argsort(study.treatment.numbers).tolist()
    middle = len(order) // 2
    return study.with_levels(order[: middle + 1]), study.with_levels(order[middle:])


def range_effect(lower: Responses, upper: Responses, *, alpha: float = 0.05) -> RangeEffect:
    """Whether the level that two ranges share gets the same answer inside both.

    Args:
        lower: The answers inside one range.
        upper: The answers inside the other.
        alpha: The level of the test.
    """
    both = np.intersect1d(lower.x, upper.x)
    if not len(both):
        raise CausalStudyError("the two ranges have no level in common.", "Use the ranges of range_halves(study).")
    level = float(both[len(both) // 2])
    pair = [each.y[:, :, each.x == level] for each in (lower, upper)]
    if pair[0].shape != pair[1].shape:
        raise CausalStudyError("the two ranges were asked of different people or items.", "Use one study for both.")
    both_valid = np.concatenate(pair, axis=2)
    both_valid[np.isnan(both_valid).any(axis=2)] = np.nan
    if too_few_valid(both_valid):
        nothing = Estimate(math.nan, math.nan, math.nan, 0, dropped=both_valid.size)
        return RangeEffect(lower.design, level, nothing, nothing, nothing, math.nan, "not measured")
    fit = crossed_means(both_valid)
    contrast, places = np.array([-1.0, 1.0]), np.eye(2)
    difference, p = fit.estimate(contrast), fit.p_value(contrast)
    found = p < alpha if not math.isnan(p) else abs(difference.value) > 1e-9
    return RangeEffect(
        lower.design, level, fit.estimate(places[0]), fit.estimate(places[1]), difference, p,
        "range matters" if found else "no effect found",
    )  # fmt: skip


def drift_table(found: Sequence[Drift]) -> pl.DataFrame:
    """Drifts as a table, a row for each covariate and contrast."""
    return pl.DataFrame(
        {
            "covariate": [each.covariate.replace("_", " ") for each in found],
            "levels": [each.contrast for each in found],
            "drift_in_sd": [str(each.drift) for each in found],
            "p_constant": [each.p_constant for each in found],
            "p_drifts": [each.p_drifts for each in found],
            "verdict": [each.verdict for each in found],
            "bias_of_the_slope": ["–" if each.bias is None else str(each.bias) for each in found],
        }
    )


def _text(value: float | str) -> str:
    return f"{value:g}" if isinstance(value, float) else value
