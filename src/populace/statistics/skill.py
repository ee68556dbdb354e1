"""TrueSkill: the skill of several competitors from many rankings of them, with intervals.

The model is that of Herbrich, Minka and Graepel (2007) for teams of one: everybody has a skill with a normal
distribution, performs around it, and a ranking says whose performance was better. A ranking updates all skills by
messages along the chain of neighbours, as in the package `trueskill`; here many bootstrap samples are updated at once.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UsageError
from populace.base.randomness import stream
from populace.statistics.values import Numbers, check_level, library

_SWEEPS = 10
_SETTLED = 1e-4

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SkillScale:
    """The prior of TrueSkill and the spread of performances; the defaults are those of its authors.

    Attributes:
        mean: The mean of the prior.
        sd: The standard deviation of the prior.
        performance: The standard deviation of a performance around the skill.
        drift: The standard deviation by which a skill may change before each ranking.
        draw: The prior probability of a draw between two.
    """

    mean: float = 25.0
    sd: float = 25.0 / 3
    performance: float = 25.0 / 6
    drift: float = 25.0 / 300
    draw: float = 0.1

    @property
    def margin(self) -> float:
        """How near two performances are in a draw."""
        return float(library("scipy.special").ndtri((self.draw + 1) / 2)) * math.sqrt(2) * self.performance


def update_skills(means: Numbers, sds: Numbers, ranks: Sequence[float], scale: SkillScale | None = None) -> Numbers:
    """The skills after one ranking, as an array of means and an array of standard deviations.

    Args:
        means: The mean of each skill before it.
        sds: The standard deviation of each.
        ranks: The rank of each, the best the lowest; equal ranks are draws, and NaN takes no part.
        scale: The constants of the model.

    Example:
        >>> update_skills([25.0, 25.0], [25 / 3, 25 / 3], [1, 2]).round(2).tolist()
        [[29.4, 20.6], [7.17, 7.17]]
    """
    skills = np.array([[means], [sds]], dtype=np.float64)
    _update(skills, np.array([ranks], dtype=np.float64), scale or SkillScale())
    result: Numbers = skills[:, 0]
    return result


def true_skill(
    frame: pl.DataFrame,
    *,
    competitor: str,
    rank: str,
    ranking: Sequence[str],
    cluster: str | None = None,
    scale: SkillScale | None = None,
    seed: int = 0,
    resamples: int = 200,
    level: float = 0.95,
) -> pl.DataFrame:
    """The skill of every competitor, from one row for each competitor in each ranking.

    The columns `mean` and `sd` are those of TrueSkill, and `low` to `high` is the interval of its own normal
    distribution, which assumes that rankings are independent. With `cluster`, `low_by_cluster` to `high_by_cluster`
    comes from drawing whole clusters anew. Rankings show how far competitors are apart and not how high all of them
    are: the intervals hold for a skill beside the mean of all. The order of rankings matters a little; it is drawn
    from the seed. One cluster shows no precision, and its interval is null. Somebody who was never ranked beside
    another has the skill of the prior: `n` counts the rankings of two or more.

    Args:
        frame: The rankings.
        competitor: Column of who is ranked.
        rank: Column of the rank, the best the lowest; equal ranks are draws.
        ranking: Columns that together identify a ranking.
        cluster: Column of what rankings share, such as the person that they are about.
        scale: The constants of the model.
        seed: Fixes the order and the draws of the bootstrap.
        resamples: Draws of the bootstrap.
        level: The confidence level.

    Example:
        >>> rows = [(game, who, place) for game in range(20) for place, who in enumerate(["ann", "bo"])]
        >>> table = true_skill(pl.DataFrame(rows, schema=["game", "who", "place"], orient="row"),
        ...                    competitor="who", rank="place", ranking=["game"])
        >>> table["who"].to_list()
        ['ann', 'bo']
    """
    check_level(level)
    rows = frame.with_columns(pl.col(rank).cast(pl.Float64).fill_nan(None)).drop_nulls([competitor, rank, *ranking])
    if rows.select(competitor, *ranking).is_duplicated().any():
        raise UsageError("a competitor has two ranks in one ranking.", f"Name what tells rankings apart: {ranking}.")
    names = rows[competitor].unique(maintain_order=True).sort().to_list()
    if len(names) < 2:
        raise UsageError(f"a skill needs two competitors or more, and {competitor!r} has {len(names)}.")
    keys = [*ranking, *([cluster] if cluster and cluster not in ranking else [])]
    # A competitor may have the name of a column: places stand for them.
    places = rows[competitor].replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    columns_of = [f"\x1f{place}" for place in range(len(names))]
    coded = rows.select(
        *keys, pl.Series("\x1f", [columns_of[place] for place in places]), pl.col(rank).alias("\x1frank")
    )
    wide = coded.pivot(on="\x1f", index=keys, values="\x1frank").sort(keys)
    ranks = wide.select(columns_of).fill_null(float("nan")).to_numpy()
    rng, scale = stream(seed, "statistics/true_skill"), scale or SkillScale()
    order = rng.permutation(len(ranks))
    skills = _all_rankings(ranks[order][None], scale)[:, 0]
    z = float(library("scipy.special").ndtri((1 + level) / 2))
    columns = {competitor: names, "mean": skills[0], "sd": skills[1]}
    columns |= {"low": skills[0] - z * skills[1], "high": skills[0] + z * skills[1]}
    if cluster is not None:
        groups = wide[cluster].rank("dense").cast(pl.Int64).to_numpy() - 1
        low = high = np.full(len(names), np.nan)
        if groups.max() > 0:
            draws = _all_rankings(_cluster_draws(ranks, groups, resamples, rng), scale)[0]
            low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
        columns |= {"low_by_cluster": low, "high_by_cluster": high}
    compared = (~np.isnan(ranks)).sum(axis=1, keepdims=True) > 1
    counts = {"n": (~np.isnan(ranks) & compared).sum(axis=0), "mean_rank": np.nanmean(ranks, axis=0)}
    return (
        pl.DataFrame(columns | counts).sort("mean", descending=True).with_columns(pl.selectors.float().fill_nan(None))
    )


def _cluster_draws(ranks: Numbers, groups: Places, resamples: int, rng: np.random.Generator) -> Numbers:
    """For each resample the rankings of as many clusters, drawn with replacement, in random order; padded with NaN."""
    members = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    drawn = [np.concatenate([members[each] for each in rng.integers(len(members), size=len(members))])
             for _ in range(resamples)]  # fmt: skip
    padded = np.full((resamples, max(map(len, drawn)), ranks.shape[1]), np.nan)
    for place, rows in enumerate(drawn):
        padded[place, : len(rows)] = ranks[rng.permutation(rows)]
    return padded


def _all_rankings(ranks: Numbers, scale: SkillScale) -> Numbers:
    """The skills (mean, sd) of each sample after all its rankings; `ranks` is sample, ranking, competitor."""
    samples, _, competitors = ranks.shape
    skills = np.empty((2, samples, competitors))
    skills[0], skills[1] = scale.mean, scale.sd
    for place in range(ranks.shape[1]):
        _update(skills, ranks[:, place], scale)
    return skills


def _update(skills: Numbers, ranks: Numbers, scale: SkillScale) -> None:
    """Update skills (mean or sd, sample, competitor) in place by one ranking for each sample."""
    present = ~np.isnan(ranks)
    order = np.argsort(np.where(present, ranks, np.inf), axis=1, kind="stable")
    takes_part = np.take_along_axis(present, order, axis=1)
    placed = np.take_along_axis(np.nan_to_num(ranks, nan=np.inf), order, axis=1)
    mean = np.take_along_axis(skills[0], order, axis=1)
    variance = np.take_along_axis(skills[1], order, axis=1) ** 2 + scale.drift**2
    chain = _Chain(mean, variance + scale.performance**2, placed, takes_part[:, 1:], scale.margin)
    chain.settle()
    # The message to a skill is that to its performance, blurred by the spread of performances.
    pi, tau = chain.message()
    blur = 1 / (1 + scale.performance**2 * pi)
    precision = 1 / variance + blur * pi
    moved = takes_part & takes_part[:, :2].all(axis=1, keepdims=True)
    new = ((mean / variance + blur * tau) / precision, np.sqrt(1 / precision))
    for which, (values, before) in enumerate(zip(new, (mean, np.take_along_axis(skills[1], order, 1)), strict=True)):
        np.put_along_axis(skills[which], order, np.where(moved, values, before), axis=1)


class _Chain:
    """Performances in the order of their ranks, and the messages between neighbours.

    Messages are natural parameters: precision (pi) and precision times mean (tau).

    Args:
        mean: The mean of every performance, by sample and place.
        variance: Its variance.
        ranks: The rank at every place.
        pairs: Whether a place and its right neighbour both take part.
        margin: How near two performances are in a draw.
    """

    def __init__(
        self, mean: Numbers, variance: Numbers, ranks: Numbers, pairs: npt.NDArray[np.bool_], margin: float
    ) -> None:
        self.prior = (1 / variance, mean / variance)
        self.pairs, self.margin = pairs, margin
        self.draws = pairs & (ranks[:, :-1] == ranks[:, 1:])
        shape = pairs.shape
        # What each pair tells its left and its right place, and what the comparison tells the difference.
        self.to_left = np.zeros((2, *shape))
        self.to_right = np.zeros((2, *shape))
        self.truth = np.zeros((2, *shape))

    def settle(self) -> None:
        """Send messages to and fro until they hardly change."""
        last = self.pairs.shape[1] - 1
        for _ in range(_SWEEPS):
            if last == 0:
                change = self._compare(0)
            else:
                change = 0.0
                for pair in range(last):
                    change = max(change, self._compare(pair))
                    self._tell_right(pair)
                for pair in range(last, 0, -1):
                    change = max(change, self._compare(pair))
                    self._tell_left(pair)
            if change <= _SETTLED:
                break
        self._tell_left(0)
        for pair in range(last + 1):
            # Where fewer take part, the end of the chain is further left.
            self._tell_right(pair)

    def message(self) -> tuple[Numbers, Numbers]:
        """What the ranking says about each performance."""
        pi, tau = (np.zeros_like(self.prior[0]) for _ in range(2))
        for total, part in ((pi, 0), (tau, 1)):
            total[:, :-1] += self.to_left[part]
            total[:, 1:] += self.to_right[part]
        return pi, tau

    def _known(self, place: int, without: int) -> tuple[Numbers, Numbers]:
        """What is known of a performance, but for what one pair says."""
        pi, tau = self.prior[0][:, place].copy(), self.prior[1][:, place].copy()
        if place < self.pairs.shape[1] and place != without:
            pi, tau = pi + self.to_left[0][:, place], tau + self.to_left[1][:, place]
        if place > 0 and place - 1 != without:
            pi, tau = pi + self.to_right[0][:, place - 1], tau + self.to_right[1][:, place - 1]
        return pi, tau

    def _compare(self, pair: int) -> float:
        """What the comparison of two neighbours says about their difference; returns the largest change."""
        (left_pi, left_tau), (right_pi, right_tau) = self._known(pair, pair), self._known(pair + 1, pair)
        pi = 1 / (1 / left_pi + 1 / right_pi)
        tau = pi * (left_tau / left_pi - right_tau / right_pi)
        root = np.sqrt(pi)
        v, w = _truncation(tau / root, self.margin * root, self.draws[:, pair])
        known_pi, known_tau = pi / (1 - w), (tau + root * v) / (1 - w)
        active = self.pairs[:, pair]
        new = np.where(active, known_pi - pi, 0.0), np.where(active, known_tau - tau, 0.0)
        change = max(float(np.sqrt(np.abs(new[0] - self.truth[0][:, pair])).max()),
                     float(np.abs(new[1] - self.truth[1][:, pair]).max()))  # fmt: skip
        self.truth[0][:, pair], self.truth[1][:, pair] = new
        return change

    def _tell_right(self, pair: int) -> None:
        self._tell(pair, self._known(pair, pair), self.to_right, -1)

    def _tell_left(self, pair: int) -> None:
        self._tell(pair, self._known(pair + 1, pair), self.to_left, 1)

    def _tell(self, pair: int, other: tuple[Numbers, Numbers], to: Numbers, sign: int) -> None:
        """Tell one of a pair what the difference and the other one say about it."""
        pi, tau = self.truth[0][:, pair], self.truth[1][:, pair]
        active = pi > 0
        safe = np.where(active, pi, 1.0)
        precision = np.where(active, 1 / (1 / safe + 1 / other[0]), 0.0)
        to[0][:, pair] = precision
        to[1][:, pair] = precision * (sign * tau / safe + other[1] / other[0])


def _truncation(t: Numbers, margin: Numbers, draw: npt.NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    """The shift and the shrinking of a normal difference that is known to be a win, or a draw."""
    special = library("scipy.special")

    def density(x: Numbers) -> Numbers:
        return np.asarray(np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi))

    x = t - margin
    v_win = np.exp(-(x**2) / 2 - 0.5 * math.log(2 * math.pi) - special.log_ndtr(x))
    w_win = v_win * (v_win + x)
    if not draw.any():
        return v_win, np.clip(w_win, 0.0, 1 - 1e-12)
    size = np.abs(t)
    a, b = margin - size, -margin - size
    inside = np.maximum(special.ndtr(a) - special.ndtr(b), 1e-300)
    v_size = (density(b) - density(a)) / inside
    w_draw = v_size**2 + (a * density(a) - b * density(b)) / inside
    v_draw = np.where(t < 0, -v_size, v_size)
    return np.where(draw, v_draw, v_win), np.clip(np.where(draw, w_draw, w_win), 0.0, 1 - 1e-12)
