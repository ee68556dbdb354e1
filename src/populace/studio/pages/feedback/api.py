"""Feedback as JSON."""

from typing import Any

from populace.feedback import FeedbackStore
from populace.studio.studio import Studio


def get_feedback(studio: Studio) -> dict[str, Any]:
    """How much every rater judged, and how far they agree; answers and runs are not in it, so raters stay blind."""
    feedback = FeedbackStore(studio.workspace)
    agreement = feedback.agreement()
    measures = agreement.measures.table().to_dicts() if agreement.measures else []
    return {"raters": feedback.counts().to_dicts(), "agreement": measures, "note": agreement.note}


ROUTES = {"/feedback": get_feedback}
