"""Judging one answer after the other, with the keyboard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlencode

from nicegui import context, events, ui

from populace.feedback import Item
from populace.studio.pages.feedback.rating_session import RatingSession
from populace.studio.shell.frame import Page, empty_state, notify_errors, section, test_id
from populace.studio.shell.text import display_text, prose

_MEANINGS = {1: "not at all", 2: "hardly", 3: "partly", 4: "mostly", 5: "fully"}
_KEYS = {
    "1 to 5": "score the answer: 1 does not fit at all, 5 fits fully",
    "r": "rewrite it: write what the person should have answered",
    "Enter": "save the rewriting; with Shift it begins a new line",
    "Escape": "leave the rewriting",
    "s": "skip it",
    "u": "go back, and take back what you said",
    "?": "show or hide these keys",
}


class RatingPanel:
    """The page of a rater.

    Args:
        page: The page.
        sitting: What is judged; nothing but its texts goes to the browser.
    """

    def __init__(self, page: Page, sitting: RatingSession) -> None:
        self.page, self.sitting = page, sitting
        self.rewriting: ui.textarea | None = None
        self.choice: str | None = None
        self.saving = False

    def build(self) -> None:
        """Make the parts of the page, and listen to the keyboard."""
        with ui.row().classes("w-full items-center gap-4 no-wrap"):
            self.count = test_id(ui.label("").classes("small").style("flex: 0 0 auto"), "progress")
            self.bar = ui.linear_progress(0, show_value=False).props("rounded aria-label=Progress")
            self.bar.style("flex: 1 1 60px; min-width: 0")
            ui.label(display_text(self.sitting.rater, 80)).classes("chip soft")
            link = ui.button(on_click=self._share).props(
                'flat round dense icon=share aria-label="Copy a link for others"'
            )
            with test_id(link, "share"):
                ui.tooltip("Copy a link to these answers, for others to judge them too")
        if self.sitting.missing:
            text = f"{self.sitting.missing} of the runs of this queue are gone; their answers are left out."
            ui.label(text).classes("small").style("color: var(--warn)")
        self.body = ui.column().classes("w-full gap-3")
        with ui.dialog() as self.help, ui.card():
            ui.label("Keys").classes("panel-title")
            for key, meaning in _KEYS.items():
                with ui.row().classes("no-wrap gap-3"):
                    ui.label(key).classes("chip soft")
                    ui.label(meaning)
        test_id(self.help, "keys")
        test_id(ui.keyboard(on_key=self._key, repeating=False, ignore=["input", "select", "textarea"]), "keyboard")
        self.show()

    def _share(self) -> None:
        """Hand out the address without the rater, who is asked for a name of their own."""
        query = urlencode({"queue": self.sitting.queue, "seed": self.sitting.seed})
        ui.clipboard.write(f"{str(context.client.request.base_url).rstrip('/')}/feedback?{query}")
        ui.notify("Copied: a link to the same answers, without your name")

    def show(self) -> None:
        """Show the answer that is to be judged, or that all are."""
        sitting = self.sitting
        self.rewriting, self.choice = None, None
        total = len(sitting.items)
        self.count.set_text(f"{sitting.judged} of {total} judged")
        self.bar.set_value(sitting.judged / total if total else 0.0)
        self.page.update_address(n=sitting.place + 1 if sitting.item else None)
        self.body.clear()
        with self.body:
            if sitting.item is None:
                self._over(total)
            else:
                self._one(sitting.item)

    def _over(self, total: int) -> None:
        with section("All judged"):
            if not total:
                empty_state("This queue holds no answers any more.", "Make another", "/feedback")
                return
            test_id(ui.label(f"Thank you. You judged all {total} answers of this queue."), "all-judged")
            ui.label("u goes back to the last one.").classes("soft small")
            with ui.row().classes("gap-2"):
                self._button("Back", self._back, "back")
                ui.button("How far raters agree", on_click=lambda: ui.navigate.to("/feedback")).props("no-caps outline")

    def _one(self, item: Item) -> None:
        with (
            ui.element("div")
            .classes("w-full grid gap-3 items-start")
            .style("grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr))")
        ):
            with (
                section("The situation, as the person was told it"),
                test_id(ui.column().classes("w-full"), "situation"),
            ):
                if item.system:
                    prose(item.system, fixed=True)
                prose(item.user, 6_000, fixed=True)
                if item.memories:
                    with ui.expansion(f"What came to mind: {len(item.memories)}").classes("w-full"):
                        for memory in item.memories:
                            prose(memory, 600)
            with section("The answer"):
                with test_id(ui.column().classes("w-full text-lg"), "answer"):
                    prose(item.display_text)
                if self.sitting.before:
                    ui.label(self.sitting.before).classes("soft small")
                ui.label("Does it fit this person in this situation?").style("font-weight: 600")
                with ui.row().classes("gap-2"):
                    for score, meaning in _MEANINGS.items():
                        button = ui.button(f"{score} {meaning}", on_click=partial(self._do, "score", score))
                        test_id(button.props("no-caps outline"), f"score-{score}")
                with ui.row().classes("gap-2"):
                    self._button("Rewrite (r)", self._rewrite, "rewrite")
                    self._button("Skip (s)", partial(self._do, "skip"), "skip")
                    self._button("Back (u)", self._back, "back")
                    self._button("Keys (?)", self.help.open, "help")
                self.place = ui.column().classes("w-full gap-2")

    def _button(self, text: str, act: Callable[..., Any], name: str) -> None:
        test_id(ui.button(text, on_click=act).props("no-caps flat dense"), name)

    def _rewrite(self) -> None:
        """Open a place to write, or the options to choose from."""
        item = self.sitting.item
        if item is None:
            return
        self.place.clear()
        with self.place:
            if item.options:
                self._options(list(item.options))
            else:
                asked_for = item.question["kind"] == "form" or bool(item.question.get("title"))
                area = ui.textarea(
                    "What should the person have answered?", value=item.reply if asked_for else item.display_text
                )
                area.props("outlined autogrow autofocus").classes("w-full")
                area.on("keydown.enter.exact.prevent", self._save)
                area.on("keydown.escape", self.show)
                self.rewriting = test_id(area, "rewriting")
                area.run_method("focus")
            with ui.row().classes("gap-2"):
                test_id(ui.button("Save (Enter)", on_click=self._save).props("no-caps unelevated"), "save")
                self._button("Leave (Escape)", self.show, "leave")

    def _options(self, options: list[str]) -> None:
        self.choice = ""
        ui.label("Choose what the person should have answered, by its number or with the mouse.").classes("small")
        radio = ui.radio({each: f"{place}: {display_text(each, 120)}" for place, each in enumerate(options, 1)})

        def chosen(event: events.ValueChangeEventArguments[Any]) -> None:
            self.choice = str(event.value or "")

        radio.on_value_change(chosen)
        self.radio = test_id(radio, "options")

    async def _save(self) -> None:
        text = self.choice if self.rewriting is None else self.rewriting.value
        await self._do("rewrite", text or "")

    async def _back(self) -> None:
        await self._do("back")

    @notify_errors
    async def _do(self, what: str, *said: Any) -> None:
        """Have the sitting do something; while that is being written, further keys are left out."""
        if self.saving or (self.sitting.item is None and what != "back"):
            return
        self.saving = True
        try:
            await asyncio.to_thread(getattr(self.sitting, what), *said)
        finally:
            self.saving = False
        self.show()

    async def _key(self, event: events.KeyEventArguments) -> None:
        if not event.action.keydown or event.action.repeat:
            return
        if event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta:
            return
        name = event.key.name
        if name == "?":
            self.help.set_value(not self.help.value)
        elif self.help.value:
            return
        elif self.choice is not None:
            await self._choosing(name)
        elif self.rewriting is not None:
            if name == "Escape":
                self.show()
        elif name in ("1", "2", "3", "4", "5"):
            await self._do("score", int(name))
        elif name in ("r", "R"):
            self._rewrite()
        elif name in ("s", "S"):
            await self._do("skip")
        elif name in ("u", "U"):
            await self._back()

    async def _choosing(self, name: str) -> None:
        """Keys while one of the options is chosen."""
        options = list(self.radio.options)
        if name.isdigit() and 1 <= int(name) <= len(options):
            self.radio.set_value(options[int(name) - 1])
        elif name == "Enter":
            await self._save()
        elif name == "Escape":
            self.show()
