"""Compare: two or more runs side by side, live while they go."""

from __future__ import annotations

import asyncio
from functools import partial
from urllib.parse import quote

from nicegui import events, ui

from populace.runs import side_by_side as view
from populace.runs.clock import step_time
from populace.runs.overview import run_state
from populace.runs.settings_text import decider_text
from populace.runs.side_by_side import SideBySide
from populace.studio.jobs import command
from populace.studio.pages.compare.partings import show_partings
from populace.studio.shell.frame import Page, after_load, chip, empty_state, frame, page_at, run_link, section, test_id
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.charts import COLOURS, Chart, line_chart, line_options
from populace.studio.widgets.redraw import Redrawer

_MOST_CHARTS = 12
_MOST_OFFERED = 1_000


def register(studio: Studio) -> None:
    """Make the page known."""

    @page_at("/compare")
    async def compare(runs: str = "", at: int | None = None, bands: bool = True) -> None:
        names = [name for name in dict.fromkeys(runs.split(",")) if name]
        with frame("Compare", command=_command(names)) as page:
            shown_runs = _Comparing(studio, page, names, at, bands)
            await shown_runs.build()


def address(names: list[str]) -> str:
    """The address of a comparison."""
    return f"/compare?runs={','.join(quote(name, safe='') for name in names)}"


def _command(names: list[str]) -> str:
    """One command for each run beside the reference."""
    return " ; ".join(command("compare", names[0], other) for other in names[1:]) or "populace list"


class _Comparing:
    """What is on the page, and how it follows its runs."""

    def __init__(self, studio: Studio, page: Page, names: list[str], at: int | None, bands: bool) -> None:
        self.studio, self.page, self.names, self.bands = studio, page, names, bands
        self.at = at
        self.charts: dict[str, Chart] = {}
        self.parted = False
        self.slider: ui.slider | None = None
        self.side: SideBySide

    async def build(self) -> None:
        """Make the parts of the page, and listen to every run."""
        await self.read()
        with section("Runs", note="the first is the reference"):
            self.list = ui.column().classes("w-full gap-2")
            self._picker()
        self.show_list()
        self.metrics = ui.column().classes("w-full gap-3")
        self.show_metrics()
        self.step = ui.column().classes("w-full gap-3")
        self.show_step()
        self.partings = ui.column().classes("w-full gap-3")
        self.settings = ui.column().classes("w-full gap-3")
        self.show_settings()
        changed = Redrawer(self.follow)
        for name in self.names:
            if not set(name) & set("/\\\0"):
                self.studio.changes.listen(name, changed)
        if len(self.side.runs) > 1:
            with self.partings, section("First difference"):
                ui.spinner()
            after_load(self.show_partings)

    async def read(self) -> None:
        """Read what is there now."""
        library = self.studio.library
        self.side = await asyncio.to_thread(view.side_by_side, self.names, library.run)

    async def follow(self) -> None:
        """Show what is there now, and leave what one may be using as it is."""
        before = [run.name for run in self.side.runs]
        await self.read()
        self.show_list()
        if [run.name for run in self.side.runs] != before or set(self.charts) != set(self._drawn()):
            self.show_metrics()
            self.show_step()
            self.show_settings()
        else:
            self.draw()
            self.follow_step()
        if len(self.side.runs) > 1 and not self.parted:
            await self.show_partings()

    def show_list(self) -> None:
        """The runs, which of them is the reference, and what to mind."""
        self.list.clear()
        with self.list:
            for number, run in enumerate(self.side.runs):
                self._row(run.name, number)
            for gone in self.side.missing:
                with test_id(ui.row().classes("w-full items-center gap-2").props("role=alert"), f"missing-{gone.name}"):
                    ui.label(display_text(gone.name, 80)).style("font-weight: 600")
                    ui.label(display_text(f"{gone.what} {gone.hint}", 400)).classes("small foreign").style(
                        "color: var(--bad)"
                    )
                    self._remove(gone.name)
            for relation in view.fork_relations(self.side.runs):
                where = "" if relation.here else " (not on this page)"
                told = f"{relation.child} is a fork of {relation.parent}{where}, its own from step {relation.at} on."
                ui.label(display_text(told, 300)).classes("small foreign")
            for remark in view.remarks(self.side):
                ui.label(display_text(remark, 600)).classes("small foreign").style("color: var(--warn)")
            if not self.names:
                ui.label("Choose two or more runs to see them side by side.").classes("soft")
            elif len(self.side.runs) == 1:
                ui.label("Add another run to compare it with.").classes("soft")

    def _row(self, name: str, number: int) -> None:
        run = self.side.runs[number]
        regime, status = run.manifest.regime, run.manifest.status
        with test_id(ui.row().classes("w-full items-center gap-2"), f"compared-{name}"):
            ui.icon("circle", size="12px").style(f"color: {self._colour(name)}").props("aria-hidden=true")
            run_link(name).style("font-weight: 600")
            chip(run_state(self.studio.library.run(name).record))
            decided = decider_text(regime.decider, regime.model)
            planned = f" of {status.planned}" if status.planned is not None else ""
            facts = f"{decided} · seed {regime.seed} · {status.steps}{planned} steps"
            ui.label(display_text(facts, 200)).classes("soft small foreign")
            if number == 0:
                ui.label("reference").classes("chip soft")
            else:
                others = [name, *(each for each in self.names if each != name)]
                button = ui.button("Make reference", on_click=partial(ui.navigate.to, address(others)))
                test_id(button.props("flat dense no-caps size=sm"), f"reference-{name}")
            self._remove(name)

    def _colour(self, name: str) -> str:
        """The colour of a run's line: its own, or that of its group."""
        lines = self._lines()
        own = [name, *(group.label for group in self.side.groups if name in [run.name for run in group.runs])]
        place = next((lines.index(each) for each in own if each in lines), None)
        return COLOURS[place % len(COLOURS)] if place is not None else "var(--ink-soft)"

    def _lines(self) -> list[str]:
        first = next(iter(self._drawn()), None)
        return view.overlay(self.side, first, bands=self.bands).lines if first else []

    def _remove(self, name: str) -> None:
        left = [each for each in self.names if each != name]
        button = ui.button(on_click=partial(ui.navigate.to, address(left)))
        button.props["aria-label"] = f"Take {display_text(name, 60)} away"
        test_id(button.props("flat round dense size=sm icon=close"), f"remove-{name}")

    def _picker(self) -> None:
        offered = [name for name in self.studio.library.names()[:_MOST_OFFERED] if name not in self.names]

        def add(event: events.ValueChangeEventArguments[str | None]) -> None:
            if event.value:
                ui.navigate.to(address([*self.names, event.value]))

        if offered:
            picker = ui.select(offered, label="Add a run", with_input=True, on_change=add)
            test_id(picker.props("dense outlined").classes("w-full max-w-md"), "add-run")
        elif not self.names:
            empty_state("There are no runs yet.", "New run", "/new")

    def _drawn(self) -> list[str]:
        return view.metrics_with_values(self.side)[:_MOST_CHARTS]

    def _mark(self) -> float | None:
        """Where the first fork on the page goes its own way."""
        marks = [relation.at for relation in view.fork_relations(self.side.runs)]
        return float(min(marks)) if marks else None

    def show_metrics(self) -> None:
        """A chart for each metric that runs share."""
        self.metrics.clear()
        self.charts.clear()
        self.metrics.set_visibility(bool(self.side.runs))
        if not self.side.runs:
            return
        metrics = self._drawn()
        mark = self._mark()
        with self.metrics, section("Metrics over the steps"):
            if any(len(group.runs) > 1 for group in self.side.groups):
                switch = ui.switch("One line with a band for runs that differ in their seed only", value=self.bands)
                test_id(switch.on_value_change(self._switched), "bands")
            if mark is not None:
                ui.label(f"The dashed line stands at step {mark:g}, from which on the fork is its own.").classes(
                    "soft small"
                )
            if not metrics:
                empty_state("These runs have no numeric metric in common.")
            self.note = ui.label("").classes("soft small foreign")
            with (
                ui.element("div")
                .classes("w-full grid gap-4")
                .style("grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr))")
            ):
                for metric in metrics:
                    found = view.overlay(self.side, metric, bands=self.bands)
                    title = metric.replace("_", " ")
                    made = line_chart(
                        title, found.table, "step", found.lines, bands=found.bands, mark=mark, name=f"compare-{metric}"
                    )
                    self.charts[metric] = made
                    self.note.set_text(display_text(found.note, 400))
            left = [name for name in view.common_metrics(self.side) if name not in metrics]
            if left:
                told = f"Not drawn, as they have no value yet or there are many: {', '.join(left)}."
                ui.label(display_text(told, 400)).classes("soft small foreign")

    def draw(self) -> None:
        """Put new numbers into the charts."""
        for metric, chart in self.charts.items():
            found = view.overlay(self.side, metric, bands=self.bands)
            options = line_options(found.table, "step", found.lines, bands=found.bands, mark=self._mark())
            chart.show(options, found.table)
            self.note.set_text(display_text(found.note, 400))

    def _switched(self, event: events.ValueChangeEventArguments[bool | None]) -> None:
        self.bands = bool(event.value)
        self.page.update_address(bands=None if self.bands else "false")
        self.draw()
        self.show_list()

    def show_step(self) -> None:
        """Metrics at one step, beside those of the reference."""
        self.step.clear()
        self.slider = None
        self.step.set_visibility(len(self.side.runs) > 1 and bool(view.common_metrics(self.side)))
        if not self.step.visible:
            return
        with self.step, section("Differences at a step"):
            with ui.row().classes("w-full items-center gap-4 px-2"):
                self.slider = ui.slider(min=0, max=self._last(), value=self._at(), step=1)
                test_id(self.slider.style("flex: 1 1 180px").props('label aria-label="Step"'), "at")
                self.moment = ui.label("").classes("small")
            self.slider.on_value_change(self._moved)
            headings = {"metric": "metric", "runs": "runs", "n": "n", "value": "value", "difference": "difference"}
            columns = [{"name": n, "label": h, "field": n, "align": "left"} for n, h in headings.items()]
            made = ui.table(columns=columns, rows=[], row_key="key").props("flat dense wrap-cells")
            self.gaps = test_id(made.classes("w-full"), "differences")
            ui.label(
                "A difference is the mean of a row minus that of the reference. In brackets: its 95 % t interval over "
                "seeds, where both sides have two or more runs; runs of equal seeds are compared pair by pair."
            ).classes("soft small")
        self.follow_step()

    def follow_step(self) -> None:
        """Put what the runs are at the step into the table; without a choice, that is the last one they share."""
        if self.slider is None:
            return
        at = self._at()
        self.slider.props(f"max={self._last()}")
        self.slider.set_value(at)
        self.moment.set_text(next(step_time(run, at) for run in self.side.runs if at in run.steps))
        self.gaps.rows = _rows(self.side, at)

    def _last(self) -> int:
        return max(1, view.last_common_step(self.side.runs))

    def _at(self) -> int:
        last = view.last_common_step(self.side.runs)
        return last if self.at is None else max(0, min(self.at, last))

    def _moved(self, event: events.ValueChangeEventArguments[float | None]) -> None:
        if int(event.value or 0) != self._at():
            self.at = int(event.value or 0)
            self.page.update_address(at=self._at())
            self.follow_step()

    async def show_partings(self) -> None:
        """The first decision that differs from the reference, for each other run."""
        reference, others = self.side.runs[0], list(self.side.runs[1:])
        found = await asyncio.to_thread(view.differences_from, reference, others)
        # What parted stays parted; runs that are equal so far may part later.
        self.parted = all(each.difference is not None for each in found)
        self.partings.clear()
        with self.partings, section("First difference", note=f"against {display_text(reference.name, 80)}"):
            show_partings(reference, {run.name: run for run in others}, found)

    def show_settings(self) -> None:
        """What the runs were made with."""
        self.settings.clear()
        if not self.side.runs:
            return
        table = view.settings_table(self.side.runs)
        with self.settings, section("Settings and parameters"):
            differing = table.filter("differs")
            if len(self.side.runs) > 1 and not differing.height:
                ui.label("All settings and parameters are the same.").classes("soft")
            everything = ui.switch("Also what is the same", value=len(self.side.runs) == 1)
            columns = [
                {"name": n, "label": display_text(n, 60), "field": n, "align": "left"} for n in table.columns[:-1]
            ]

            def rows() -> list[dict[str, str]]:
                chosen = table if everything.value else differing
                return [
                    {n: display_text(v, 300) for n, v in row.items() if n != "differs"} for row in chosen.to_dicts()
                ]

            made = ui.table(columns=columns, rows=rows(), row_key="setting").props("flat dense wrap-cells")
            test_id(made.classes("w-full"), "settings")
            test_id(everything, "all-settings")

            def turned() -> None:
                made.rows = rows()

            everything.on_value_change(turned)


def _rows(side: SideBySide, at: int) -> list[dict[str, str]]:
    made = []
    for row in view.metric_differences(side, side.runs[0].name, at).iter_rows(named=True):
        gap = "–" if row["difference"] is None else f"{row['difference']:+.4g}"
        gap = "reference" if row["reference"] else gap
        if row["low"] is not None:
            gap += f" [{row['low']:.4g}, {row['high']:.4g}]"
        value = "–" if row["value"] is None else f"{row['value']:.4g}"
        cells = {"metric": display_text(row["metric"], 80), "runs": display_text(row["runs"], 120), "n": str(row["n"])}
        made.append(cells | {"value": value, "difference": gap, "key": f"{row['metric']}/{row['runs']}"})
    return made
