"""Real or generated? The studies there are, one rater at one of them, and what came out."""

from __future__ import annotations

import asyncio
import re

from nicegui import events, ui

from populace.base.errors import UsageError
from populace.community.discrimination_result import PUBLISHED_TEST
from populace.community.study import Study, rater_name
from populace.studio.jobs import command
from populace.studio.pages.discern.data import (
    Chosen,
    DiscernSession,
    Task,
    cards,
    generated_runs,
    inside,
    rates_table,
    real_files,
    study_address,
    study_arguments,
)
from populace.studio.pages.forum.post import STYLE
from populace.studio.shell.frame import Page, empty_state, frame, notify_errors, page_at, section, test_id
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.charts import bar_chart

_KEYS: dict[str, Chosen] = {"1": "first", "ArrowLeft": "first", "2": "second", "ArrowRight": "second"}
_SPOKEN = re.compile(r"[A-Z]: ")
_DEEPEST = 6
_COLUMNS = {
    "arm": "conversations made by",
    "who": "rated by",
    "raters": "raters",
    "answers": "answers",
    "error": "taken for real though generated",
    "interval": "95 % interval (Wilson)",
    "published": "published (people)",
}


def register(studio: Studio) -> None:
    """The list of studies, and the page of one."""

    @page_at("/discern")
    async def listed() -> None:
        ui.add_head_html(STYLE)
        with frame("Real or generated?", command=command("discern", "--study", "NAME", "--rater", "NAME")):
            ui.label(
                "A rater sees a real and a generated conversation of one community and says which one is real. "
                "Who cannot tell is wrong half of the time."
            ).classes("soft")
            found = await asyncio.to_thread(cards, studio.workspace)
            with section("Studies"):
                if not found:
                    empty_state("There is none yet. Make one below, from runs of a forum and a file of real threads.")
                for card in found:
                    with ui.row().classes("items-center gap-3 w-full"):
                        link = ui.link(card.name, study_address(card.name)).classes("plain thread-title")
                        test_id(link, f"study-{card.name}")
                        facts = f"{card.pairs} pairs · {card.raters} raters · {card.answers} answers"
                        ui.label(display_text(card.problem) or facts).classes("soft small foreign")
            await _new(studio)

    @page_at("/discern/{name}")
    async def study(name: str) -> None:
        ui.add_head_html(STYLE)
        rater = ui.context.client.request.query_params.get("rater", "")
        shows = command("discern", "--study", name, *(["--rater", rater] if rater else []))
        crumbs = [("Real or generated?", "/discern")]
        with frame(f"Study {name}", command=shows, crumbs=crumbs) as page:
            opened = await asyncio.to_thread(Study, studio.workspace, name)
            DiscernPanel(opened, page).build(rater)


async def _new(studio: Studio) -> None:
    """A form that makes a study."""
    runs = await asyncio.to_thread(generated_runs, studio.library)
    files = await asyncio.to_thread(real_files, studio.workspace)
    with section("A new study"):
        if not runs:
            empty_state(
                "The generated conversations come from runs of a forum, and there is none.",
                "Run a forum",
                "/new?scenario=forum",
            )
            return
        name = test_id(ui.input("Name of the study").props("dense outlined").classes("w-full"), "study-name")
        chosen = ui.select(runs, label="Runs that generated conversations", multiple=True, value=runs[:1])
        test_id(chosen.props("dense outlined use-chips").classes("w-full"), "study-runs")
        real = ui.select(files, label="File of real threads in the workspace", value=files[0] if files else None)
        test_id(real.props("dense outlined").classes("w-full"), "study-real")
        ui.label("JSONL with one thread a line, or CSV with one post a row; a Reddit dump is two files.").classes(
            "soft small"
        )
        comments = ui.select(
            files, label="Comments, where the file is the submissions of a Reddit dump", clearable=True
        )
        comments.props("dense outlined").classes("w-full")
        community = ui.input("Name of the real community, where it differs").props("dense outlined").classes("w-full")
        most = ui.number("Pairs at most, for each way to generate", value=None, min=1, step=1, format="%d")
        test_id(most.props("dense outlined clearable").classes("w-full"), "study-pairs")
        line = ui.label().classes("commandline wrapped w-full")

        def wanted() -> tuple[str, ...]:
            return study_arguments(
                (name.value or "").strip() or "NAME",
                chosen.value or [],
                real.value or "",
                comments=comments.value or "",
                community=(community.value or "").strip(),
                most=int(most.value) if most.value else None,
            )

        @notify_errors
        async def make() -> None:
            if not chosen.value:
                raise UsageError("no run is chosen.", "Its threads are the generated conversations.")
            if not real.value:
                raise UsageError(
                    "no file of real threads is chosen.", "Copy one into the workspace, then open this page again."
                )
            if not (name.value or "").strip():
                raise UsageError("the study has no name.", "Letters, digits, - _ and . will do.")
            inside(studio.workspace, real.value)
            button.disable()
            try:
                made = await studio.jobs.call(*wanted())
            finally:
                if not button.is_deleted:
                    button.enable()
            ui.navigate.to(study_address(made["study"]))

        for field in (name, chosen, real, comments, community, most):
            field.on_value_change(lambda: line.set_text(display_text(command(*wanted()))))
        line.set_text(display_text(command(*wanted())))
        button = test_id(ui.button("Make the study", on_click=make).props("outline no-caps"), "study-make")


class DiscernPanel:
    """One study, one rater.

    Args:
        study: The study.
        page: The page it is shown on.
    """

    def __init__(self, study: Study, page: Page) -> None:
        self.study, self.page = study, page
        self.session: DiscernSession | None = None

    def build(self, rater: str) -> None:
        """Ask for a name, or go on where this rater stopped."""
        self.place = ui.column().classes("w-full gap-4")
        ui.keyboard(on_key=self._key)
        if rater:
            self.begin(rater)
        else:
            self._who()

    def _who(self) -> None:
        with self.place, section("Who rates?"):
            ui.label(f"{len(self.study.pairs)} pairs. One of the two was written by people: which? You can stop at any "
                     "time and go on later under the same name.").classes("soft")  # fmt: skip
            name = test_id(ui.input("Your name, or a number").props("dense outlined"), "rater").classes("w-full")
            begin = notify_errors(lambda: self.begin(name.value or ""))
            name.on("keydown.enter", begin)
            test_id(ui.button("Begin", on_click=begin).props("no-caps unelevated"), "begin")

    def begin(self, rater: str) -> None:
        """Show this rater what is left."""
        self.session = DiscernSession(self.study, rater_name(rater))
        self.page.update_address(rater=self.session.rater)
        self.page.show_command(command("discern", "--study", self.study.name, "--rater", self.session.rater))
        self.draw()

    def draw(self) -> None:
        """The next pair, or the results."""
        if self.session is None:
            return
        task = self.session.task()
        self.place.clear()
        with self.place:
            if task is None:
                _results(self.session)
            else:
                self._task(task)

    def _task(self, task: Task) -> None:
        with ui.row().classes("items-center gap-3 w-full"):
            ui.label(f"Pair {task.number} of {task.of}").classes("panel-title").props("role=status")
            bar = ui.linear_progress((task.number - 1) / task.of, show_value=False, size="8px")
            bar.classes("stretch").props('aria-label="Progress"')
        with ui.column().classes("gap-0"):
            ui.label(display_text(task.community, 120)).classes("thread-title").props("dir=auto")
            if task.goal:
                ui.label(display_text(task.goal, 400)).classes("soft small foreign").props("dir=auto")
        with ui.element("div").classes("pair"):
            for number, text in ((1, task.first), (2, task.second)):
                with test_id(ui.column().classes("panel conversation"), f"conversation-{number}"):
                    ui.label(f"Conversation {number}").classes("panel-title").props("role=heading aria-level=2")
                    _conversation(text)
        with ui.element("div").classes("answers"):
            test_id(ui.button("1 is real", on_click=lambda: self.answer("first")), "first").props(
                "no-caps unelevated icon=west"
            )
            test_id(ui.button("2 is real", on_click=lambda: self.answer("second")), "second").props(
                "no-caps unelevated icon-right=east"
            )
            ui.label("Keys: 1 or ←, 2 or →. To stop, close the page; every answer is kept at once.").classes(
                "soft small"
            )

    @notify_errors
    def answer(self, chosen: Chosen) -> None:
        """Keep an answer and show the next pair."""
        if self.session is not None and self.session.task() is not None:
            self.session.answer(chosen)
            self.draw()

    def _key(self, event: events.KeyEventArguments) -> None:
        chosen = _KEYS.get(str(event.key))
        if chosen is not None and event.action.keydown and not event.action.repeat and self.session is not None:
            self.answer(chosen)


def _conversation(text: str) -> None:
    """A conversation line by line, replies set in."""
    for number, line in enumerate(text.split("\n")):
        words = line.lstrip(" ")
        depth = min((len(line) - len(words)) // 2, _DEEPEST)
        title = number == 0 and not _SPOKEN.match(line)
        label = ui.label(display_text(words, 4_000)).classes("foreign line" + (" thread-title" if title else ""))
        label.style(f"padding-left: {14 * depth}px").props("dir=auto")


def _results(session: DiscernSession) -> None:
    mine = session.own_error()
    with section("Done"):
        ui.label(
            f"{display_text(session.rater, 60)} rated all {mine.count} pairs and took {mine.wrong} generated "
            f"{'conversation' if mine.wrong == 1 else 'conversations'} for real: {mine.told}."
        )
        ui.label(f"The pairs and all answers are kept in {display_text(session.study.folder)}.").classes(
            "soft small foreign"
        )
    found = session.results()
    table = rates_table(found)
    with section("Error rates so far, of all raters", note="50 % is chance"):
        columns = [{"name": key, "label": text, "field": key, "align": "left"} for key, text in _COLUMNS.items()]
        rows = [{name: "–" if value is None else str(value) for name, value in row.items()} for row in table.to_dicts()]
        made = ui.table(columns=columns, rows=rows).props("flat dense hide-pagination")
        test_id(made.classes("w-full"), "results")
        ui.label(f"Published: Park and others, UIST 2022; 50 raters in each arm. {PUBLISHED_TEST}").classes(
            "soft small foreign"
        )
        for note in found.notes:
            ui.label(note).classes("soft small foreign")
    with ui.column().classes("panel"):
        drawn = table.select("arm", "low", "high", here="error_share", published="published_share")
        bar_chart("Taken for real though generated", drawn, "arm", ["here", "published"], unit="share", name="discern")
