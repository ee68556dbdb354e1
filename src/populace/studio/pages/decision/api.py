"""Decisions as JSON."""

from __future__ import annotations

from typing import Any

from populace.base.formatting import json_data
from populace.runs.biography import decisions_of, person_id
from populace.runs.decision_details import decision_details, details_document
from populace.studio.studio import Studio


def get_decisions(studio: Studio, name: str, person: str, step: int | None = None) -> list[dict[str, Any]]:
    """The decisions of a person in a step with all details; without a step, a list of all their decisions."""
    run = studio.library.run(name)
    who = person_id(run, person)
    if step is None:
        return json_data(decisions_of(run, who).to_dicts())  # type: ignore[no-any-return]
    paths = [decision.path for decision in run.decisions(step, who)]
    details = [decision_details(run, step, who, path, calls=studio.workspace.calls_file) for path in paths]
    return [json_data(details_document(each)) for each in details if each is not None]


ROUTES = {
    "/runs/{name}/decisions": get_decisions,
}
"""The functions behind the paths below `/api`."""
