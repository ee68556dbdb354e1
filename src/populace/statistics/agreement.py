"""How far raters agree."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.base.randomness import stream
from populace.statistics import cautions
from populace.statistics.intervals import Estimate, estimates_table
from populace.statistics.proportions import mid_p
from populace.statistics.resampling import percentile
from populace.statistics.values import Numbers, check_choice, check_count, check_level, complete_rows, numeric

LEVELS = ("nominal", "ordinal", "interval")


@dataclass(frozen=True)
class Agreement:
    """How far raters agree about the same items.

    Assumes that items are a random sample of those one speaks about and that raters judged on their own; intervals
    come from drawing items anew (for ordinal values with the distances between ranks held fixed); that of the share of
    two raters is exact (mid-P). Few items in which raters differ, or few ratings but the commonest one, warn. Where
    raters agree in every item, or in none, drawing anew shows no precision: alpha and kappa have no interval. Where
    every rating is the same, chance agreement is complete, and alpha and kappa are NaN.

    Attributes:
        alpha: Krippendorff's alpha: 1 is full agreement, 0 what chance would give.
        share: Share of pairs of ratings of one item that are equal.
        kappa: Cohen's unweighted kappa over the items that both rated; None unless there are two raters.
        items: Items with two or more ratings, on which all of this rests.
        single: Items with one rating, which say nothing about agreement.
        raters: How many raters there are.
        ratings: Ratings of the items with two or more.
        dropped: Rows left out because something was missing.
        level: How differences are weighed: `nominal`, `ordinal` or `interval`.
    """

    alpha: Estimate
    share: Estimate
    kappa: Estimate | None
    items: int
    single: int
    raters: int
    ratings: int
    dropped: int
    level: str

    def table(self) -> pl.DataFrame:
        """One row for each measure."""
        measures = {"alpha": self.alpha, "share": self.share} | ({"kappa": self.kappa} if self.kappa else {})
        return estimates_table(list(measures.values()), measure=list(measures)).with_columns(
            raters=pl.lit(self.raters), ratings=pl.lit(self.ratings)
        )


def agreement(
    frame: pl.DataFrame,
    *,
    item: str = "item",
    rater: str = "rater",
    value: str = "value",
    level: str = "nominal",
    order: Sequence[Any] | None = None,
    seed: int = 0,
    resamples: int = 1000,
    confidence: float = 0.95,
) -> Agreement:
    """Agreement between raters, from one row for each rating; not everybody needs to rate everything.

    Args:
        frame: The ratings.
        item: Column of what was rated.
        rater: Column of who rated.
        value: Column of the rating.
        level: `nominal` (equal or not), `ordinal` (ranks) or `interval` (numbers).
        order: The ordinal values from lowest to highest, where they are not numbers.
        seed: Fixes the draws of the bootstrap.
        resamples: Draws of the bootstrap.
        confidence: The confidence level.

    Example:
        >>> ratings = pl.DataFrame({"item": [1, 1, 2, 2, 3, 3], "rater": ["a", "b"] * 3, "value": [1, 1, 0, 0, 1, 0]})
        >>> round(agreement(ratings).alpha.value, 2)
        0.44
    """
    check_choice("level of measurement", level, LEVELS)
    check_level(confidence)
    ratings, dropped = complete_rows(frame, (item, rater, value))
    if ratings.select(item, rater).is_duplicated().any():
        raise UsageError(
            "a rater rated the same item twice.", f"Keep one row for each {item!r} and {rater!r}, or name them apart."
        )
    raters = ratings[rater].n_unique()
    if raters < 2:
        raise UsageError(f"agreement needs at least two raters, and {rater!r} has {raters}.")
    codes, scores = _codes(ratings[value], level, order)
    ratings = ratings.select(pl.col(item).alias("item"), pl.col(rater).alias("rater")).with_columns(code=codes)
    shared = ratings.filter(pl.len().over("item") > 1)
    single = ratings["item"].n_unique() - shared["item"].n_unique()
    counts = _counts(shared, len(scores))
    check_count(len(counts), 2, "the set of items with two ratings", "an interval of agreement")
    distance = _distances(counts.sum(axis=0), scores, level)
    draws = _draws(len(counts), resamples, seed)
    basis = (len(counts), confidence, "bootstrap of items (percentile)", dropped)
    code_pair = shared.sort("item", "rater")["code"].to_numpy().reshape(-1, 2).T if raters == 2 else None
    warning = cautions.few_drawn(len(counts), "items") or _rare(counts, level)

    def interval(statistics: Numbers) -> Estimate:
        estimate = replace(percentile(statistics, *basis), warning=warning)
        if math.isnan(estimate.value):
            return replace(estimate, warning="every rating is the same, so that chance agreement is complete")
        return estimate if estimate.width > 0 else replace(estimate, low=math.nan, high=math.nan, warning=_SAME)

    share = interval(_share(draws, counts))
    if raters == 2:
        low, high = mid_p(share.value, len(counts), confidence)
        share = replace(share, low=low, high=high, method="mid-P", warning="")
    return Agreement(
        alpha=interval(_alpha(draws, counts, distance)),
        share=share,
        kappa=None if code_pair is None else interval(_kappa(draws, code_pair, len(scores))),
        items=len(counts),
        single=single,
        raters=raters,
        ratings=shared.height,
        dropped=dropped,
        level=level,
    )


_SAME = "raters agree equally in every item, which says nothing about how far others would differ"
_ENOUGH_RARE = 20
"""Items of the rarer kind from which on the interval of alpha covers what it should (by simulation)."""


def _rare(counts: Numbers, level: str) -> str:
    """A caution where the interval rests on few items: in which raters differ, agree, or leave the commonest value."""
    differ = int((counts.max(axis=1) < counts.sum(axis=1)).sum())
    unusual = int((np.delete(counts, counts.sum(axis=0).argmax(), axis=1).sum(axis=1) > 0).sum())
    words = {"in which raters differ": differ, "with another rating than the commonest": unusual}
    if level == "nominal":
        words["in which raters agree"] = len(counts) - differ
    what, fewest = min(words.items(), key=lambda word: word[1])
    return f"from {fewest} items {what} the interval is too short" if fewest < _ENOUGH_RARE else ""


def _codes(values: pl.Series, level: str, order: Sequence[Any] | None) -> tuple[pl.Series, Numbers]:
    """Each rating as a place in the list of values, and a number for every place."""
    if level == "ordinal" and order is not None:
        known = list(order)
        strange = set(values.unique().to_list()) - set(known)
        if strange:
            raise UsageError(f"{sorted(map(str, strange))[0]!r} is not in the order given.")
    elif level == "nominal" or values.dtype.is_numeric() or isinstance(values.dtype, pl.Enum):
        known = values.unique().sort().to_list()
    else:
        hint = "Give order=(lowest, …, highest)." if level == "ordinal" else "Use level='nominal' or 'ordinal'."
        raise UsageError(f"the {level} values of {values.name!r} are not numbers.", hint)
    places = pl.Series([known.index(one) for one in known], dtype=pl.Int64)
    codes = values.replace_strict(pl.Series(known, dtype=values.dtype), places, return_dtype=pl.Int64)
    scores = numeric(pl.DataFrame({"v": known}), "v") if level == "interval" else np.arange(len(known), dtype=float)
    return codes, scores


def _counts(ratings: pl.DataFrame, values: int) -> Numbers:
    place = ratings["item"].rank("dense").cast(pl.Int64).to_numpy() - 1
    counts = np.zeros((int(place.max()) + 1 if len(place) else 0, values))
    np.add.at(counts, (place, ratings["code"].to_numpy()), 1)
    return counts


def _distances(totals: Numbers, scores: Numbers, level: str) -> Numbers:
    if level == "nominal":
        return 1.0 - np.eye(len(totals))
    if level == "ordinal":
        # Between two ranks lie all the ratings between them, and half of those at either end.
        scores = np.cumsum(totals) - totals / 2
    gaps: Numbers = (scores[:, None] - scores[None, :]) ** 2
    return gaps


def _draws(items: int, resamples: int, seed: int) -> Numbers:
    """How often each item counts: once in the first row, as drawn in the others."""
    rng = stream(seed, "statistics/agreement")
    weights = rng.multinomial(items, np.full(items, 1 / items), size=resamples)
    return np.vstack([np.ones(items), weights.astype(np.float64)])


def _alpha(draws: Numbers, counts: Numbers, distance: Numbers) -> Numbers:
    sizes = counts.sum(axis=1)
    observed = draws @ (np.einsum("ic,ck,ik->i", counts, distance, counts, optimize=True) / (sizes - 1))
    totals, ratings = draws @ counts, draws @ sizes
    expected = np.einsum("bc,ck,bk->b", totals, distance, totals, optimize=True)
    return np.asarray(1 - _ratio((ratings - 1) * observed, expected))


def _share(draws: Numbers, counts: Numbers) -> Numbers:
    sizes = counts.sum(axis=1)
    return np.asarray((draws @ (counts * (counts - 1)).sum(axis=1)) / (draws @ (sizes * (sizes - 1))))


def _kappa(draws: Numbers, code_pair: Any, values: int) -> Numbers:
    first, second = code_pair
    items = draws.sum(axis=1)
    equal = draws @ (first == second).astype(np.float64) / items
    rating_shares = [draws @ np.eye(values)[codes] / items[:, None] for codes in (first, second)]
    chance = (rating_shares[0] * rating_shares[1]).sum(axis=1)
    return 1 - _ratio(1 - equal, 1 - chance)


def _ratio(above: Numbers, below: Numbers) -> Numbers:
    return np.asarray(np.divide(above, below, out=np.full(len(below), np.nan), where=below > 1e-12))
