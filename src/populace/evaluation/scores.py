"""Scores of predictions against human answers: by cell, and as figures with floor, ceiling and intervals.

A cell is one person's answer to one item. The floor is the majority of other people. The ceiling is the same person's
answer at another time: nobody can be expected to predict people better than they predict themselves.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import HumanDataError
from populace.evaluation.human_answers import HumanAnswers
from populace.evaluation.predictions import Predictions
from populace.evaluation.resampling import Clusters, cluster_estimate
from populace.statistics.intervals import Estimate, estimates_table
from populace.statistics.values import ROUNDING

Matrix = npt.NDArray[np.float64]

LEAST_PROBABILITY = 1e-4
"""Probabilities below this count as this in the log-loss, so that one sure mistake does not decide everything."""


@dataclass(frozen=True)
class Cells:
    """The scores of single cells, a row for each person and a column for each item; NaN where one is missing.

    Attributes:
        correct: 1 where the most likely option is the answer; options that tie share it.
        probability: The probability of the answer.
        log_loss: Minus the logarithm of that probability.
        brier: The squared distance between the distribution and the answer.
        distance: For ordered items, the expected distance from the answer, as a share of the scale.
    """

    correct: Matrix
    probability: Matrix
    log_loss: Matrix
    brier: Matrix
    distance: Matrix


def score_cells(human: HumanAnswers, predictions: Predictions) -> Cells:
    """The scores of every cell that has both an answer and a prediction.

    Example:
        >>> from populace.evaluation import EvaluationItem
        >>> item = EvaluationItem("tea", "Tea?", ("yes", "no"))
        >>> human = HumanAnswers(("a", "b"), (item,), np.array([[0], [1]]), np.array([[0], [0]]))
        >>> score_cells(human, Predictions("sure", (item,), (np.array([[0.8, 0.2], [0.8, 0.2]]),))).correct.tolist()
        [[1.0], [0.0]]
    """
    if human.items != predictions.items:
        raise HumanDataError(f"{predictions.name} predicts other items than those that people answered.")
    shape = human.answers.shape
    columns: dict[str, Matrix] = {name: np.full(shape, np.nan) for name in Cells.__dataclass_fields__}
    for place, (item, rows) in enumerate(zip(human.items, predictions.distributions, strict=True)):
        if len(rows) != shape[0]:
            raise HumanDataError(f"{predictions.name} predicts {len(rows)} people, and there are {shape[0]}.")
        codes = human.answers[:, place]
        known = np.flatnonzero((codes >= 0) & ~np.isnan(rows).any(1))
        if not len(known):
            continue
        chances, truth = rows[known], codes[known]
        of_truth = chances[np.arange(len(known)), truth]
        best = np.isclose(chances, chances.max(1, keepdims=True), rtol=0, atol=1e-12)
        columns["correct"][known, place] = best[np.arange(len(known)), truth] / best.sum(1)
        columns["probability"][known, place] = of_truth
        columns["log_loss"][known, place] = -np.log(np.maximum(of_truth, LEAST_PROBABILITY))
        target = np.zeros_like(chances)
        target[np.arange(len(known)), truth] = 1.0
        columns["brier"][known, place] = ((chances - target) ** 2).sum(1)
        if item.ordered:
            steps = np.abs(np.arange(len(item.options))[None, :] - truth[:, None]) / max(len(item.options) - 1, 1)
            columns["distance"][known, place] = (chances * steps).sum(1)
    return Cells(**columns)


@dataclass(frozen=True)
class Fidelity:
    """How like people the answers of one agent are, beside floor and ceiling, all on the same cells.

    Attributes:
        name: The agent.
        accuracy: The share of answers that it gets right.
        log_loss: Its mean log-loss.
        brier: Its mean Brier score.
        majority: The accuracy of the majority of other people.
        retest: How often people repeat their own answer; None without a retest.
        normalised: Accuracy divided by retest; NaN where nobody repeats an answer.
        gap_closed: The share of the gap between majority and retest that it closes; 0 is the majority, 1 the retest.
            It is NaN where the gap cannot be told from 0: there is then nothing to close.
        advantage: Accuracy less that of the majority, over the same answers.
        cells: How many cells were compared.
        left_out: How many answers of people had no prediction.
        mae: The mean absolute error over ordered items, as a share of the scale; None where no item has an order.
    """

    name: str
    accuracy: Estimate
    log_loss: Estimate
    brier: Estimate
    majority: Estimate
    retest: Estimate | None
    normalised: Estimate | None
    gap_closed: Estimate | None
    advantage: Estimate
    cells: int
    left_out: int
    mae: Estimate | None = None

    def table(self) -> pl.DataFrame:
        """A row for each figure."""
        figures = {
            name: value
            for name in (*"accuracy log_loss brier mae majority advantage retest normalised gap_closed".split(),)
            if (value := getattr(self, name)) is not None
        }
        return estimates_table(list(figures.values()), agent=[self.name] * len(figures), figure=list(figures))


def fidelity(
    human: HumanAnswers,
    predictions: Predictions,
    others: HumanAnswers,
    *,
    clusters: Clusters = "people",
    seed: int = 0,
) -> Fidelity:
    """Score an agent against held-out people.

    Args:
        human: The held-out people.
        predictions: What the agent answers in their place.
        others: Other people, from whom the majority is taken; nobody of them may be held out.
        clusters: Whether intervals are about other people, other items, or both.
        seed: The seed of the bootstrap.
    """
    shared = sorted(set(human.people) & set(others.people))
    if shared:
        raise HumanDataError(
            f"person {shared[0]!r} is among the held-out people and among the others.",
            "Split by person; `HumanAnswers.split` does.",
        )
    agent = score_cells(human, predictions)
    floor = score_cells(human, Predictions.majority(others, len(human.people))).correct
    repeated = np.where(
        (human.answers >= 0) & (human.retest >= 0), (human.answers == human.retest).astype(np.float64), np.nan
    )
    predicted = ~np.isnan(agent.correct)
    if not predicted.any():
        raise HumanDataError(f"{predictions.name} has no prediction for any answer.")

    def estimate(name: str, cells: Mapping[str, Matrix]) -> Estimate:
        return cluster_estimate(cells, _FIGURES[name], clusters=clusters, seed=seed, share=name == "share")

    same_cells = np.where(predicted, floor, np.nan)
    compared = predicted & ~np.isnan(repeated)
    triple = {
        name: np.where(compared, values, np.nan)
        for name, values in (("agent", agent.correct), ("majority", floor), ("retest", repeated))
    }
    with_retest = bool(compared.any())
    return Fidelity(
        name=predictions.name,
        accuracy=estimate("share", {"value": agent.correct}),
        log_loss=estimate("mean", {"value": agent.log_loss}),
        brier=estimate("mean", {"value": agent.brier}),
        majority=estimate("share", {"value": same_cells}),
        retest=estimate("share", {"value": triple["retest"]}) if with_retest else None,
        normalised=_explained(estimate("normalised", triple)) if with_retest else None,
        gap_closed=_told_apart(estimate("gap_closed", triple), estimate("gap", triple)) if with_retest else None,
        advantage=estimate("advantage", {"agent": agent.correct, "majority": same_cells}),
        cells=int(predicted.sum()),
        left_out=int(((human.answers >= 0) & ~predicted).sum()),
        mae=estimate("share", {"value": agent.distance}) if (~np.isnan(agent.distance)).any() else None,
    )


def _normalised(means: Mapping[str, Matrix]) -> Matrix:
    with np.errstate(invalid="ignore", divide="ignore"):
        share: Matrix = means["agent"] / means["retest"]
    return share


def _gap_closed(means: Mapping[str, Matrix]) -> Matrix:
    with np.errstate(invalid="ignore", divide="ignore"):
        share: Matrix = (means["agent"] - means["majority"]) / (means["retest"] - means["majority"])
    return share


_FIGURES: dict[str, Callable[[Mapping[str, Matrix]], Matrix]] = {
    "mean": lambda means: means["value"],
    "share": lambda means: means["value"],
    "normalised": _normalised,
    "gap": lambda means: means["retest"] - means["majority"],
    "gap_closed": _gap_closed,
    "advantage": lambda means: means["agent"] - means["majority"],
}


def _explained(normalised: Estimate) -> Estimate:
    return normalised if math.isfinite(normalised.value) else replace(normalised, warning="nobody repeated an answer")


def _told_apart(closed: Estimate, gap: Estimate) -> Estimate:
    """The share of a gap that is closed, as far as there is a gap."""
    if gap.low > 0 or (math.isnan(gap.low) and gap.value > ROUNDING):
        return closed
    text = f"the gap between majority and retest cannot be told from 0: {gap}"
    if gap.value <= ROUNDING:
        text = "people repeat their answers no more often than the majority predicts them, so that there is no gap"
    return replace(closed, value=math.nan, low=math.nan, high=math.nan, warning=text)


def calibration(human: HumanAnswers, predictions: Predictions, bins: int = 10) -> pl.DataFrame:
    """How often options were the answer, by the probability that they were given.

    Returns:
        A row for each bin that holds a prediction: `low`, `high`, `predicted` (the mean probability), `observed` (the
        share that were the answer) and `n`.
    """
    chances, hits = [], []
    for place, rows in enumerate(predictions.distributions):
        codes = human.answers[:, place]
        known = np.flatnonzero((codes >= 0) & ~np.isnan(rows).any(1))
        target = np.zeros_like(rows[known])
        target[np.arange(len(known)), codes[known]] = 1.0
        chances.append(rows[known].ravel())
        hits.append(target.ravel())
    table = pl.DataFrame({"chance": np.concatenate(chances), "hit": np.concatenate(hits)})
    binned = table.with_columns(bin=(pl.col("chance") * bins).floor().clip(0, bins - 1).cast(pl.Int64))
    rows_by_bin = binned.group_by("bin").agg(predicted=pl.mean("chance"), observed=pl.mean("hit"), n=pl.len())
    return rows_by_bin.sort("bin").select(
        low=pl.col("bin") / bins, high=(pl.col("bin") + 1) / bins, predicted="predicted", observed="observed", n="n"
    )


def population_distances(human: HumanAnswers, predictions: Predictions) -> pl.DataFrame:
    """How far the answers of all agents together are from those of all people, by item.

    Returns:
        A row for each item: `total_variation` (0 to 1), `wasserstein` for ordered items (as a share of the scale), and
        `dispersion`, the variance of the agents' answers divided by that of people for ordered items.
    """
    rows = []
    for place, (item, shares) in enumerate(zip(human.items, human.shares(), strict=True)):
        distributions = predictions.distributions[place]
        known = (human.answers[:, place] >= 0) & ~np.isnan(distributions).any(1)
        mean = distributions[known].mean(0) if known.any() else np.full(len(item.options), np.nan)
        scale = np.arange(len(item.options)) / max(len(item.options) - 1, 1)
        distance = float(np.abs(np.cumsum(mean - shares))[:-1].sum() / max(len(item.options) - 1, 1))
        spread = [float((w * scale**2).sum() - (w * scale).sum() ** 2) for w in (mean, shares)]
        rows.append(
            {
                "item": item.id,
                "total_variation": float(np.abs(mean - shares).sum() / 2),
                "wasserstein": distance if item.ordered else None,
                "dispersion": spread[0] / spread[1] if item.ordered and spread[1] > 0 else None,
                "n": int(known.sum()),
            }
        )
    return pl.DataFrame(rows)
