"""Agents in place of the people of a panel: one survey of all arms, with the distribution of every answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import HumanDataError
from populace.engine.run import Keep, simulate
from populace.engine.workspace import Workspace
from populace.evaluation.arms import Arm, personas
from populace.evaluation.human_answers import HumanAnswers
from populace.runs.reader import RunReader
from populace.surveys.questionnaire import Questionnaire
from populace.surveys.scenario import SurveyScenario
from populace.surveys.survey import Survey

PERSONA = "persona"
"""The column of respondents that holds what an agent knows."""
_ASKED = "asked_"
_SCHEMA = {"person": pl.String(), "arm": pl.String(), "item": pl.String(), "probabilities": pl.List(pl.Float64()),
           "mass": pl.Float64(), "status": pl.String(), "model": pl.String()}  # fmt: skip


def panel_survey(
    human: HumanAnswers,
    arms: Sequence[Arm],
    targets: Sequence[str],
    *,
    everything: Sequence[Arm] = (),
    most_people: int = 20,
    workspace: str | Path | Workspace | None = None,
) -> SurveyScenario:
    """A survey of agents in place of people: a respondent for each person and arm.

    Args:
        human: The held-out people.
        arms: What agents know. They are asked the items that the person answered.
        targets: The items that are asked; an arm may not know the answer to any of them.
        everything: Arms that are asked every item, for some of the people: those that measure how answers move when a
            profile changes.
        most_people: For how many people those are asked, the first ones.
        workspace: The folder that holds runs; the current one by default.
    """
    for arm in (*arms, *everything):
        leak = next((name for name in arm.context if name in targets), None)
        if leak is not None:
            raise HumanDataError(
                f"the arm {arm.name!r} knows the answers to item {leak!r}, which it is asked.",
                "An item is either predicted or known.",
            )
    asked = human.select(targets)
    tables = [_respondents(human, asked.answers >= 0, arm) for arm in arms]
    if everything:
        some = human.take(np.arange(min(most_people, len(human.people))))
        tables += [_respondents(some, np.ones((len(some.people), len(targets)), np.bool_), arm) for arm in everything]
    table = pl.concat(tables).rename({str(place): _ASKED + item.id for place, item in enumerate(asked.items)})
    items = [
        {
            "id": item.id,
            "type": "single",
            "text": item.text.replace("{", "(").replace("}", ")"),
            "options": list(item.options),
            "show_if": {_ASKED + item.id: True},
        }
        for item in asked.items
    ]
    title = f"agents in place of {len(human.people)} people"
    questionnaire = Questionnaire.read({"title": title, "carry": False, "profile": f"{{{PERSONA}}}", "items": items})
    scenario: SurveyScenario = Survey(questionnaire).scenario(table, about=(PERSONA,), workspace=workspace)
    return scenario


def ask_panel(
    human: HumanAnswers,
    arms: Sequence[Arm],
    targets: Sequence[str],
    *,
    everything: Sequence[Arm] = (),
    most_people: int = 20,
    workspace: str | Path | Workspace | None = None,
    keep: Keep = "run",
    **settings: Any,
) -> pl.DataFrame:
    """Ask a model in place of people; see `panel_survey`, and `simulate` for the settings.

    Returns:
        A row for each person, arm and item: `probabilities` over the options in their order, `mass` (how much of the
        model's probability is on the options), `status` and `model`. Probabilities are null where there is
        no distribution.
    """
    scenario = panel_survey(human, arms, targets, everything=everything, most_people=most_people, workspace=workspace)
    return panel_answers(simulate(scenario, workspace=workspace, keep=keep, **settings))


def panel_answers(run: RunReader) -> pl.DataFrame:
    """The distributions of a run of `panel_survey`, in the form of `ask_panel`."""
    answers = run.rows("answers")
    if not answers.height:
        return pl.DataFrame(schema=_SCHEMA)
    keys = ["step", "ask"]
    purposes = run.rows("asks").select(*keys, pl.col("purpose").alias("item"))
    prompts = run.rows("prompts").select(*keys, "prompt", "probabilities", "mass", "model")
    people = run.people().frame.select(pl.col("id").cast(pl.String), "person", "arm")
    table = answers.select(*keys, "prompt", pl.col("person").cast(pl.String).alias("id"), "status")
    table = table.join(purposes, on=keys, how="left", maintain_order="left")
    table = table.join(prompts, on=[*keys, "prompt"], how="left", maintain_order="left")
    table = table.join(people, on="id", how="left", maintain_order="left")
    return table.select(pl.col(name).cast(dtype) for name, dtype in _SCHEMA.items())


def _respondents(human: HumanAnswers, asked: np.ndarray[Any, np.dtype[np.bool_]], arm: Arm) -> pl.DataFrame:
    people = pl.Series("person", list(human.people), pl.String)
    columns: Mapping[str, Any] = {
        "id": people + f" · {arm.name}",
        "person": people,
        "arm": pl.Series([arm.name]).new_from_index(0, len(people)),
        PERSONA: personas(human, arm),
        **{str(place): asked[:, place] for place in range(asked.shape[1])},
    }
    return pl.DataFrame(columns)
