"""Where two runs first differ: who, when, and both texts, beside each other."""

from collections.abc import Mapping, Sequence

from nicegui import ui

from populace.base.errors import PopulaceError
from populace.runs.clock import step_time
from populace.runs.compare import DecisionDifference
from populace.runs.reader import RunReader
from populace.runs.side_by_side import RunDifference, line_diff
from populace.studio.shell.addresses import run_address
from populace.studio.shell.frame import run_link, test_id
from populace.studio.shell.text import display_text, prose
from populace.studio.widgets.elements import grid, note

_MARKS = {"-": "color: var(--bad)", "+": "color: var(--good)", " ": "color: var(--ink-soft)"}
_MAX_LINES = 120


def show_differences(
    reference: RunReader, others: Mapping[str, RunReader], differences: Sequence[RunDifference]
) -> None:
    """The first difference of every run from the reference; of several, each opens on a click."""
    for each in differences:
        with test_id(ui.column().classes("w-full gap-2 min-w-0"), f"parting-{each.run}"):
            with ui.row().classes("items-center gap-2"):
                run_link(each.run).style("font-weight: 600")
                if each.difference is None:
                    ui.label(display_text(each.note, 300)).classes("soft")
                    continue
                ui.label(_place(reference, each.difference)).classes("foreign")
            if len(differences) == 1:
                _show_texts(reference, others[each.run], each.difference)
            else:
                with ui.expansion("Both texts").props("dense").classes("w-full"):
                    _show_texts(reference, others[each.run], each.difference)


def _place(run: RunReader, difference: DecisionDifference) -> str:
    who = ""
    if difference.person is not None:
        try:
            person = run.people(difference.step).person(difference.person)
            who = f", {dict(person).get('name', 'person')} ({difference.person})"
        except PopulaceError:
            who = f", person {difference.person}"  # somebody who left in this very step
    text = f"{step_time(run, difference.step)}, at {difference.path}{who}: the {difference.what} differs"
    return display_text(text, 400)


def _show_texts(reference: RunReader, other: RunReader, difference: DecisionDifference) -> None:
    if difference.what == "prompt":
        with ui.column().classes("w-full gap-0 fixed-width"):
            lines = line_diff(difference.first, difference.second)
            for mark, line in lines[:_MAX_LINES]:
                ui.label(f"{mark} {display_text(line, 600)}").classes("foreign").style(_MARKS[mark]).props("dir=auto")
            if len(lines) > _MAX_LINES:
                ui.label(f"… {len(lines) - _MAX_LINES} further lines").classes("soft")
    query = {"step": difference.step, "person": difference.person, "path": difference.path}
    with grid(300):
        for run, text in ((reference, difference.first), (other, difference.second)):
            with ui.column().classes("gap-1 min-w-0"):
                if difference.person is not None:
                    target = run_address(run.name, "decision", **query)
                    link = ui.link(f"Decision in {display_text(run.name, 60)}", target).classes("plain small")
                    test_id(link, f"decision-{run.name}")
                else:
                    note(run.name, 60)
                if difference.what != "prompt":
                    prose(text, fixed=True)
