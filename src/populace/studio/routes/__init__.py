"""The same data as JSON, under `/api`."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from populace.studio.routes import comparing, discern, forum, people, run, runs, scenarios, town
from populace.studio.studio import Studio

ROUTERS: tuple[Callable[[Studio], APIRouter], ...] = (
    runs.router,
    scenarios.router,
    run.router,
    people.router,
    comparing.router,
    town.router,
    forum.router,
    discern.router,
)
"""What makes the routes of each part."""
