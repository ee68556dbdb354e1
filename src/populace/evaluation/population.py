"""Agents as a population: how they spread, what goes together in their answers, and known distortions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import HumanDataError, UnknownNameError
from populace.evaluation.human_answers import EvaluationItem, HumanAnswers
from populace.evaluation.predictions import Predictions
from populace.evaluation.sensitivity import GroupFlip

Matrix = npt.NDArray[np.float64]

_FEWEST = 20


@dataclass(frozen=True)
class ResponseStyle:
    """How often the ends and the middle of ordered scales are chosen.

    Attributes:
        extreme_human: The share of answers of people at either end of a scale of three points or more.
        extreme_agents: The same of agents.
        middle_human: The share of answers in the middle of a scale with an odd number of points.
        middle_agents: The same of agents.
        items: How many items have such a scale.
    """

    extreme_human: float
    extreme_agents: float
    middle_human: float
    middle_agents: float
    items: int


@dataclass(frozen=True)
class CovarianceStructure:
    """What goes together in the answers.

    Attributes:
        correlation: The correlation between people's and agents' correlations, over all pairs of items.
        ratio: The mean size of agents' correlations divided by that of people's; below 1 their answers hang together
            less.
        mean_difference: The mean absolute difference between both.
        pairs: How many pairs of items were compared.
    """

    correlation: float
    ratio: float
    mean_difference: float
    pairs: int


def item_scores(item: EvaluationItem) -> Matrix:
    """What each option counts: its place from 0 to 1 in an ordered item, else 1 for the first and 0 for the others."""
    count = len(item.options)
    return np.arange(count) / max(count - 1, 1) if item.ordered else (np.arange(count) == 0).astype(np.float64)


def covariance_structure(human: HumanAnswers, predictions: Predictions) -> CovarianceStructure:
    """Compare which answers go together among people and among agents.

    Agents draw each answer from its own distribution, so two answers of an agent go together only through what they
    know of the person: the covariance is that of the expected answers, and the variance has the spread of the draws
    as well. Pairs of items with fewer than 20 people in common are left out.
    """
    ours, agents, spread = _matrices(human, predictions)
    pairs = []
    for one in range(len(human.items)):
        for other in range(one + 1, len(human.items)):
            both = ~np.isnan(ours[:, one] + ours[:, other] + agents[:, one] + agents[:, other])
            if both.sum() < _FEWEST:
                continue
            of_people = _correlation(ours[both, one], ours[both, other], 0.0, 0.0)
            within = (spread[both, one].mean(), spread[both, other].mean())
            of_agents = _correlation(agents[both, one], agents[both, other], *within)
            if of_people is not None and of_agents is not None:
                pairs.append((of_people, of_agents))
    if len(pairs) < 2:
        raise HumanDataError(f"there are {len(pairs)} pairs of items with {_FEWEST} people in common.")
    values = np.array(pairs)
    size = np.abs(values).mean(0)
    flat = values.std(0).min() == 0
    return CovarianceStructure(
        float("nan") if flat else float(np.corrcoef(values.T)[0, 1]),
        float(size[1] / size[0]) if size[0] > 0 else float("nan"),
        float(np.abs(values[:, 0] - values[:, 1]).mean()),
        len(pairs),
    )


def response_style(human: HumanAnswers, predictions: Predictions) -> ResponseStyle:
    """How often people and agents choose the ends and the middle of ordered scales."""
    sums, counts = np.zeros(4), np.zeros(4)
    items = 0
    for item, codes, rows in _columns(human, predictions):
        last = len(item.options) - 1
        known = (codes >= 0) & ~np.isnan(rows).any(1)
        if not item.ordered or last < 2 or not known.any():
            continue
        items += 1
        ends = np.isin(codes[known], [0, last]), rows[known][:, [0, last]].sum(1)
        figures = [*ends, *([codes[known] == last // 2, rows[known][:, last // 2]] if last % 2 == 0 else [])]
        for place, values in enumerate(figures):
            sums[place] += float(np.sum(values))
            counts[place] += len(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = sums / counts
    extreme_human, extreme_agents, middle_human, middle_agents = shares.tolist()
    return ResponseStyle(extreme_human, extreme_agents, middle_human, middle_agents, items)


def order_effect(first: Predictions, second: Predictions) -> pl.DataFrame:
    """How far the distributions of the same agents differ between two orders of the options, by item.

    Returns:
        A row for each item: `item`, `total_variation` (the mean over people), and `n`.
    """
    if first.items != second.items:
        raise HumanDataError(f"{first.name} and {second.name} are about different items.")
    rows = []
    for item, one, other in zip(first.items, first.distributions, second.distributions, strict=True):
        distance = np.abs(one - other).sum(1) / 2
        known = distance[~np.isnan(distance)]
        rows.append((item.id, float(known.mean()) if len(known) else None, len(known)))
    return pl.DataFrame(rows, schema={"item": pl.String, "total_variation": pl.Float64, "n": pl.Int64}, orient="row")


def distortions(
    human: HumanAnswers,
    predictions: Predictions,
    *,
    flip: GroupFlip | None = None,
    best: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """The known distortions of simulated people, each as one number beside what it is without a distortion.

    `individuation`: the variance between agents divided by the stable variance between people (the covariance of test
    and retest); below 1 agents are too much alike. `dispersion`: the variance of all answers, agents to people.
    `stereotyping`: the share of variance that lies between two groups, agents to people. `representation`: by how much
    farther agents are from the worse represented group than from the better one, as total variation. `ideology`: how
    far agents lean towards the second group, as a part of the way from the first to the second group; 0 is none.
    `hyper-rationality`: how much more often agents give the answer that a rational calculation gives.

    Args:
        human: The people.
        predictions: What agents answer in their place.
        flip: Two groups, for stereotyping, representation and ideology.
        best: For some items, the answer that a rational calculation gives.

    Returns:
        A row for each: `distortion`, `value`, `undistorted` (the value without it) and `items`.
    """
    rows: list[tuple[str, float, float, int]] = [*_spread_rows(human, predictions)]
    if flip is not None:
        rows += _group_rows(human, predictions, flip)
    if best:
        rows.append(_rationality_row(human, predictions, best))
    schema = {"distortion": pl.String, "value": pl.Float64, "undistorted": pl.Float64, "items": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _columns(
    human: HumanAnswers, predictions: Predictions
) -> list[tuple[EvaluationItem, npt.NDArray[np.int64], Matrix]]:
    if human.items != predictions.items:
        raise HumanDataError(f"{predictions.name} predicts other items than those that people answered.")
    return list(zip(human.items, human.answers.T, predictions.distributions, strict=True))


def _matrices(human: HumanAnswers, predictions: Predictions) -> tuple[Matrix, Matrix, Matrix]:
    """People's answers, agents' expected answers, and the variance of an agent's draw, for each person and item."""
    ours, agents, spread = (np.full(human.answers.shape, np.nan) for _ in range(3))
    for place, (item, codes, rows) in enumerate(_columns(human, predictions)):
        scores = item_scores(item)
        ours[:, place] = np.where(codes >= 0, scores[codes], np.nan)
        agents[:, place] = rows @ scores
        spread[:, place] = rows @ scores**2 - agents[:, place] ** 2
    return ours, agents, spread


def _correlation(one: Matrix, other: Matrix, spread_one: float, spread_other: float) -> float | None:
    variances = one.var() + spread_one, other.var() + spread_other
    if min(variances) <= 1e-12:
        return None
    return float(((one - one.mean()) * (other - other.mean())).mean() / np.sqrt(variances[0] * variances[1]))


def _spread_rows(human: HumanAnswers, predictions: Predictions) -> list[tuple[str, float, float, int]]:
    ours, agents, spread = _matrices(human, predictions)
    between_agents = between_people = all_agents = all_people = 0.0
    twice = items = 0
    for place, item in enumerate(human.items):
        known = ~np.isnan(ours[:, place] + agents[:, place])
        if known.sum() < 2:
            continue
        items += 1
        all_people += ours[known, place].var(ddof=1)
        all_agents += agents[known, place].var(ddof=1) + spread[known, place].mean()
        again = known & (human.retest[:, place] >= 0)
        if again.sum() >= 2:
            twice += 1
            second = item_scores(item)[human.retest[again, place]]
            between_people += float(np.cov(ours[again, place], second)[0, 1])
            between_agents += agents[again, place].var(ddof=1)
    ratio = between_agents / between_people if between_people > 0 else float("nan")
    wide = all_agents / all_people if all_people > 0 else float("nan")
    return [("individuation", ratio, 1.0, twice), ("dispersion", wide, 1.0, items)]


def _group_rows(human: HumanAnswers, predictions: Predictions, flip: GroupFlip) -> list[tuple[str, float, float, int]]:
    members = flip.first.members(human), flip.second.members(human)
    ours, agents, spread = _matrices(human, predictions)
    explained = np.zeros(4)
    lean, distances, items = np.zeros(2), np.zeros(2), 0
    for place, (item, codes, rows) in enumerate(_columns(human, predictions)):
        known = (codes >= 0) & ~np.isnan(rows).any(1)
        sides = [mine & known for mine in members]
        if min(side.sum() for side in sides) < 2:
            continue
        items += 1
        either = sides[0] | sides[1]
        sizes = np.array([side.sum() for side in sides])
        for k, values in enumerate((ours, agents)):
            means = np.array([values[side, place].mean() for side in sides])
            centre = (means * sizes).sum() / sizes.sum()
            explained[2 * k] += float((sizes * (means - centre) ** 2).sum() / sizes.sum())
            within = spread[either, place].mean() if k else 0.0
            explained[2 * k + 1] += float(values[either, place].var() + within)
        shares = [np.bincount(codes[side], minlength=len(item.options)) / side.sum() for side in sides]
        chances = [rows[side].mean(0) for side in sides]
        distances += [float(np.abs(share - chance).sum() / 2) for share, chance in zip(shares, chances, strict=True)]
        middle, apart = (shares[0] + shares[1]) / 2, shares[1] - shares[0]
        lean += [float(((chances[0] + chances[1]) / 2 - middle) @ apart), float(apart @ apart)]
    if not items:
        raise HumanDataError(f"no item has two people of each group of {flip.column!r}.")
    between = explained[0] / explained[1] if explained[1] > 0 else float("nan")
    of_agents = explained[2] / explained[3] if explained[3] > 0 else float("nan")
    return [
        ("stereotyping", of_agents / between if between > 0 else float("nan"), 1.0, items),
        ("representation", float(np.abs(distances[0] - distances[1]) / items), 0.0, items),
        ("ideology", float(lean[0] / lean[1]) if lean[1] > 0 else float("nan"), 0.0, items),
    ]


def _rationality_row(
    human: HumanAnswers, predictions: Predictions, best: Mapping[str, str]
) -> tuple[str, float, float, int]:
    known_items = {item.id for item in human.items}
    for name in best:
        if name not in known_items:
            raise UnknownNameError("item", name, known_items)
    differences = []
    for item, codes, rows in _columns(human, predictions):
        if item.id not in best:
            continue
        if best[item.id] not in item.options:
            raise UnknownNameError(f"option of item {item.id!r}", best[item.id], item.options)
        place = item.options.index(best[item.id])
        known = (codes >= 0) & ~np.isnan(rows).any(1)
        if known.any():
            differences.append(float(rows[known, place].mean() - (codes[known] == place).mean()))
    value = float(np.mean(differences)) if differences else float("nan")
    return "hyper-rationality", value, 0.0, len(differences)
