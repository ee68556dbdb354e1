"""The page of a run: metrics over time, people, events, answers, usage, settings, and what can be done with it."""

import json

import polars as pl
from nicegui import ui

from populace.runs.overview import overview
from populace.runs.reader import RunReader
from populace.studio.jobs import command
from populace.studio.metrics import chart_metrics, metrics_at
from populace.studio.pages.run.answer_panels import AnswersPanel, InvalidPanel, SettingsPanel, UsagePanel
from populace.studio.pages.run.head import RunHead
from populace.studio.pages.run.panels import EventsPanel, MetricsPanel, Panel, PeoplePanel
from populace.studio.pages.run.time_slider import TimeSlider
from populace.studio.shell.addresses import parse_number
from populace.studio.shell.frame import Page, empty_state, frame, page_at, test_id
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.charts import Chart, line_chart, line_options
from populace.studio.widgets.elements import heading
from populace.studio.widgets.redraw import Redrawer
from populace.studio.widgets.run_content import RunContent
from populace.studio.widgets.tables import TableQuery

_ACTIVE = ("running", "pausing", "paused")
_MAX_POINTS = 600
"""The most points that a chart draws; its saved data have all of them."""


def register(studio: Studio) -> None:
    """Register `/run/NAME`."""

    @page_at("/run/{name}")
    async def run_page(
        name: str,
        step: str = "",
        tab: str = "people",
        search: str = "",
        where: str = "",
        sort: str = "",
        page: str = "",
        kind: str = "",
        who: str = "",
        until: str = "",
    ) -> None:
        with frame(name, command=command("show", name), crumbs=[("Runs", "/")]) as here:
            studio.library.run(name)
            number = max(parse_number(page, "page") or 1, 1)
            query = TableQuery(number, sort=sort.lstrip("-") or None, descending=sort[:1] == "-", search=search)
            view = RunView(studio, name, here, parse_number(step, "step"))
            reload = view.moved
            people = PeoplePanel(name, here, reload, query, where)
            events = EventsPanel(name, here, reload, kind, who, bool(until))
            others = (AnswersPanel, InvalidPanel, UsagePanel, MetricsPanel, SettingsPanel)
            view.build([people, events, *(panel(name, here, reload) for panel in others)], tab)
            # Before the first drawing, so that changes during it are not missed.
            studio.changes.listen(name, view.changed)
            await view.changed.first()


class RunView:
    """What one open page shows of a run: one step in every panel.

    Args:
        studio: The Studio.
        name: The run.
        page: The page.
        step: The step at first; None for the newest.

    Attributes:
        changed: Redraws the page after a change of the run.
        moved: Redraws the page after a change of the step or the panel.
    """

    def __init__(self, studio: Studio, name: str, page: Page, step: int | None) -> None:
        self._studio, self._name, self._page, self._first_step = studio, name, page, step
        self._panels: dict[str, Panel] = {}
        self.changed = Redrawer(self._change)
        self.moved = Redrawer(self._move)

    def build(self, panels: list[Panel], tab: str) -> None:
        """Create the elements, still empty."""
        self._panels = {panel.title.lower(): panel for panel in panels}
        first_tab = tab if tab in self._panels else "people"
        self._content = RunContent(self._studio.library, self._name)
        with self._content.element:
            self._head = RunHead(self._studio, self._name, lambda: self._time.step, self.changed)
            with ui.column().classes("panel") as self._no_step_yet:
                empty_state("No step is committed yet. The first one appears here as soon as it is done.")
            with ui.column().classes("w-full gap-4") as self._step_content:
                self._time = TimeSlider(
                    self._first_step or 0,
                    follow=self._first_step is None,
                    moved=self.moved,
                    busy=lambda: self.moved.busy or self.changed.busy,
                )
                self._charts = MetricCharts()
                with ui.column().classes("panel"):
                    with ui.tabs().props("no-caps align=left outside-arrows mobile-arrows") as self._tabs:
                        for key, panel in self._panels.items():
                            test_id(ui.tab(key, label=panel.title), f"tab-{key}")
                    self._tabs.classes("w-full").set_value(first_tab)
                    self._tabs.on_value_change(self._on_tab)
                    self._places = {key: ui.column().classes("w-full gap-3 min-w-0") for key in self._panels}
        self._step_content.set_visibility(False)
        self._no_step_yet.set_visibility(False)

    @property
    def _panel(self) -> Panel:
        return self._panels[str(self._tabs.value)]

    async def _on_tab(self) -> None:
        self._page.update_address(tab=str(self._tabs.value))
        await self.moved()

    async def _change(self) -> None:
        """Show the run as it is now: state, newest step, metrics, and then the chosen step."""
        await self._content.draw(self._show_run)
        if not self._content.gone and self._step_content.visible:
            await self.moved()

    async def _show_run(self) -> None:
        run = self._studio.library.run(self._name)
        facts = await load(overview, run)
        table = await load(lambda: run.metrics)
        self._head.show(facts)
        self._no_step_yet.set_visibility(facts.last is None)
        self._step_content.set_visibility(facts.last is not None)
        if facts.last is None:
            return
        if self._first_step is not None and self._time.last < facts.last:
            self._time.step = min(max(self._first_step, 0), facts.last)
            self._first_step = None
        elif self._first_step is None and self._time.last == 0 and self._time.follow.value:
            self._time.step = facts.last
        self._time.show(run, facts.last, going=facts.state in _ACTIVE)
        going = facts.state in _ACTIVE
        self._charts.show(run, table, self._time.step, facts.planned if going else None)

    async def _move(self) -> None:
        if not self._content.gone:
            await self._content.draw(self._show_step)

    async def _show_step(self) -> None:
        step, panel, key = self._time.step, self._panel, str(self._tabs.value)
        run = self._studio.library.run(self._name)
        await panel.show(run, step, self._places[key])
        for name, place in self._places.items():
            place.set_visibility(name == key)
        self._time.show(run, self._time.last, going=self._time.follow.visible)
        self._charts.mark(step)
        last = step == self._time.last and self._time.follow.visible and bool(self._time.follow.value)
        self._page.update_address(step=None if last else step)
        self._page.show_command(command("show", self._name, "--step", str(step)))


class MetricCharts:
    """A chart for each metric: the main ones of the scenario, and the others behind a switch."""

    def __init__(self) -> None:
        self._charts_by_metric: dict[str, tuple[Chart, ui.label]] = {}
        self._table = pl.DataFrame()
        self._split: tuple[list[str], list[str]] = ([], [])
        self._step = 0
        self._planned: int | None = None
        ui.add_head_html('<script src="/studio-static/run/run.js"></script>')
        with ui.column().classes("panel") as self.element:
            test_id(self.element, "charts")
            heading("Metrics over the steps", classes="unseen")
            self._main = ui.row().classes("w-full gap-4")
            self._others = ui.row().classes("w-full gap-4")
            self._switch = ui.switch("Other metrics", on_change=lambda: self._show_others())
            test_id(self._switch, "other-metrics")

    def show(self, run: RunReader, table: pl.DataFrame, step: int, planned: int | None) -> None:
        """Draw the metrics as they are now; the axis of a run that goes on ends at its planned last step."""
        self._table, self._split, self._step, self._planned = table, chart_metrics(run), step, planned
        main, others = self._split
        self.element.set_visibility(bool(main))
        self._switch.set_visibility(bool(others))
        self._draw(self._main, main, step)
        if self._switch.value:
            self._draw(self._others, others, step)

    def mark(self, step: int) -> None:
        """Move the marker to a step, and show the values there."""
        texts = self._value_texts(step)
        markers = []
        for name, (chart, label) in self._charts_by_metric.items():
            label.set_text(texts.get(name, ""))
            # The browser moves the marker: changed options would have it draw the whole chart again.
            series = chart.chart.options["series"]
            markers += [[chart.chart.id, each["name"]] for each in series if "markLine" in each]
        self._step = step
        ui.run_javascript(f"populaceMark({json.dumps(markers)}, {step}, 'charts')")

    def _draw(self, place: ui.row, names: list[str], step: int) -> None:
        texts = self._value_texts(step)
        for name in names:
            whole = self._table.select("step", name)
            points = _thin(whole)
            if name in self._charts_by_metric:
                chart, label = self._charts_by_metric[name]
                chart.show(line_options(points, "step", [name], mark=step, end=self._planned), whole)
            else:
                with place, ui.column().classes("gap-0 min-w-0").style("flex: 1 1 320px"):
                    title, end = name.replace("_", " "), self._planned
                    chart = line_chart(title, points, "step", [name], mark=step, end=end, name=name)
                    chart.table = whole
                    with chart.element:
                        label = test_id(ui.label().classes("small soft"), f"value-{name}")
                        label.move(chart.element, target_index=1)
                self._charts_by_metric[name] = (chart, label)
            label.set_text(texts.get(name, ""))

    def _value_texts(self, step: int) -> dict[str, str]:
        texts = {}
        for name, value, change in metrics_at(self._table, step).select("metric", "value", "change").iter_rows():
            since = "" if change is None else f", {change:+,.4g} since the step before"
            texts[name] = display_text(f"{value} at step {step}{since}", 200)
        return texts

    def _show_others(self) -> None:
        self._others.set_visibility(bool(self._switch.value))
        if self._switch.value:
            self._draw(self._others, self._split[1], self._step)


def _thin(table: pl.DataFrame) -> pl.DataFrame:
    """At most `_MAX_POINTS` rows, evenly spaced, with the first and the last."""
    last = table.height - 1
    if last < _MAX_POINTS:
        return table
    return table[[round(place * last / (_MAX_POINTS - 1)) for place in range(_MAX_POINTS)]]
