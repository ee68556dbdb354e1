"""One experiment: its state, its findings, and their validity; live while it runs."""

import asyncio

from nicegui import ui

from populace.experiments import Results
from populace.studio.jobs import CommandError, command
from populace.studio.pages.experiment import data
from populace.studio.pages.experiment.findings import (
    show_distribution,
    show_effects,
    show_over_time,
    show_precision,
    show_validity,
)
from populace.studio.shell.frame import Page, chip, empty_state, figure, frame, page_address, page_at, section, test_id
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio
from populace.studio.widgets.charts import bar_chart, line_chart
from populace.studio.widgets.elements import action, disable_during, note, outline, plain_table, refill
from populace.studio.widgets.redraw import Redrawer

_ROWS = 10
_PAUSE_S = 1.5
"""The least time between two redraws while runs end, so that the page can be read and used."""


def register(studio: Studio) -> None:
    """Add the page `/experiment/NAME`."""

    @page_at("/experiment/{name}")
    async def experiment(name: str, outcome: str = "", reference: str = "") -> None:
        with frame(name, command=command("report", name), crumbs=[("Runs", "/")]) as page:
            results = await load(data.open_results, studio.workspace, name)
            experiment_page = _ExperimentPage(studio, page, name, outcome, reference)
            await experiment_page.build(results)
            studio.changes.listen(f"experiments/{name}", Redrawer(experiment_page.follow))


class _ExperimentPage:
    """The parts of the page, and how they follow the folder."""

    def __init__(self, studio: Studio, page: Page, name: str, outcome: str, reference: str) -> None:
        self.studio, self.page, self.name = studio, page, name
        self.outcome, self.reference = outcome, reference

    async def build(self, results: Results) -> None:
        self.head = ui.column().classes("w-full gap-3")
        self.choices = ui.row().classes("w-full items-center gap-3")
        self.findings, self.details = (ui.column().classes("w-full gap-3") for _ in range(2))
        # Outside of what is drawn again: writing a report changes the folder.
        self._show_report()
        await self.show(results)

    async def follow(self) -> None:
        """Show the changed folder; a change meanwhile is shown after a pause."""
        await self.show(await load(data.open_results, self.studio.workspace, self.name))
        await asyncio.sleep(_PAUSE_S)

    async def show(self, results: Results) -> None:
        self.results = results
        self.overview = await load(data.experiment_overview, results)
        card = await load(data.validity_card, results)
        arms = [arm.name for arm in results.folder.arms]
        if self.outcome not in self.overview.outcomes:
            self.outcome = self.overview.primary
        if self.reference not in arms:
            self.reference = arms[0]
        with refill(self.head):
            self._show_state(self.overview)
            self._show_resume(self.overview)
        if self.overview.done and not self.choices.default_slot.children:
            with self.choices:
                self._show_choices(self.overview, arms)
        self.show_findings()
        with refill(self.details):
            with section("Arms"):
                plain_table(results.arms, results.arms.columns, "arms", sortable=True, size=_ROWS)
            show_validity(card, self.name)
            _show_failures(results)
            _show_kept_runs(results, self.name)

    def show_findings(self) -> None:
        """The chosen outcome against the chosen arm, and metrics over time."""
        with refill(self.findings):
            if not self.overview.done:
                with section("Findings"):
                    empty_state("No run has ended yet. Findings appear here as runs end.")
                return
            meaning = display_text(self.overview.outcomes[self.outcome], 300)
            with section(f"Outcome: {display_text(self.outcome, 80)}", note=meaning):
                if self.results.experiment.design.sampled:
                    _show_points(self.results, self.outcome)
                else:
                    show_effects(self.results, self.outcome, self.reference)
                    show_distribution(self.results, self.outcome)
                    show_precision(self.results, self.outcome, self.reference)
            show_over_time(self.results)

    def _show_state(self, overview: data.ExperimentOverview) -> None:
        with section("State"):
            if overview.question:
                prose(overview.question)
            with ui.row().classes("items-center gap-6"):
                test_id(chip(overview.state), "state")
                figure(f"{overview.done:,} of {overview.total:,}", "runs ended")
                figure(f"{overview.failed:,}", "failed")
                figure(f"{overview.arms:,}", "arms")
                figure(f"{overview.replicates:,}", "replicates in each arm")
            if overview.total:
                progress = min(1.0, overview.done / overview.total)
                ui.linear_progress(progress, show_value=False).props("rounded").classes("w-full")
            if overview.reason:
                note(overview.reason, 400)
            if overview.state == "died":
                text = "Its process ended without recording an end. Runs that ended are kept."
                note(text, classes="small", colour="bad")
            pairs = "replicate by replicate, as they share their seeds" if overview.paired else "as independent groups"
            note(
                f"{overview.scenario} · {overview.design} design · arms are compared {pairs} · it ends "
                f"{overview.stop} · kept of its runs: {overview.keep} · begun {overview.created}",
                800,
            )

    def _show_resume(self, overview: data.ExperimentOverview) -> None:
        """The button that continues an experiment that is not complete, or repeats failed runs."""
        if overview.state == "running" or (overview.state == "complete" and not overview.failed):
            return
        file = f".studio/{overview.name}.yaml"
        arguments = ["experiment", file, *(["--retry"] if overview.failed else [])]

        async def resume() -> None:
            path = self.studio.workspace.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(overview.file, encoding="utf-8")
            job = self.studio.jobs.start(*arguments)
            ui.notify("It goes on by itself: this page may be closed.")
            await asyncio.sleep(2)
            if job.state == "failed":
                raise CommandError(job.error)

        title = "Run failed runs again" if overview.state == "complete" else "Go on"
        with section(title):
            note("No run that ended well is repeated.")
            ui.label(command(*arguments)).classes("commandline foreign")
            with ui.row().classes("gap-2"):
                action(title, resume, "go-on", look="unelevated")
                name = f"{overview.name}.yaml"
                action("Save its file", lambda: ui.download.content(overview.file, name, "text/yaml"))

    def _show_choices(self, overview: data.ExperimentOverview, arms: list[str]) -> None:
        outcome = ui.select(list(overview.outcomes), label="Outcome", value=self.outcome)
        reference = ui.select(arms, label="Reference arm", value=self.reference, with_input=len(arms) > 12)

        def choose() -> None:
            self.outcome, self.reference = outcome.value or self.outcome, reference.value or self.reference
            self.page.update_address(
                outcome=None if self.outcome == overview.primary else self.outcome,
                reference=None if self.reference == arms[0] else self.reference,
            )
            self.show_findings()

        for name, select in (("outcome", outcome), ("reference", reference)):
            outline(select, name, "w-full max-w-xs").on_value_change(choose)

    def _show_report(self) -> None:
        async def write() -> None:
            with disable_during(button):
                await self.studio.jobs.call("report", self.name)
            link.set_visibility(True)

        with section("Report", note="one HTML page with all of this, and the same as Markdown"):
            ui.label(command("report", self.name)).classes("commandline foreign")
            with ui.row().classes("items-center gap-3"):
                button = action("Write the report", write, "write-report")
                target = page_address("api", "experiments", self.name, "report")
                link = test_id(ui.link("Open the report", target, new_tab=True).classes("plain"), "open-report")
                link.set_visibility(data.report_file(self.studio.workspace, self.name).is_file())


def _show_points(results: Results, outcome: str) -> None:
    """A sampled design: the outcome against every factor."""
    for factor in results.experiment.factors:
        table = results.runs.select(factor, outcome).drop_nulls().sort(factor)
        if not table.height:
            continue
        title = f"{outcome} against {factor}: a dot is a run, n = {table.height}"
        if not (table[factor].dtype.is_numeric() and table[outcome].dtype.is_numeric()):
            counts = table.group_by(factor, maintain_order=True).len("runs")
            bar_chart(title, counts, factor, ["runs"], name=f"points-{factor}")
            continue
        chart = line_chart(title, table, factor, [outcome], name=f"points-{factor}").chart
        for series in chart.options["series"]:
            series["type"] = "scatter"
        chart.options["xAxis"].pop("minInterval", None)
        chart.update()
    shares = data.sensitivity(results, outcome)
    if shares.table is not None:
        ui.label("The share of the variance that each factor explains, alone (first) and in all (total)").classes(
            "small"
        )
        plain_table(shares.table, shares.table.columns, "sensitivity", sortable=True, size=_ROWS)
    elif shares.note:
        note(shares.note, 400)


def _show_failures(results: Results) -> None:
    with section("Failed runs"):
        if not results.failures.height:
            ui.label(f"None of the {results.runs.height:,} runs failed.").classes("soft")
            return
        note("These ended with an error and are in no figure above.")
        failures = results.failures.with_row_index("number", 1)
        plain_table(failures, failures.columns, "failures", sortable=True, size=_ROWS)


def _show_kept_runs(results: Results, name: str) -> None:
    runs = data.kept_runs(results)
    with section("Single runs"):
        if not runs.height:
            text = "Only the outcomes of runs are kept. With `keep: run` in its file, an experiment keeps whole runs."
            ui.label(text).classes("soft")
            return
        note("They lie in the folder of the experiment, and open with these commands.")
        plain_table(runs, runs.columns, "kept", key="run", sortable=True, size=_ROWS)
        ui.label(command("studio", "--workspace", str(results.folder.path))).classes("commandline foreign")
        link = ui.link("Judge their answers, blind to the arm", page_address("feedback", run=name))
        test_id(link.classes("plain"), "judge")
