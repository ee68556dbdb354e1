"""The time slider, which chooses the step that a page shows."""

from collections.abc import Awaitable, Callable

from nicegui import events, ui

from populace.runs.clock import time_text
from populace.runs.reader import RunReader
from populace.studio.shell.frame import test_id
from populace.studio.widgets.elements import set_spoken_value

_PLAY_S = 0.6


class _Slider(ui.slider):
    """A slider whose new value is not sent back to the browser that set it: that would draw the page twice."""

    LOOPBACK = False


class TimeSlider:
    """A slider over the steps with the simulated time, a play button and a switch to follow a run that is under way.

    Args:
        step: The step at first.
        follow: Whether to move along with the newest step.
        moved: Called when the step changed.
        busy: Returns whether the page is still being drawn; playing waits for it.
    """

    def __init__(
        self, step: int, *, follow: bool, moved: Callable[[], Awaitable[None]], busy: Callable[[], bool]
    ) -> None:
        self.step, self.last = step, step
        self._moved, self._busy = moved, busy
        with test_id(ui.row().classes("panel timebar items-center gap-2"), "time"):
            self._button("skip_previous", "First step", lambda: self.go(0))
            self._button("chevron_left", "One step back", lambda: self._move_by(-1), "step-back")
            self._play = self._button("play_arrow", "Play", self._toggle, "play")
            self._button("chevron_right", "One step on", lambda: self._move_by(1), "step-on")
            self._button("skip_next", "Newest step", lambda: self.go(self.last))
            self.slider = _Slider(min=0, max=max(step, 1), step=1, value=step, on_change=self._on_slide)
            self.slider.props('aria-label="Step"').classes("min-w-0").style("flex: 1 1 220px; margin-right: 12px")
            test_id(self.slider, "slider")
            with ui.column().classes("gap-0").style("min-width: 170px"):
                self.number = test_id(ui.label().classes("figure"), "step")
                self.clock = test_id(ui.label().classes("soft small"), "clock")
            self.follow = ui.switch("Follow the newest", value=follow, on_change=self._on_follow)
            test_id(self.follow, "follow")
        # Only while no control has the focus: sliders and tabs use the arrow keys themselves.
        controls = ["input", "select", "button", "textarea", "a", "div"]
        ui.keyboard(self._on_key, ignore=controls)  # type: ignore[arg-type]
        self._timer = ui.timer(_PLAY_S, self._tick, active=False)

    def show(self, run: RunReader, last: int, *, going: bool) -> None:
        """Make room for new steps; while following, go to the newest."""
        grown = last != self.last
        self.last = last
        if grown or self.slider.props.get("max") != max(last, 1):
            self.slider.props(f"max={max(last, 1)}")
        self.follow.set_visibility(going)
        # The end of a run and its last step may be reported together: a page that follows shows that step too.
        if ((going or grown) and self.follow.value) or self.step > last:
            self.step = last
        if self.slider.value != self.step:
            self.slider.set_value(self.step)
        clock = time_text(run.record.facts(self.step)["now"])
        self.number.set_text(f"step {self.step} of {last}")
        self.clock.set_text(clock)
        set_spoken_value(self.slider, f"step {self.step} of {last}, {clock}")

    async def go(self, step: int) -> None:
        """Go to a step; other than the newest, it ends following."""
        step = min(max(step, 0), self.last)
        if step == self.step:
            return
        self.step = step
        if step != self.last:
            self.follow.set_value(False)
        if self.slider.value != step:
            self.slider.set_value(step)
        await self._moved()

    async def _move_by(self, steps: int) -> None:
        # The step is read when this runs, not when the button is pressed, so that two quick presses are two steps.
        await self.go(self.step + steps)

    async def _on_slide(self, event: events.ValueChangeEventArguments[float | None]) -> None:
        if event.value is not None:
            await self.go(int(event.value))

    async def _on_follow(self, event: events.ValueChangeEventArguments[bool | None]) -> None:
        if event.value and self.step != self.last:
            await self.go(self.last)

    async def _on_key(self, event: events.KeyEventArguments) -> None:
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta:
            return
        if event.key.arrow_left:
            await self.go(self.step - 1)
        elif event.key.arrow_right:
            await self.go(self.step + 1)

    async def _toggle(self) -> None:
        playing = not self._timer.active
        if playing and self.step == self.last:
            await self.go(0)
        self._set_playing(playing)

    async def _tick(self) -> None:
        if self.step >= self.last:
            self._set_playing(False)
        elif not self._busy():
            await self.go(self.step + 1)

    def _set_playing(self, playing: bool) -> None:
        self._timer.active = playing
        name = "Pause playing" if playing else "Play"
        self._play.props(f'icon={"pause" if playing else "play_arrow"} aria-label="{name}"')

    def _button(self, icon: str, name: str, action: Callable[[], object], test_name: str = "") -> ui.button:
        button = ui.button(on_click=action).props(f'flat round dense icon={icon} aria-label="{name}"').tooltip(name)
        return test_id(button, test_name) if test_name else button
