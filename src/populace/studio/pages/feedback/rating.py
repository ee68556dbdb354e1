"""Judging one answer after the other, with the keyboard."""

from functools import partial
from typing import Any

from nicegui import context, events, ui

from populace.feedback import Item
from populace.studio.pages.feedback.rating_session import RatingSession
from populace.studio.shell.addresses import page_address
from populace.studio.shell.frame import Page, empty_state, notify_errors, section, test_id
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text, prose
from populace.studio.widgets.elements import action, grid, icon_button, note, refill

_SCORES = {1: "not at all", 2: "hardly", 3: "partly", 4: "mostly", 5: "fully"}
_KEYS = {
    "1 to 5": "score the answer: 1 does not fit at all, 5 fits fully",
    "r": "rewrite it: write what the person should have answered",
    "Enter": "save the rewriting; with Shift it begins a new line",
    "Escape": "leave the rewriting",
    "s": "skip it",
    "u": "go back, and withdraw the judgement",
    "?": "show or hide these keys",
}
_FLAT = "flat dense"


class RatingPanel:
    """The page of a rater.

    Args:
        page: The page.
        session: The answers; only their texts are sent to the browser.
    """

    def __init__(self, page: Page, session: RatingSession) -> None:
        self.page, self.session = page, session
        self.rewriting: ui.textarea | None = None
        self.options: ui.radio | None = None
        self.saving = False

    def build(self) -> None:
        """Draw the page, and listen to the keyboard."""
        with ui.row().classes("w-full items-center gap-4 no-wrap"):
            self.count = test_id(ui.label("").classes("small").style("flex: 0 0 auto"), "progress")
            self.bar = ui.linear_progress(0, show_value=False).props("rounded aria-label=Progress")
            self.bar.style("flex: 1 1 60px; min-width: 0")
            ui.label(display_text(self.session.rater, 80)).classes("chip soft")
            with icon_button("share", "Copy a link for others", self._share, "share"):
                ui.tooltip("Copy a link to these answers, for others to judge them too")
        if self.session.missing:
            text = f"{self.session.missing} of the runs of this queue are gone; their answers are left out."
            note(text, classes="small", colour="warn")
        self.body = ui.column().classes("w-full gap-3")
        with ui.dialog() as self.help, ui.card():
            ui.label("Keys").classes("panel-title")
            for key, meaning in _KEYS.items():
                with ui.row().classes("no-wrap gap-3"):
                    ui.label(key).classes("chip soft")
                    ui.label(meaning)
        test_id(self.help, "keys")
        test_id(ui.keyboard(on_key=self._on_key, repeating=False, ignore=["input", "select", "textarea"]), "keyboard")
        self.show()

    def _share(self) -> None:
        """Copy the address without the rater: others enter a name of their own."""
        address = page_address("feedback", queue=self.session.queue, seed=self.session.seed)
        ui.clipboard.write(f"{str(context.client.request.base_url).rstrip('/')}{address}")
        ui.notify("Copied: a link to the same answers, without your name")

    def show(self) -> None:
        """Show the current answer, or that all are judged."""
        session, total = self.session, len(self.session.items)
        self.rewriting = self.options = None
        self.count.set_text(f"{session.judged} of {total} judged")
        self.bar.set_value(session.judged / total if total else 0.0)
        self.page.update_address(n=session.place + 1 if session.item else None)
        with refill(self.body):
            if session.item is None:
                self._show_end(total)
            else:
                with grid(440, "gap-3 items-start"):
                    _show_situation(session.item)
                    self._show_answer(session.item)

    def _show_end(self, total: int) -> None:
        with section("All judged"):
            if not total:
                empty_state("This queue holds no answers any more.", "Make another", "/feedback")
                return
            test_id(ui.label(f"Thank you. You judged all {total} answers of this queue."), "all-judged")
            note("u goes back to the last one.")
            with ui.row().classes("gap-2"):
                action("Back", partial(self._do, "back"), "back", look=_FLAT)
                action("How far raters agree", lambda: ui.navigate.to("/feedback"))

    def _show_answer(self, item: Item) -> None:
        with section("The answer"):
            with test_id(ui.column().classes("w-full text-lg"), "answer"):
                prose(item.display_text)
            if self.session.earlier_judgement:
                note(self.session.earlier_judgement)
            ui.label("Does it fit this person in this situation?").style("font-weight: 600")
            with ui.row().classes("gap-2"):
                for score, meaning in _SCORES.items():
                    action(f"{score} {meaning}", partial(self._do, "score", score), f"score-{score}")
            with ui.row().classes("gap-2"):
                action("Rewrite (r)", self._rewrite, "rewrite", look=_FLAT)
                action("Skip (s)", partial(self._do, "skip"), "skip", look=_FLAT)
                action("Back (u)", partial(self._do, "back"), "back", look=_FLAT)
                action("Keys (?)", self.help.open, "help", look=_FLAT)
            self.place = ui.column().classes("w-full gap-2")

    def _rewrite(self) -> None:
        """Open a field for another answer, or the options to choose from."""
        item = self.session.item
        if item is None:
            return
        with refill(self.place):
            if item.options:
                ui.label("Choose what the person should have answered, by its number or with the mouse.").classes(
                    "small"
                )
                texts = {each: f"{place}: {display_text(each, 120)}" for place, each in enumerate(item.options, 1)}
                self.options = test_id(ui.radio(texts), "options")
            else:
                structured = item.question["kind"] == "form" or bool(item.question.get("title"))
                text = item.reply if structured else item.display_text
                area = ui.textarea("What should the person have answered?", value=text)
                area.props("outlined autogrow autofocus").classes("w-full")
                area.on("keydown.enter.exact.prevent", self._save)
                area.on("keydown.escape", self.show)
                self.rewriting = test_id(area, "rewriting")
                area.run_method("focus")
            with ui.row().classes("gap-2"):
                action("Save (Enter)", self._save, "save", look="unelevated")
                action("Leave (Escape)", self.show, "leave", look=_FLAT)

    async def _save(self) -> None:
        field = self.rewriting or self.options
        await self._do("rewrite", str((field.value if field else "") or ""))

    @notify_errors
    async def _do(self, method: str, *arguments: Any) -> None:
        """Call a method of the session and show the result; further keys are ignored while it is being recorded."""
        if self.saving or (self.session.item is None and method != "back"):
            return
        self.saving = True
        try:
            await load(getattr(self.session, method), *arguments)
        finally:
            self.saving = False
        self.show()

    async def _on_key(self, event: events.KeyEventArguments) -> None:
        modifiers, name = event.modifiers, event.key.name
        if not event.action.keydown or event.action.repeat or modifiers.ctrl or modifiers.alt or modifiers.meta:
            return
        if name == "?":
            self.help.set_value(not self.help.value)
        elif self.help.value:
            return
        elif self.options is not None or self.rewriting is not None:
            await self._on_rewriting_key(name)
        elif name in ("1", "2", "3", "4", "5"):
            await self._do("score", int(name))
        elif name in ("r", "R"):
            self._rewrite()
        elif name in ("s", "S"):
            await self._do("skip")
        elif name in ("u", "U"):
            await self._do("back")

    async def _on_rewriting_key(self, name: str) -> None:
        if name == "Escape":
            self.show()
        elif self.options is not None and name == "Enter":
            await self._save()
        elif self.options is not None and name.isdigit() and 1 <= int(name) <= len(self.options.options):
            self.options.set_value(list(self.options.options)[int(name) - 1])


def _show_situation(item: Item) -> None:
    with section("The situation, as the person was told it"), test_id(ui.column().classes("w-full"), "situation"):
        if item.system:
            prose(item.system, fixed=True)
        prose(item.user, 6_000, fixed=True)
        if item.memories:
            with ui.expansion(f"What came to mind: {len(item.memories)}").classes("w-full"):
                for memory in item.memories:
                    prose(memory, 600)
