"""People and their decisions."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from populace.base.formatting import json_data
from populace.studio.studio import Studio
from populace.studio.views import decision as decisions
from populace.studio.views import person as people


def router(studio: Studio) -> APIRouter:
    """`/api/runs/NAME/people/ID` and `/api/runs/NAME/decisions`."""
    made = APIRouter()

    @made.get("/runs/{name}/people/{who:path}")
    def person(name: str, who: str, step: int | None = None) -> dict[str, Any]:
        """One person, at a step or at the last in which they are there."""
        run = studio.library.run(name)
        found = people.portrait(run, who)
        at = found.steps[-1] if step is None else step
        return json_data(people.described(found, at, memories=people.stream(run, found, at)))  # type: ignore[no-any-return]

    @made.get("/runs/{name}/decisions")
    def decided(name: str, person: str, step: int | None = None) -> list[dict[str, Any]]:
        """What a person decided in a step, opened; without a step, a list of all their decisions."""
        run = studio.library.run(name)
        who = people.found(run, person)
        if step is None:
            return json_data(people.decided(run, who).to_dicts())  # type: ignore[no-any-return]
        paths = [decision.path for decision in run.decisions(step, who)]
        opened = [decisions.opened(run, step, who, path, studio.workspace) for path in paths]
        return [json_data(decisions.described(each)) for each in opened if each is not None]

    return made
