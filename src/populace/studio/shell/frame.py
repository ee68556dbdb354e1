"""What every page has: the bar at the top, the command behind the view, errors in words."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from nicegui import background_tasks, context, ui

from populace.base.errors import PopulaceError
from populace.studio.changes import PAGE_TIMEOUT_S
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio

ElementT = TypeVar("ElementT", bound=ui.element)

_ROOMS = {
    "Runs": "/",
    "New run": "/new",
    "Compare": "/compare",
    "Real or generated?": "/discern",
    "Feedback": "/feedback",
}
_FILES = (
    '<link rel="stylesheet" href="/studio-static/shell/layout.css">'
    '<link rel="stylesheet" href="/studio-static/shell/style.css">'
    '<script src="/studio-static/shell/studio.js"></script>'
)
_LIGHT = "populace-light"
_LIGHTS = {"light": False, "dark": True, "auto": None}
_SYMBOLS = {"light": "light_mode", "dark": "dark_mode", "auto": "brightness_auto"}


def page_at(path: str) -> ui.page:
    """Decorates what builds the page at a path."""
    return ui.page(path, response_timeout=PAGE_TIMEOUT_S)


class Page:
    """A page that is being shown: its command and its address can follow what is seen."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._query: dict[str, str] = dict(context.client.request.query_params)
        self._command = ""
        self._line: ui.label | None = None
        self._bar: ui.row | None = None

    def command(self, text: str) -> None:
        """Show another command in the bar."""
        self._command = text
        if self._line is not None and self._bar is not None:
            self._line.set_text(display_text(text))
            self._bar.set_visibility(bool(text))

    def address(self, **state: object) -> None:
        """Keep what is seen in the address, so that a link brings it back; None takes a part away.

        Parts keep their order, and the browser's history gets no entry for them.
        """
        before = dict(self._query)
        for name, value in state.items():
            if value is None or value == "":
                self._query.pop(name, None)
            else:
                self._query[name] = str(value)
        if self._query != before:
            query = urlencode(self._query)
            ui.navigate.history.replace(f"{self._address}?{query}" if query else self._address)


@contextmanager
def frame(studio: Studio, title: str, *, command: str = "", crumbs: Sequence[tuple[str, str]] = ()) -> Iterator[Page]:
    """A page with its heading; an error of ours that its body raises is shown in its place.

    Args:
        studio: The Studio.
        title: What the page shows.
        command: The command that shows or does the same.
        crumbs: Where the page lies: names and addresses of what is above it.
    """
    address = context.client.request.url.path
    page = Page(address)
    ui.page_title(f"{display_text(title, 120)} · Populace")
    _head(studio, address)
    with ui.column().classes("page").props("role=main"):
        if crumbs:
            with ui.row().classes("items-center gap-1 small soft").props('aria-label="Where this is"'):
                for name, target in crumbs:
                    ui.link(display_text(name, 80), target).classes("plain")
                    ui.label("›")
        ui.label(display_text(title, 300)).classes("page-title").props("role=heading aria-level=1 dir=auto")
        page._bar = _command_bar(page)
        page.command(command)
        try:
            yield page
        except PopulaceError as error:
            error_card(error)


def _head(studio: Studio, address: str) -> None:
    ui.add_head_html(_FILES)
    chosen = context.client.request.cookies.get(_LIGHT, "auto")
    chosen = chosen if chosen in _LIGHTS else "auto"
    dark = ui.dark_mode(_LIGHTS[chosen])
    ui.colors(primary="#0072b2", negative="#b3261e", positive="#007a5a", warning="#8a5300")
    with ui.header().classes("topbar items-center gap-1 px-4 py-2"):
        ui.link("Populace", "/").classes("brand").props('aria-label="Populace, all runs"')
        for name, target in _ROOMS.items():
            here = address == target
            ui.link(name, target).classes("here" if here else "").props("aria-current=page" if here else "")
        ui.space()
        lights = list(_LIGHTS)
        state = {"light": chosen}

        def turn() -> None:
            state["light"] = lights[(lights.index(state["light"]) + 1) % len(lights)]
            dark.set_value(_LIGHTS[state["light"]])
            switch.props(f"icon={_SYMBOLS[state['light']]}")
            tip.set_text(f"Light: {state['light']}")
            ui.run_javascript(f'populaceKeep("{_LIGHT}", "{state["light"]}")')

        switch = ui.button(on_click=turn).props(f'flat round dense icon={_SYMBOLS[chosen]} aria-label="Dark or light"')
        with test_id(switch, "light"):
            tip = ui.tooltip(f"Light: {chosen}")


def _command_bar(page: Page) -> ui.row:
    with ui.row().classes("commandbar items-center no-wrap gap-1") as bar:
        ui.label("$").classes("commandline soft").style("flex: 0 0 auto")
        page._line = test_id(
            ui.label("").classes("commandline").props('tabindex=0 aria-label="The same on the command line"'), "command"
        )

        def copy() -> None:
            ui.clipboard.write(page._command)
            ui.notify("Copied")

        ui.button(on_click=copy).props('flat round dense size=sm icon=content_copy aria-label="Copy the command"')
    return bar


def error_card(error: PopulaceError) -> None:
    """An error of ours, in its own words."""
    with test_id(ui.column().classes("panel error").props("role=alert"), "error"):
        prose(error.what)
        if error.hint:
            with ui.column().classes("soft"):
                prose(error.hint)


def notify_errors(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Have an event handler tell of our errors in a notification instead of failing silently."""
    if inspect.iscoroutinefunction(handler):

        @functools.wraps(handler)
        async def later(*args: Any, **kwargs: Any) -> Any:
            try:
                return await handler(*args, **kwargs)
            except PopulaceError as error:
                notify_error(error)

        return later

    @functools.wraps(handler)
    def at_once(*args: Any, **kwargs: Any) -> Any:
        try:
            return handler(*args, **kwargs)
        except PopulaceError as error:
            notify_error(error)

    return at_once


def notify_error(error: PopulaceError) -> None:
    """An error as a notification that stays until it is closed."""
    ui.notify(display_text(str(error), 600), type="negative", multi_line=True, close_button="Close", timeout=0)


@contextmanager
def section(title: str, *, note: str = "") -> Iterator[ui.column]:
    """A panel with a heading."""
    with ui.column().classes("panel") as panel:
        with ui.row().classes("items-baseline gap-2 w-full"):
            ui.label(title).classes("panel-title").props("role=heading aria-level=2")
            if note:
                ui.label(note).classes("soft small")
        yield panel


def empty_state(text: str, action: str = "", target: str | Callable[[], Any] | None = None) -> None:
    """Nothing is here yet, and what to do about it."""
    with ui.column().classes("items-start gap-2 py-2"):
        ui.label(text).classes("soft")
        if isinstance(target, str):
            address: str = target
            ui.button(action, on_click=lambda: ui.navigate.to(address)).props("outline no-caps")
        elif target is not None:
            ui.button(action, on_click=target).props("outline no-caps")


def chip(state: str) -> ui.label:
    """A state as a small badge."""
    return ui.label(state).classes(f"chip chip-{state}")


def figure(value: str, name: str, *, note: str = "") -> ui.label:
    """A number with what it is of; returns the label of the number."""
    with ui.column().classes("gap-0"):
        label = ui.label(value).classes("figure")
        ui.label(name).classes("soft small")
        if note:
            ui.label(note).classes("soft small")
    return label


def run_address(name: str, *more: object, **query: object) -> str:
    """The address of a run, or of something in it."""
    path = "/".join(quote(str(part), safe="") for part in ("run", name, *more))
    kept = {key: value for key, value in query.items() if value is not None}
    return f"/{path}?{urlencode(kept)}" if kept else f"/{path}"


def run_link(name: str) -> ui.link:
    """A link to a run."""
    return ui.link(display_text(name, 80), run_address(name)).classes("plain")


def test_id(element: ElementT, name: str) -> ElementT:
    """Give an element the name under which tests find it, with a browser and without."""
    element.mark(name)
    # Not as a line of props: a name with a blank in it would become further attributes.
    element.props["data-testid"] = name
    return element


def after_load(work: Callable[[], Awaitable[None]]) -> None:
    """Do something in this page after it is sent; an error of ours becomes a notification."""
    client = context.client

    async def go() -> None:
        await client.connected()
        with client:
            await notify_errors(work)()

    background_tasks.create(go(), name="after the page is sent")
