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
from populace.studio.pages.experiment.state_panel import StatePanel
from populace.studio.shell.addresses import page_address
from populace.studio.shell.frame import Page, frame, page_at, section, test_id
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.charts import bar_options, line_options
from populace.studio.widgets.elements import action, disable_during, note, outline
from populace.studio.widgets.part_list import PartList
from populace.studio.widgets.redraw import Redrawer
from populace.studio.widgets.run_content import RunContent

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
        self.content = RunContent(self.studio.library, f"experiments/{self.name}")
        with self.content.element:
            self.state = StatePanel()
            self.resume = PartList()
            self.choices = ui.row().classes("w-full items-center gap-3")
            self.findings, self.details = PartList(), PartList()
            # Outside of what is drawn again: writing a report changes the folder.
            self._show_report()
        await self.show(results)

    async def follow(self) -> None:
        """Show the changed folder; a change meanwhile is shown after a pause."""
        await self.content.draw(self._read)
        await asyncio.sleep(_PAUSE_S)

    async def _read(self) -> None:
        await self.show(await load(data.open_results, self.studio.workspace, self.name))

    async def show(self, results: Results) -> None:
        self.results = results
        self.overview = await load(data.experiment_overview, results)
        card = await load(data.validity_card, results)
        arms = [arm.name for arm in results.folder.arms]
        if self.outcome not in self.overview.outcomes:
            self.outcome = self.overview.primary
        if self.reference not in arms:
            self.reference = arms[0]
        self.state.show(self.overview)
        with self.resume.drawing():
            self._show_resume(self.overview)
        if self.overview.done and not self.choices.default_slot.children:
            with self.choices:
                self._show_choices(self.overview, arms)
        self.show_findings()
        with self.details.drawing():
            with self.details.section("Arms") as arms_part:
                arms_part.table(results.arms, results.arms.columns, "arms", sortable=True, size=_ROWS)
            show_validity(self.details, card, self.name)
            _show_failures(self.details, results)
            _show_kept_runs(self.details, results, self.name)

    def show_findings(self) -> None:
        """The chosen outcome against the chosen arm, and metrics over time."""
        parts = self.findings
        with parts.drawing():
            if not self.overview.done:
                with parts.section("Findings") as inner:
                    inner.note("No run has ended yet. Findings appear here as runs end.", classes="soft")
                return
            meaning = display_text(self.overview.outcomes[self.outcome], 300)
            with parts.section(f"Outcome: {display_text(self.outcome, 80)}", note=meaning) as inner:
                if self.results.experiment.design.sampled:
                    _show_points(inner, self.results, self.outcome)
                else:
                    show_effects(inner, self.results, self.outcome, self.reference)
                    show_distribution(inner, self.results, self.outcome)
                    show_precision(inner, self.results, self.outcome, self.reference)
            show_over_time(parts, self.results)

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

        def draw() -> None:
            with section(title):
                note("No run that ended well is repeated.")
                ui.label(command(*arguments)).classes("commandline foreign")
                with ui.row().classes("gap-2"):
                    action(title, resume, "go-on", look="unelevated")
                    name = f"{overview.name}.yaml"
                    action("Save its file", lambda: ui.download.content(overview.file, name, "text/yaml"))

        self.resume.custom("resume", (title, arguments, overview.file), draw)

    def _show_choices(self, overview: data.ExperimentOverview, arms: list[str]) -> None:
        outcome = ui.select(list(overview.outcomes), label="Outcome", value=self.outcome)
        labels = data.arm_names(self.results)
        names = {arm: labels[arm] for arm in arms}
        reference = ui.select(names, label="Reference arm", value=self.reference, with_input=len(arms) > 12)

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


def _show_points(parts: PartList, results: Results, outcome: str) -> None:
    """A sampled design: the outcome against every factor."""
    for factor in results.experiment.factors:
        table = results.runs.select(factor, outcome).drop_nulls().sort(factor)
        if not table.height:
            continue
        title = f"{outcome} against {factor}: a dot is a run, n = {table.height}"
        if not (table[factor].dtype.is_numeric() and table[outcome].dtype.is_numeric()):
            counts = table.group_by(factor, maintain_order=True).len("runs")
            parts.chart(title, bar_options(counts, factor, ["runs"]), counts, f"points-{factor}")
            continue
        options = line_options(table, factor, [outcome])
        for series in options["series"]:
            series["type"] = "scatter"
        options["xAxis"].pop("minInterval", None)
        parts.chart(title, options, table, f"points-{factor}")
    shares = data.sensitivity(results, outcome)
    if shares.table is not None:
        text = "The share of the variance that each factor explains, alone (first) and in all (total)"
        parts.note(text, classes="small")
        parts.table(shares.table, shares.table.columns, "sensitivity", sortable=True, size=_ROWS)
    else:
        parts.note(shares.note, 400)


def _show_failures(parts: PartList, results: Results) -> None:
    with parts.section("Failed runs") as inner:
        if not results.failures.height:
            inner.note(f"None of the {results.runs.height:,} runs failed.", classes="soft")
            return
        inner.note("These ended with an error and are in no figure above.")
        failures = results.failures.with_row_index("number", 1)
        inner.table(failures, failures.columns, "failures", sortable=True, size=_ROWS)


def _show_kept_runs(parts: PartList, results: Results, name: str) -> None:
    runs = data.kept_runs(results)
    with parts.section("Single runs") as inner:
        if not runs.height:
            text = "Only the outcomes of runs are kept. With `keep: run` in its file, an experiment keeps whole runs."
            inner.note(text, classes="soft")
            return
        inner.note("They lie in the folder of the experiment, and open with these commands.")
        inner.table(runs, runs.columns, "kept", key="run", sortable=True, size=_ROWS)
        inner.note(command("studio", "--workspace", str(results.folder.path)), classes="commandline foreign")
        inner.custom("judge", name, lambda: _show_judge_link(name))


def _show_judge_link(name: str) -> None:
    link = ui.link("Judge their answers, blind to the arm", page_address("feedback", run=name))
    test_id(link.classes("plain"), "judge")
