"""Effects of experiments: those of agents against those of people, both with their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import HumanDataError, UnknownNameError
from populace.base.randomness import stream
from populace.evaluation.human_decisions import HumanDecisions
from populace.evaluation.task_comparison import option_values, situation_chances
from populace.evaluation.task_situations import situations_of_decisions
from populace.statistics import Estimate
from populace.statistics.intervals import t_quantile
from populace.statistics.values import ROUNDING

Matrix = npt.NDArray[np.float64]

Z = 1.959963984540054
DRAWS = 2_000


@dataclass(frozen=True)
class ExperimentEffect:
    """The effect of two conditions, among people and among agents, as standardised mean differences.

    Attributes:
        name: The experiment.
        conditions: The control and the treatment; the effect is treatment less control.
        human: The effect among people.
        agents: The effect among agents.
        people: How many decisions were made in each condition.
    """

    name: str
    conditions: tuple[str, str]
    human: Estimate
    agents: Estimate
    people: tuple[int, int]


@dataclass(frozen=True)
class EffectAgreement:
    """How far the effects of agents agree with those of people, over some experiments.

    Attributes:
        signs: The share of experiments in which both have the same sign.
        slope: The agents' effect for each unit of the human one, with the errors of both taken into account.
        replicated: The share of experiments with a human effect in which that of agents has the same sign and an
            interval without 0.
        human_half: The share that a random half of the people replicates against the other half.
        experiments: How many experiments were compared.
        with_effect: How many of them have a human effect whose interval does not hold 0.
    """

    signs: float
    slope: Estimate
    replicated: float
    human_half: float
    experiments: int
    with_effect: int


def standardised_difference(
    means: tuple[float, float],
    variances: tuple[float, float],
    sizes: tuple[float, float],
    *,
    error: float | None = None,
    people: int | None = None,
) -> Estimate:
    """Cohen's d with its interval, from the moments of two groups; the second less the first.

    Args:
        means: The means of both groups.
        variances: Their variances.
        sizes: Their numbers of answers.
        error: The standard error of the difference of means, where answers are not independent.
        people: How many people gave the answers, where some gave several.

    Example:
        >>> round(standardised_difference((0.0, 1.0), (4.0, 4.0), (50, 50)).value, 2)
        0.5
    """
    first, second = sizes
    if min(sizes) < 2:
        raise HumanDataError(f"a condition has {min(sizes):g} people.", "An effect needs two or more in each.")
    pooled = ((first - 1) * variances[0] + (second - 1) * variances[1]) / (first + second - 2)
    n = int(first + second)
    if pooled <= ROUNDING**2 * max(abs(means[0]), abs(means[1])) ** 2:
        same = "all answers within a condition are the same, so that an effect cannot be standardised"
        return Estimate(float("nan"), float("nan"), float("nan"), n, 0.95, "Cohen's d", 0, same)
    d = (means[1] - means[0]) / pooled**0.5
    squared = n / (first * second) if error is None else error**2 / pooled
    half = t_quantile(0.95, (people or n) - 2 if (people or n) > 2 else 1) * (squared + d * d / (2 * n)) ** 0.5
    return Estimate(d, d - half, d + half, n, 0.95, "Cohen's d")


def experiment_effect(
    decisions: HumanDecisions,
    answers: pl.DataFrame,
    task: str,
    *,
    control: str,
    treatment: str,
    field: str = "condition",
) -> ExperimentEffect:
    """The effect of two conditions of a task, among people and among agents.

    Agents answer in place of the same people with a distribution each. Their effect is that of drawing from it, and
    its interval is that of one draw for each person.

    Args:
        decisions: What people decided; `seen` names the condition.
        answers: A table as `ask_tasks` returns it.
        task: The task.
        control: The condition that the effect is measured from.
        treatment: The other condition.
        field: The field of `seen` that holds the condition.
    """
    check_conditions(decisions, task, (control, treatment), field=field)
    card = decisions.tasks[task]
    rows = situations_of_decisions(decisions).filter(pl.col("task") == task)
    rows = rows.with_columns(condition=pl.col("seen").str.json_path_match(f"$.{field}"))
    chances = situation_chances(answers)
    values = option_values(card)
    codes = {option: place for place, option in enumerate(card.options)}
    human, agents, persons = [], [], []
    for condition in (control, treatment):
        mine = rows.filter((pl.col("condition") == condition) & pl.col("situation").is_in(list(chances)))
        if mine.height < 2:
            known = rows["condition"].drop_nulls().unique().sort().to_list()
            raise HumanDataError(f"task {task!r} has {mine.height} decisions in the condition {condition!r}.",
                                 f"Its conditions are: {', '.join(known)}.")  # fmt: skip
        persons.append(mine["person"])
        human.append(values[mine["answer"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()])
        agents.append(np.stack([chances[situation] for situation in mine["situation"].to_list()]))
    sizes = (len(human[0]), len(human[1]))
    of_people = standardised_difference(
        (float(human[0].mean()), float(human[1].mean())),
        (float(human[0].var(ddof=1)), float(human[1].var(ddof=1))),
        sizes,
        **_error_over_people(human, persons),
    )
    return ExperimentEffect(task, (control, treatment), of_people, _agents_effect(agents, values), sizes)


def _error_over_people(answers: Sequence[Matrix], persons: Sequence[pl.Series]) -> dict[str, Any]:
    """The error of the difference of two means over people, each of whom may have decided several times."""
    people = pl.concat(persons).rank("dense").cast(pl.Int64).to_numpy() - 1
    count = int(people.max()) + 1
    if count == len(people):
        return {}
    sides = [-(answers[0] - answers[0].mean()) / len(answers[0]), (answers[1] - answers[1].mean()) / len(answers[1])]
    shifts = np.bincount(people, np.concatenate(sides), count)
    return {"error": float((count / max(count - 1, 1) * (shifts**2).sum()) ** 0.5), "people": count}


def check_conditions(
    decisions: HumanDecisions, task: str, conditions: Sequence[str], *, field: str = "condition"
) -> None:
    """Raise an error unless a task has people in each of some conditions.

    Args:
        decisions: What people decided.
        task: The task.
        conditions: The conditions.
        field: The field of `seen` that holds the condition.
    """
    if task not in decisions.tasks:
        raise UnknownNameError("task", task, decisions.tasks)
    rows = decisions.table.filter(pl.col("task") == task)
    known = rows["seen"].cast(pl.String).str.json_path_match(f"$.{field}").drop_nulls().unique().sort().to_list()
    for condition in conditions:
        if condition not in known:
            raise UnknownNameError(f"condition of the task {task!r}", condition, known)


def _agents_effect(agents: Sequence[Matrix], values: Matrix) -> Estimate:
    """The effect of one draw for each person from their distributions."""
    moments = [(rows.mean(0) @ values, rows.mean(0) @ values**2) for rows in agents]
    means = (float(moments[0][0]), float(moments[1][0]))
    variances = (float(moments[0][1] - means[0] ** 2), float(moments[1][1] - means[1] ** 2))
    return standardised_difference(means, variances, (len(agents[0]), len(agents[1])))


def effect_agreement(effects: Sequence[ExperimentEffect], *, seed: int = 0) -> EffectAgreement:
    """How far the effects of agents agree with those of people.

    The share that a random half of the people replicates says what to expect: two halves of the same people differ by
    chance alone. Each half has half as many people, so its error is larger by the root of two.
    """
    known = [each for each in effects if np.isfinite([each.human.value, each.agents.value]).all()]
    if not known:
        raise HumanDataError("there is no effect to compare.")
    x, y = (np.array([getattr(each, side).value for each in known]) for side in ("human", "agents"))
    sx, sy = (np.array([_error(getattr(each, side)) for each in known]) for side in ("human", "agents"))
    real = np.abs(x) > Z * sx
    replicated = (np.sign(x) == np.sign(y)) & (np.abs(y) > Z * sy)
    rng = stream(seed, "evaluation/effects")
    half_error = sx * 2**0.5
    first, second = (x + half_error * rng.standard_normal((DRAWS, len(x))) for _ in range(2))
    shown = np.abs(first) > Z * half_error
    again = shown & (np.sign(first) == np.sign(second)) & (np.abs(second) > Z * half_error)
    return EffectAgreement(
        float((np.sign(x) == np.sign(y)).mean()),
        slope_with_errors(x, y, sx, sy),
        float(replicated[real].mean()) if real.any() else float("nan"),
        float(again.sum() / shown.sum()) if shown.any() else float("nan"),
        len(known),
        int(real.sum()),
    )


def slope_with_errors(x: Matrix, y: Matrix, x_error: Matrix, y_error: Matrix) -> Estimate:
    """The slope of a line through the origin where both variables are known with errors.

    It is the value that makes the weighted sum of squared distances smallest, with the weight of each point
    1 / (y_error² + slope² x_error²) (York's method). The interval is where that sum is within 3.84 of its minimum.

    Example:
        >>> x, small = np.array([1.0, 2.0, 3.0]), np.full(3, 0.01)
        >>> round(slope_with_errors(x, 2 * x, small, small).value, 3)
        2.0
    """
    if len({len(each) for each in (x, y, x_error, y_error)}) != 1 or not len(x):
        raise HumanDataError("the effects and their errors have different lengths, or there are none.")

    def distance(angle: Matrix) -> Matrix:
        # As an angle the slope is bounded, so that a steep line is found like a flat one.
        sine, cosine = np.sin(angle)[:, None], np.cos(angle)[:, None]
        spread = (cosine * y_error) ** 2 + (sine * x_error) ** 2
        squares: Matrix = ((cosine * y - sine * x) ** 2 / np.maximum(spread, 1e-18)).sum(1)
        return squares

    grid = np.linspace(-np.pi / 2, np.pi / 2, 20_001)
    heights = distance(grid)
    best = grid[int(np.argmin(heights))]
    for step in (1e-4, 1e-6, 1e-8):
        near = np.linspace(best - 2 * step, best + 2 * step, 401)
        best = near[int(np.argmin(distance(near)))]
    inside = grid[heights <= heights.min() + Z**2]
    low, high = np.tan(inside.min()), np.tan(inside.max())
    if inside.min() <= grid[1] or inside.max() >= grid[-2]:
        low, high = float("-inf"), float("inf")
    return Estimate(float(np.tan(best)), float(low), float(high), len(x), 0.95, "errors in both variables")


def effects_table(effects: Sequence[ExperimentEffect]) -> pl.DataFrame:
    """A row for each experiment."""
    return pl.DataFrame(
        [
            {
                "experiment": each.name,
                "effect": f"{each.conditions[1]} less {each.conditions[0]}",
                "human": _text(each.human),
                "agents": _text(each.agents),
                "decisions": sum(each.people),
            }
            for each in effects
        ]
    )


def _text(estimate: Estimate) -> str:
    if np.isnan(estimate.value):
        return "– (no variation)"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def _error(estimate: Estimate) -> float:
    return (estimate.high - estimate.low) / (2 * Z)
