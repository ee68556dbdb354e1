"""Where two runs part: who, when, and both texts, beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nicegui import ui

from populace.base.errors import PopulaceError
from populace.runs.clock import step_time
from populace.runs.compare import DecisionDifference
from populace.runs.reader import RunReader
from populace.runs.side_by_side import RunDifference, line_diff
from populace.studio.shell.frame import run_address, run_link, test_id
from populace.studio.shell.text import display_text, prose

_MARKS = {"-": "color: var(--bad)", "+": "color: var(--good)", " ": "color: var(--ink-soft)"}
_MOST_LINES = 120


def show_partings(reference: RunReader, others: Mapping[str, RunReader], found: Sequence[RunDifference]) -> None:
    """The first difference of every run from the reference; of several, each opens on a click."""
    for parted in found:
        with test_id(ui.column().classes("w-full gap-2 min-w-0"), f"parting-{parted.run}"):
            with ui.row().classes("items-center gap-2"):
                run_link(parted.run).style("font-weight: 600")
                if parted.difference is None:
                    ui.label(display_text(parted.note, 300)).classes("soft")
                else:
                    ui.label(_where(reference, parted.difference)).classes("foreign")
            if parted.difference is not None and len(found) == 1:
                _texts(reference, others[parted.run], parted.difference)
            elif parted.difference is not None:
                with ui.expansion("Both texts").props("dense").classes("w-full"):
                    _texts(reference, others[parted.run], parted.difference)


def _where(run: RunReader, parting: DecisionDifference) -> str:
    whom = f", {_name(run, parting)}" if parting.person is not None else ""
    return display_text(f"{step_time(run, parting.step)}, at {parting.path}{whom}: the {parting.what} differs", 400)


def _name(run: RunReader, parting: DecisionDifference) -> str:
    try:
        person = run.people(parting.step).person(parting.person)
    except PopulaceError:
        return f"person {parting.person}"  # somebody who left in this very step
    return f"{dict(person).get('name', 'person')} ({parting.person})"


def _texts(reference: RunReader, other: RunReader, parting: DecisionDifference) -> None:
    if parting.what == "prompt":
        with ui.column().classes("w-full gap-0 fixed-width"):
            shown_lines = line_diff(parting.first, parting.second)
            for mark, line in shown_lines[:_MOST_LINES]:
                ui.label(f"{mark} {display_text(line, 600)}").classes("foreign").style(_MARKS[mark]).props("dir=auto")
            if len(shown_lines) > _MOST_LINES:
                ui.label(f"… {len(shown_lines) - _MOST_LINES} further lines").classes("soft")
    with (
        ui.element("div")
        .classes("w-full grid gap-3")
        .style("grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr))")
    ):
        for run, text in ((reference, parting.first), (other, parting.second)):
            with ui.column().classes("gap-1 min-w-0"):
                if parting.person is not None:
                    target = run_address(
                        run.name, "decision", step=parting.step, person=parting.person, path=parting.path
                    )
                    opened = ui.link(f"Decision in {display_text(run.name, 60)}", target).classes("plain small")
                    test_id(opened, f"decision-{run.name}")
                else:
                    ui.label(display_text(run.name, 60)).classes("soft small")
                if parting.what != "prompt":
                    prose(text, fixed=True)
