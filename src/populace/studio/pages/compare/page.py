"""Compare: two or more runs side by side, live while they go."""

from functools import partial
from typing import Any
from urllib.parse import quote

from nicegui import events, ui

from populace.runs import side_by_side as view
from populace.runs.clock import step_time
from populace.runs.overview import run_state
from populace.runs.reader import RunReader
from populace.runs.settings_text import decider_text
from populace.studio.jobs import command
from populace.studio.pages.compare.differences import show_differences
from populace.studio.shell.addresses import parse_number
from populace.studio.shell.frame import Page, after_load, chip, empty_state, frame, page_at, run_link, section, test_id
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.charts import COLOURS, Chart, line_chart, line_options
from populace.studio.widgets.elements import (
    action,
    grid,
    icon_button,
    note,
    outline,
    plain_table,
    refill,
    set_spoken_value,
    table_cells,
)
from populace.studio.widgets.redraw import ChangingParts, Redrawer

_MAX_CHARTS = 12
_MAX_OFFERED = 1_000
_COLUMNS = ("metric", "runs", "n", "value", "difference")


def register(studio: Studio) -> None:
    """Add the page `/compare`."""

    @page_at("/compare")
    async def compare(runs: str = "", at: str = "", bands: str = "") -> None:
        names = [name for name in dict.fromkeys(runs.split(",")) if name]
        # One command for each run beside the reference.
        line = " ; ".join(command("compare", names[0], other) for other in names[1:]) or "populace list"
        with frame("Compare", command=line) as page:
            await _ComparePage(studio, page, names, parse_number(at, "step"), bands != "false").build()


def _open(names: list[str]) -> None:
    ui.navigate.to(f"/compare?runs={','.join(quote(name, safe='') for name in names)}")


class _ComparePage:
    """The parts of the page, and how they follow the runs."""

    def __init__(self, studio: Studio, page: Page, names: list[str], at: int | None, bands: bool) -> None:
        self.studio, self.page, self.names, self.at, self.bands = studio, page, names, at, bands
        self.charts: dict[str, Chart] = {}
        self.all_differ = False
        self.parts = ChangingParts()
        self.progress: dict[str, tuple[ui.row, ui.label]] = {}
        self.slider: ui.slider | None = None
        self.side: view.SideBySide

    async def build(self) -> None:
        """Draw the page, and listen to every run."""
        await self.read()
        with section("Runs", note="the first is the reference"):
            self.list = ui.column().classes("w-full gap-2")
            self._add_field()
        self.metrics, self.step, self.differences, self.settings = (
            ui.column().classes("w-full gap-3") for _ in range(4)
        )
        self.show_list()
        self.show_all()
        redraw = Redrawer(self.follow)
        for name in self.names:
            self.studio.changes.listen(name, redraw)
        if len(self.side.runs) > 1:
            with self.differences, section("First difference"):
                ui.spinner()
            after_load(self.show_differences)

    async def read(self) -> None:
        self.side = await load(view.side_by_side, self.names, self.studio.library.run)

    def show_all(self) -> None:
        self.show_metrics()
        self.show_step()
        self.show_settings()

    async def follow(self) -> None:
        """Show new numbers; controls that somebody may be using stay where they are."""
        names = [run.name for run in self.side.runs]
        await self.read()
        self.show_list()
        if [run.name for run in self.side.runs] != names or set(self.charts) != set(self._metrics()):
            self.show_all()
        else:
            self.draw()
            self.follow_step()
        if len(self.side.runs) > 1 and not self.all_differ:
            await self.show_differences()

    def show_list(self) -> None:
        """The runs, which of them is the reference, and what to mind; buttons stay where only numbers change."""
        remarks, relations = view.remarks(self.side), view.fork_relations(self.side.runs)
        names = [(run.name, self._colour(run.name)) for run in self.side.runs]
        self.parts.show(self.list, (names, self.side.missing, relations, remarks), self._show_list)
        for run in self.side.runs:
            self._show_progress(run)

    def _show_list(self) -> None:
        self.progress.clear()
        for run in self.side.runs:
            self._show_run(run)
        for missing in self.side.missing:
            row = ui.row().classes("w-full items-center gap-2").props("role=alert")
            with test_id(row, f"missing-{missing.name}"):
                ui.label(display_text(missing.name, 80)).style("font-weight: 600")
                note(f"{missing.what} {missing.hint}", 400, classes="small foreign", colour="bad")
                self._remove_button(missing.name)
        for relation in view.fork_relations(self.side.runs):
            where = "" if relation.here else " (not on this page)"
            text = f"{relation.child} is a fork of {relation.parent}{where}, its own from step {relation.at} on."
            note(text, 300, classes="small foreign")
        for remark in view.remarks(self.side):
            note(remark, classes="small foreign", colour="warn")
        if not self.names:
            ui.label("Choose two or more runs to see them side by side.").classes("soft")
        elif len(self.side.runs) == 1:
            ui.label("Add another run to compare it with.").classes("soft")

    def _show_progress(self, run: RunReader) -> None:
        place, label = self.progress[run.name]
        regime, status = run.manifest.regime, run.manifest.status
        state = run_state(self.studio.library.run(run.name).record)
        self.parts.show(place, state, lambda: chip(state))
        planned = f" of {status.planned}" if status.planned is not None else ""
        decider = decider_text(regime.decider, regime.model)
        label.set_text(display_text(f"{decider} · seed {regime.seed} · {status.steps}{planned} steps", 200))

    def _show_run(self, run: RunReader) -> None:
        name = run.name
        with test_id(ui.row().classes("w-full items-center gap-2"), f"compared-{name}"):
            ui.icon("circle", size="12px").style(f"color: {self._colour(name)}").props("aria-hidden=true")
            run_link(name).style("font-weight: 600")
            self.progress[name] = ui.row(), note("")
            if run is self.side.runs[0]:
                ui.label("reference").classes("chip soft")
            else:
                names = [name, *(each for each in self.names if each != name)]
                action("Make reference", partial(_open, names), f"reference-{name}", look="flat dense size=sm")
            self._remove_button(name)

    def _colour(self, name: str) -> str:
        """The colour of a run's line: its own, or that of its group."""
        metric = next(iter(self._metrics()), None)
        lines = view.overlay(self.side, metric, bands=self.bands).lines if metric else []
        labels = [name, *(group.label for group in self.side.groups if name in [run.name for run in group.runs])]
        place = next((lines.index(each) for each in labels if each in lines), None)
        return COLOURS[place % len(COLOURS)] if place is not None else "var(--ink-soft)"

    def _remove_button(self, name: str) -> None:
        names = [each for each in self.names if each != name]
        icon_button("close", f"Take {display_text(name, 60)} away", partial(_open, names), f"remove-{name}")

    def _add_field(self) -> None:
        offers = [name for name in self.studio.library.names()[:_MAX_OFFERED] if name not in self.names]

        def add(event: events.ValueChangeEventArguments[str | None]) -> None:
            if event.value:
                _open([*self.names, event.value])

        if offers:
            select = ui.select(offers, label="Add a run", with_input=True, on_change=add)
            outline(select, "add-run", "w-full max-w-md")
        elif not self.names:
            empty_state("There are no runs yet.", "New run", "/new")

    def _metrics(self) -> list[str]:
        return view.metrics_with_values(self.side)[:_MAX_CHARTS]

    def _mark(self) -> float | None:
        """The step at which the first fork on the page begins to differ."""
        return min((float(relation.at) for relation in view.fork_relations(self.side.runs)), default=None)

    def show_metrics(self) -> None:
        """A chart for each metric that the runs share."""
        refill(self.metrics).set_visibility(bool(self.side.runs))
        self.charts.clear()
        if not self.side.runs:
            return
        metrics, mark = self._metrics(), self._mark()
        with self.metrics, section("Metrics over the steps"):
            if any(len(group.runs) > 1 for group in self.side.groups):
                switch = ui.switch("One line with a band for runs that differ in their seed only", value=self.bands)
                test_id(switch.on_value_change(self._set_bands), "bands")
            if mark is not None:
                note(f"The dashed line stands at step {mark:g}, from which on the fork is its own.")
            if not metrics:
                empty_state("These runs have no numeric metric in common.")
            self.note = note("")
            with grid(420, "gap-4"):
                for metric in metrics:
                    overlay = view.overlay(self.side, metric, bands=self.bands)
                    self.charts[metric] = line_chart(
                        metric.replace("_", " "), overlay.table, "step", overlay.lines,
                        bands=overlay.bands, mark=mark, name=f"compare-{metric}",
                    )  # fmt: skip
                    self.note.set_text(display_text(overlay.note, 400))
            others = [name for name in view.common_metrics(self.side) if name not in metrics]
            if others:
                note(f"Not drawn, as they have no value yet or there are many: {', '.join(others)}.", 400)

    def draw(self) -> None:
        for metric, chart in self.charts.items():
            overlay = view.overlay(self.side, metric, bands=self.bands)
            options = line_options(overlay.table, "step", overlay.lines, bands=overlay.bands, mark=self._mark())
            chart.show(options, overlay.table)
            self.note.set_text(display_text(overlay.note, 400))

    def _set_bands(self, event: events.ValueChangeEventArguments[bool | None]) -> None:
        self.bands = bool(event.value)
        self.page.update_address(bands=None if self.bands else "false")
        self.draw()
        self.show_list()

    def show_step(self) -> None:
        """Metrics at one step, beside those of the reference."""
        self.slider = None
        refill(self.step).set_visibility(len(self.side.runs) > 1 and bool(view.common_metrics(self.side)))
        if not self.step.visible:
            return
        with self.step, section("Differences at a step"):
            with ui.row().classes("w-full items-center gap-4 px-2"):
                self.slider = ui.slider(min=0, max=self._slider_end(), value=self._step(), step=1)
                test_id(self.slider.style("flex: 1 1 180px").props('label aria-label="Step"'), "at")
                self.moment = ui.label("").classes("small")
            self.slider.on_value_change(self._move)
            self.table = plain_table([], _COLUMNS, "differences", key="key")
            note(
                "A difference is the mean of a row minus that of the reference. In brackets: its 95 % t interval over "
                "seeds, where both sides have two or more runs; runs of equal seeds are compared pair by pair."
            )
        self.follow_step()

    def follow_step(self) -> None:
        """Show the metrics at the chosen step; without a choice, at the last one that all runs have."""
        if self.slider is None:
            return
        step = self._step()
        self.slider.props(f"max={self._slider_end()}")
        self.slider.set_value(step)
        moment = next(step_time(run, step) for run in self.side.runs if step in run.steps)
        self.moment.set_text(moment)
        set_spoken_value(self.slider, moment)
        differences = view.metric_differences(self.side, self.side.runs[0].name, step)
        self.table.rows = table_cells(map(_difference_row, differences.iter_rows(named=True)))

    def _slider_end(self) -> int:
        return max(1, view.last_common_step(self.side.runs))

    def _step(self) -> int:
        last = view.last_common_step(self.side.runs)
        return last if self.at is None else max(0, min(self.at, last))

    def _move(self, event: events.ValueChangeEventArguments[float | None]) -> None:
        if int(event.value or 0) != self._step():
            self.at = int(event.value or 0)
            self.page.update_address(at=self._step())
            self.follow_step()

    async def show_differences(self) -> None:
        """The first decision that differs from the reference, for each other run."""
        reference, *others = self.side.runs
        differences = await load(view.differences_from, reference, others)
        # A difference stays; runs that are equal so far may differ later.
        self.all_differ = all(each.difference is not None for each in differences)
        title = section("First difference", note=f"against {display_text(reference.name, 80)}")
        with refill(self.differences), title:
            show_differences(reference, {run.name: run for run in others}, differences)

    def show_settings(self) -> None:
        refill(self.settings)
        if not self.side.runs:
            return
        table = view.settings_table(self.side.runs)
        differing = table.filter("differs")
        with self.settings, section("Settings and parameters"):
            if len(self.side.runs) > 1 and not differing.height:
                ui.label("All settings and parameters are the same.").classes("soft")
            switch = test_id(ui.switch("Also what is the same", value=len(self.side.runs) == 1), "all-settings")
            settings = plain_table([], {name: name for name in table.columns[:-1]}, "settings")

            def show() -> None:
                settings.rows = table_cells(table if switch.value else differing)

            switch.on_value_change(show)
            show()


def _difference_row(row: dict[str, Any]) -> dict[str, str]:
    difference = "–" if row["difference"] is None else f"{row['difference']:+.4g}"
    if row["reference"]:
        difference = "reference"
    if row["low"] is not None:
        difference += f" [{row['low']:.4g}, {row['high']:.4g}]"
    value = "–" if row["value"] is None else f"{row['value']:.4g}"
    cells = {"metric": row["metric"], "runs": display_text(row["runs"], 120), "n": str(row["n"])}
    return cells | {"value": value, "difference": difference, "key": f"{row['metric']}/{row['runs']}"}
