"""The page of a person: profile, state over time, decisions, memories, conversations, and side interviews."""

from nicegui import ui

from populace.base.errors import PopulaceError, UsageError
from populace.runs.biography import Biography, biography
from populace.runs.clock import step_time
from populace.studio.jobs import command
from populace.studio.pages.person.interview import InterviewPanel
from populace.studio.pages.person.panels import Panel, panels
from populace.studio.shell.addresses import parse_number, run_address
from populace.studio.shell.frame import Page, error_card, frame, notify_errors, page_at, test_id
from populace.studio.shell.loading import load
from populace.studio.studio import Studio
from populace.studio.widgets.elements import icon_button, set_spoken_value
from populace.studio.widgets.redraw import Redrawer
from populace.studio.widgets.run_content import RunContent

STYLE = '<link rel="stylesheet" href="/studio-static/person/person.css">'


def register(studio: Studio) -> None:
    """Register `/run/NAME/person/ID`."""

    @page_at("/run/{name}/person/{who:path}")
    async def person(name: str, who: str, step: str = "") -> None:
        ui.add_head_html(STYLE)
        crumbs = [("Runs", "/"), (name, run_address(name))]
        try:
            life = await load(biography, studio.library.run(name), who)
        except PopulaceError as error:
            with frame(who, crumbs=crumbs):
                error_card(error)
            return
        with frame(life.name, crumbs=crumbs) as page:
            _PersonView(studio, page, name, life).build(parse_number(step, "step"))


class _PersonView:
    """A person at a step, which a slider chooses."""

    def __init__(self, studio: Studio, page: Page, name: str, person: Biography) -> None:
        self.studio, self.page, self.name, self.person = studio, page, name, person
        self.step = person.steps[-1]
        self._panels: list[Panel] = []
        self.slider: ui.slider

    def build(self, step: int | None) -> None:
        run, steps = self.studio.library.run(self.name), self.person.steps
        if step is not None and step not in run.steps:
            raise UsageError(f"{self.name} has no step {step}; it has 0 to {run.steps[-1]}.")
        self.step = steps[-1] if step is None else min(max(step, steps[0]), steps[-1])
        self._content = RunContent(self.studio.library, self.name)
        with self._content.element:
            self._build_content()
        self._show()
        # Registered after the first drawing; what changed meanwhile is reported too.
        self.studio.changes.listen(self.name, Redrawer(self._on_change))

    def _build_content(self) -> None:
        steps = self.person.steps
        with ui.column().classes("panel"):
            with ui.row().classes("w-full items-center gap-3 no-wrap"):
                icon_button("chevron_left", "The step before", lambda: self._move(-1), "step-back").props("size=md")
                self.slider = ui.slider(min=steps[0], max=steps[-1], value=self.step)
                self.slider.on_value_change(notify_errors(self._on_slide))
                test_id(self.slider.props('aria-label="Step"').classes("min-w-0"), "step-slider")
                icon_button("chevron_right", "The step after", lambda: self._move(1), "step-on").props("size=md")
            self.clock = test_id(ui.label("").classes("soft"), "clock")
            self._left = test_id(ui.label("").classes("soft"), "left")
        self._panels = panels(
            self.studio, self.name, lambda: InterviewPanel(self.studio, self.name, self.person, lambda: self.step).show
        )

    def _move(self, steps: int) -> None:
        self.slider.set_value(min(max(self.step + steps, self.person.steps[0]), self.person.steps[-1]))

    def _on_slide(self) -> None:
        if int(self.slider.value) != self.step:
            self.step = int(self.slider.value)
            self._show()

    def _show(self) -> None:
        run, last = self.studio.library.run(self.name), self.person.steps[-1]
        clock = step_time(run, self.step)
        self.clock.set_text(clock)
        set_spoken_value(self.slider, clock)
        self._left.set_text(f"This person left the run after step {last}.")
        self._left.set_visibility(last < self.person.until)
        for show in self._panels:
            show(self.person, self.step)
        step = () if self.step == last else ("--step", str(self.step))
        self.page.update_address(step=self.step)
        self.page.show_command(command("show", self.name, *step, "--person", str(self.person.id)))

    async def _on_change(self) -> None:
        await self._content.draw(self._follow)

    async def _follow(self) -> None:
        """Show the person again after a new step or an interview."""
        latest = self.step == self.person.steps[-1]
        self.person = await load(biography, self.studio.library.run(self.name), str(self.person.id), self.person)
        if self.slider.props["max"] != self.person.steps[-1]:
            self.slider.props["max"] = self.person.steps[-1]
            self.slider.update()
        if latest and self.step != self.person.steps[-1]:
            self.slider.set_value(self.person.steps[-1])
        else:
            self._show()
