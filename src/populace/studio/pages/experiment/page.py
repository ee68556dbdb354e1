"""One experiment: where it stands, what it found, and what that is worth; live while it runs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import quote

import polars as pl
from nicegui import ui

from populace.experiments import Results
from populace.studio.jobs import command
from populace.studio.pages.experiment import data as view
from populace.studio.pages.experiment.findings import show_distribution, show_effects, show_over_time, show_precision
from populace.studio.pages.experiment.validity_card import show_validity
from populace.studio.shell.frame import Page, chip, empty_state, figure, frame, notify_errors, page_at, section, test_id
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio
from populace.studio.widgets.charts import bar_chart, line_chart
from populace.studio.widgets.redraw import Redrawer

_SHOWN_ROWS = 10
_BREATH_S = 1.5
"""How long a page stands still at the least while runs end, so that it can be read and pressed."""


@dataclass
class _Choice:
    """What of the experiment is looked at."""

    outcome: str
    reference: str


def register(studio: Studio) -> None:
    """Make the page known."""

    @page_at("/experiment/{name}")
    async def experiment(name: str, outcome: str = "", reference: str = "") -> None:
        crumbs = [("Runs", "/")]
        with frame(name, command=command("report", name), crumbs=crumbs) as page:
            results = await asyncio.to_thread(view.open_results, studio.workspace, name)
            shown_experiment = _Showing(studio, page, name, _Choice(outcome, reference))
            await shown_experiment.build(results)
            studio.changes.listen(f"experiments/{name}", Redrawer(shown_experiment.follow))


class _Showing:
    """What is on the page, and how it follows the folder."""

    def __init__(self, studio: Studio, page: Page, name: str, choice: _Choice) -> None:
        self.studio, self.page, self.name, self.choice = studio, page, name, choice

    async def build(self, results: Results) -> None:
        """Make the parts of the page."""
        self.head = ui.column().classes("w-full gap-3")
        self.chosen = ui.row().classes("w-full items-center gap-3")
        self.findings = ui.column().classes("w-full gap-3")
        self.worth = ui.column().classes("w-full gap-3")
        # Outside of what is made anew: writing a report changes the folder.
        self._report()
        await self.show(results)

    async def follow(self) -> None:
        """The folder changed; what changes while that is being shown is shown after a breath."""
        await self.show(await asyncio.to_thread(view.open_results, self.studio.workspace, self.name))
        await asyncio.sleep(_BREATH_S)

    async def show(self, results: Results) -> None:
        """Show it as it is now."""
        overview = await asyncio.to_thread(view.experiment_overview, results)
        card = await asyncio.to_thread(view.card, results)
        if self.choice.outcome not in overview.outcomes:
            self.choice.outcome = overview.primary
        arms = [arm.name for arm in results.folder.arms]
        if self.choice.reference not in arms:
            self.choice.reference = arms[0]
        self.results, self.overview = results, overview
        self.head.clear()
        with self.head:
            self._head(overview)
            self._go_on(overview)
        if overview.done and not self.chosen.default_slot.children:
            with self.chosen:
                self._choices(overview, arms)
        self.show_findings()
        self.worth.clear()
        with self.worth:
            _arms(results)
            show_validity(card, self.name)
            _failures(results)
            _kept(results, self.name)

    def show_findings(self) -> None:
        """The chosen outcome against the chosen arm, and metrics over time."""
        self.findings.clear()
        with self.findings:
            if not self.overview.done:
                with section("Findings"):
                    empty_state("No run has ended yet. What is found appears here as runs end.")
                return
            _findings(self.results, self.overview, self.choice)
            show_over_time(self.results)

    def _head(self, overview: view.ExperimentOverview) -> None:
        with section("Where it stands"):
            if overview.question:
                prose(overview.question)
            with ui.row().classes("items-center gap-6"):
                test_id(chip(overview.state), "state")
                figure(f"{overview.done:,} of {overview.total:,}", "runs ended")
                figure(f"{overview.failed:,}", "failed")
                figure(f"{overview.arms:,}", "arms")
                figure(f"{overview.replicates:,}", "replicates in each arm")
            if overview.total:
                bar = ui.linear_progress(min(1.0, overview.done / overview.total), show_value=False).props("rounded")
                bar.classes("w-full")
            if overview.reason:
                ui.label(display_text(overview.reason, 400)).classes("soft small foreign")
            if overview.state == "died":
                ui.label("Its process is gone, and did not say why. Runs that ended are kept.").classes("small").style(
                    "color: var(--bad)"
                )
            pairs = "replicate by replicate, as they share their seeds" if overview.paired else "as independent groups"
            facts = (
                f"{overview.scenario} · {overview.design} design · arms are compared {pairs} · it ends "
                f"{overview.stop} · kept of its runs: {overview.keep} · begun {overview.created}"
            )
            ui.label(display_text(facts, 800)).classes("soft small foreign")

    def _go_on(self, overview: view.ExperimentOverview) -> None:
        """How to go on with one that is not complete, or to run failed runs again."""
        if overview.state == "running" or (overview.state == "complete" and not overview.failed):
            return
        file = f".studio/{overview.name}.yaml"
        arguments = ["experiment", file, *(["--retry"] if overview.failed else [])]

        @notify_errors
        async def go_on() -> None:
            place = self.studio.workspace.folder / ".studio"
            place.mkdir(parents=True, exist_ok=True)
            (self.studio.workspace.folder / file).write_text(overview.file)
            job = self.studio.jobs.start(*arguments)
            ui.notify("It goes on by itself: this page may be closed.")
            await asyncio.sleep(2)
            if job.state == "failed":
                ui.notify(
                    display_text(job.error, 600), type="negative", multi_line=True, close_button="Close", timeout=0
                )

        title = "Run failed runs again" if overview.state == "complete" else "Go on"
        with section(title):
            ui.label("No run that came through is repeated.").classes("soft small")
            ui.label(command(*arguments)).classes("commandline foreign")
            with ui.row().classes("gap-2"):
                test_id(ui.button(title, on_click=go_on).props("no-caps unelevated"), "go-on")

                def save() -> None:
                    ui.download.content(overview.file, f"{overview.name}.yaml", "text/yaml")

                ui.button("Save its file", on_click=save).props("no-caps outline")

    def _choices(self, overview: view.ExperimentOverview, arms: list[str]) -> None:
        outcome = ui.select(list(overview.outcomes), label="Outcome", value=self.choice.outcome)
        test_id(outcome.props("dense outlined").classes("w-full max-w-xs"), "outcome")
        reference = ui.select(arms, label="Reference arm", value=self.choice.reference, with_input=len(arms) > 12)
        test_id(reference.props("dense outlined").classes("w-full max-w-xs"), "reference")

        def chosen() -> None:
            self.choice.outcome = outcome.value or self.choice.outcome
            self.choice.reference = reference.value or self.choice.reference
            self.page.update_address(
                outcome=None if self.choice.outcome == overview.primary else self.choice.outcome,
                reference=None if self.choice.reference == arms[0] else self.choice.reference,
            )
            self.show_findings()

        outcome.on_value_change(chosen)
        reference.on_value_change(chosen)

    def _report(self) -> None:
        @notify_errors
        async def write() -> None:
            button.disable()
            try:
                await self.studio.jobs.call("report", self.name)
            finally:
                button.enable()
            link.set_visibility(True)

        with section("Report", note="one HTML page with all of this, and the same as Markdown"):
            ui.label(command("report", self.name)).classes("commandline foreign")
            with ui.row().classes("items-center gap-3"):
                button = test_id(ui.button("Write the report", on_click=write).props("no-caps outline"), "write-report")
                target = f"/api/experiments/{quote(self.name, safe='')}/report"
                link = test_id(ui.link("Open the report", target, new_tab=True).classes("plain"), "open-report")
                link.set_visibility((view.report_file(self.studio.workspace, self.name)).is_file())


def _findings(results: Results, overview: view.ExperimentOverview, choice: _Choice) -> None:
    said = overview.outcomes[choice.outcome]
    with section(f"Outcome: {display_text(choice.outcome, 80)}", note=display_text(said, 300)):
        if results.experiment.design.sampled:
            _points(results, choice.outcome)
            return
        show_effects(results, choice.outcome, choice.reference)
        show_distribution(results, choice.outcome)
        show_precision(results, choice.outcome, choice.reference)


def _points(results: Results, outcome: str) -> None:
    """A sampled design: the outcome against every factor."""
    for factor in results.experiment.factors:
        table = results.runs.select(factor, outcome).drop_nulls().sort(factor)
        if not table.height:
            continue
        title = f"{outcome} against {factor}: a dot is a run, n = {table.height}"
        if not (table[factor].dtype.is_numeric() and table[outcome].dtype.is_numeric()):
            counted = table.group_by(factor, maintain_order=True).len("runs")
            bar_chart(title, counted, factor, ["runs"], name=f"points-{factor}")
            continue
        made = line_chart(title, table, factor, [outcome], name=f"points-{factor}")
        for series in made.chart.options["series"]:
            series["type"] = "scatter"
        made.chart.options["xAxis"].pop("minInterval", None)
        made.chart.update()
    shares = view.sensitivity(results, outcome)
    if shares.table is not None:
        ui.label("How much of the variance each factor accounts for, alone (first) and in all (total)").classes("small")
        test_id(rows_table(shares.table, "key"), "sensitivity")
    elif shares.note:
        ui.label(display_text(shares.note, 400)).classes("soft small foreign")


def _arms(results: Results) -> None:
    with section("Arms"):
        test_id(rows_table(results.arms, "arm"), "arms")


def _failures(results: Results) -> None:
    with section("Failed runs"):
        if not results.failures.height:
            ui.label(f"None of the {results.runs.height:,} runs failed.").classes("soft")
            return
        ui.label("These ended with an error and are in no figure above.").classes("soft small")
        numbered = results.failures.with_row_index("number", 1)
        test_id(rows_table(numbered, "number"), "failures")


def _kept(results: Results, name: str) -> None:
    kept = view.kept(results)
    with section("Single runs"):
        if not kept.height:
            ui.label(
                "Only what runs amount to is kept. With `keep: run` in its file, an experiment keeps them whole."
            ).classes("soft")
            return
        ui.label("They lie in the folder of the experiment, and open with these commands.").classes("soft small")
        test_id(rows_table(kept, "run"), "kept")
        ui.label(command("studio", "--workspace", str(results.folder.path))).classes("commandline foreign")
        judged = ui.link("Judge their answers, blind to the arm", f"/feedback?run={quote(name, safe='')}")
        test_id(judged.classes("plain"), "judge")


def rows_table(table: pl.DataFrame, key: str) -> ui.table:
    """A table that turns its pages in the browser; for tables of some hundred rows."""
    columns = [
        {"name": n, "label": display_text(n.replace("_", " "), 60), "field": n, "align": "left", "sortable": True}
        for n in table.columns
    ]
    rows = [{name: _cell(value) for name, value in row.items()} for row in table.iter_rows(named=True)]
    pages = _SHOWN_ROWS if table.height > _SHOWN_ROWS else None
    made = ui.table(columns=columns, rows=rows, row_key=key, pagination=pages)
    return made.props("flat dense wrap-cells").classes("w-full")


def _cell(value: object) -> object:
    if value is None:
        return "–"
    if isinstance(value, float):
        return float(f"{value:.4g}") if value == value else "–"
    return value if isinstance(value, int) else display_text(value, 300)
