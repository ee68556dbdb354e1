"""The application: pages, routes and files, put together over one workspace."""

import json
import pkgutil
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from nicegui import app as nicegui_app
from nicegui import ui

from populace.base.errors import JournalError, PopulaceError
from populace.base.formatting import json_data
from populace.studio import pages
from populace.studio.shell.missing import failure_page, missing_page
from populace.studio.studio import Studio


def static_folders() -> list[Path]:
    """The folders with style sheets and scripts: of the shell, of the widgets, and of pages that have their own."""
    return sorted(Path(__file__).parent.rglob("static"))


class FiniteJSONResponse(JSONResponse):
    """A JSON response in which infinite numbers and NaN are null."""

    def render(self, content: Any) -> bytes:
        """The body of the response; half a character, which JSON files may hold, becomes a question mark."""
        text = json.dumps(json_data(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


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
    app.add_exception_handler(RequestValidationError, _invalid_as_json)
    # Pages are served by NiceGUI's own application, which lies below every other route.
    nicegui_app.add_exception_handler(404, missing_page)
    nicegui_app.add_exception_handler(Exception, failure_page)
    for name in sorted(module.name for module in pkgutil.iter_modules(pages.__path__, f"{pages.__name__}.")):
        import_module(f"{name}.page").register(studio)
        if find_spec(f"{name}.api"):
            for path, function in import_module(f"{name}.api").ROUTES.items():
                route: dict[str, Any] = {"name": function.__name__, "description": function.__doc__}
                app.add_api_route(f"/api{path}", partial(function, studio), response_class=FiniteJSONResponse, **route)


async def _as_json(request: Request, error: Exception) -> JSONResponse:
    what, hint = (error.what, error.hint) if isinstance(error, PopulaceError) else (str(error), None)
    return FiniteJSONResponse({"error": what, "hint": hint}, 404 if isinstance(error, JournalError) else 400)


async def _invalid_as_json(request: Request, error: Exception) -> JSONResponse:
    """What is wrong with the parameters of a request; their values are not repeated, since they may be huge."""
    problems = error.errors() if isinstance(error, RequestValidationError) else []
    parts = [f"{'.'.join(map(str, each['loc'][1:]))[:80]}: {each['msg']}" for each in problems[:5]]
    hint = "/api/openapi.json describes the parameters of every route."
    return FiniteJSONResponse({"error": "; ".join(parts) or "the request is not valid", "hint": hint}, 422)
