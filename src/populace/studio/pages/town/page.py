"""A town: its map, people moving through the day, what they say, where they are, and who knows the news."""

from collections.abc import Callable
from typing import Any

import polars as pl
from nicegui import ui
from nicegui.events import GenericEventArguments, ValueChangeEventArguments

from populace.base.errors import UnknownNameError, UsageError
from populace.base.foreign_columns import csv_table
from populace.studio.jobs import command
from populace.studio.pages.town.data import TownRun, town_of
from populace.studio.pages.town.elements import SPEEDS, TownMap, TownTree
from populace.studio.pages.town.frames import positions
from populace.studio.pages.town.heat import heat, heat_data
from populace.studio.pages.town.panels import LINES, PersonPanel, PresencePanel, SpeechPanel
from populace.studio.pages.town.talk import (
    all_news,
    follows_news,
    latest_speech,
    news,
    news_events,
    resident,
    transcript,
)
from populace.studio.shell.addresses import page_address, parse_number, run_address
from populace.studio.shell.frame import Page, empty_state, frame, notify_errors, page_at, section, test_id
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.elements import count_text, note, outline
from populace.studio.widgets.redraw import Redrawer
from populace.studio.widgets.run_content import RunContent
from populace.worlds.town.places import DAY

_LAYERS = {"people": "People", "heat": "Presence", "news": "News"}
_SPANS = {"hour": "the last hour", "day": "this day", "run": "the whole run"}
_SPEED = 300
_HOUR = 3600


def register(studio: Studio) -> None:
    """Add the page `/town/NAME`."""

    @page_at("/town/{name}")
    async def town_page(name: str, time: str = "", speed: str = "", follow: str = "", layer: str = "people") -> None:
        with frame(f"Town of {name}", command=command("show", name), crumbs=[(name, run_address(name))]) as page:
            run = studio.library.run(name)
            if len(run.steps) < 2:
                _wait_for_steps(studio, name)
                return
            town = await load(town_of, run)
            await _TownPage(studio, town, page, _Selection(town, time, speed, follow, layer)).build()


def _wait_for_steps(studio: Studio, name: str) -> None:
    """What stands here until the run has a step, and then loads the page again."""
    content = RunContent(studio.library, name)
    with content.element:
        empty_state(f"{name} has no step yet, so nobody has moved. This page goes on by itself when it has.")

    async def look() -> None:
        if len(studio.library.run(name).steps) > 1:
            ui.navigate.reload()

    studio.changes.listen(name, Redrawer(lambda: content.draw(look)))


class _Selection:
    """What the address of a town selects: time, speed, the person followed and the layer."""

    def __init__(self, town: TownRun, time: str, speed: str, follow: str, layer: str) -> None:
        if layer not in _LAYERS:
            raise UnknownNameError("layer of the town", layer, _LAYERS)
        self.layer = layer
        begins, ends = town.time_of(town.steps[0]), town.time_of(town.steps[-1])
        self.time = min(max(parse_number(time, "time") or begins, begins), ends)
        wish = parse_number(speed, "speed") or _SPEED
        self.speed = min(SPEEDS, key=lambda each: abs(each - wish))
        rows = {str(who): row for who, row in town.row.items()}
        if follow and follow not in rows:
            raise UsageError(
                f"nobody in {town.run.name} has the id {display_text(follow, 60)}.", "Choose somebody on the map."
            )
        self.follow = rows[follow] if follow else -1


class _TownPage:
    def __init__(self, studio: Studio, town: TownRun, page: Page, selection: _Selection) -> None:
        self.studio, self.town, self.page, self.selection = studio, town, page, selection
        self.name = town.run.name
        self.span = "day"
        self._heat_span: tuple[int, int] | None = None

    async def build(self) -> None:
        ui.add_head_html('<link rel="stylesheet" href="/studio-static/town/town.css">')
        self.content = RunContent(self.studio.library, self.name)
        with self.content.element:
            self._show_controls()
            with ui.element("div").classes("town-beside"):
                api = page_address("api", "runs", self.name, "town")
                self.map = test_id(TownMap(api, **vars(self.selection), live=self._live()), "town")
                with ui.element("div").classes("town-side"):
                    self.person = PersonPanel(self.town, lambda: self.follow(-1))
                    self._show_news_panel()
                    self._show_presence_panel()
                    self.speech = SpeechPanel(self.town)
        self._show_layer_panels()
        self._update_panels = Redrawer(self._draw_panels)
        self.map.on("time", notify_errors(self._on_time), args=[["time", "playing", "speed"]])
        self.map.on("follow", lambda event: self.follow(int(event.args["row"])))
        self.map.on("ready", notify_errors(self._on_ready))
        self.studio.changes.listen(self.name, Redrawer(self._on_change))
        await self._update_panels.first()
        await self._update_layer()

    def _show_controls(self) -> None:
        names = {row: display_text(name, 60) for row, name in enumerate(self.town.names)}
        with ui.row().classes("w-full items-center gap-3"):
            layers = ui.toggle(_LAYERS, value=self.selection.layer, on_change=notify_errors(self._on_layer))
            test_id(layers.props('no-caps unelevated aria-label="Layer"'), "town-layer")
            follow = self.selection.follow if self.selection.follow >= 0 else None
            self.choice = ui.select(names, value=follow, label="Follow somebody", with_input=True, clearable=True)
            outline(self.choice, "town-follow", "").props("options-dense").style("min-width: 220px")
            self.choice.on_value_change(self._on_person)
            ui.space()
            with test_id(ui.button("Save", icon="download").props("flat no-caps dense"), "town-save"), ui.menu():
                for kind in ("PNG", "SVG"):
                    ui.menu_item(
                        f"Map as {kind} picture", lambda kind=kind: self.map.run_method("picture", kind.lower())
                    )
                self._save_item("Positions of this day", "positions", lambda: positions(self.town, *self._day()))
                self._save_item("What was said this day", "said", lambda: transcript(self.town, *self._day()))
                self._save_item("Presence", "presence", lambda: heat(self.town, *self._span()).table())
                if follows_news(self.town):
                    self._save_item("Who knows the news", "news", lambda: all_news(self.town))
        keys = "Space plays; on the map: , and . step, arrows move, + and − zoom, 0 shows all, Esc stops following."
        people = count_text(len(self.town.names), "person", "people")
        note(f"{people} in {self.town.town.name}. {keys}")

    def _save_item(self, text: str, name: str, table: Callable[[], pl.DataFrame]) -> None:
        """An entry of the menu that saves a table as CSV."""

        async def save() -> None:
            content = csv_table(await load(table)).write_csv().encode()
            ui.download.content(content, f"{self.name}-{name}.csv", "text/csv")

        ui.menu_item(f"{text}, CSV", notify_errors(save))

    def _show_news_panel(self) -> None:
        self.tree: TownTree | None = None
        with section("Who knows the news, and from whom") as self.news_panel:
            if follows_news(self.town):
                events = news_events(self.town)
                self.event = next(iter(events))
                if len(events) > 1:
                    shown = {name: display_text(what, 60) for name, what in events.items()}
                    choice = ui.select(
                        shown, value=self.event, label="News of", on_change=notify_errors(self._on_event)
                    )
                    outline(choice, "town-event").props("options-dense")
                self.tree = TownTree(time=self.selection.time, people=len(self.town.ids), on_follow=self.follow)
            else:
                empty_state("This scenario follows no piece of news. A run of party does.")

    def _show_presence_panel(self) -> None:
        with section("Where people spend their time") as self.presence_panel:
            span = ui.select(_SPANS, value=self.span, label="Over", on_change=notify_errors(self._on_span))
            outline(span, "town-span").props("options-dense")
            self.presence = PresencePanel(f"{self.name}-presence")

    def _show_layer_panels(self) -> None:
        self.news_panel.set_visibility(self.selection.layer == "news")
        self.presence_panel.set_visibility(self.selection.layer == "heat")

    def _live(self) -> bool:
        return self.town.run.manifest.status.state == "running"

    async def _on_ready(self, _: Any = None) -> None:
        self._heat_span = None
        await self._update_layer()

    async def _on_time(self, event: GenericEventArguments) -> None:
        self.selection.time, self.selection.speed = int(event.args["time"]), int(event.args["speed"])
        self._update_address()
        await self._update_panels()
        if self.selection.layer == "heat":
            await self._update_layer()

    def _update_address(self) -> None:
        follow = self.town.ids[self.selection.follow] if self.selection.follow >= 0 else None
        layer = self.selection.layer if self.selection.layer != "people" else None
        self.page.update_address(time=self.selection.time, speed=self.selection.speed, follow=follow, layer=layer)
        self.page.show_command(command("show", self.name, "--step", str(self.town.step_at(self.selection.time))))

    async def _draw_panels(self) -> None:
        time, follow = self.selection.time, self.selection.follow
        speech = await load(latest_speech, self.town, time, LINES)
        person = await load(resident, self.town, follow, time) if follow >= 0 else None
        self.speech.show(speech)
        self.person.show(person, self.town.step_at(time))

    def follow(self, row: int) -> None:
        """Follow a person; -1 for nobody."""
        self.map.run_method("setFollow", row)
        self.choice.set_value(row if row >= 0 else None)

    async def _on_person(self, event: ValueChangeEventArguments[Any]) -> None:
        row = -1 if event.value is None else int(event.value)
        if row != self.selection.follow:
            self.selection.follow = row
            self.map.run_method("setFollow", row)
            self._update_address()
            await self._update_panels()

    async def _on_layer(self, event: ValueChangeEventArguments[Any]) -> None:
        self.selection.layer = str(event.value)
        self._show_layer_panels()
        self.map.run_method("setLayer", self.selection.layer)
        self._update_address()
        await self._update_layer()

    async def _on_event(self, event: ValueChangeEventArguments[Any]) -> None:
        self.event = str(event.value)
        await self._update_layer()

    async def _on_span(self, event: ValueChangeEventArguments[Any]) -> None:
        self.span = str(event.value)
        await self._update_layer()

    async def _update_layer(self) -> None:
        """Compute and show the chosen layer, where that is not done yet."""
        if self.selection.layer == "news" and self.tree is not None:
            self.tree.show(await load(news, self.town, self.event))
        if self.selection.layer == "heat":
            span = self._span()
            if span != self._heat_span:
                self._heat_span = span
                presence = await load(heat, self.town, *span)
                self.presence.show(presence)
                self.map.run_method("setHeat", heat_data(presence))

    def _span(self) -> tuple[int, int]:
        """The steps over which presence is added up."""
        now = self.selection.time
        if self.span == "run":
            return self.town.steps[0], self.town.steps[-1]
        if self.span == "hour":
            return self.town.step_at(now - _HOUR), self.town.step_at(now)
        midnight = now - now % DAY
        return self.town.step_at(midnight), self.town.step_at(midnight + DAY)

    def _day(self) -> tuple[int, int]:
        midnight = self.selection.time - self.selection.time % DAY
        return self.town.step_at(midnight), self.town.step_at(midnight + DAY - 1)

    async def _on_change(self) -> None:
        await self.content.draw(self._follow_run)
        if self.content.gone:
            # The map would go on asking for what is not there any more.
            self.map.run_method("stop")

    async def _follow_run(self) -> None:
        self.town = await load(town_of, self.studio.library.run(self.name))
        last = self.town.steps[-1]
        self.map.set_live(self._live())
        self.map.run_method("extend", last, self.town.time_of(last))
        await self._update_layer()
