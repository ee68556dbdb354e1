"""Feedback as JSON."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from populace.feedback import Feedback
from populace.studio.shell.json_data import finite
from populace.studio.studio import Studio


def router(studio: Studio) -> APIRouter:
    """`/api/feedback`."""
    made = APIRouter()

    @made.get("/feedback")
    def feedback() -> Any:
        """How much every rater judged, and how far they agree; neither answers nor runs are told, so it is blind."""
        said = Feedback(studio.workspace)
        accord = said.agreement()
        measures = accord.found.table().to_dicts() if accord.found else []
        return finite({"raters": said.counts().to_dicts(), "agreement": measures, "note": accord.note})

    return made
