"""The head of the page of a run: how it stands, in a few numbers, and what can be done with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import ui

from populace.base.formatting import duration, percent
from populace.runs.overview import RunOverview
from populace.studio.jobs import CommandError, CommandJob, command
from populace.studio.shell.frame import chip, error_card, notify_errors, run_address, run_link, test_id
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio

_LOOKS_A_SECOND = 10
_OPTIONS = {"calls": "--max-calls", "tokens": "--max-tokens", "money": "--max-money", "seconds": "--max-seconds"}
_TOLD = {
    "running": "Pause waits after the step under way. Stop ends it soon: calls under way are finished and kept, "
    "and it can be resumed.",
    "pausing": "It pauses after the step under way.",
    "paused": "It waits between two steps. Its process stays, and goes on when it is resumed.",
    "died": "Its process is gone without saying that it ended, as after kill -9 or a power cut. Every committed step "
    "is safe, and what was paid for is not paid for again.",
    "stopped": "It stopped before its end. What was committed stays, and what was paid for is not paid for again.",
    "failed": "It failed. Once the cause is gone it can be resumed from its last committed step.",
}


class Head:
    """The head of the page of a run.

    Args:
        studio: The Studio.
        name: The run.
        step: Tells which step is looked at.
        changed: Called after something was done to the run.
    """

    def __init__(
        self, studio: Studio, name: str, step: Callable[[], int], changed: Callable[[], Awaitable[None]]
    ) -> None:
        self._studio, self._name, self._step, self._changed = studio, name, step, changed
        self._state = ""
        with test_id(ui.column().classes("panel"), "head"):
            with ui.row().classes("w-full items-center gap-3"):
                self._chip_place = ui.row().classes("items-center gap-2")
                self._scenario = ui.label().classes("soft foreign")
            self._bar = ui.linear_progress(0, show_value=False).props('rounded aria-label="Progress"').classes("w-full")
            with ui.row().classes("w-full gap-x-8 gap-y-2"):
                names = ("steps", "people", "answers invalid", "calls", "cost", "time", "decided by", "seed")
                self._figures = {each: self._figure(each) for each in names}
            self._notes = ui.column().classes("w-full gap-1")
            self._doing = ui.column().classes("w-full gap-2")
            self._links = ui.row().classes("gap-2 items-center")

    def _figure(self, name: str) -> tuple[ui.label, ui.label]:
        with ui.column().classes("gap-0 min-w-0"):
            value = test_id(ui.label("–").classes("figure foreign"), f"figure-{name.replace(' ', '-')}")
            return value, ui.label(name).classes("soft small")

    def show(self, seen: RunOverview) -> None:
        """Show how the run stands."""
        self._scenario.set_text(
            display_text(seen.scenario.rpartition("/")[2], 200)
            + (f" · begun {seen.created[:16]}" if seen.created else "")
        )
        self._bar.set_value(seen.progress or 0.0)
        self._bar.props(f"indeterminate={'true' if seen.progress is None and seen.state == 'running' else 'false'}")
        usage = seen.usage
        done = "none yet" if seen.last is None else f"{seen.last} of {seen.planned}" if seen.planned else str(seen.last)
        self._put("steps", done, "steps done")
        self._put("people", f"{seen.people:,}")
        if seen.invalid is None:
            self._put("answers invalid", "–", "nothing asked yet")
        else:
            bounds = f"{percent(seen.invalid.low)} to {percent(seen.invalid.high)}"
            told_by = f"of {seen.invalid.n:,} answers invalid (95 %: {bounds})"
            self._put("answers invalid", percent(seen.invalid.value), told_by)
        self._put("calls", f"{usage.calls:,}", f"calls, {usage.reused:,} reused")
        self._put(
            "cost",
            f"{usage.cost:,.4g}" if seen.price else "unknown",
            "cost" if seen.price else "cost: no price is known",
        )
        self._put("time", duration(seen.seconds), "computing")
        self._put("decided by", display_text(seen.decided_by, 80), f"decides, temperature {seen.regime.temperature:g}")
        self._put("seed", str(seen.regime.seed))
        state = (
            f"{seen.state}\n{seen.reason}\n{seen.parent}\n{seen.caveats}\n{seen.interventions}\n{sorted(seen.tables)}"
        )
        if state != self._state:
            self._state = state
            self._show_state(seen)

    def _put(self, name: str, value: str, note: str = "") -> None:
        figure, label = self._figures[name]
        figure.set_text(value)
        if note:
            label.set_text(note)

    def _show_state(self, seen: RunOverview) -> None:
        self._chip_place.clear()
        with self._chip_place:
            test_id(chip(seen.state), "state")
            if seen.parent:
                ui.label("fork of").classes("soft")
                run_link(seen.parent.run)
                ui.label(f"at step {seen.parent.at}").classes("soft")
        self._notes.clear()
        with self._notes:
            for text in [*seen.interventions, *(note[:1].upper() + note[1:] for note in seen.caveats)]:
                ui.label(display_text(text, 400)).classes("small foreign soft")
        self._doing.clear()
        with self._doing:
            self._show_doing(seen)
        self._links.clear()
        with self._links:
            self._show_links(seen)

    def _show_doing(self, seen: RunOverview) -> None:
        """What can be done with the run as it stands, in honest words."""
        if seen.state == "complete":
            ui.label(display_text(f"Complete: {seen.reason}.", 300)).classes("foreign")
            return
        if seen.state in ("died", "stopped", "failed"):
            with ui.column().classes("w-full gap-0").props("role=alert"):
                if seen.reason:
                    prose(seen.reason)
                ui.label(_TOLD[seen.state]).classes("soft small")
            self._resume(seen)
            return
        with ui.row().classes("gap-2 items-center"):
            if seen.state == "running":
                self._button("Pause", "pause", self._pause, "outline")
            else:
                self._button("Resume", "resume", self._go_on, "unelevated")
            self._button("Stop", "stop", self._stop, "outline color=negative")
            ui.label(_TOLD.get(seen.state, "")).classes("soft small").style("flex: 1 1 260px")

    def _resume(self, seen: RunOverview) -> None:
        options: dict[str, str] = {}
        line = ui.label(display_text(command("resume", seen.name), 300)).classes("commandline")
        with ui.row().classes("gap-2 items-center"):
            self._button("Resume", "resume", lambda: self._start(options), "unelevated")
            if not seen.limit:
                return
            field = ui.number(f"How many more {seen.limit} it may use", min=1, on_change=lambda: told_budget())
            test_id(field.props("dense outlined clearable").style("min-width: 230px"), "budget")
            ui.label("Empty sets no limit.").classes("soft small")

        def told_budget() -> None:
            value = field.value
            options.clear()
            if value:
                options[_OPTIONS[seen.limit]] = f"{value:g}" if seen.limit in ("money", "seconds") else f"{int(value)}"
            line.set_text(display_text(command("resume", seen.name, *_flat(options)), 300))

    def _button(self, text: str, mark: str, act: Callable[[], object], props: str) -> None:
        test_id(ui.button(text, on_click=notify_errors(act)).props(f"no-caps {props}"), mark)

    async def _pause(self) -> None:
        self._studio.jobs.pause(self._studio.library.run(self._name))
        await self._changed()

    async def _go_on(self) -> None:
        self._studio.jobs.resume(self._studio.library.run(self._name))
        await self._changed()

    async def _stop(self) -> None:
        self._studio.jobs.stop(self._studio.library.run(self._name))
        ui.notify("It stops as soon as the calls under way are in.")
        await self._changed()

    async def _start(self, options: dict[str, str]) -> None:
        job = self._studio.jobs.resume(self._studio.library.run(self._name), *_flat(options))
        if job is not None:
            await self._follow(job)
        await self._changed()

    async def _follow(self, job: CommandJob) -> None:
        """Wait until the command holds the run; if it cannot, say why in its own words."""
        with self._doing:
            waiting = ui.row().classes("items-center gap-2")
            with waiting:
                ui.spinner()
                ui.label("Resuming: earlier steps are run again with their recorded answers.").classes("soft small")
        while job.state == "starting":
            await asyncio.sleep(1 / _LOOKS_A_SECOND)
        if not waiting.is_deleted:  # It goes with the old state, where the new one was shown already.
            waiting.delete()
        if job.state == "failed" and job.run is None:
            with self._doing:
                error_card(CommandError(job.error or f"`{command(*job.arguments)}` failed."))

    def _show_links(self, seen: RunOverview) -> None:
        if seen.last is not None:
            fork = ui.button("Fork here", on_click=lambda: ui.navigate.to(self._fork()))
            test_id(fork.props("no-caps outline icon=call_split"), "fork-here")
        compare = ui.button("Compare with…", on_click=self._compare).props("no-caps outline icon=stacked_line_chart")
        test_id(compare, "compare-with")
        for table, name, target in (("positions", "Town", "/town/"), ("posts", "Forum", "/forum/")):
            if table in seen.tables:
                address = target + run_address(seen.name).rpartition("/")[2]
                button = ui.button(name, on_click=partial(ui.navigate.to, address)).props("no-caps outline")
                test_id(button, f"open-{name.lower()}")

    def _fork(self) -> str:
        return run_address(self._name, "fork", at=self._step() + 1)

    async def _compare(self) -> None:
        names = [name for name in self._studio.library.names() if name != self._name]
        with ui.dialog(value=True) as dialog, ui.card().classes("w-full max-w-lg"):
            ui.label("Compare with").classes("panel-title")
            if not names:
                ui.label("There is no other run in this workspace. A fork gives you one.").classes("soft")
            picked = ui.select(
                {name: display_text(name, 80) for name in names}, multiple=True, with_input=True, label="Runs"
            )
            test_id(picked.classes("w-full").props("use-chips"), "compare-runs")

            def go() -> None:
                ui.navigate.to("/compare?runs=" + ",".join([self._name, *(picked.value or [])]))

            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=dialog.close).props("flat no-caps")
                test_id(ui.button("Compare", on_click=go).props("no-caps"), "compare-go")


def _flat(options: dict[str, str]) -> list[str]:
    return [part for pair in options.items() for part in pair]
