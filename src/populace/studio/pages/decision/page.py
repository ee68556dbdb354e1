"""The page of a decision: everything behind one answer, and the same question asked again with changes."""

from typing import Any, NamedTuple

import polars as pl
from nicegui import ui

from populace.base.errors import PopulaceError, UsageError
from populace.runs.biography import decisions_of, person_id
from populace.runs.clock import step_time
from populace.runs.decision import Decision
from populace.runs.decision_details import DecisionDetails, decision_details, neighbours
from populace.runs.reader import RunReader
from populace.studio.jobs import command
from populace.studio.pages.decision.ask_again import AskAgain
from populace.studio.pages.decision.panels import (
    show_answer,
    show_calls,
    show_memories,
    show_probabilities,
    show_prompts,
    show_situation,
)
from populace.studio.pages.person.page import STYLE
from populace.studio.shell.addresses import parse_number, run_address
from populace.studio.shell.frame import empty_state, error_card, frame, page_at, section, test_id
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio


def register(studio: Studio) -> None:
    """Register `/run/NAME/decision`."""

    @page_at("/run/{name}/decision")
    async def decision(name: str, step: str = "", person: str = "", path: str = "") -> None:
        ui.add_head_html(STYLE)
        crumbs = [("Runs", "/"), (name, run_address(name))]
        try:
            view = await load(_read, studio, name, step, person, path)
        except PopulaceError as error:
            with frame("Decision", crumbs=crumbs):
                error_card(error)
            return
        if view.decision is not None:
            crumbs.append((view.decision.who, run_address(name, "person", view.person, step=view.step)))
        title = f"{view.decision.who} decides" if view.decision else "Decision"
        line = command("why", name, "--step", str(view.step), "--person", str(view.person))
        with frame(title, crumbs=crumbs, command=line):
            _show(studio, name, view)


class _DecisionView(NamedTuple):
    """The decision that the address names, and all decisions of the person."""

    run: RunReader
    person: int | str
    step: int
    decisions: pl.DataFrame
    decision: DecisionDetails | None


def _read(studio: Studio, name: str, step: str, person: str, path: str) -> _DecisionView:
    run = studio.library.run(name)
    if not person:
        raise UsageError("this address names no person.", "Open a decision from the page of a person or of the run.")
    who = person_id(run, person)
    decisions = decisions_of(run, who)
    at = parse_number(step, "step")
    if at is None:
        steps = decisions["step"].to_list()
        at = steps[-1] if steps else run.steps[-1]
    details = decision_details(run, at, who, path or None, calls=studio.workspace.calls_file)
    return _DecisionView(run, who, at, decisions, details)


def _show(studio: Studio, name: str, view: _DecisionView) -> None:
    if view.decision is None:
        _show_no_decision(name, view)
        return
    details = view.decision
    _show_links(name, view, details.decision)
    with ui.element("div").classes("sides"):
        with ui.column().classes("gap-4"):
            show_answer(details, step_time(view.run, view.step))
            show_situation(details)
            show_memories(details)
        with ui.column().classes("gap-4"):
            show_probabilities(details)
            show_prompts(details.decision)
            show_calls(details)
    AskAgain(studio, name, details)


def _show_links(name: str, view: _DecisionView, decision: Decision) -> None:
    """Links to the decisions before and after, and to the others of the step."""
    before, after = neighbours(view.decisions, decision.step, decision.path)

    def address(row: dict[str, Any]) -> str:
        return run_address(name, "decision", step=row["step"], person=view.person, path=row["path"])

    same = view.decisions.filter(pl.col("step") == decision.step)
    with ui.row().classes("w-full items-center gap-2"):
        for row, side in ((before, "before"), (after, "after")):
            if row is not None:
                test_id(ui.link(f"Decision {side}", address(row)).classes("plain chip"), f"decision-{side}")
        if same.height > 1:
            rows = same.select("path", "question").iter_rows()
            paths = {place: display_text(f"{place}  {question}", 90) for place, question in rows}
            choice = ui.select(paths, value=decision.path, label=f"{same.height} decisions in this step")
            test_id(choice.props("outlined dense").classes("min-w-0").style("flex: 0 1 520px"), "decision-of-step")
            choice.on_value_change(lambda event: ui.navigate.to(address({"step": decision.step, "path": event.value})))


def _show_no_decision(name: str, view: _DecisionView) -> None:
    with section("Nothing was decided"):
        person = run_address(name, "person", view.person, step=view.step)
        empty_state(f"They decided nothing in step {view.step}.", "Open the person", person)
        for row in view.decisions.head(20).iter_rows(named=True):
            target = run_address(name, "decision", step=row["step"], person=view.person, path=row["path"])
            ui.link(display_text(f"step {row['step']}: {row['question']}", 120), target).classes("plain")
