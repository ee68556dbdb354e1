"""The application: pages, routes and files, put together over one workspace."""

import pkgutil
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from nicegui import ui

from populace.base.errors import JournalError, PopulaceError
from populace.base.formatting import json_data
from populace.studio import pages
from populace.studio.studio import Studio


def static_folders() -> list[Path]:
    """The folders with style sheets and scripts: of the shell, of the widgets, and of pages that have their own."""
    return sorted(Path(__file__).parent.rglob("static"))


class FiniteJSONResponse(JSONResponse):
    """A JSON response in which infinite numbers and NaN are null."""

    def render(self, content: Any) -> bytes:
        """The body of the response."""
        return super().render(json_data(content))


def application(studio: Studio) -> FastAPI:
    """The whole application, to be served."""
    app = FastAPI(title="Populace Studio", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json")
    install(studio, app)
    ui.run_with(
        app,
        title="Populace",
        favicon="🏘️",
        dark=None,
        show_welcome_message=False,
        reconnect_timeout=10.0,
        tailwind=False,
    )
    return app


def install(studio: Studio, app: FastAPI) -> None:
    """Make static files, pages and the API known to an application.

    A page is a folder of `populace.studio.pages`: its module `page` has `register(studio)`, and its module `api`,
    where there is one, the table `ROUTES` with a function of the Studio for each path below `/api`.
    """
    for folder in static_folders():
        app.mount(f"/studio-static/{folder.parent.name}", StaticFiles(directory=folder))
    app.add_exception_handler(PopulaceError, _as_json)
    for name in sorted(module.name for module in pkgutil.iter_modules(pages.__path__, f"{pages.__name__}.")):
        import_module(f"{name}.page").register(studio)
        if find_spec(f"{name}.api"):
            for path, function in import_module(f"{name}.api").ROUTES.items():
                route: dict[str, Any] = {"name": function.__name__, "description": function.__doc__}
                app.add_api_route(f"/api{path}", partial(function, studio), response_class=FiniteJSONResponse, **route)


async def _as_json(request: Request, error: Exception) -> JSONResponse:
    what, hint = (error.what, error.hint) if isinstance(error, PopulaceError) else (str(error), None)
    return JSONResponse({"error": what, "hint": hint}, 404 if isinstance(error, JournalError) else 400)
