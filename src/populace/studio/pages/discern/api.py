"""The discrimination test as JSON; which conversation is real is not in it before all pairs are answered."""

from typing import Any

from populace.community.study import Study, rater_name
from populace.studio.pages.discern.data import DiscernSession, study_summaries
from populace.studio.studio import Studio


def get_studies(studio: Studio) -> dict[str, Any]:
    """The studies of the workspace."""
    return {"studies": [each._asdict() for each in study_summaries(studio.workspace)]}


def get_task(studio: Studio, name: str, rater: str) -> dict[str, Any]:
    """The next pair for a rater; which conversation is real is not in it."""
    session = DiscernSession(Study(studio.workspace, name), rater_name(rater))
    task = session.task()
    return {"study": name, "rater": session.rater, "done": session.done, "task": task._asdict() if task else None}


def get_results(studio: Studio, name: str, rater: str) -> dict[str, Any]:
    """The results of a rater who has answered all pairs."""
    result = DiscernSession(Study(studio.workspace, name), rater_name(rater)).results()
    return {"study": name, "rates": result.rates.to_dicts(), "notes": list(result.notes)}


ROUTES = {
    "/discern": get_studies,
    "/discern/{name}": get_task,
    "/discern/{name}/results": get_results,
}
