"""What every page has: the bar at the top, the command that does the same, errors as messages."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlencode

from nicegui import background_tasks, context, ui
from nicegui.language import Language

from populace.base.errors import PopulaceError
from populace.studio.changes import PAGE_TIMEOUT_S
from populace.studio.shell.addresses import run_address
from populace.studio.shell.loading import PageClosed
from populace.studio.shell.text import display_text, prose

ElementT = TypeVar("ElementT", bound=ui.element)

_SECTIONS = {
    "Runs": "/",
    "New run": "/new",
    "Compare": "/compare",
    "Real or generated?": "/discern",
    "Feedback": "/feedback",
    "Fidelity": "/fidelity",
}
_FILES = (
    '<link rel="stylesheet" href="/studio-static/shell/layout.css">'
    '<link rel="stylesheet" href="/studio-static/shell/style.css">'
    '<script src="/studio-static/shell/studio.js"></script>'
)
_LANGUAGE: Language = "en-GB"
"""The language of all pages, which screen readers and hyphenation need to know."""
_THEME_COOKIE = "populace-light"
_THEMES = {"light": False, "dark": True, "auto": None}
_THEME_ICONS = {"light": "light_mode", "dark": "dark_mode", "auto": "brightness_auto"}


def page_at(path: str) -> ui.page:
    """A decorator for the function that builds the page at a path."""
    return ui.page(path, response_timeout=PAGE_TIMEOUT_S, language=_LANGUAGE)


def copy_button(what: str, text: Callable[[], str]) -> None:
    """A round button that copies a text; `what` says which."""

    def copy() -> None:
        ui.clipboard.write(text())
        ui.notify("Copied")

    ui.button(on_click=copy).props(f'flat round dense size=sm icon=content_copy aria-label="Copy {what}"')


class CommandLine:
    """A command with a button that copies it; hidden while it is empty.

    Args:
        name: The name under which tests find it.
    """

    def __init__(self, name: str) -> None:
        self._command = ""
        with ui.row().classes("commandbar items-center no-wrap gap-1") as self._bar:
            ui.label("$").classes("commandline soft").style("flex: 0 0 auto")
            line = ui.label("").classes("commandline").props('tabindex=0 aria-label="The same on the command line"')
            self._line = test_id(line, name)
            copy_button("the command", lambda: self._command)
        self.show("")

    def show(self, command: str) -> None:
        """Show another command."""
        self._command = command
        self._line.set_text(display_text(command))
        self._bar.set_visibility(bool(command))


class Page:
    """An open page, whose command and address can follow what it shows."""

    def __init__(self, address: str, line: CommandLine) -> None:
        self._address = address
        self._query: dict[str, str] = dict(context.client.request.query_params)
        self.show_command = line.show

    def update_address(self, **state: object) -> None:
        """Put what the page shows into its address, so that a link brings it back; None removes a part.

        Parts keep their order, and the browser's history gets no entry.
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
def frame(title: str, *, command: str = "", crumbs: Sequence[tuple[str, str]] = ()) -> Iterator[Page]:
    """A page with its heading; a PopulaceError in its body is shown in place of the rest of the body.

    Args:
        title: The heading.
        command: The command that shows or does the same.
        crumbs: The names and addresses of the pages above this one.
    """
    address = context.client.request.url.path
    ui.page_title(f"{display_text(title, 120)} · Populace")
    _head(address)
    # The frame of every page is a <main> already.
    with ui.column().classes("page"):
        if crumbs:
            with ui.row().classes("items-center gap-1 small soft").props('aria-label="Where this is"'):
                for name, target in crumbs:
                    ui.link(display_text(name, 80), target).classes("plain")
                    ui.label("›")
        ui.label(display_text(title, 300)).classes("page-title").props("role=heading aria-level=1 dir=auto")
        page = Page(address, CommandLine("command"))
        page.show_command(command)
        try:
            yield page
        except PopulaceError as error:
            error_card(error)
        except PageClosed:
            return


def _head(address: str) -> None:
    ui.add_head_html(_FILES)
    theme = context.client.request.cookies.get(_THEME_COOKIE, "auto")
    theme = theme if theme in _THEMES else "auto"
    dark = ui.dark_mode(_THEMES[theme])
    ui.colors(primary="#0072b2", negative="#b3261e", positive="#007a5a", warning="#8a5300")
    with ui.header().classes("topbar items-center gap-1 px-4 py-2"):
        ui.link("Populace", "/").classes("brand").props('aria-label="Populace, all runs"')
        for name, target in _SECTIONS.items():
            here = address == target
            ui.link(name, target).classes("here" if here else "").props("aria-current=page" if here else "")
        ui.space()
        themes = list(_THEMES)

        def next_theme() -> None:
            nonlocal theme
            theme = themes[(themes.index(theme) + 1) % len(themes)]
            dark.set_value(_THEMES[theme])
            switch.props(f"icon={_THEME_ICONS[theme]}")
            tip.set_text(f"Light: {theme}")
            ui.run_javascript(f'populaceKeep("{_THEME_COOKIE}", "{theme}")')

        switch = ui.button(on_click=next_theme).props(f"flat round dense icon={_THEME_ICONS[theme]}")
        switch.props('aria-label="Dark or light"')
        with test_id(switch, "light"):
            tip = ui.tooltip(f"Light: {theme}")


def error_card(error: PopulaceError) -> None:
    """A panel with the message and the hint of an error."""
    with test_id(ui.column().classes("panel error").props("role=alert"), "error"):
        prose(error.what)
        if error.hint:
            with ui.column().classes("soft"):
                prose(error.hint)


def notify_errors(handler: Callable[..., Any]) -> Callable[..., Any]:
    """An event handler that shows a PopulaceError as a notification instead of failing silently."""
    if not inspect.iscoroutinefunction(handler):
        return error_notification()(handler)

    @functools.wraps(handler)
    async def async_handler(*args: Any, **kwargs: Any) -> Any:
        with error_notification():
            return await handler(*args, **kwargs)

    return async_handler


@contextmanager
def error_notification() -> Iterator[None]:
    """Show a PopulaceError of the body as a notification that stays until it is closed.

    Where the page was closed while the body loaded something for it, the body just ends.
    """
    try:
        yield
    except PageClosed:
        return
    except PopulaceError as error:
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
    """A text where there is nothing to show, with a button for what can be done about it."""
    with ui.column().classes("items-start gap-2 py-2"):
        ui.label(text).classes("soft")
        if target is not None:
            on_click = functools.partial(ui.navigate.to, target) if isinstance(target, str) else target
            ui.button(action, on_click=on_click).props("outline no-caps")


def chip(state: str) -> ui.label:
    """A state as a small badge."""
    return ui.label(state).classes(f"chip chip-{state}")


def figure(value: str, name: str, *, note: str = "") -> ui.label:
    """A number with its name below; returns the label of the number."""
    with ui.column().classes("gap-0"):
        label = ui.label(value).classes("figure")
        ui.label(name).classes("soft small")
        if note:
            ui.label(note).classes("soft small")
    return label


def run_link(name: str) -> ui.link:
    """A link to a run."""
    return ui.link(display_text(name, 80), run_address(name)).classes("plain")


def test_id(element: ElementT, name: str) -> ElementT:
    """Set the name under which tests find an element, with a browser and without, and return the element."""
    element.mark(name)
    # Not with `props(...)`: a name with a blank in it would become several attributes.
    element.props["data-testid"] = name
    return element


def after_load(work: Callable[[], Awaitable[None]]) -> None:
    """Run a task in this page after it has loaded; a PopulaceError becomes a notification."""
    client = context.client

    async def run() -> None:
        await client.connected()
        if client.is_deleted:
            return
        with client, error_notification():
            await work()

    background_tasks.create(run(), name="after the page is sent")
