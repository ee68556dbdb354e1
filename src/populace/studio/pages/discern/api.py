"""The discrimination test as JSON; like the page, it never says which one is real before all is answered."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter

from populace.community.study import Study, rater_name
from populace.studio.pages.discern.data import DiscernSession, as_json, cards
from populace.studio.studio import Studio


def router(studio: Studio) -> APIRouter:
    """The routes of studies."""
    made = APIRouter()

    @made.get("/discern")
    def listed() -> dict[str, Any]:
        return {"studies": [asdict(card) for card in cards(studio.workspace)]}

    @made.get("/discern/{name}")
    def task(name: str, rater: str) -> dict[str, Any]:
        session = DiscernSession(Study(studio.workspace, name), rater_name(rater))
        found = session.task()
        return {"study": name, "rater": session.rater, "done": session.done, "task": asdict(found) if found else None}

    @made.get("/discern/{name}/results")
    def results(name: str, rater: str) -> dict[str, Any]:
        return {"study": name, **as_json(DiscernSession(Study(studio.workspace, name), rater_name(rater)).results())}

    return made
