"""The same data as JSON, under `/api`."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from populace.studio.routes import runs, scenarios
from populace.studio.studio import Studio

ROUTERS: tuple[Callable[[Studio], APIRouter], ...] = (runs.router, scenarios.router)
from populace.studio.routes import run, runs
from populace.studio.studio import Studio

ROUTERS: tuple[Callable[[Studio], APIRouter], ...] = (runs.router, run.router)
from populace.studio.routes import people, runs
from populace.studio.studio import Studio

ROUTERS: tuple[Callable[[Studio], APIRouter], ...] = (runs.router, people.router)
from populace.studio.routes import comparing, runs
from populace.studio.studio import Studio

ROUTERS: tuple[Callable[[Studio], APIRouter], ...] = (
    runs.router,
    comparing.router,
)
from populace.studio.routes import runs, town
from populace.studio.studio import Studio

ROUTERS: tuple[Callable[[Studio], APIRouter], ...] = (runs.router, town.router)
from populace.studio.routes import discern, forum, runs
from populace.studio.studio import Studio

ROUTERS: tuple[Callable[[Studio], APIRouter], ...] = (runs.router, forum.router, discern.router)
"""What makes the routes of each part."""
