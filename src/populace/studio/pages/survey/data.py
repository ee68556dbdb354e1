"""What the page of a survey shows: items, marginals, a crosstab, and one person's answers with their prompts."""

from __future__ import annotations

from typing import Any

import polars as pl

from populace.base.errors import UnknownNameError
from populace.runs.reader import RunReader
from populace.surveys import SurveyResults
from populace.surveys.variables import STATE

MOST_GROUPS = 20
"""A column with more values makes no crosstab."""


def open_survey(run: RunReader) -> SurveyResults:
    """The results of a run of a survey; QuestionnaireError where the run is none."""
    return SurveyResults(run)


def item_table(results: SurveyResults) -> pl.DataFrame:
    """A row for each item: its question, its type, and how many answers are valid."""
    rows = [
        {"item": item.id, "type": getattr(item, "type", ""), "question": item.text}
        for item in results.questionnaire.items
    ]
    return pl.DataFrame(rows).join(results.statuses, on="item", how="left", maintain_order="left")


def item_answers(results: SurveyResults, item: str) -> pl.DataFrame:
    """How the answers to an item are distributed; answers in own words in groups, each with an example."""
    if item in results.open_items:
        return results.open_answers(item).rename({"group": "value"})
    return results.marginals(item)


def group_columns(results: SurveyResults) -> list[str]:
    """The columns of the respondents, and the variables, that make groups of a size that can be read."""
    answers = {variable.name for variable in results.variables}
    columns = [name for name in results.table.columns if name not in (*answers, "id", STATE)]
    columns += [name for name in results.table.columns if name in answers]
    return [name for name in columns if 2 <= results.table[name].drop_nulls().n_unique() <= MOST_GROUPS]


def person_answers(results: SurveyResults, person: str) -> pl.DataFrame:
    """What one person was asked and answered, with the prompt of each answer."""
    ids = results.table["id"].cast(pl.String)
    if person not in ids:
        raise UnknownNameError("respondent", person, ids.head(20).to_list())
    answers = results.run.rows("answers", pl.col("person").cast(pl.String) == person)
    if not answers.height:
        return pl.DataFrame()
    keys = ["step", "ask"]
    asks = results.run.rows("asks").select(*keys, "path", pl.col("purpose").alias("item"))
    prompts = results.run.rows("prompts").select(*keys, "prompt", "system", "user", "probabilities")
    table = answers.join(asks, on=keys, how="left", maintain_order="left")
    table = table.join(prompts, on=[*keys, "prompt"], how="left", maintain_order="left")
    return table.select("step", "item", "value", "status", "system", "user", "probabilities", "path")


def survey_facts(results: SurveyResults) -> dict[str, Any]:
    """The survey in a few facts."""
    states = dict(results.table[STATE].value_counts().sort(STATE).iter_rows()) if STATE in results.table.columns else {}
    return {
        "title": results.questionnaire.title,
        "respondents": f"{results.table.height:,} from {results.respondents.name}",
        "weights": results.weight or "none",
        **{str(state): count for state, count in states.items()},
    }
