"""Parts of a page in a column, which change in place: focus, open menus and the place of the reader stay."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import polars as pl
from nicegui import ui

from populace.studio.shell.frame import section, test_id
from populace.studio.shell.text import display_text
from populace.studio.widgets.charts import Chart
from populace.studio.widgets.elements import QUIET, note, plain_table, table_cells

ValueT = TypeVar("ValueT")


@dataclass
class _Part:
    key: Hashable
    element: ui.element
    value: Any


class PartList:
    """Parts one below the other.

    Every drawing names all parts in their order. A part of the same kind and name as the one that stands in its place
    gets the new content; from the first other one on, the rest is built anew.

    Example:
        with parts.drawing():
            parts.note("3 runs ended.")
            parts.chart("Effects", options, table, "effects")
    """

    def __init__(self, classes: str = "w-full gap-3") -> None:
        self.element = ui.column().classes(classes)
        self._parts: list[_Part] = []
        self._place = 0

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Draw all parts; those that are not named are removed."""
        self._place = 0
        yield
        self._cut()

    def chart(self, title: str, options: dict[str, Any], table: pl.DataFrame, name: str, *, height: int = 0) -> None:
        """A chart; its height in pixels, where it is not the usual one."""

        def create() -> tuple[ui.element, Chart]:
            chart = Chart(title, options, table, name)
            return chart.element, chart

        chart = self._part(("chart", name), create)
        chart.show(options, table)
        _set_text(chart.heading, display_text(title, 200))
        style = {"height": f"{height}px"} if height else {}
        if chart.chart.style != style:
            chart.chart.style(replace=";".join(f"{key}: {value}" for key, value in style.items()))

    def table(
        self,
        rows: pl.DataFrame | Sequence[Mapping[str, Any]],
        columns: Mapping[str, str] | Sequence[str],
        name: str,
        *,
        sortable: bool = False,
        size: int = 25,
        key: str = "",
    ) -> None:
        """A table, as `plain_table` draws it."""
        cells = table_cells(rows)
        headings = tuple(columns.items()) if isinstance(columns, Mapping) else tuple(columns)

        def create() -> tuple[ui.element, ui.table]:
            table = plain_table(rows, columns, name, key=key, sortable=sortable, size=size)
            return table, table

        table = self._part(("table", name, headings, len(cells) > size), create)
        if table.rows != cells:
            table.rows = cells

    def note(self, text: object, limit: int = 600, *, classes: str = QUIET, colour: str = "", name: str = "") -> None:
        """A short text; nothing where it is empty."""
        if not text:
            return

        def create() -> tuple[ui.element, ui.label]:
            label = note(text, limit, classes=classes, colour=colour)
            return (test_id(label, name) if name else label), label

        _set_text(self._part(("note", name, classes, colour), create), display_text(text, limit))

    def custom(self, name: str, content: object, draw: Callable[[], object]) -> None:
        """A part that is drawn by a function, again only where its content is another."""

        def create() -> tuple[ui.element, list[object]]:
            element = ui.column().classes("w-full gap-3 min-w-0")
            return element, []

        before = self._part(("custom", name), create)
        if before and before[0] == content:
            return
        before[:] = [content]
        element = self._parts[self._place - 1].element
        element.clear()
        with element:
            draw()

    @contextmanager
    def section(self, title: str, *, note: str = "") -> Iterator[PartList]:
        """A panel with a heading, which holds further parts."""

        def create() -> tuple[ui.element, PartList]:
            with section(title, note=note) as panel:
                inner = PartList()
            return panel, inner

        inner = self._part(("section", title, note), create)
        with inner.drawing():
            yield inner

    @contextmanager
    def expansion(self, title: str, name: str) -> Iterator[PartList]:
        """Further parts that are hidden until the reader opens them."""

        def create() -> tuple[ui.element, PartList]:
            with test_id(ui.expansion(title).classes("w-full"), name) as element:
                inner = PartList()
            return element, inner

        inner = self._part(("expansion", title, name), create)
        with inner.drawing():
            yield inner

    def _part(self, key: Hashable, create: Callable[[], tuple[ui.element, ValueT]]) -> ValueT:
        if self._place < len(self._parts) and self._parts[self._place].key != key:
            self._cut()
        if self._place == len(self._parts):
            with self.element:
                self._parts.append(_Part(key, *create()))
        self._place += 1
        value: ValueT = self._parts[self._place - 1].value
        return value

    def _cut(self) -> None:
        for part in self._parts[self._place :]:
            part.element.delete()
        del self._parts[self._place :]


def _set_text(label: ui.label, text: str) -> None:
    if label.text != text:
        label.set_text(text)
