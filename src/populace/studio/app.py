"""The application: pages, routes and files, put together over one workspace."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from nicegui import core, ui

from populace.base.errors import JournalError, PopulaceError
from populace.studio.pages import PAGES
from populace.studio.routes import ROUTERS
from populace.studio.studio import Studio

STATIC = Path(__file__).parent / "static"
_ICON = "🏘️"


def application(studio: Studio) -> FastAPI:
    """The whole application, to be served."""
    app = FastAPI(title="Populace Studio", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json")
    install(studio, app)
    ui.run_with(
        app,
        title="Populace",
        favicon=_ICON,
        dark=None,
        show_welcome_message=False,
        reconnect_timeout=10.0,
        tailwind=False,
    )
    return app


def install(studio: Studio, app: FastAPI) -> None:
    """Make pages, routes and files known to an application."""
    app.mount("/studio-static", StaticFiles(directory=STATIC), name="studio-static")
    for make in ROUTERS:
        app.include_router(make(studio), prefix="/api")
    app.add_exception_handler(PopulaceError, _as_json)
    for register in PAGES:
        register(studio)


async def _as_json(request: Request, error: Exception) -> JSONResponse:
    """An error of ours, for a program."""
    what, hint = (error.what, error.hint) if isinstance(error, PopulaceError) else (str(error), None)
    return JSONResponse({"error": what, "hint": hint}, 404 if isinstance(error, JournalError) else 400)


def simulated(studio: Studio) -> None:
    """Install into NiceGUI's own application, as its simulated user needs it."""
    install(studio, core.app)
