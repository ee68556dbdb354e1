"""The panels of a run about people, events and metrics; they follow the time slider."""

from collections.abc import Callable, Coroutine
from dataclasses import asdict, replace
from typing import Any

import polars as pl
from nicegui import background_tasks, ui

from populace.base.errors import UsageError
from populace.runs import step_events, step_people
from populace.runs.reader import RunReader
from populace.studio.metrics import metric_info, metrics_at
from populace.studio.residents import has_town, resident_texts
from populace.studio.shell.addresses import run_address
from populace.studio.shell.frame import Page, test_id
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text
from populace.studio.widgets.elements import heading
from populace.studio.widgets.tables import Columns, FrameTable, PagedTable, TableQuery

_CELL_LENGTH = 60
"""The most characters of a text in a row of people."""

Reload = Callable[[], Coroutine[Any, Any, None]]


class Panel:
    """One panel: a subclass builds its elements, loads the data of a step in a thread, and draws them.

    Args:
        name: The run.
        page: The page, whose address holds the filters.
        reload: Has the page load and show this panel again.
    """

    title = ""

    def __init__(self, name: str, page: Page, reload: Reload) -> None:
        self.name, self.page, self.reload = name, page, reload
        self.step = 0
        self._built = False

    async def show(self, run: RunReader, step: int, place: ui.column) -> None:
        """Show a step; the elements are built when it is first shown."""
        if not self._built:
            self._built = True
            with test_id(place, f"panel-{self.title.lower()}"):
                heading(self.title, classes="unseen")
                self._build()
        data = await load(self._load, run, step)
        self.step = step
        self._draw(data)
        place.props(f"data-step={step}")

    def _build(self) -> None:
        raise NotImplementedError

    def _load(self, run: RunReader, step: int) -> Any:
        raise NotImplementedError

    def _draw(self, data: Any) -> None:
        raise NotImplementedError

    def _decision(self, row: dict[str, Any]) -> str:
        if row["person"] is None:
            return "#"
        return run_address(self.name, "decision", step=self.step, person=row["person"], path=row["path"])


class PeoplePanel(Panel):
    """The people at the step, paged, sorted and filtered on the server."""

    title = "People"

    def __init__(self, name: str, page: Page, reload: Reload, query: TableQuery, where: str) -> None:
        super().__init__(name, page, reload)
        self.query, self.where = query, where
        self._rows = step_people.TablePage(pl.DataFrame({"id": []}), 0)

    def _build(self) -> None:
        with ui.row().classes("w-full gap-2"):
            self._search = ui.input(placeholder="Search names and texts", value=self.query.search)
            look = 'dense outlined clearable debounce=250 aria-label="Search people"'
            test_id(self._search.props(look), "people-search")
            self._search.classes("min-w-0").style("flex: 1 1 200px").on_value_change(self._on_filter)
            self._where = ui.input(placeholder="Only where, e.g. age >= 30 and shirt = blue", value=self.where)
            look = 'dense outlined clearable debounce=400 aria-label="Only people for whom a condition holds"'
            test_id(self._where.props(look), "people-where")
            self._where.classes("min-w-0").style("flex: 2 1 260px").on_value_change(self._on_filter)
        self._count = test_id(ui.label().classes("soft small"), "people-count")
        self._table = PagedTable(
            self._page, ["id"], key="id", link=self._link, search="", query=self.query, on_query=self._on_page
        )
        # One line for each person: whole texts are on the page of the person.
        test_id(self._table.table.props(remove="wrap-cells"), "people")

    def _load(self, run: RunReader, step: int) -> Any:
        names = list(run.record.people_columns(step))
        query = asdict(self.query) | {"sort": self.query.sort if self.query.sort in names else ""}
        try:
            rows, error = step_people.people_page(run, step, where=self.where, **query), ""
        except UsageError as problem:
            # While a condition is being typed, it does not hold yet.
            rows, error = step_people.people_page(run, step, **query), str(problem)
        table = resident_texts(rows.table) if has_town(run) else rows.table
        return table.columns, step_people.TablePage(table, rows.total), error

    def _draw(self, data: Any) -> None:
        names, self._rows, error = data
        self._where.error = error or None
        some = (self.where and not error) or self.query.search
        count = f"{self._rows.total:,} people" + (" fit" if some else "")
        self._count.set_text(f"{count}; the condition is not complete yet" if error else count)
        self._table.columns(names)
        self._table.refresh()

    def _page(self, query: TableQuery) -> tuple[pl.DataFrame, int]:
        table = self._rows.table
        text = pl.col(pl.String)
        cut = pl.when(text.str.len_chars() > _CELL_LENGTH).then(text.str.head(_CELL_LENGTH) + "…").otherwise(text)
        return table.with_columns(cut), self._rows.total

    def _link(self, row: dict[str, Any]) -> str:
        return run_address(self.name, "person", row["id"], step=self.step)

    def _on_page(self, query: TableQuery) -> None:
        self.query = query
        self._update_address()
        background_tasks.create(self.reload(), name="another page of people")

    async def _on_filter(self) -> None:
        self.where = (self._where.value or "").strip()
        self._table.query = self.query = replace(self.query, page=1, search=(self._search.value or "").strip())
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

    def __init__(self, name: str, page: Page, reload: Reload, kind: str, person: str, until: bool) -> None:
        super().__init__(name, page, reload)
        self.kind, self.person, self.until = kind, person, until
        self._query = TableQuery()
        self._rows = step_people.TablePage(pl.DataFrame(), 0)

    def _build(self) -> None:
        with ui.row().classes("w-full gap-2 items-center"):
            self._kind = ui.select({"": "all kinds"}, value="", label="Kind", on_change=self._on_filter)
            test_id(self._kind.props("dense outlined").style("min-width: 160px"), "event-kind")
            self._person = ui.input(placeholder="Name or id of a person", value=self.person, on_change=self._on_filter)
            look = 'dense outlined clearable debounce=300 aria-label="Events of a person"'
            test_id(self._person.props(look), "event-person")
            self._until = ui.switch("All up to this step", value=self.until, on_change=self._on_filter)
            test_id(self._until, "event-until")
        self._nothing = test_id(ui.label().classes("soft"), "events-empty")
        columns = [("step", "step"), ("kind", "what"), ("name", "who"), ("details", "details")]
        self._table = PagedTable(self._page, columns, key="name", link=self._link, search="", on_query=self._on_page)
        test_id(self._table.table, "events")

    def _load(self, run: RunReader, step: int) -> Any:
        kinds = step_events.event_kinds(run, step, until=self.until)
        counts = dict(kinds.iter_rows())
        kind = self.kind if self.kind in counts else ""
        query = self._query
        rows = step_events.event_page(
            run, step, until=self.until, kind=kind, person=self.person, page=query.page, size=query.size
        )
        return counts, rows

    def _draw(self, data: Any) -> None:
        counts, self._rows = data
        options = {"": f"all kinds ({sum(counts.values()):,})"}
        options |= {kind: f"{display_text(kind, 60)} ({count:,})" for kind, count in counts.items()}
        if self._kind.options != options:
            self._kind.set_options(options, value=self.kind if self.kind in options else "")
        nothing = not self._rows.total
        when = "up to this step" if self.until else "at this step"
        self._nothing.set_text("No event matches." if counts else f"The scenario recorded no event {when}.")
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
        self._table.query = self._query = TableQuery(1, self._query.size)
        self.page.update_address(kind=kind, who=person, until="yes" if until else None)
        await self.reload()


class MetricsPanel(Panel):
    """All metrics at the step, with the change since the step before."""

    title = "Metrics"

    def _build(self) -> None:
        columns: Columns = ["metric", "value", ("change", "change since the step before"), ("about", "what")]
        empty = "This scenario has no metrics. A method with @metric is computed after every step."
        self._table = FrameTable(columns, key="metric", name="metrics", empty=empty)

    def _load(self, run: RunReader, step: int) -> Any:
        summaries = metric_info(run.manifest.scenario).summaries
        table = metrics_at(run.metrics, step)
        changes = ["–" if change is None else f"{change:+,.4g}" for change in table["change"]]
        about = [summaries.get(metric, "") for metric in table["metric"]]
        texts = {"change": pl.Series(changes, dtype=pl.String), "about": pl.Series(about, dtype=pl.String)}
        return table.select("metric", "value").with_columns(**texts)

    def _draw(self, data: Any) -> None:
        self._table.show(data)
