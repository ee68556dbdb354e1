"""A validity card on a page."""

from __future__ import annotations

from nicegui import ui

from populace.experiments.validation import ValidityCard
from populace.experiments.validation.card import MARKS
from populace.studio.jobs import command
from populace.studio.shell.frame import empty_state, section, test_id
from populace.studio.shell.text import display_text

_COLOURS = {"pass": "var(--good)", "fail": "var(--bad)", "inform": "var(--ink)", "not measured": "var(--ink-soft)"}


def show_validity(card: ValidityCard | None, name: str) -> None:
    """What a result is worth: every check with its verdict, and what would measure the rest."""
    with section("Validity card"):
        if card is None:
            empty_state("The card is made from what runs leave behind; none has ended yet.")
            return
        test_id(ui.label(display_text(card.verdict, 600)).classes("foreign"), "verdict")
        for text in card.warnings:
            ui.label(display_text(f"! {text}", 400)).classes("small foreign").style("color: var(--warn)")
        with (
            ui.element("div")
            .classes("w-full grid gap-x-4 gap-y-2")
            .style("grid-template-columns: repeat(auto-fit, minmax(min(100%, 360px), 1fr))")
        ):
            for check in card.checks:
                with ui.column().classes("gap-0 min-w-0"):
                    with ui.row().classes("items-baseline gap-2"):
                        mark = ui.label(f"{MARKS[check.verdict]} {check.verdict}").classes("small")
                        mark.style(f"color: {_COLOURS[check.verdict]}; font-weight: 600")
                        ui.label(check.name).style("font-weight: 600")
                    bar = f" ({check.threshold})" if check.threshold else ""
                    ui.label(display_text(f"{check.shown}{bar}", 200)).classes("small foreign")
                    ui.label(display_text(check.reason, 400)).classes("soft small foreign")
        ui.label(
            "A check that passes says that nothing was found against the result in this respect, not that people would "
            "do the same. With figures of a survey, or a few further calls, more can be measured:"
        ).classes("soft small")
        ui.label(command("report", name, "--reference", "FILE.csv", "--probe")).classes("commandline foreign")
