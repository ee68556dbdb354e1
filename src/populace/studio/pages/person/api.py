"""People as JSON."""

from __future__ import annotations

from typing import Any

from populace.base.formatting import json_data
from populace.runs.biography import biography, biography_document, memory_stream
from populace.studio.studio import Studio


def get_person(studio: Studio, name: str, who: str, step: int | None = None) -> dict[str, Any]:
    """One person, at a step or at the last in which they are there."""
    run = studio.library.run(name)
    person = biography(run, who)
    at = person.steps[-1] if step is None else step
    return json_data(biography_document(person, at, memory_stream(run, person, at)))  # type: ignore[no-any-return]


ROUTES = {
    "/runs/{name}/people/{who:path}": get_person,
}
"""The functions behind the paths below `/api`."""
