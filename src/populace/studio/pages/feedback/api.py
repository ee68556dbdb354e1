"""Feedback as JSON."""

from __future__ import annotations

from typing import Any

from populace.feedback import Feedback
from populace.studio.studio import Studio


def get_feedback(studio: Studio) -> dict[str, Any]:
    """How much every rater judged, and how far they agree; neither answers nor runs are told, so it is blind."""
    said = Feedback(studio.workspace)
    accord = said.agreement()
    measures = accord.measures.table().to_dicts() if accord.measures else []
    return {"raters": said.counts().to_dicts(), "agreement": measures, "note": accord.note}


ROUTES = {
    "/feedback": get_feedback,
}
"""The functions behind the paths below `/api`."""
