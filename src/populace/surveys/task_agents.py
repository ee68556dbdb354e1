"""Agents in place of the people of a corpus of human decisions: one survey of all tasks, in both orders of options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import HumanDataError
from populace.engine.run import Keep, simulate
from populace.engine.workspace import Workspace
from populace.evaluation.human_decisions import HumanDecisions
from populace.evaluation.task_situations import task_situations
from populace.runs.reader import RunReader
from populace.surveys.questionnaire import Questionnaire
from populace.surveys.scenario import SurveyScenario
from populace.surveys.survey import Survey

ORDERS = ("fixed", "reversed")
"""The orders of the options in which every question is asked."""
MAX_SITUATIONS = 200_000
"""The most different situations that a model is asked about."""
_TEXT = "question_text"
_SCHEMA = {"task": pl.String(), "situation": pl.Int64(), "order": pl.String(),
           "probabilities": pl.List(pl.Float64()), "mass": pl.Float64(), "status": pl.String()}  # fmt: skip


def task_survey(
    decisions: HumanDecisions,
    *,
    orders: Sequence[str] = ORDERS,
    workspace: str | Path | Workspace | None = None,
) -> SurveyScenario:
    """A survey of agents in the situations of people: a respondent for each situation and order of the options.

    Args:
        decisions: The decisions; a task whose answer is a number cannot be asked.
        orders: The orders of the options.
        workspace: The folder that holds runs; the current one by default.
    """
    numbers = next((task.id for task in decisions.tasks.values() if not task.options), None)
    if numbers is not None:
        raise HumanDataError(
            f"task {numbers!r} asks for a number, and a distribution needs options.", "Leave it out, or give steps."
        )
    situations = task_situations(decisions).select("task", "situation", pl.col("question").alias(_TEXT), "persona")
    if situations.height > MAX_SITUATIONS:
        raise HumanDataError(
            f"there are {situations.height:,} different situations; at most {MAX_SITUATIONS:,} are asked.",
            "Take fewer tasks or fewer people.",
        )
    tables = [situations.with_columns(order=pl.lit(order)) for order in orders]
    table = pl.concat(tables).with_columns(id=pl.format("{} · {}", "situation", "order"))
    items = [
        {
            "id": _item_id(place, order),
            "type": "single",
            "text": f"{{{_TEXT}}}",
            "options": list(task.options),
            "order": order,
            "show_if": {"task": task.id, "order": order},
        }
        for place, task in enumerate(decisions.tasks.values())
        for order in orders
    ]
    questionnaire = Questionnaire.read(
        {"title": "agents in place of people", "carry": False, "profile": "{persona}", "items": items}
    )
    scenario: SurveyScenario = Survey(questionnaire).scenario(table, about=("persona",), workspace=workspace)
    return scenario


def ask_tasks(
    decisions: HumanDecisions,
    *,
    orders: Sequence[str] = ORDERS,
    workspace: str | Path | Workspace | None = None,
    keep: Keep = "run",
    **settings: Any,
) -> pl.DataFrame:
    """Ask a model in place of people; see `simulate` for the settings.

    Returns:
        A row for each task, situation (its number in `task_situations`) and order of the options: `probabilities` over
        the options in the order of the card, `mass` and `status`.
    """
    scenario = task_survey(decisions, orders=orders, workspace=workspace)
    return task_answers(simulate(scenario, workspace=workspace, keep=keep, **settings))


def task_answers(run: RunReader) -> pl.DataFrame:
    """The distributions of a run of `task_survey`, in the form of `ask_tasks`."""
    answers = run.rows("answers")
    keys = ["step", "ask"]
    prompts = run.rows("prompts").select(*keys, "prompt", "probabilities", "mass")
    people = run.people().frame.select(pl.col("id").cast(pl.String), "task", "situation", "order")
    table = answers.select(*keys, "prompt", pl.col("person").cast(pl.String).alias("id"), "status")
    table = table.join(prompts, on=[*keys, "prompt"], how="left", maintain_order="left")
    table = table.join(people, on="id", how="left", maintain_order="left")
    return table.select(pl.col(name).cast(dtype) for name, dtype in _SCHEMA.items()).sort("situation", "order")


def _item_id(place: int, order: str) -> str:
    return f"task{place}_{order}"
