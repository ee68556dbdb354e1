"""The panels of a run about people, events and metrics; they follow the time slider."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import polars as pl
from nicegui import background_tasks, ui

from populace.base.errors import UsageError
from populace.runs import step_events, step_people
from populace.runs.reader import RunReader
from populace.studio.metrics import metric_info
from populace.studio.pages.run.metrics_data import metrics_at
from populace.studio.shell.frame import Page, empty_state, run_address, test_id
from populace.studio.shell.text import display_text
from populace.studio.widgets.tables import FrameTable, PagedTable, TableQuery

_CELL_LENGTH = 60
"""The most characters of a text in a row of people."""

Reload = Callable[[], Coroutine[Any, Any, None]]


class Panel:
    """One panel. It is built when it is first opened; `load` reads in a thread, `show` draws.

    Args:
        name: The run.
        page: The page, whose address holds the filters.
        reload: Has the page load and show this panel again.
    """

    title = ""

    def __init__(self, name: str, page: Page, reload: Reload) -> None:
        self.name, self.page, self.reload = name, page, reload
        self.step = 0
        self.built = False
        self.place: ui.column | None = None

    def open(self, place: ui.column) -> None:
        """Build it, once."""
        if not self.built:
            self.built, self.place = True, place
            test_id(place, f"panel-{self.title.lower()}")
            with place:
                self.build()

    def build(self) -> None:
        """Create the elements."""

    def load(self, run: RunReader, step: int) -> Any:
        """Read the data of a step; called in a thread."""

    def show(self, data: Any, step: int) -> None:
        """Show the data of a step."""
        self.step = step
        self.draw(data)
        if self.place is not None:
            self.place.props(f"data-step={step}")

    def draw(self, data: Any) -> None:
        """Put the data into the elements."""


class PeoplePanel(Panel):
    """The people at the step, paged, sorted and filtered on the server."""

    title = "People"

    def __init__(self, name: str, page: Page, reload: Reload, query: TableQuery, where: str) -> None:
        super().__init__(name, page, reload)
        self.query, self.where = query, where
        self._rows = step_people.TablePage(pl.DataFrame({"id": []}), 0)

    def build(self) -> None:
        """A search field, a field for conditions, and the table."""
        with ui.row().classes("w-full gap-2"):
            self._search = ui.input(placeholder="Search names and texts", value=self.query.search)
            test_id(self._search.props("dense outlined clearable debounce=250"), "people-search")
            self._search.classes("min-w-0").style("flex: 1 1 200px").on_value_change(self._on_filter)
            self._where = ui.input(placeholder="Only where, e.g. age >= 30 and shirt = blue", value=self.where)
            test_id(self._where.props("dense outlined clearable debounce=400"), "people-where")
            self._where.classes("min-w-0").style("flex: 2 1 260px").on_value_change(self._on_filter)
        self._count = test_id(ui.label().classes("soft small"), "people-count")
        self._table = PagedTable(
            self._page, ["id"], key="id", link=self._link, search="", query=self.query, on_query=self._on_page
        )
        # One line for each person: whole texts are on the page of the person.
        test_id(self._table.table.props(remove="wrap-cells"), "people")

    def load(self, run: RunReader, step: int) -> Any:
        """A page of people; an error in the conditions is shown at their field."""
        names = list(run.record.people_columns(step))
        try:
            return names, self._read(run, step), ""
        except UsageError as error:
            return names, step_people.TablePage(pl.DataFrame({"id": []}), 0), str(error)

    def _read(self, run: RunReader, step: int) -> step_people.TablePage:
        query = self.query
        names = run.record.people_columns(step)
        return step_people.people_page(
            run,
            step,
            search=query.search,
            where=self.where,
            sort=query.sort if query.sort in names else "",
            descending=query.descending,
            page=query.page,
            size=query.size,
        )

    def draw(self, data: Any) -> None:
        """The rows, and how many there are."""
        names, self._rows, error = data
        self._where.error = error or None
        count = f"{self._rows.total:,} people" + (" fit" if self.where or self.query.search else "")
        self._count.set_text("" if error else count)
        self._table.columns(names)
        self._table.refresh()

    def _page(self, query: TableQuery) -> tuple[pl.DataFrame, int]:
        table = self._rows.table
        long = [name for name, dtype in table.schema.items() if dtype == pl.String]
        cut = [
            pl.when(pl.col(n).str.len_chars() > _CELL_LENGTH).then(pl.col(n).str.head(_CELL_LENGTH) + "…").otherwise(n)
            for n in long
        ]
        return table.with_columns(cut), self._rows.total

    def _link(self, row: dict[str, Any]) -> str:
        return run_address(self.name, "person", row["id"], step=self.step)

    def _on_page(self, query: TableQuery) -> None:
        self.query = query
        self._update_address()
        background_tasks.create(self.reload(), name="another page of people")

    async def _on_filter(self) -> None:
        self.where = (self._where.value or "").strip()
        query = self.query
        self.query = TableQuery(1, query.size, query.sort, query.descending, (self._search.value or "").strip())
        self._table.query = self.query
        self._update_address()
        await self.reload()

    def _update_address(self) -> None:
        query = self.query
        sort = f"{'-' if query.descending else ''}{query.sort}" if query.sort else None
        self.page.update_address(
            where=self.where, search=query.search, sort=sort, page=query.page if query.page > 1 else None
        )


class EventsPanel(Panel):
    """The events, newest first."""

    title = "Events"

    def __init__(
        self, name: str, page: Page, reload: Reload, kind: str = "", person: str = "", until: bool = False
    ) -> None:
        super().__init__(name, page, reload)
        self.kind, self.person, self.until = kind, person, until
        self._query = TableQuery()
        self._rows = step_people.TablePage(pl.DataFrame(), 0)

    def build(self) -> None:
        """Filters and the table."""
        with ui.row().classes("w-full gap-2 items-center"):
            self._kind = ui.select({"": "all kinds"}, value="", label="Kind", on_change=self._on_filter)
            test_id(self._kind.props("dense outlined").style("min-width: 160px"), "event-kind")
            self._person = ui.input(placeholder="Name or id of a person", value=self.person, on_change=self._on_filter)
            test_id(self._person.props("dense outlined clearable debounce=300"), "event-person")
            self._until = ui.switch("All up to this step", value=self.until, on_change=self._on_filter)
            test_id(self._until, "event-until")
        self._nothing = test_id(ui.label().classes("soft"), "events-empty")
        columns = [("step", "step"), ("kind", "what"), ("name", "who"), ("details", "details")]
        self._table = PagedTable(self._page, columns, key="name", link=self._link, search="", on_query=self._on_page)
        test_id(self._table.table, "events")

    def load(self, run: RunReader, step: int) -> Any:
        """A page of events, and which kinds there are."""
        kinds = step_events.event_kinds(run, step, until=self.until)
        counts = dict(kinds.iter_rows())
        kind = self.kind if self.kind in counts else ""
        query = self._query
        rows = step_events.event_page(
            run, step, until=self.until, kind=kind, person=self.person, page=query.page, size=query.size
        )
        return counts, rows

    def draw(self, data: Any) -> None:
        """The events, or that there are none."""
        counts, self._rows = data
        options = {"": f"all kinds ({sum(counts.values()):,})"}
        options |= {kind: f"{display_text(kind, 60)} ({count:,})" for kind, count in counts.items()}
        if self._kind.options != options:
            self._kind.set_options(options, value=self.kind if self.kind in options else "")
        nothing = not self._rows.total
        filtered = bool(counts) and nothing
        text = "No event matches." if filtered else "The scenario recorded no event at this step."
        self._nothing.set_text(
            text if not self.until or filtered else "The scenario recorded no event up to this step."
        )
        self._nothing.set_visibility(nothing)
        self._table.element.set_visibility(not nothing)
        self._table.refresh()

    def _page(self, query: TableQuery) -> tuple[pl.DataFrame, int]:
        table = self._rows.table
        if not table.width:
            return table, 0
        who = pl.coalesce(pl.col("name"), pl.col("person").cast(pl.String), pl.lit("–"))
        return table.with_columns(who.alias("name")), self._rows.total

    def _link(self, row: dict[str, Any]) -> str:
        if row["person"] is None:
            return "#"
        return run_address(self.name, "person", row["person"], step=row["step"])

    def _on_page(self, query: TableQuery) -> None:
        self._query = query
        background_tasks.create(self.reload(), name="another page of events")

    async def _on_filter(self) -> None:
        kind, person, until = self._kind.value or "", (self._person.value or "").strip(), bool(self._until.value)
        if (kind, person, until) == (self.kind, self.person, self.until):
            return
        self.kind, self.person, self.until = kind, person, until
        self._query = TableQuery(1, self._query.size)
        self._table.query = self._query
        self.page.update_address(kind=kind, who=person, until="yes" if until else None)
        await self.reload()


class MetricsPanel(Panel):
    """All metrics at the step, with the change since the step before."""

    title = "Metrics"

    def build(self) -> None:
        """The table."""
        columns = [
            ("metric", "metric"),
            ("value", "value"),
            ("change", "change since the step before"),
            ("about", "what"),
        ]
        self._table = FrameTable(columns, key="metric")
        test_id(self._table.table, "metrics")
        self._nothing = ui.column()
        with self._nothing:
            empty_state("This scenario has no metrics. A method with @metric is computed after every step.")

    def load(self, run: RunReader, step: int) -> Any:
        """The metrics at the step."""
        summaries = metric_info(run.manifest.scenario).summaries
        table = metrics_at(run.metrics, step)
        texts = [
            ("–" if c is None else f"{c:+,.4g}", summaries.get(m, ""))
            for m, c in table.select("metric", "change").rows()
        ]
        more = pl.DataFrame(texts, schema={"change": pl.String, "about": pl.String}, orient="row")
        return table.select("metric", "value").hstack(more)

    def draw(self, data: Any) -> None:
        """The rows."""
        self._nothing.set_visibility(not data.height)
        self._table.element.set_visibility(bool(data.height))
        self._table.show(data)
