"""Surveys as JSON: items, marginals, a crosstab, one person's answers."""

from typing import Any

from populace.studio.pages.survey import data
from populace.studio.studio import Studio


def get_survey(studio: Studio, name: str, item: str = "", by: str = "", person: str = "") -> dict[str, Any]:
    """A survey: its items and marginals and, where they are asked for, a crosstab and the answers of a person."""
    results = data.open_survey(studio.library.run(name))
    chosen = [item] if item else []
    return {
        "run": name,
        "facts": data.survey_facts(results),
        "items": data.item_table(results).to_dicts(),
        "columns": data.group_columns(results),
        "marginals": results.marginals(*chosen).to_dicts(),
        "open_answers": results.open_answers(item).to_dicts() if item in results.open_items else [],
        "crosstab": results.crosstab(item, by).to_dicts() if item and by else [],
        "answers": data.person_answers(results, person).to_dicts() if person else [],
    }


ROUTES = {"/surveys/{name}": get_survey}
