"""Fidelity reports: how like people the models of a workspace answer, beside floors and the people's own retest."""

from __future__ import annotations

from nicegui import ui

from populace.studio.pages.fidelity import data
from populace.studio.shell.addresses import page_address
from populace.studio.shell.frame import empty_state, frame, page_at, section, test_id
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.charts import bar_chart
from populace.studio.widgets.elements import fact_list, note, plain_table

_COMMAND = "populace panel PANEL --items ITEMS --model MODEL"


def register(studio: Studio) -> None:
    """Add the pages `/fidelity` and `/fidelity/NAME`."""

    @page_at("/fidelity")
    async def fidelity_reports() -> None:
        with frame("Fidelity", command=_COMMAND, crumbs=[("Runs", "/")]):
            reports = await load(data.report_list, studio.workspace.folder)
            with section("Reports", note="how like people models answer"):
                if not reports.height:
                    empty_state("No model of this workspace has been compared with people yet.")
                    return
                plain_table(reports, reports.columns, "reports", sortable=True)
                for name in reports["report"].to_list():
                    link = ui.link(display_text(name, 120), page_address("fidelity", name)).classes("plain")
                    test_id(link, f"report-{name}")

    @page_at("/fidelity/{name}")
    async def fidelity_report(name: str) -> None:
        with frame(name, command=_COMMAND, crumbs=[("Runs", "/"), ("Fidelity", page_address("fidelity"))]):
            figures = await load(data.report_figures, studio.workspace.folder, name)
            headline = str(figures.get("headline", ""))
            test_id(note(f"{figures.get('model', '')} {headline}".strip() or "No retest.", classes=""), "headline")
            names = ("model", "subject", "people", "answers", "retests", "source", "licence", "intervals")
            fact_list({each: figures.get(each, "") for each in names})
            with section("Arms, floors and ceiling"):
                shares = data.accuracy_table(figures)
                if shares.height:
                    bar_chart("Share of answers that are right", shares, "arm", ["accuracy"], name="accuracy")
                arms = data.arm_table(figures)
                plain_table(arms, arms.columns, "arms", sortable=True)
            moved, equal = data.group_tables(figures)
            with section("Sensitivity", note="how far answers move with a group; 1 is as far as people differ"):
                plain_table(moved, moved.columns, "sensitivity")
            with section("Parity", note="groups whose accuracy differs from that of everybody else"):
                plain_table(equal, equal.columns, "parity")
            with section("Leaks"):
                leaks = [str(leak) for leak in figures.get("leaks", [])]
                for leak in leaks[:50]:
                    note(leak, classes="foreign")
                if not leaks:
                    note("None was found.", classes="soft")
