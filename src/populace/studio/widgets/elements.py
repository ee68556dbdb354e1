"""Small parts that most pages have: notes, buttons, fields, plain tables, grids, containers that are drawn again."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import polars as pl
from nicegui import ui

from populace.runs.wording import plain_text
from populace.studio.shell.frame import notify_errors, test_id
from populace.studio.shell.text import display_text, prose

ElementT = TypeVar("ElementT", bound=ui.element)

QUIET = "soft small foreign"
"""The classes of a small grey text."""


def note(text: object, limit: int = 600, *, classes: str = QUIET, colour: str = "") -> ui.label:
    """A small grey text, such as an explanation below a chart; `colour` is `good`, `warn` or `bad`."""
    label = ui.label(display_text(text, limit)).classes(classes)
    return label.style(f"color: var(--{colour})") if colour else label


def heading(text: object, limit: int = 300, *, classes: str = "panel-title", level: int = 2) -> ui.label:
    """A heading of a part of a page."""
    return ui.label(display_text(text, limit)).classes(classes).props(f"role=heading aria-level={level} dir=auto")


def action(text: str, on_click: Callable[..., Any], name: str = "", *, look: str = "outline") -> ui.button:
    """A button; a PopulaceError of its handler becomes a notification.

    Args:
        text: The words on it.
        on_click: The handler.
        name: The name under which tests find it.
        look: Properties of Quasar, such as `flat dense` or `unelevated`.
    """
    button = ui.button(text, on_click=notify_errors(on_click)).props(f"no-caps {look}")
    return test_id(button, name) if name else button


@contextmanager
def disable_during(button: ui.button, *spinners: ui.element) -> Iterator[None]:
    """Disable a button, and show spinners, while the body of the `with` statement runs."""
    button.disable()
    for each in spinners:
        each.set_visibility(True)
    try:
        yield
    finally:
        if not button.is_deleted:
            button.enable()
            for each in spinners:
                each.set_visibility(False)


def icon_button(icon: str, label: str, on_click: Callable[..., Any], name: str = "") -> ui.button:
    """A round button with an icon; the label is read by screen readers."""
    button = ui.button(on_click=notify_errors(on_click)).props(f"flat round dense size=sm icon={icon}")
    button.props["aria-label"] = display_text(label, 100)
    return test_id(button, name) if name else button


def outline(element: ElementT, name: str = "", classes: str = "w-full") -> ElementT:
    """Give an input or a selection the look of fields in forms, and return it."""
    element.props("dense outlined").classes(classes)
    return test_id(element, name) if name else element


def plain_table(
    rows: pl.DataFrame | Iterable[Mapping[str, Any]],
    columns: Mapping[str, str] | Sequence[str],
    name: str,
    *,
    key: str = "",
    sortable: bool = False,
    size: int = 25,
) -> ui.table:
    """A table whose rows are all in the browser; for tables of some hundred rows.

    Args:
        rows: A data frame, or rows as mappings; numbers are rounded to four digits.
        columns: The columns to show: names, or headings by name.
        name: The name under which tests find it.
        key: The column that identifies a row; the first by default.
        sortable: Whether a click on a heading sorts.
        size: How many rows a page has, where there are more.
    """
    names = dict(columns) if isinstance(columns, Mapping) else {each: each.replace("_", " ") for each in columns}
    headings = [
        {"name": each, "label": display_text(label, 60), "field": each, "align": "left", "sortable": sortable}
        for each, label in names.items()
    ]
    cells = table_cells(rows)
    pagination = size if len(cells) > size else None
    table = ui.table(columns=headings, rows=cells, row_key=key or next(iter(names)), pagination=pagination)
    table.props('flat dense wrap-cells no-data-label="Nothing to show."').classes("w-full")
    return test_id(table, name)


def table_cells(rows: pl.DataFrame | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows as a plain table shows them.

    Example:
        >>> table_cells([{"arm": "a", "mean": 0.123456, "low": None}])
        [{'arm': 'a', 'mean': 0.1235, 'low': '–'}]
    """
    plain = rows.iter_rows(named=True) if isinstance(rows, pl.DataFrame) else rows
    return [{name: _cell(value) for name, value in row.items()} for row in plain]


def grid(width: int, classes: str = "gap-3") -> ui.element:
    """A container with columns side by side, as many as fit; each at least `width` pixels wide."""
    columns = f"grid-template-columns: repeat(auto-fit, minmax(min(100%, {width}px), 1fr))"
    return ui.element("div").classes(f"w-full grid {classes}").style(columns)


def fact_list(facts: Mapping[str, Any], limit: int = 400) -> None:
    """Names with their values, each value in its own lines."""
    with ui.element("div").classes("facts"):
        for name, value in facts.items():
            note(name.replace("_", " "), 60)
            prose(plain_text(value), limit)


def set_spoken_value(element: ui.element, text: str) -> None:
    """Set what a screen reader says for the value of a slider or a progress bar, such as the date of a step."""
    if element.props.get("aria-valuetext") != text:
        element.props["aria-valuetext"] = display_text(text, 120)


def refill(element: ElementT) -> ElementT:
    """Empty a container that is to be drawn again, and return it."""
    element.clear()
    return element


def count_text(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    Example:
        >>> count_text(1, "post"), count_text(2, "reply", "replies")
        ('1 post', '2 replies')
    """
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def _cell(value: Any) -> Any:
    if value is None or value != value:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return value if isinstance(value, int) else display_text(value, 300)
