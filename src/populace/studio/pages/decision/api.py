"""Decisions as JSON."""

from __future__ import annotations

from typing import Any

from populace.base.formatting import json_data
from populace.studio.pages.decision import data
from populace.studio.pages.person import data as people
from populace.studio.studio import Studio


def get_decisions(studio: Studio, name: str, person: str, step: int | None = None) -> list[dict[str, Any]]:
    """What a person decided in a step, opened; without a step, a list of all their decisions."""
    run = studio.library.run(name)
    who = people.found(run, person)
    if step is None:
        return json_data(people.decided(run, who).to_dicts())  # type: ignore[no-any-return]
    paths = [decision.path for decision in run.decisions(step, who)]
    opened = [data.opened(run, step, who, path, studio.workspace) for path in paths]
    return [json_data(data.described(each)) for each in opened if each is not None]


ROUTES = {
    "/runs/{name}/decisions": get_decisions,
}
"""The functions behind the paths below `/api`."""
