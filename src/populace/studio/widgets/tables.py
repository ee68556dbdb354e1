"""Tables that are paged, sorted and searched on the server, whatever their size."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from nicegui import events, ui

from populace.studio.shell.frame import empty_state, notify_errors, test_id
from populace.studio.shell.text import display_text
from populace.studio.widgets.elements import table_cells

PAGE_SIZE = 25


@dataclass(frozen=True)
class TableQuery:
    """Which rows of a table to show.

    Attributes:
        page: The number of the page, from 1.
        size: How many rows a page has.
        sort: The column to sort by; without one the order of the table stays.
        descending: Whether to sort the other way round.
        search: Text that some column must contain, in any case of letters.
    """

    page: int = 1
    size: int = PAGE_SIZE
    sort: str | None = None
    descending: bool = False
    search: str = ""


Source = Callable[[TableQuery], tuple[pl.DataFrame, int]]
Columns = Sequence[str | tuple[str, str]]


def page_rows(frame: pl.DataFrame, query: TableQuery) -> tuple[pl.DataFrame, int]:
    """One page of a table, and how many rows there are in all.

    Example:
        >>> people = pl.DataFrame({"name": ["Ann", "Bo", "Cy"]})
        >>> page, count = page_rows(people, TableQuery(size=1, sort="name", descending=True))
        >>> page["name"].to_list(), count
        (['Cy'], 3)
    """
    rows = frame
    if query.search:
        words = query.search.casefold()
        columns = [name for name, dtype in frame.schema.items() if not dtype.is_nested()]
        contains = [
            pl.col(name).cast(pl.String).str.to_lowercase().str.contains(words, literal=True).fill_null(False)
            for name in columns
        ]
        rows = frame.filter(pl.any_horizontal(contains)) if contains else frame.clear()
    first = (query.page - 1) * query.size
    if query.sort in rows.columns:
        # Only the rows up to the page are sorted: of a hundred thousand people mostly the first page is read.
        last = min(first + query.size, rows.height)
        by = pl.col(query.sort)
        if last * 8 < rows.height:
            ranks = rows.select(by).with_row_index("row")
            best = ranks.bottom_k(last, by=[by, "row"], reverse=[query.descending, False])
            best = best.sort(by, "row", descending=[query.descending, False], nulls_last=True)
            page = rows[best["row"][first:last]]
            return page, rows.height
        rows = rows.sort(by, descending=query.descending, nulls_last=True, maintain_order=True)
    return rows[first : first + query.size], rows.height


class _ServerTable(ui.table):
    """A table whose number of rows only the server knows.

    A browser reports its pagination after the table was created, with the number of rows of that moment: taken as it
    is, it would undo what the server has set since.
    """

    count = 0

    @property
    def pagination(self) -> dict[str, Any]:
        """The page, its size, the order, and the number of all rows."""
        return self._props["pagination"]  # type: ignore[no-any-return]

    @pagination.setter
    def pagination(self, value: dict[str, Any]) -> None:
        self._props["pagination"] = value | {"rowsNumber": self.count}


class PagedTable:
    """A table of which the browser holds one page.

    Args:
        source: Returns a page and the number of all rows.
        columns: The columns to show: names, or names with headings.
        key: The column that identifies a row.
        link: The address that the key of a row links to.
        search: The placeholder of the search field; empty for a table without one.
        query: What to show at first.
        on_query: Called when somebody sorts, searches or turns the page.
    """

    def __init__(
        self,
        source: Source,
        columns: Columns,
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
        self._first_size = self.query.size
        with ui.column().classes("w-full gap-1 min-w-0") as self.element:
            if search:
                field = ui.input(placeholder=search, value=self.query.search)
                field.props(f'dense outlined clearable debounce=250 aria-label="{search}"')
                field.classes("w-full max-w-xs").on_value_change(self._on_search).mark("table-search")
            headings, pagination = self._headings(columns), self._pagination(0)
            self.table = _ServerTable(rows=[], columns=headings, row_key=key, pagination=pagination)
            self.table.props('flat dense wrap-cells binary-state-sort no-data-label="Nothing to show."')
            self.table.classes("w-full")
            self.table.on("request", notify_errors(self._on_request))
            if link is not None:
                self.table.add_slot(
                    f"body-cell-{key}",
                    '<q-td :props="props"><a :href="props.row.__link">{{ props.value }}</a></q-td>',
                )
        self.refresh()

    def columns(self, columns: Columns) -> None:
        """Show other columns."""
        headings = self._headings(columns)
        if headings != self.table.columns:
            self.table.columns = headings

    def refresh(self) -> None:
        """Read the source again and show its rows."""
        frame, count = self.source(self.query)
        rows = table_cells(frame)
        if self.link is not None:
            for row, values in zip(rows, frame.iter_rows(named=True), strict=True):
                row["__link"] = self.link(values)
        self.table.rows = rows
        self.table.count = count
        self.table.pagination = self._pagination(count)
        # A footer that offers other pages where there are none is noise.
        self.table.props["hide-pagination"] = count <= self._first_size

    def _pagination(self, count: int) -> dict[str, Any]:
        query = self.query
        paging = {"page": query.page, "rowsPerPage": query.size, "rowsNumber": count}
        return paging | {"sortBy": query.sort, "descending": query.descending}

    def _headings(self, columns: Columns) -> list[dict[str, Any]]:
        pairs = [(each, each.replace("_", " ")) if isinstance(each, str) else each for each in columns]
        return [
            {"name": n, "label": display_text(h, 60), "field": n, "sortable": True, "align": "left"} for n, h in pairs
        ]

    def _on_request(self, event: events.GenericEventArguments) -> None:
        paging = event.args["pagination"]
        size = int(paging["rowsPerPage"]) or 100
        order = {"sort": paging.get("sortBy"), "descending": bool(paging.get("descending"))}
        self._show(replace(self.query, page=int(paging["page"]), size=min(size, 100), **order))

    def _on_search(self, event: events.ValueChangeEventArguments[str | None]) -> None:
        self._show(replace(self.query, page=1, search=(event.value or "").strip()))

    def _show(self, query: TableQuery) -> None:
        self.query = query
        self.refresh()
        if self._on_query is not None:
            self._on_query(query)


class FrameTable(PagedTable):
    """A paged table of a data frame, which `show` sets; arguments that it shares are those of `PagedTable`.

    Args:
        name: The name under which tests find the table.
        size: How many rows a page has.
        empty: The text in place of the table where the data frame has no rows.
    """

    def __init__(
        self,
        columns: Columns,
        *,
        key: str,
        link: Callable[[dict[str, Any]], str] | None = None,
        search: str = "",
        name: str = "",
        size: int = PAGE_SIZE,
        empty: str = "",
    ) -> None:
        self.frame = pl.DataFrame()
        super().__init__(self._page, columns, key=key, link=link, search=search, query=TableQuery(size=size))
        if name:
            test_id(self.table, name)
        self._nothing: ui.column | None = None
        if empty:
            with ui.column() as self._nothing:
                empty_state(empty)

    def show(self, frame: pl.DataFrame) -> None:
        """Show another data frame."""
        self.frame = frame
        if self._nothing is not None:
            self.element.set_visibility(frame.height > 0)
            self._nothing.set_visibility(not frame.height)
        self.refresh()

    def _page(self, query: TableQuery) -> tuple[pl.DataFrame, int]:
        return page_rows(self.frame, query)
