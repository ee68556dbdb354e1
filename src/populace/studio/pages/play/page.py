"""Take part: somebody answers for the people of a run whom they play, and reads what these people read."""

import json
import time
from functools import partial
from typing import Any

from nicegui import ui

from populace.base.errors import PopulaceError
from populace.base.formatting import duration
from populace.engine.folder_desk import OpenQuestion, open_questions, send_reply
from populace.studio.jobs import command
from populace.studio.shell.addresses import run_address
from populace.studio.shell.frame import Page, empty_state, error_card, frame, notify_errors, page_at, section, test_id
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio
from populace.studio.widgets.elements import action, note, outline, refill

_REFRESH_S = 0.5


def register(studio: Studio) -> None:
    """Register `/run/NAME/play`."""
    drafts: dict[str, dict[str, str]] = {}

    @page_at("/run/{name}/play")
    async def play(name: str) -> None:
        with frame("Take part", crumbs=[("Runs", "/"), (name, run_address(name))]) as page:
            studio.library.run(name)
            _PlayView(studio, page, name, drafts).build()


class _PlayView:
    """The questions of a run that wait for somebody's answer.

    Args:
        studio: The Studio.
        page: The page.
        name: The run.
        drafts: What was typed and not sent, by question: closing the page loses nothing.
    """

    def __init__(self, studio: Studio, page: Page, name: str, drafts: dict[str, dict[str, str]]) -> None:
        self.studio, self.page, self.name, self.drafts = studio, page, name, drafts
        self._content: object = None
        self._clocks: list[tuple[ui.label, float]] = []

    def build(self) -> None:
        self.page.show_command(command("resume", self.name, "--desk", "keyboard"))
        self.place = test_id(ui.column().classes("w-full gap-4").props("aria-live=polite"), "questions")
        self._show()
        ui.timer(_REFRESH_S, notify_errors(self._show))

    def _show(self) -> None:
        try:
            run = self.studio.library.run(self.name)
        except PopulaceError as error:
            # It may have been deleted, and come back.
            if self._content != error.what:
                self._content, self._clocks = error.what, []
                with refill(self.place):
                    error_card(error)
            return
        busy = run.journal.busy()
        waiting = open_questions(run.folder) if busy else []
        content = [(each.question.key, each.attempt) for each in waiting], busy, run.manifest.status.state
        for label, until in self._clocks:
            if not label.is_deleted:
                label.set_text(f"{duration(max(0.0, until - time.time()))} left; then it stays unanswered.")
        if content == self._content:
            return
        self._content, self._clocks = content, []
        with refill(self.place):
            for each in waiting:
                self._card(each)
            if not waiting:
                self._nothing(busy, run.manifest.status.state)

    def _nothing(self, busy: bool, state: str) -> None:
        if busy:
            empty_state("Nobody whom you play is asked right now. Questions appear here by themselves.")
        elif state == "complete":
            empty_state("This run is complete.", "Open it", run_address(self.name))
        else:
            empty_state("This run is not under way. Resume it to go on.", "Open it", run_address(self.name))

    def _card(self, waiting: OpenQuestion) -> None:
        question, key = waiting.question, waiting.question.key
        with section(display_text(f"You are {question.name}", 120), note=f"question {question.path}") as card:
            test_id(card, "question")
            if question.profile:
                prose(question.profile).classes("soft")
            if question.situation:
                prose(question.situation)
            prose(question.wording).style("font-weight: 600")
            if question.problem:
                test_id(ui.label(display_text(question.problem, 400)).props("role=alert"), "problem")
            draft = self.drafts.setdefault(key, {})
            if question.options:
                with ui.row().classes("gap-2"):
                    for number, option in enumerate(question.options):
                        send = partial(self._send, waiting, option)
                        action(display_text(option, 200), send, f"option-{number}")
            else:
                self._text_form(waiting, draft)
            if waiting.until is not None:
                self._clocks.append((note("", 200), waiting.until))

    def _text_form(self, waiting: OpenQuestion, draft: dict[str, str]) -> None:
        """The fields of a free answer; what is typed is kept until it is sent."""
        question = waiting.question
        if question.instruction:
            prose(question.instruction).classes("soft")
        names = list(question.fields) or [("", "Your answer")]
        for name, hint in names:
            label = display_text(f"{name}: {hint}" if name else hint, 300)
            element: Any = ui.input(label) if name else ui.textarea(label).props("autogrow")
            element.set_value(draft.get(name, ""))
            element.on_value_change(partial(_keep, draft, name))
            outline(element, f"answer-{name}" if name else "answer")

        def reply() -> str:
            if question.fields:
                return json.dumps({name: draft.get(name, "") for name, _ in question.fields}, ensure_ascii=False)
            return draft.get("", "")

        async def send() -> None:
            await self._send(waiting, reply())

        action("Answer", send, "send", look="unelevated")

    async def _send(self, waiting: OpenQuestion, text: str) -> None:
        send_reply(self.studio.library.run(self.name).folder, waiting, text)
        self.drafts.pop(waiting.question.key, None)
        ui.notify("Sent.")


def _keep(draft: dict[str, str], name: str, event: Any) -> None:
    draft[name] = str(event.value or "")
