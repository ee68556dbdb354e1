"""Tables that are paged, sorted and searched on the server, so that their size does not matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from nicegui import events, ui

from populace.studio.shell.frame import notify_errors
from populace.studio.shell.text import display_text

SIZE = 25


@dataclass(frozen=True)
class TableQuery:
    """What of a table is wanted.

    Attributes:
        page: Which page, from 1.
        size: How many rows a page has.
        sort: The column to sort by; as it is where there is none.
        descending: The other way round.
        search: Text that some column must hold; case does not count.
    """

    page: int = 1
    size: int = SIZE
    sort: str | None = None
    descending: bool = False
    search: str = ""


Source = Callable[[TableQuery], tuple[pl.DataFrame, int]]


def page_rows(frame: pl.DataFrame, query: TableQuery) -> tuple[pl.DataFrame, int]:
    """One page of a table, and how many rows there are in all.

    Example:
        >>> people = pl.DataFrame({"name": ["Ann", "Bo", "Cy"]})
        >>> page, count = page_rows(people, TableQuery(size=1, sort="name", descending=True))
        >>> page["name"].to_list(), count
        (['Cy'], 3)
    """
    found = frame
    if query.search:
        wanted = query.search.casefold()
        plain = [name for name, dtype in frame.schema.items() if not dtype.is_nested()]
        holds = [
            pl.col(name).cast(pl.String).str.to_lowercase().str.contains(wanted, literal=True).fill_null(False)
            for name in plain
        ]
        found = frame.filter(pl.any_horizontal(holds)) if holds else frame.clear()
    first = (query.page - 1) * query.size
    if query.sort in found.columns:
        # Only the rows up to the page are put in order: a hundred thousand people are looked at from the top.
        upto = min(first + query.size, found.height)
        by = pl.col(query.sort)
        if upto * 8 < found.height:
            ranks = found.select(by).with_row_index("row")
            best = ranks.bottom_k(upto, by=[by, "row"], reverse=[query.descending, False])
            best = best.sort(by, "row", descending=[query.descending, False], nulls_last=True)
            found_page = found[best["row"][first:upto]]
            return found_page, found.height
        found = found.sort(by, descending=query.descending, nulls_last=True, maintain_order=True)
    return found[first : first + query.size], found.height


class PagedTable:
    """A table of which the browser holds one page.

    Args:
        source: Gives a page and the number of all rows.
        columns: The columns to show: names, or names with headings.
        key: The column that tells rows apart.
        link: Where the key of a row leads.
        search: What the search field says; without it there is none.
        query: What is wanted at first.
        on_query: Told when somebody sorts, searches or turns the page.
    """

    def __init__(
        self,
        source: Source,
        columns: Sequence[str | tuple[str, str]],
        *,
        key: str,
        link: Callable[[dict[str, Any]], str] | None = None,
        search: str = "Search",
        query: TableQuery | None = None,
        on_query: Callable[[TableQuery], None] | None = None,
    ) -> None:
        self.source, self.key, self.link = source, key, link
        self.query = query or TableQuery()
        self._on_query = on_query
        with ui.column().classes("w-full gap-1 min-w-0") as self.element:
            if search:
                field = ui.input(placeholder=search, value=self.query.search).props(
                    "dense outlined clearable debounce=250"
                )
                field.classes("w-full max-w-xs").on_value_change(self._searched).mark("table-search")
            self.table = ui.table(rows=[], columns=self._headings(columns), row_key=key, pagination=self._pagination(0))
            self.table.props("flat dense wrap-cells binary-state-sort").classes("w-full")
            self.table.on("request", notify_errors(self._requested))
            if link is not None:
                self.table.add_slot(
                    f"body-cell-{key}",
                    '<q-td :props="props"><a :href="props.row.__link">{{ props.value }}</a></q-td>',
                )
        self.refresh()

    def columns(self, columns: Sequence[str | tuple[str, str]]) -> None:
        """Show other columns."""
        made = self._headings(columns)
        if made != self.table.columns:
            self.table.columns = made

    def refresh(self) -> None:
        """Ask the source again and show what it gives."""
        frame, count = self.source(self.query)
        rows = [{name: _cell(value) for name, value in row.items()} for row in frame.iter_rows(named=True)]
        if self.link is not None:
            for row, values in zip(rows, frame.iter_rows(named=True), strict=True):
                row["__link"] = self.link(values)
        self.table.rows = rows
        self.table.pagination = self._pagination(count)

    def _pagination(self, count: int) -> dict[str, Any]:
        query = self.query
        made = {"page": query.page, "rowsPerPage": query.size, "rowsNumber": count}
        return made | {"sortBy": query.sort, "descending": query.descending}

    def _headings(self, columns: Sequence[str | tuple[str, str]]) -> list[dict[str, Any]]:
        pairs = [(each, each.replace("_", " ")) if isinstance(each, str) else each for each in columns]
        return [
            {"name": n, "label": display_text(h, 60), "field": n, "sortable": True, "align": "left"} for n, h in pairs
        ]

    def _requested(self, event: events.GenericEventArguments) -> None:
        wanted = event.args["pagination"]
        size = int(wanted["rowsPerPage"]) or 100
        self._ask(
            replace(
                self.query,
                page=int(wanted["page"]),
                size=min(size, 100),
                sort=wanted.get("sortBy"),
                descending=bool(wanted.get("descending")),
            )
        )

    def _searched(self, event: events.ValueChangeEventArguments[str | None]) -> None:
        self._ask(replace(self.query, page=1, search=(event.value or "").strip()))

    def _ask(self, query: TableQuery) -> None:
        self.query = query
        self.refresh()
        if self._on_query is not None:
            self._on_query(query)


def _cell(value: Any) -> Any:
    """A value as a cell shows it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, int) else display_text(value, 300)
