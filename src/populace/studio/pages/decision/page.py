"""Decision: everything behind one answer, and the same question asked again with something changed."""

from __future__ import annotations

import asyncio
from typing import Any

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
from populace.studio.pages.decision.panels import answer, calls, charts, memories, prompts, situation
from populace.studio.pages.person.page import STYLE, number
from populace.studio.shell.frame import empty_state, frame, page_at, run_address, section, test_id
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio


def register(studio: Studio) -> None:
    """Make the page known."""

    @page_at("/run/{name}/decision")
    async def decision(name: str, step: str = "", person: str = "", path: str = "") -> None:
        ui.add_head_html(STYLE)
        seen: _Seen | PopulaceError
        try:
            seen = await asyncio.to_thread(_look, studio, name, step, person, path)
        except PopulaceError as error:
            seen = error
        crumbs = [("Runs", "/"), (name, run_address(name))]
        if isinstance(seen, PopulaceError):
            with frame("Decision", crumbs=crumbs):
                raise seen
            return
        if seen.decision is not None:
            crumbs.append((seen.decision.who, run_address(name, "person", seen.person, step=seen.step)))
        title = f"{seen.decision.who} decides" if seen.decision else "Decision"
        line = command("why", name, "--step", str(seen.step), "--person", str(seen.person))
        with frame(title, crumbs=crumbs, command=line):
            _page(studio, name, seen)


class _Seen:
    """What the address names."""

    def __init__(
        self, run: RunReader, person: int | str, step: int, decisions: pl.DataFrame, decision: DecisionDetails | None
    ) -> None:
        self.run, self.person, self.step = run, person, step
        self.decisions, self.decision = decisions, decision


def _look(studio: Studio, name: str, step: str, person: str, path: str) -> _Seen:
    run = studio.library.run(name)
    if not person:
        raise UsageError("this address names no person.", "Open a decision from the page of a person or of the run.")
    who = person_id(run, person)
    decisions = decisions_of(run, who)
    at = number(step, "step")
    if at is None:
        steps = decisions["step"].to_list()
        at = steps[-1] if steps else run.steps[-1]
    return _Seen(
        run,
        who,
        at,
        decisions,
        decision_details(run, at, who, path or None, calls=studio.workspace.folder / "calls.sqlite"),
    )


def _page(studio: Studio, name: str, seen: _Seen) -> None:
    if seen.decision is None:
        _nothing(name, seen)
        return
    told = seen.decision
    _steps(name, seen, told.decision)
    with ui.element("div").classes("sides"):
        with ui.column().classes("gap-4"):
            answer(told, step_time(seen.run, seen.step))
            situation(told)
            memories(told)
        with ui.column().classes("gap-4"):
            charts(told)
            prompts(told.decision)
            calls(told)
    AskAgain(studio, name, told)


def _steps(name: str, seen: _Seen, decision: Decision) -> None:
    """Ways to the decisions before and after, and to the others of the step."""
    before, after = neighbours(seen.decisions, decision.step, decision.path)

    def address(row: dict[str, Any]) -> str:
        return run_address(name, "decision", step=row["step"], person=seen.person, path=row["path"])

    same = seen.decisions.filter(pl.col("step") == decision.step)
    with ui.row().classes("w-full items-center gap-2"):
        for row, word, marker in (
            (before, "Decision before", "decision-before"),
            (after, "Decision after", "decision-after"),
        ):
            if row is not None:
                test_id(ui.link(word, address(row)).classes("plain chip"), marker)
        if same.height > 1:
            listed = {
                row["path"]: display_text(f"{row['path']}  {row['question']}", 90) for row in same.iter_rows(named=True)
            }
            choice = ui.select(listed, value=decision.path, label=f"{same.height} decisions in this step")
            test_id(choice.props("outlined dense").classes("min-w-0").style("flex: 0 1 520px"), "decision-of-step")
            choice.on_value_change(lambda event: ui.navigate.to(address({"step": decision.step, "path": event.value})))


def _nothing(name: str, seen: _Seen) -> None:
    with section("Nothing was decided"):
        empty_state(
            f"They decided nothing in step {seen.step}.",
            "Open the person",
            run_address(name, "person", seen.person, step=seen.step),
        )
        for row in seen.decisions.head(20).iter_rows(named=True):
            target = run_address(name, "decision", step=row["step"], person=seen.person, path=row["path"])
            ui.link(display_text(f"step {row['step']}: {row['question']}", 120), target).classes("plain")
