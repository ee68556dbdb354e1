"""People as JSON."""

from __future__ import annotations

from typing import Any

from populace.base.formatting import json_data
from populace.studio.pages.person import data
from populace.studio.studio import Studio


def get_person(studio: Studio, name: str, who: str, step: int | None = None) -> dict[str, Any]:
    """One person, at a step or at the last in which they are there."""
    run = studio.library.run(name)
    found = data.portrait(run, who)
    at = found.steps[-1] if step is None else step
    return json_data(data.described(found, at, memories=data.stream(run, found, at)))  # type: ignore[no-any-return]


ROUTES = {
    "/runs/{name}/people/{who:path}": get_person,
}
"""The functions behind the paths below `/api`."""
