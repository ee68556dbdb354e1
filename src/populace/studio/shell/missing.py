"""Studio's own pages for an address that leads nowhere, and for an error that nobody expected."""

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from nicegui import Client, ui

from populace.studio.shell.frame import empty_state, frame, page_at
from populace.studio.shell.text import display_text

_DATA = ("/api/", "/studio-static/", "/_nicegui")


async def missing_page(request: Request, _: Exception) -> Response:
    """A page that says that there is none at this address, with a way back; JSON below `/api`."""
    path = request.url.path
    if path.startswith(_DATA):
        hint = "/api/openapi.json lists the routes."
        return JSONResponse({"error": f"there is nothing at {display_text(path, 200)}", "hint": hint}, 404)
    with Client(page_at(""), request=request) as client, frame("There is no such page"):
        ui.label(f"Nothing is at the address {display_text(path, 200)}.").classes("foreign")
        note = "It may have been typed wrongly, or come from another version of Studio."
        empty_state(note, "All runs", "/")
    return client.build_response(request, 404)


async def failure_page(request: Request, error: Exception) -> Response:
    """A page for an error that nobody expected; the terminal of Studio shows where it happened."""
    what = f"{type(error).__name__}: {display_text(error, 400)}" if str(error) else type(error).__name__
    hint = "This is a bug in Populace: please report it with what the terminal of Studio shows."
    if request.url.path.startswith(_DATA):
        return JSONResponse({"error": what, "hint": hint}, 500)
    with Client(page_at(""), request=request) as client, frame("This page could not be shown"):
        ui.label(what).classes("foreign")
        empty_state(hint, "All runs", "/")
    return client.build_response(request, 500)
