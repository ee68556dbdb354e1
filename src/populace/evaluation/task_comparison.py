"""Agents against people in the tasks of a corpus of human decisions: how they decide on the whole, and task by task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import HumanDataError
from populace.evaluation.decision_tasks import DecisionTask
from populace.evaluation.human_decisions import HumanDecisions
from populace.evaluation.resampling import cluster_estimate, figure_text
from populace.evaluation.task_situations import situations_of_decisions
from populace.statistics import Estimate

Matrix = npt.NDArray[np.float64]

LEAST_PROBABILITY = 1e-4


@dataclass(frozen=True)
class TaskComparison:
    """Agents against people in one task.

    Attributes:
        task: The task.
        human: The share of each option among people.
        agents: The mean probability of each option, over the situations of the same people.
        human_mean: The mean answer of people where options are numbers, else the share of the first option.
        agents_mean: The same of agents.
        total_variation: The distance between both shares, from 0 to 1.
        wasserstein: For options that are numbers, the distance as a share of the range; None for others.
        log_loss: The mean log-loss of the agents' distributions on the answers.
        baseline: The log-loss of the shares of all people, whatever the situation.
        order_effect: The mean total variation between the two orders of the options; None where one was asked.
        decisions: How many decisions of people were compared.
        left_out: How many had no distribution of an agent.
    """

    task: DecisionTask
    human: Matrix
    agents: Matrix
    human_mean: Estimate
    agents_mean: Estimate
    total_variation: float
    wasserstein: float | None
    log_loss: Estimate
    baseline: Estimate
    order_effect: float | None
    decisions: int
    left_out: int


def option_values(task: DecisionTask) -> Matrix:
    """What each option counts: its number, or 1 for the first and 0 for the others."""
    try:
        return np.array([float(option) for option in task.options])
    except ValueError:
        return np.array([1.0] + [0.0] * (len(task.options) - 1))


def compare_tasks(decisions: HumanDecisions, answers: pl.DataFrame, *, seed: int = 0) -> list[TaskComparison]:
    """Compare the answers of agents with the decisions of people, task by task.

    Args:
        decisions: What people decided.
        answers: A table as `ask_tasks` returns it, for the same decisions.
        seed: The seed of the bootstrap over people.
    """
    rows = situations_of_decisions(decisions)
    chances = situation_chances(answers)
    by_order = answers.filter(pl.col("probabilities").is_not_null()).pivot(
        on="order", index="situation", values="probabilities", aggregate_function="first"
    )
    orders = [name for name in by_order.columns if name != "situation"]
    result = []
    for name, task in decisions.tasks.items():
        mine = rows.filter(pl.col("task") == name)
        comparison = _compare(task, mine, chances, seed)
        if len(orders) > 1:
            both = by_order.filter(pl.col("situation").is_in(mine["situation"].unique().to_list())).drop_nulls()
            pairs = [np.stack(both[order].to_list()) for order in orders[:2]] if both.height else []
            effect = float(np.abs(pairs[0] - pairs[1]).sum(1).mean() / 2) if pairs else None
            comparison = TaskComparison(**{**comparison.__dict__, "order_effect": effect})
        result.append(comparison)
    return result


def situation_chances(answers: pl.DataFrame) -> dict[int, Matrix]:
    """The distribution of each situation: the mean over the orders of the options."""
    missing = [name for name in ("situation", "order", "probabilities") if name not in answers.columns]
    if missing:
        raise HumanDataError(f"the table of answers has no column {missing[0]!r}.")
    known = answers.filter(pl.col("probabilities").is_not_null())
    chances: dict[int, Matrix] = {}
    for situation, lists in known.group_by("situation").agg(pl.col("probabilities")).iter_rows():
        chances[situation] = np.mean([np.asarray(each, np.float64) for each in lists], axis=0)
    return chances


def comparison_table(comparisons: list[TaskComparison]) -> pl.DataFrame:
    """A row for each task."""
    return pl.DataFrame(
        [
            {
                "task": each.task.id,
                "decisions": each.decisions,
                "human_mean": figure_text(each.human_mean),
                "agents_mean": figure_text(each.agents_mean),
                "total_variation": round(each.total_variation, 3),
                "wasserstein": None if each.wasserstein is None else round(each.wasserstein, 3),
                "log_loss": figure_text(each.log_loss),
                "baseline": figure_text(each.baseline),
                "order_effect": None if each.order_effect is None else round(each.order_effect, 3),
                "left_out": each.left_out,
            }
            for each in comparisons
        ]
    )


def _compare(task: DecisionTask, rows: pl.DataFrame, chances: Mapping[int, Matrix], seed: int) -> TaskComparison:
    known = rows.filter(pl.col("situation").is_in(list(chances)))
    if not known.height:
        raise HumanDataError(f"there is no answer of an agent in task {task.id!r}.", "Ask the model about it first.")
    codes = known["answer"].replace_strict({o: k for k, o in enumerate(task.options)}, return_dtype=pl.Int64).to_numpy()
    predicted = np.stack([chances[situation] for situation in known["situation"].to_list()])
    people = known["person"].rank("dense").cast(pl.Int64).to_numpy() - 1
    values = option_values(task)
    human = np.bincount(codes, minlength=len(task.options)) / len(codes)
    agents = predicted.mean(0)
    of_truth = np.maximum(predicted[np.arange(len(codes)), codes], LEAST_PROBABILITY)
    columns = {
        "human": values[codes],
        "agents": predicted @ values,
        "log_loss": -np.log(of_truth),
        "baseline": -np.log(np.maximum(human[codes], LEAST_PROBABILITY)),
    }
    shares = {"human", "agents"} if set(values.tolist()) <= {0.0, 1.0} else set()
    figures = {name: cluster_mean(column, people, seed, share=name in shares) for name, column in columns.items()}
    span = float(values.max() - values.min())
    numeric = len(set(values.tolist())) == len(values) and len(values) > 1
    order = np.argsort(values)
    steps = np.diff(values[order])
    distance = float((np.abs(np.cumsum((agents - human)[order]))[:-1] * steps).sum() / span) if numeric else None
    return TaskComparison(
        task, human, agents, figures["human"], figures["agents"], float(np.abs(human - agents).sum() / 2), distance,
        figures["log_loss"], figures["baseline"], None, len(codes), rows.height - known.height,
    )  # fmt: skip


def cluster_mean(values: Matrix, clusters: npt.NDArray[np.int64], seed: int, *, share: bool = False) -> Estimate:
    """A mean with the interval of a bootstrap over clusters, which may be of different sizes.

    Args:
        values: The values.
        clusters: The cluster of each.
        seed: The seed of the bootstrap.
        share: Whether the mean lies between 0 and 1.
    """
    count = int(clusters.max()) + 1
    sums: Matrix = np.bincount(clusters, values, count).astype(np.float64)
    sizes: Matrix = np.bincount(clusters, minlength=count).astype(np.float64)
    if count < 2:
        return Estimate(float(values.mean()), float("nan"), float("nan"), count, 0.95, "bootstrap over people")
    cells = {"sum": sums[:, None], "size": sizes[:, None]}
    return cluster_estimate(cells, lambda means: means["sum"] / means["size"], seed=seed, share=share)
