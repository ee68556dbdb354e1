"""The head of the page of a run: its state, its main numbers, and what can be done with it."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import ui

from populace.base.formatting import duration, percent
from populace.broker import money_text
from populace.engine.run_control import pause, stop
from populace.journal import Journal
from populace.models.labels import model_label
from populace.runs.overview import RunOverview
from populace.studio.jobs import CommandError, CommandJob, command
from populace.studio.shell.addresses import run_address
from populace.studio.shell.frame import chip, error_card, run_link, test_id
from populace.studio.shell.text import date_text, display_text, prose
from populace.studio.studio import Studio
from populace.studio.widgets.elements import action, note
from populace.studio.widgets.redraw import ChangingParts

_POLLS_A_SECOND = 10
_STATE_TEXTS = {
    "running": "Pause waits after the current step. Stop ends the run soon: calls in progress are finished and stored, "
    "and the run can be resumed.",
    "pausing": "It pauses after the current step.",
    "paused": "It waits between two steps. Its process stays and continues when the run is resumed.",
    "died": "Its process ended without recording an end, as after kill -9 or a power cut. Committed steps are safe, "
    "and nothing is paid for twice.",
    "stopped": "It stopped before its end. Committed steps stay, and nothing is paid for twice.",
    "damaged": "Its folder is not as its manifest says. What is there can be read; `populace show` says what is wrong.",
    "failed": "It failed. Once the cause is removed, it can be resumed from its last committed step.",
}


class RunHead:
    """The head of the page of a run.

    Args:
        studio: The Studio.
        name: The run.
        step: Returns the step that the page shows.
        changed: Called after an action on the run.
    """

    def __init__(
        self, studio: Studio, name: str, step: Callable[[], int], changed: Callable[[], Awaitable[None]]
    ) -> None:
        self._studio, self._name, self._step, self._changed = studio, name, step, changed
        self._parts = ChangingParts()
        with test_id(ui.column().classes("panel"), "head"):
            with ui.row().classes("w-full items-center gap-3"):
                self._chip_place = ui.row().classes("items-center gap-2")
                self._scenario = ui.label().classes("soft foreign")
            self._bar = ui.linear_progress(0, show_value=False).classes("w-full")
            # Without a transition: a page that opens would seem to watch the run being made.
            self._bar.props('rounded instant-feedback aria-label="Progress"')
            with ui.row().classes("w-full gap-x-8 gap-y-2"):
                names = ("steps", "people", "answers invalid", "calls", "cost", "time", "decided by", "seed")
                self._figures = {each: self._figure(each) for each in names}
            self._notes = ui.column().classes("w-full gap-1")
            self._actions = ui.column().classes("w-full gap-2")
            self._links = ui.row().classes("gap-2 items-center")

    def _figure(self, name: str) -> tuple[ui.label, ui.label]:
        with ui.column().classes("gap-0 min-w-0"):
            value = test_id(ui.label("–").classes("figure foreign"), f"figure-{name.replace(' ', '-')}")
            return value, ui.label(name).classes("soft small")

    def show(self, facts: RunOverview) -> None:
        """Show the state and the numbers of the run."""
        start = f" · begun {date_text(facts.created)}" if facts.created else ""
        self._scenario.set_text(display_text(facts.scenario.rpartition("/")[2], 200) + start)
        self._bar.set_visibility(facts.state != "complete")
        self._bar.set_value(facts.progress or 0.0)
        self._bar.props(f"indeterminate={'true' if facts.progress is None and facts.state == 'running' else 'false'}")
        usage = facts.usage
        done = f"{facts.last} of {facts.planned}" if facts.planned else str(facts.last)
        self._put("steps", "none yet" if facts.last is None else done, "steps done")
        self._put("people", f"{facts.people:,}")
        if facts.invalid is None:
            self._put("answers invalid", "–", "nothing asked yet")
        else:
            bounds = f"{percent(facts.invalid.low)} to {percent(facts.invalid.high)}"
            of_all = f"of {facts.invalid.n:,} answers invalid (95 %: {bounds})"
            self._put("answers invalid", percent(facts.invalid.value), of_all)
        self._put("calls", f"{usage.calls:,}", f"calls, {usage.reused:,} reused")
        cost = ("unknown", "cost: no price is known") if facts.price is None else ("none", "cost")
        if usage.cost:
            cost = (money_text(usage.cost), "cost")
        self._put("cost", *cost)
        self._put("time", duration(facts.seconds), "computing")
        how = f"decides, temperature {facts.regime.temperature:g}"
        self._put("decided by", display_text(model_label(facts.decided_by), 80), how)
        self._put("seed", str(facts.regime.seed))
        self._show_state(facts)

    def _put(self, name: str, value: str, below: str = "") -> None:
        figure, label = self._figures[name]
        figure.set_text(value)
        label.set_text(below or name)

    def _show_state(self, facts: RunOverview) -> None:
        """Draw what depends on the state; a part of which nothing changed stays, with what is typed in it."""
        notes = [*facts.interventions, *map(_sentence, facts.caveats)]
        parts: list[tuple[ui.element, object, Callable[[RunOverview], None]]] = [
            (self._chip_place, (facts.state, facts.parent), self._show_chip),
            (self._notes, notes, lambda _: self._show_notes(notes)),
            (self._actions, (facts.state, facts.reason, facts.limit), self._show_actions),
            (self._links, (facts.last is None, facts.tables, facts.state, self._is_played(facts)), self._show_links),
        ]
        for place, content, draw in parts:
            self._parts.show(place, content, partial(draw, facts))

    def _show_chip(self, facts: RunOverview) -> None:
        test_id(chip(facts.state), "state")
        if facts.parent:
            ui.label("fork of").classes("soft")
            run_link(facts.parent.run)
            ui.label(f"at step {facts.parent.at}").classes("soft")

    def _show_notes(self, notes: list[str]) -> None:
        for text in notes:
            note(text, 400)

    def _show_actions(self, facts: RunOverview) -> None:
        if facts.state == "complete":
            note(f"Complete: {facts.reason}.", 300, classes="foreign")
            return
        if facts.state in ("died", "stopped", "failed"):
            with ui.column().classes("w-full gap-0").props("role=alert"):
                if facts.reason:
                    prose(facts.reason)
                note(_STATE_TEXTS[facts.state])
            self._resume(facts)
            return
        with ui.row().classes("gap-2 items-center"):
            if facts.state == "running":
                action("Pause", partial(self._control, pause), "pause")
            else:
                action("Resume", partial(self._start, {}), "resume", look="unelevated")
            stopping = "It stops as soon as the calls in progress are finished."
            action("Stop", partial(self._control, stop, stopping), "stop", look="outline color=negative")
            note(_STATE_TEXTS.get(facts.state, "")).style("flex: 1 1 260px")

    def _resume(self, facts: RunOverview) -> None:
        options: dict[str, str] = {}
        line = ui.label(display_text(command("resume", facts.name), 300)).classes("commandline")
        with ui.row().classes("gap-2 items-center"):
            action("Resume", partial(self._start, options), "resume", look="unelevated")
            if not facts.limit:
                return
            field = ui.number(f"How many more {facts.limit} it may use", min=1, on_change=lambda: set_limit())
            test_id(field.props("dense outlined clearable").style("min-width: 230px"), "budget")
            note("Empty sets no limit.")

        def set_limit() -> None:
            value = field.value
            options.clear()
            if value:
                whole = facts.limit not in ("money", "seconds")
                options[f"--max-{facts.limit}"] = f"{int(value)}" if whole else f"{value:g}"
            line.set_text(display_text(command("resume", facts.name, *_flat(options)), 300))

    async def _control(self, change: Callable[[Journal], None], message: str = "") -> None:
        change(self._studio.library.run(self._name).journal)
        if message:
            ui.notify(message)
        await self._changed()

    async def _start(self, options: dict[str, str]) -> None:
        job = self._studio.jobs.resume(self._studio.library.run(self._name), *_flat(options))
        if job is not None:
            await self._follow(job)
        await self._changed()

    async def _follow(self, job: CommandJob) -> None:
        """Wait until the command has taken over the run, or show its error."""
        with self._actions, ui.row().classes("items-center gap-2") as waiting:
            ui.spinner()
            note("Resuming: earlier steps are run again with their recorded answers.")
        while job.state == "starting":
            await asyncio.sleep(1 / _POLLS_A_SECOND)
        if not waiting.is_deleted:  # Showing a new state has deleted it already.
            waiting.delete()
        if job.state == "failed" and job.run is None:
            with self._actions:
                error_card(CommandError(job.error or f"`{command(*job.arguments)}` failed."))

    def _show_links(self, facts: RunOverview) -> None:
        if facts.last is not None:
            action("Fork here", self._fork, "fork-here", look="outline icon=call_split")
        action("Compare with…", self._compare, "compare-with", look="outline icon=stacked_line_chart")
        for table, name, target in (("positions", "Town", "/town/"), ("posts", "Forum", "/forum/")):
            if table in facts.tables:
                address = target + run_address(facts.name).rpartition("/")[2]
                action(name, partial(ui.navigate.to, address), f"open-{name.lower()}")
        if facts.scenario == "survey":
            address = "/survey/" + run_address(facts.name).rpartition("/")[2]
            action("Survey", partial(ui.navigate.to, address), "open-survey")

        if self._is_played(facts) and facts.state != "complete":
            address = run_address(self._name, "play")
            action("Take part", partial(ui.navigate.to, address), "take-part", look="unelevated icon=person")

    def _is_played(self, facts: RunOverview) -> bool:
        """Whether somebody plays a person of the run, or is asked to right now."""
        run = self._studio.library.run(self._name)
        return bool(facts.regime.play) or (run.folder / "desk").is_dir()

    def _fork(self) -> None:
        ui.navigate.to(run_address(self._name, "fork", at=self._step() + 1))

    async def _compare(self) -> None:
        names = [name for name in self._studio.library.names() if name != self._name]
        with ui.dialog(value=True) as dialog, ui.card().classes("w-full max-w-lg"):
            ui.label("Compare with").classes("panel-title")
            if not names:
                ui.label("There is no other run in this workspace. A fork gives you one.").classes("soft")
            choices = {name: display_text(name, 80) for name in names}
            selected = ui.select(choices, multiple=True, with_input=True, label="Runs")
            test_id(selected.classes("w-full").props("use-chips"), "compare-runs")

            def go() -> None:
                ui.navigate.to("/compare?runs=" + ",".join([self._name, *(selected.value or [])]))

            with ui.row().classes("w-full justify-end"):
                action("Cancel", dialog.close, look="flat")
                action("Compare", go, "compare-go", look="")


def _flat(options: dict[str, str]) -> list[str]:
    return [part for pair in options.items() for part in pair]


def _sentence(text: str) -> str:
    """A text that begins as a sentence does; the name of a model at its beginning stays as it is."""
    return text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text
