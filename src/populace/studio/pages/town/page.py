"""A town: its map, people moving through the day, what they say, where they are, and who knows the news."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import polars as pl
from nicegui import ui
from nicegui.events import GenericEventArguments, ValueChangeEventArguments

from populace.base.errors import UnknownNameError, UsageError
from populace.studio.jobs import command
from populace.studio.pages.town.data import TownRun, town_of
from populace.studio.pages.town.elements import SPEEDS, TownMap, TownTree
from populace.studio.pages.town.frames import positions
from populace.studio.pages.town.heat import heat, heat_data
from populace.studio.pages.town.panels import LINES, Followed, Transcript, Warmest
from populace.studio.pages.town.talk import follows_news, last_said, news, resident, transcript
from populace.studio.shell.frame import Page, empty_state, frame, notify_errors, page_at, run_address, section, test_id
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.worlds.town.places import DAY

LAYERS = {"people": "People", "heat": "Presence", "news": "News"}
SPANS = {"hour": "the last hour", "day": "this day", "run": "the whole run"}
_SPEED = 300
_HOUR = 3600


def register(studio: Studio) -> None:
    """`/town/NAME`."""

    @page_at("/town/{name}")
    async def page(name: str, time: str = "", speed: str = "", follow: str = "", layer: str = "people") -> None:
        crumbs = [(name, run_address(name))]
        with frame(f"Town of {name}", command=command("show", name), crumbs=crumbs) as shell:
            opened = studio.library.run(name)
            if len(opened.steps) < 2:
                empty_state(f"{name} has no step yet, so nobody has moved. This page goes on by itself when it has.")
                studio.changes.listen(name, lambda: ui.navigate.reload() if len(opened.steps) > 1 else None)
                return
            town = await asyncio.to_thread(town_of, opened)
            seen = Seen(town, time, speed, follow, layer)
            await TownPage(studio, town, shell, seen).build()


class Seen:
    """What of a town is being looked at, as the address has it."""

    def __init__(self, town: TownRun, time: str, speed: str, follow: str, layer: str) -> None:
        if layer not in LAYERS:
            raise UnknownNameError("layer of the town", layer, LAYERS)
        self.layer = layer
        begins, ends = town.time_of(town.steps[0]), town.time_of(town.steps[-1])
        self.time = min(max(_whole("time", time, begins), begins), ends)
        self.speed = _whole("speed", speed, _SPEED)
        if self.speed not in SPEEDS:
            self.speed = min(SPEEDS, key=lambda each: abs(each - self.speed))
        known = {str(who): row for who, row in town.row.items()}
        if follow and follow not in known:
            raise UsageError(
                f"nobody in {town.run.name} has the id {display_text(follow, 60)}.", "Choose somebody on the map."
            )
        self.follow = known[follow] if follow else -1
        self.playing = False


class TownPage:
    """The page of one town."""

    def __init__(self, studio: Studio, town: TownRun, shell: Page, seen: Seen) -> None:
        self.studio, self.town, self.shell, self.seen = studio, town, shell, seen
        self.name = town.run.name
        self.span = "day"
        self._busy = False
        self._again = False
        self._warm: tuple[int, int] | None = None

    async def build(self) -> None:
        """Put everything onto the page."""
        ui.add_head_html('<link rel="stylesheet" href="/studio-static/town/town.css">')
        self._controls()
        with ui.element("div").classes("town-beside"):
            self.map = test_id(
                TownMap(
                    f"/api/runs/{quote(self.name, safe='')}/town",
                    time=self.seen.time,
                    speed=self.seen.speed,
                    follow=self.seen.follow,
                    layer=self.seen.layer,
                    live=self._live(),
                ),
                "town",
            )
            with ui.element("div").classes("town-side"):
                self.followed = Followed(self.town, lambda: self.follow(-1))
                self._news_panel()
                self._heat_panel()
                self.transcript = Transcript(self.town)
        self.map.on("time", notify_errors(self._moved), args=[["time", "playing", "speed"]])
        self.map.on("follow", lambda event: self.follow(int(event.args["row"])))
        self.map.on("ready", notify_errors(self._ready))
        self.studio.changes.listen(self.name, notify_errors(self._changed))
        await self._panels()
        await self._layered()

    def _controls(self) -> None:
        people = {row: display_text(name, 60) for row, name in enumerate(self.town.names)}
        with ui.row().classes("w-full items-center gap-3"):
            self.layers = test_id(
                ui.toggle(LAYERS, value=self.seen.layer, on_change=notify_errors(self._layer_chosen)).props(
                    "no-caps unelevated"
                ),
                "town-layer",
            ).props('aria-label="Layer"')
            chosen = self.seen.follow if self.seen.follow >= 0 else None
            self.choice = test_id(
                ui.select(people, value=chosen, label="Follow somebody", with_input=True, clearable=True)
                .props("dense outlined options-dense")
                .style("min-width: 220px"),
                "town-follow",
            )
            self.choice.on_value_change(self._person_chosen)
            ui.space()
            with test_id(ui.button("Save", icon="download").props("flat no-caps dense"), "town-save"), ui.menu():
                ui.menu_item("Map as PNG picture", lambda: self.map.save("png"))
                ui.menu_item("Map as SVG picture", lambda: self.map.save("svg"))
                ui.menu_item("Positions of this day, CSV", notify_errors(self._save_positions))
                ui.menu_item("What was said this day, CSV", notify_errors(self._save_speech))
                ui.menu_item("Presence, CSV", notify_errors(self._save_heat))
                if follows_news(self.town):
                    ui.menu_item("Who knows the news, CSV", notify_errors(self._save_news))
        keys = "Space plays; on the map: , and . step, arrows move, + and − zoom, 0 shows all, Esc stops following."
        ui.label(f"{self.town.town.name}, {len(self.town.names)} people. {keys}").classes("soft small")

    def _news_panel(self) -> None:
        with section("Who knows the news, and from whom") as self.news_panel:
            if follows_news(self.town):
                self.tree: TownTree | None = TownTree(
                    time=self.seen.time, people=len(self.town.ids), on_follow=self.follow
                )
            else:
                self.tree = None
                empty_state("This scenario follows no piece of news. A run of party does.")
        self.news_panel.set_visibility(self.seen.layer == "news")

    def _heat_panel(self) -> None:
        with section("Where people spend their time") as self.heat_panel:
            span = ui.select(SPANS, value=self.span, label="Over", on_change=notify_errors(self._span_chosen))
            test_id(span.props("dense outlined options-dense").classes("w-full"), "town-span")
            self.warmest = Warmest(f"{self.name}-presence")
        self.heat_panel.set_visibility(self.seen.layer == "heat")

    def _live(self) -> bool:
        return self.town.run.manifest.status.state == "running"

    async def _ready(self, _: Any = None) -> None:
        """The map is there; what only Python knows is sent to it."""
        self._warm = None
        await self._layered()

    async def _moved(self, event: GenericEventArguments) -> None:
        self.seen.time, self.seen.playing = int(event.args["time"]), bool(event.args["playing"])
        self.seen.speed = int(event.args["speed"])
        self._keep_address()
        await self._panels()
        if self.seen.layer == "heat":
            await self._layered()

    def _keep_address(self) -> None:
        follow = self.town.ids[self.seen.follow] if self.seen.follow >= 0 else None
        layer = self.seen.layer if self.seen.layer != "people" else None
        self.shell.update_address(time=self.seen.time, speed=self.seen.speed, follow=follow, layer=layer)
        self.shell.show_command(command("show", self.name, "--step", str(self.town.step_at(self.seen.time))))

    async def _panels(self) -> None:
        """What is said and what the one followed does; of wishes that come while it is read, only the last counts."""
        if self._busy:
            self._again = True
            return
        self._busy = True
        try:
            while True:
                self._again = False
                said, person, step = await asyncio.to_thread(_beside, self.town, self.seen.time, self.seen.follow)
                self.transcript.show(said)
                self.followed.show(person, step)
                if not self._again:
                    break
        finally:
            self._busy = False

    def follow(self, row: int) -> None:
        """Follow somebody; -1 for nobody."""
        self.map.follow(row)
        self.choice.set_value(row if row >= 0 else None)

    async def _person_chosen(self, event: ValueChangeEventArguments[Any]) -> None:
        row = -1 if event.value is None else int(event.value)
        if row != self.seen.follow:
            self.seen.follow = row
            self.map.follow(row)
            self._keep_address()
            await self._panels()

    async def _layer_chosen(self, event: ValueChangeEventArguments[Any]) -> None:
        self.seen.layer = str(event.value)
        self.news_panel.set_visibility(self.seen.layer == "news")
        self.heat_panel.set_visibility(self.seen.layer == "heat")
        self.map.layer(self.seen.layer)
        self._keep_address()
        await self._layered()

    async def _span_chosen(self, event: ValueChangeEventArguments[Any]) -> None:
        self.span = str(event.value)
        await self._layered()

    async def _layered(self) -> None:
        """What the chosen layer shows, where it is not there yet."""
        if self.seen.layer == "news" and self.tree is not None:
            self.tree.show(await asyncio.to_thread(news, self.town))
        if self.seen.layer == "heat":
            span = self._span()
            if span != self._warm:
                self._warm = span
                found = await asyncio.to_thread(heat, self.town, *span)
                self.warmest.show(found)
                self.map.heat(heat_data(found))

    def _span(self) -> tuple[int, int]:
        """The steps over which presence is added up."""
        first, last = self.town.steps[0], self.town.steps[-1]
        if self.span == "run":
            return first, last
        now = self.seen.time
        if self.span == "hour":
            return self.town.step_at(now - _HOUR), self.town.step_at(now)
        midnight = now - now % DAY
        return self.town.step_at(midnight), self.town.step_at(midnight + DAY)

    async def _changed(self) -> None:
        """The run has come further, or has ended."""
        self.town = await asyncio.to_thread(town_of, self.studio.library.run(self.name))
        last = self.town.steps[-1]
        self.map.set_live(self._live())
        self.map.extend(last, self.town.time_of(last))
        await self._layered()

    async def _save_positions(self) -> None:
        self._save(await asyncio.to_thread(positions, self.town, *self._day()), "positions")

    async def _save_speech(self) -> None:
        self._save(await asyncio.to_thread(transcript, self.town, *self._day()), "said")

    async def _save_heat(self) -> None:
        self._save((await asyncio.to_thread(heat, self.town, *self._span())).table(), "presence")

    async def _save_news(self) -> None:
        self._save(await asyncio.to_thread(news, self.town), "news")

    def _day(self) -> tuple[int, int]:
        midnight = self.seen.time - self.seen.time % DAY
        return self.town.step_at(midnight), self.town.step_at(midnight + DAY - 1)

    def _save(self, table: pl.DataFrame, what: str) -> None:
        ui.download.content(table.write_csv().encode(), f"{self.name}-{what}.csv", "text/csv")


def _beside(town: TownRun, time: int, follow: int) -> tuple[pl.DataFrame, Any, int]:
    person = resident(town, follow, time) if follow >= 0 else None
    return last_said(town, time, LINES), person, town.step_at(time)


def _whole(name: str, text: str, otherwise: int) -> int:
    """A whole number from the address."""
    if not text:
        return otherwise
    try:
        return int(float(text))
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{name}={display_text(text, 60)} in the address is not a number.", "Leave it out.") from error
