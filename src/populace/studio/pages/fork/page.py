"""Intervene and fork: leave a run at a step, with changes, and see it beside its parent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from nicegui import context, ui

from populace.base.errors import PopulaceError, UsageError
from populace.runs.clock import step_time
from populace.studio.catalogue import Catalogue
from populace.studio.jobs import command
from populace.studio.pages.fork.change_forms import KINDS, Read, change_form
from populace.studio.pages.fork.data import SETTINGS, Beginning, Fork, beginning, check_changes
from populace.studio.shell.frame import (
    Page,
    after_load,
    error_card,
    figure,
    frame,
    notify_errors,
    page_at,
    run_address,
    section,
    test_id,
)
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.fields import add_form_style, field, field_grid
from populace.studio.widgets.form_values import infer_parameters, read_parameters
from populace.studio.widgets.start_dialog import show_start
from populace.tools.describe import Parameter


def register(studio: Studio) -> None:
    """`/run/NAME/fork`."""
    catalogue = Catalogue(studio.jobs)

    @page_at("/run/{name}/fork")
    async def fork_page(name: str) -> None:
        query = dict(context.client.request.query_params)
        add_form_style()
        with frame("Intervene and fork", crumbs=[(name, run_address(name))]) as page:
            parent = studio.library.run(name)
            start = await asyncio.to_thread(beginning, parent, _step(query.get("at")))
            fork = Fork.read(parent.name, start.at, query)
            fork.move(start.at)
            built = _ForkPage(studio, page, fork, infer_parameters(start.parameters))
            await built.show(start)
            after_load(lambda: built.learn(catalogue, parent.manifest.scenario))


def _step(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal():
        raise UsageError(f"at={display_text(text, 40)} is no step.", "Write a whole number.")
    return int(text)


class _ForkPage:
    """The fork that is being put together, on one page."""

    def __init__(self, studio: Studio, page: Page, fork: Fork, parameters: tuple[Parameter, ...]) -> None:
        self.studio, self.page, self.fork, self.parameters = studio, page, fork, parameters
        self._read: Read | None = None

    async def learn(self, catalogue: Catalogue, scenario: str) -> None:
        """Ask the scenario for its parameters; where it cannot be asked, what their values tell has to do."""
        try:
            self.parameters = read_parameters(await catalogue.description(scenario))
        except PopulaceError as error:
            self._unasked.set_visibility(True)
            with self._unasked:
                ui.label("The scenario could not be asked for its parameters; bounds are not checked here.")
                error_card(error)
            return
        await self._follow()

    async def show(self, start: Beginning) -> None:
        """Build the page."""
        self._beginning = start
        with section("Where it leaves its parent"):
            with ui.row().classes("w-full items-center gap-4 no-wrap"):
                slider = ui.slider(min=1, max=start.last, value=start.at, step=1)
                slider.props('label aria-label="The first step that differs"')
                self._slider = test_id(slider, "fork-slider").classes("grow")
                self._number = test_id(ui.number("From step", value=start.at, format="%d"), "fork-at")
                self._number.props(f"outlined dense min=1 max={start.last}").classes("w-28")
            self._slider.on_value_change(lambda event: self._slid(event.value))
            self._number.on_value_change(notify_errors(self._numbered))
            self._summary = test_id(ui.column().classes("w-full gap-2"), "fork-parent")
        with section("Changes", note="what is done to the society from outside"):
            self._unasked = ui.column().classes("w-full")
            self._unasked.set_visibility(False)
            self._list = test_id(ui.element("div").classes("changes"), "changes")
            self._show_adding()
        with section("The fork itself", note="left empty, it keeps what its parent has"), field_grid():
            for each in SETTINGS:
                field(each, self.fork.settings.get(each.name, ""), self._set, name=f"fork-{each.name}")
        with ui.column().classes("startbar"):
            self._start = test_id(ui.button("Start the fork", on_click=notify_errors(self._begin)), "fork-start")
            self._start.props("no-caps unelevated icon=call_split")
            self._hindered = test_id(ui.column().classes("w-full").props("aria-live=polite"), "refused")
        self._show_beginning()
        await self._follow()
        self.studio.changes.listen(self.fork.run, self._grown)

    def _show_adding(self) -> None:
        with ui.column().classes("w-full gap-2"):
            kind = ui.select(KINDS, label="Add a change", on_change=lambda event: self._open(event.value))
            self._kind = test_id(kind, "change-kind").props("outlined dense options-dense clearable")
            self._kind.style("min-width: 240px")
            self._form = ui.column().classes("w-full gap-3")

    def _open(self, kind: str | None) -> None:
        """Open the form of one kind of change."""
        self._form.clear()
        self._read = None
        if kind is None:
            return
        with self._form:
            self._read = change_form(kind, self._beginning, self.parameters)
            step = Parameter("at", "int", self.fork.at, ge=self.fork.at, help="The step at whose beginning it happens.")
            self._later = ""
            with field_grid():
                field(step, None, self._put_off, name="change-at")
            self._refused = ui.column().classes("w-full")
            test_id(ui.button("Add this change", on_click=notify_errors(self._add)), "change-add").props(
                "outline no-caps"
            )

    def _put_off(self, name: str, text: str) -> None:
        self._later = text.strip()

    async def _add(self) -> None:
        """Try the change; where it will do, it is part of the fork."""
        if self._read is None:
            return
        self._refused.clear()
        parent = self.studio.library.run(self.fork.run)
        try:
            if self._later and not self._later.isdecimal():
                raise UsageError(f"{display_text(self._later, 40)} is no step.", "Write a whole number.")
            people = await asyncio.to_thread(parent.people, self.fork.at - 1)
            change = {"at": int(self._later or self.fork.at), **self._read(people)}
            tried = Fork(self.fork.run, self.fork.at, [*self.fork.changes, change], self.fork.settings)
            await asyncio.to_thread(check_changes, parent, tried, self.parameters)
        except PopulaceError as error:
            with self._refused:
                error_card(error)
            return
        self.fork.changes.append(change)
        self._kind.set_value(None)
        await self._follow()

    def _set(self, name: str, text: str) -> None:
        self.fork.settings[name] = text
        self._tell()

    def _slid(self, value: Any) -> None:
        if int(value) != self.fork.at:
            self._number.set_value(int(value))

    async def _numbered(self) -> None:
        """Another step was chosen."""
        value = self._number.value
        if value is None or not 1 <= value <= self._beginning.last or value != int(value):
            self._number.props("error").props(f'error-message="1 to {self._beginning.last}"')
            return
        self._number.props(remove="error")
        if int(value) == self.fork.at:
            return
        self._beginning = await asyncio.to_thread(beginning, self.studio.library.run(self.fork.run), int(value))
        self.fork.move(int(value))
        self._slider.set_value(int(value))
        self._kind.set_value(None)
        self._show_beginning()
        await self._follow()

    async def _grown(self) -> None:
        """The parent went on: it can be left later than before."""
        steps = self.studio.library.run(self.fork.run).steps
        if steps and steps[-1] + 1 != self._beginning.last:
            self._beginning = await asyncio.to_thread(beginning, self.studio.library.run(self.fork.run), self.fork.at)
            self._slider.props(f"max={self._beginning.last}")
            self._number.props(f"max={self._beginning.last}")
            self._show_beginning()

    def _show_beginning(self) -> None:
        start, parent = self._beginning, self.studio.library.run(self.fork.run)
        self._summary.clear()
        with self._summary:
            ui.label(
                f"It shares {step_time(parent, start.at - 1)} and all before, and goes its own way "
                f"from step {start.at}."
            )
            with ui.row().classes("gap-6"):
                figure(f"{start.people:,}", "people")
                for name, value in list(start.metrics.items())[:6]:
                    figure(_shown(value), display_text(name.replace("_", " "), 60))
            held = f"seed {start.seed} · temperature {start.temperature:g}"
            ui.label(
                f"{display_text(start.model, 120)} decides · {held} · can be left at step 1 to {start.last}"
            ).classes("soft small")

    async def _follow(self) -> None:
        """Let the list, the command and the address follow the fork."""
        self._tell()
        said: Sequence[str] = [str(change.get("kind")) for change in self.fork.changes]
        problem = None
        try:
            said = await asyncio.to_thread(
                check_changes, self.studio.library.run(self.fork.run), self.fork, self.parameters
            )
        except PopulaceError as error:
            problem = error
        self._list.clear()
        with self._list:
            if not said:
                ui.label(
                    "None yet. Without a change, and with its parent's seed, the fork repeats its parent."
                ).classes("soft")
            for number, sentence in enumerate(said):
                self._show_change(number, sentence)
            if problem is not None:
                error_card(problem)

    def _show_change(self, number: int, sentence: str) -> None:
        async def drop() -> None:
            del self.fork.changes[number]
            await self._follow()

        with test_id(ui.element("div").classes("change"), f"change-{number}"):
            ui.label(display_text(sentence, 600)).classes("foreign").props("dir=auto")
            button = ui.button(on_click=notify_errors(drop)).props(
                'flat round dense icon=close aria-label="Remove this change"'
            )
            test_id(button, f"change-remove-{number}")

    def _tell(self) -> None:
        self.page.show_command(command(*self.fork.command()))
        self.page.update_address(**self.fork.query())
        self._hindered.clear()

    async def _begin(self) -> None:
        wrong = self.fork.input_errors()
        try:
            if self._read is not None:
                raise UsageError(
                    "Nothing was started: a change is filled in and not added.",
                    "Add it, or clear the field “Add a change”.",
                )
            if wrong:
                said = "; ".join(f"{name} {why}" for name, why in wrong.items())
                raise UsageError(f"Nothing was started: {said}.", "Mend what is marked in the form.")
            await asyncio.to_thread(check_changes, self.studio.library.run(self.fork.run), self.fork, self.parameters)
        except PopulaceError as error:
            self._hindered.clear()
            with self._hindered:
                error_card(error)
            return
        self._start.disable()
        try:
            await show_start(self.studio.jobs.start(*self.fork.command()), self._beside)
        finally:
            self._start.enable()

    def _beside(self, name: str) -> str:
        """Where parent and fork are seen side by side."""
        return f"/compare?{urlencode({'runs': f'{self.fork.run},{name}', 'at': self.fork.at})}"


def _shown(value: float | str | None) -> str:
    if value is None:
        return "–"
    return display_text(value, 60) if isinstance(value, str) else f"{value:,.4g}"
