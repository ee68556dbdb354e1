"""The discrimination test as JSON; like the page, it never says which one is real before all is answered."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from populace.community.study import Study, rater_name
from populace.studio.pages.discern.data import DiscernSession, as_json, cards
from populace.studio.studio import Studio


def get_studies(studio: Studio) -> dict[str, Any]:
    """The studies of the workspace."""
    return {"studies": [asdict(card) for card in cards(studio.workspace)]}


def get_task(studio: Studio, name: str, rater: str) -> dict[str, Any]:
    """The next pair for a rater; which conversation is real is not in it."""
    session = DiscernSession(Study(studio.workspace, name), rater_name(rater))
    found = session.task()
    return {"study": name, "rater": session.rater, "done": session.done, "task": asdict(found) if found else None}


def get_results(studio: Studio, name: str, rater: str) -> dict[str, Any]:
    """The results of a rater who has answered all pairs."""
    return {"study": name, **as_json(DiscernSession(Study(studio.workspace, name), rater_name(rater)).results())}


ROUTES = {
    "/discern": get_studies,
    "/discern/{name}": get_task,
    "/discern/{name}/results": get_results,
}
"""The functions behind the paths below `/api`."""
