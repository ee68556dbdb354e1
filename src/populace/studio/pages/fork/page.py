"""Intervene and fork: continue a run from a step, with changes, and see the fork beside its parent."""

from nicegui import context, ui

from populace.base.errors import PopulaceError, UsageError
from populace.runs.clock import step_time
from populace.runs.reader import RunReader
from populace.studio.catalogue import Catalogue
from populace.studio.jobs import command
from populace.studio.metrics import metric_text
from populace.studio.pages.fork.change_forms import KINDS, FormReader, change_form
from populace.studio.pages.fork.data import SETTINGS, Fork, ForkPoint, check_changes, fork_point
from populace.studio.shell.addresses import page_address, parse_number, run_address
from populace.studio.shell.frame import (
    Page,
    after_load,
    error_card,
    figure,
    frame,
    notify_errors,
    page_at,
    section,
    test_id,
)
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.elements import (
    action,
    disable_during,
    icon_button,
    note,
    outline,
    refill,
    set_spoken_value,
)
from populace.studio.widgets.fields import add_form_style, field, field_grid
from populace.studio.widgets.form_values import infer_parameters, read_parameters
from populace.studio.widgets.redraw import Redrawer
from populace.studio.widgets.run_content import RunContent
from populace.studio.widgets.start_dialog import show_start
from populace.tools.describe import Parameter


def register(studio: Studio) -> None:
    """Add the page `/run/NAME/fork`."""
    catalogue = Catalogue(studio.jobs)

    @page_at("/run/{name}/fork")
    async def fork_page(name: str) -> None:
        query = dict(context.client.request.query_params)
        add_form_style()
        with frame("Intervene and fork", crumbs=[(name, run_address(name))]) as page:
            parent = studio.library.run(name)
            point = await load(fork_point, parent, parse_number(query.get("at", ""), "step"))
            fork = Fork.read(parent.name, point.at, query)
            fork.move(point.at)
            form = _ForkPage(studio, page, fork, point)
            await form.build()
            after_load(lambda: form.read_scenario(catalogue, parent.manifest.scenario))


class _ForkPage:
    def __init__(self, studio: Studio, page: Page, fork: Fork, point: ForkPoint) -> None:
        self.studio, self.page, self.fork, self.point = studio, page, fork, point
        self.parameters: tuple[Parameter, ...] = infer_parameters(point.parameters)
        self._read_form: FormReader | None = None
        self._step_text: dict[str, str] = {}

    @property
    def _parent(self) -> RunReader:
        return self.studio.library.run(self.fork.run)

    async def read_scenario(self, catalogue: Catalogue, scenario: str) -> None:
        """Read the parameters of the scenario; where it cannot be loaded, they are inferred from their values."""
        try:
            self.parameters = read_parameters(await catalogue.description(scenario))
        except PopulaceError as error:
            self._problem.set_visibility(True)
            with self._problem:
                ui.label("The scenario could not be asked for its parameters; bounds are not checked here.")
                error_card(error)
            return
        await self._update()

    async def build(self) -> None:
        self._content = RunContent(self.studio.library, self.fork.run)
        with self._content.element:
            self._build_form()
        self._show_point()
        await self._update()
        self.studio.changes.listen(self.fork.run, Redrawer(self._on_change))

    def _build_form(self) -> None:
        with section("Where it leaves its parent"):
            with ui.row().classes("w-full items-center gap-4 no-wrap"):
                slider = ui.slider(min=1, max=self.point.last, value=self.point.at, step=1)
                slider.props('label aria-label="The first step that differs"')
                self._slider = test_id(slider, "fork-slider").classes("grow")
                number = ui.number("From step", value=self.point.at, min=1, max=self.point.last, format="%d")
                self._number = outline(number, "fork-at", "w-28")
            self._slider.on_value_change(lambda event: self._number.set_value(int(event.value)))
            self._number.on_value_change(notify_errors(self._on_number))
            self._summary = test_id(ui.column().classes("w-full gap-2"), "fork-parent")
        with section("Changes", note="what is done to the society from outside"):
            self._problem = ui.column().classes("w-full")
            self._problem.set_visibility(False)
            self._list = test_id(ui.element("div").classes("changes"), "changes")
            with ui.column().classes("w-full gap-2"):
                kind = ui.select(KINDS, label="Add a change", on_change=lambda event: self._open_form(event.value))
                self._kind = outline(kind, "change-kind", "").props("options-dense clearable")
                self._kind.style("min-width: 240px")
                self._form = ui.column().classes("w-full gap-3")
        with section("The fork itself", note="left empty, it keeps what its parent has"), field_grid():
            for each in SETTINGS:
                field(each, self.fork.settings.get(each.name, ""), self._on_setting, name=f"fork-{each.name}")
        with ui.column().classes("startbar"):
            self._start = action("Start the fork", self._start_fork, "fork-start", look="unelevated icon=call_split")
            self._refusal = test_id(ui.column().classes("w-full").props("aria-live=polite"), "refused")

    def _open_form(self, kind: str | None) -> None:
        self._read_form, self._step_text = None, {}
        with refill(self._form):
            if kind is None:
                return
            self._read_form = change_form(kind, self.point, self.parameters)
            step = Parameter("at", "int", self.fork.at, ge=self.fork.at, help="The step at whose beginning it happens.")
            with field_grid():
                field(step, None, self._step_text.__setitem__, name="change-at")
            self._form_error = ui.column().classes("w-full")
            # Not in a row of its own: what handles a click must outlive the form, which is emptied by it.
            action("Add this change", self._add_change, "change-add")
            note("What is filled in here counts when the fork is started, also without adding it first.")

    async def _add_change(self) -> None:
        refill(self._form_error)
        try:
            await self._take_form()
        except PopulaceError as error:
            with self._form_error:
                error_card(error)

    async def _take_form(self) -> None:
        """Add the change in the open form, where one is open; a PopulaceError says why it cannot be added."""
        if self._read_form is None:
            return
        parent = self._parent
        step = parse_number(self._step_text.get("at", "").strip(), "step")
        people = await load(parent.people, self.fork.at - 1)
        change = {"at": self.fork.at if step is None else step, **self._read_form(people)}
        trial = Fork(self.fork.run, self.fork.at, [*self.fork.changes, change], self.fork.settings)
        await load(check_changes, parent, trial, self.parameters)
        self.fork.changes.append(change)
        self._kind.set_value(None)
        await self._update()

    def _on_setting(self, name: str, text: str) -> None:
        self.fork.settings[name] = text
        self._update_command()

    async def _on_number(self) -> None:
        value = self._number.value
        if value is None or not 1 <= value <= self.point.last or value != int(value):
            self._number.props("error").props(f'error-message="1 to {self.point.last}"')
            return
        self._number.props(remove="error")
        if int(value) == self.fork.at:
            return
        self.point = await load(fork_point, self._parent, int(value))
        self.fork.move(int(value))
        self._slider.set_value(int(value))
        self._kind.set_value(None)
        self._show_point()
        await self._update()

    async def _on_change(self) -> None:
        await self._content.draw(self._follow)

    async def _follow(self) -> None:
        """The parent went on: it can be forked later than before."""
        steps = self._parent.steps
        if steps and steps[-1] + 1 != self.point.last:
            self.point = await load(fork_point, self._parent, self.fork.at)
            self._number.max = self.point.last
            self._slider.props["max"] = self.point.last
            self._slider.update()
            self._show_point()

    def _show_point(self) -> None:
        point, regime = self.point, self.point.regime
        with refill(self._summary):
            last = step_time(self._parent, point.at - 1)
            set_spoken_value(self._slider, f"from step {point.at}, after {last}")
            ui.label(f"It shares {last} and all before, and goes its own way from step {point.at}.")
            with ui.row().classes("gap-6"):
                figure(f"{point.people:,}", "people")
                for name, value in list(point.metrics.items())[:6]:
                    figure(display_text(metric_text(value), 60), display_text(name.replace("_", " "), 60))
            settings = f"seed {regime.seed} · temperature {regime.temperature:g}"
            note(f"{regime.model} decides · {settings} · can be forked at step 1 to {point.last}", 300)

    async def _update(self) -> None:
        self._update_command()
        sentences = [str(change.get("kind")) for change in self.fork.changes]
        problem = None
        try:
            sentences = await load(check_changes, self._parent, self.fork, self.parameters)
        except PopulaceError as error:
            problem = error
        with refill(self._list):
            if not sentences:
                text = "None yet. Without a change, and with its parent's seed, the fork repeats its parent."
                ui.label(text).classes("soft")
            for number, sentence in enumerate(sentences):
                self._show_change(number, sentence)
            if problem is not None:
                error_card(problem)

    def _show_change(self, number: int, sentence: str) -> None:
        async def remove() -> None:
            del self.fork.changes[number]
            await self._update()

        with test_id(ui.element("div").classes("change"), f"change-{number}"):
            ui.label(display_text(sentence, 600)).classes("foreign").props("dir=auto")
            icon_button("close", "Remove this change", remove, f"change-remove-{number}")

    def _update_command(self) -> None:
        self.page.show_command(command(*self.fork.command()))
        self.page.update_address(**self.fork.query())
        self._refusal.clear()

    async def _start_fork(self) -> None:
        """Start the fork; a change that is filled in and not added yet counts too."""
        try:
            await self._take_form()
            errors = "; ".join(f"{name} {error}" for name, error in self.fork.input_errors().items())
            if errors:
                raise UsageError(f"{errors}.", "Correct what is marked in the form.")
            await load(check_changes, self._parent, self.fork, self.parameters)
        except PopulaceError as error:
            with refill(self._refusal):
                error_card(UsageError(f"Nothing was started: {error.what}", error.hint))
            return
        with disable_during(self._start):
            job = self.studio.jobs.start(*self.fork.command())
            await show_start(job, lambda name: page_address("compare", runs=f"{self.fork.run},{name}", at=self.fork.at))
