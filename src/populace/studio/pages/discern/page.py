"""Real or generated? The list of studies, the pairs of one for a rater, and the results."""

import re
from functools import partial

from nicegui import events, ui

from populace.base.errors import UsageError
from populace.community.discrimination_result import PUBLISHED_TEST
from populace.community.study import Study, rater_name
from populace.studio.jobs import command
from populace.studio.pages.discern.data import (
    DiscernSession,
    Position,
    Task,
    check_file,
    generated_runs,
    rates_table,
    real_files,
    study_arguments,
    study_summaries,
)
from populace.studio.pages.forum.post import STYLE
from populace.studio.shell.addresses import page_address
from populace.studio.shell.frame import Page, empty_state, frame, notify_errors, page_at, section, test_id
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.charts import bar_chart
from populace.studio.widgets.elements import (
    action,
    count_text,
    disable_during,
    heading,
    note,
    outline,
    plain_table,
    refill,
)

_KEYS: dict[str, Position] = {"1": "first", "ArrowLeft": "first", "2": "second", "ArrowRight": "second"}
_AUTHOR = re.compile(r"[A-Z]: ")
_MAX_DEPTH = 6
_COLUMNS = {
    "arm": "conversations made by",
    "who": "rated by",
    "raters": "raters",
    "answers": "answers",
    "error": "taken for real though generated",
    "interval": "95 % interval (mid-P)",
    "published": "published (people)",
}


def register(studio: Studio) -> None:
    """Add the pages `/discern` and `/discern/NAME`."""

    @page_at("/discern")
    async def discern() -> None:
        ui.add_head_html(STYLE)
        with frame("Real or generated?", command=command("discern", "--study", "NAME", "--rater", "NAME")):
            ui.label(
                "A rater sees a real and a generated conversation of one community and says which one is real. "
                "Who cannot tell is wrong half of the time."
            ).classes("soft")
            studies = await load(study_summaries, studio.workspace)
            with section("Studies"):
                if not studies:
                    empty_state("There is none yet. Make one below, from runs of a forum and a file of real threads.")
                for each in studies:
                    with ui.row().classes("items-center gap-3 w-full"):
                        link = ui.link(each.name, page_address("discern", each.name)).classes("plain thread-title")
                        test_id(link, f"study-{each.name}")
                        note(each.problem or f"{each.pairs} pairs · {each.raters} raters · {each.answers} answers")
            await _show_form(studio)

    @page_at("/discern/{name}")
    async def study(name: str) -> None:
        ui.add_head_html(STYLE)
        rater = ui.context.client.request.query_params.get("rater", "")
        line = command("discern", "--study", name, *(["--rater", rater] if rater else []))
        with frame(f"Study {name}", command=line, crumbs=[("Real or generated?", "/discern")]) as page:
            _RaterPage(await load(Study, studio.workspace, name), page).build(rater)


async def _show_form(studio: Studio) -> None:
    runs = await load(generated_runs, studio.library)
    files = await load(real_files, studio.workspace)
    with section("A new study"):
        if not runs:
            text = "The generated conversations come from runs of a forum, and there is none."
            empty_state(text, "Run a forum", "/new?scenario=forum")
            return
        name = outline(ui.input("Name of the study"), "study-name")
        sources = ui.select(runs, label="Runs that generated conversations", multiple=True, value=runs[:1])
        outline(sources, "study-runs").props("use-chips")
        real = ui.select(files, label="File of real threads in the workspace", value=files[0] if files else None)
        outline(real, "study-real")
        note("JSONL with one thread a line, or CSV with one post a row; a Reddit dump is two files.")
        label = "Comments, where the file is the submissions of a Reddit dump"
        comments = outline(ui.select(files, label=label, clearable=True))
        community = outline(ui.input("Name of the real community, where it differs"))
        most = ui.number("Pairs at most, for each way to generate", value=None, min=1, step=1, format="%d")
        outline(most, "study-pairs").props("clearable")
        line = ui.label().classes("commandline wrapped w-full")

        def arguments() -> tuple[str, ...]:
            return study_arguments(
                (name.value or "").strip() or "NAME",
                sources.value or [],
                real.value or "",
                comments=comments.value or "",
                community=(community.value or "").strip(),
                most=int(most.value) if most.value else None,
            )

        def show_command() -> None:
            line.set_text(display_text(command(*arguments())))

        async def make() -> None:
            if not real.value:
                raise UsageError(
                    "no file of real threads is chosen.", "Copy one into the workspace, then open this page again."
                )
            if not (name.value or "").strip():
                raise UsageError("the study has no name.", "Letters, digits, - _ and . will do.")
            check_file(studio.workspace, real.value)
            with disable_during(button):
                study = await studio.jobs.call(*arguments())
            ui.navigate.to(page_address("discern", study["study"]))

        for field in (name, sources, real, comments, community, most):
            field.on_value_change(show_command)
        show_command()
        button = action("Make the study", make, "study-make")


class _RaterPage:
    def __init__(self, study: Study, page: Page) -> None:
        self.study, self.page = study, page
        self.session: DiscernSession | None = None

    def build(self, rater: str) -> None:
        """Ask for a name, or go on where this rater stopped."""
        self.place = ui.column().classes("w-full gap-4")
        ui.keyboard(on_key=self._on_key)
        if rater:
            self.begin(rater)
            return
        with self.place, section("Who rates?"):
            ui.label(
                f"{len(self.study.pairs)} pairs. One of the two was written by people: which? You can stop at any "
                "time and go on later under the same name."
            ).classes("soft")
            name = outline(ui.input("Your name, or a number"), "rater")
            begin = notify_errors(lambda: self.begin(name.value or ""))
            name.on("keydown.enter", begin)
            action("Begin", begin, "begin", look="unelevated")

    def begin(self, rater: str) -> None:
        """Show the pairs that this rater has not answered."""
        self.session = DiscernSession(self.study, rater_name(rater))
        self.page.update_address(rater=self.session.rater)
        self.page.show_command(command("discern", "--study", self.study.name, "--rater", self.session.rater))
        self._draw(self.session)

    def _draw(self, session: DiscernSession) -> None:
        """The next pair, or the results."""
        task = session.task()
        with refill(self.place):
            if task is None:
                _show_results(session)
            else:
                self._show_task(task)

    def _show_task(self, task: Task) -> None:
        with ui.row().classes("items-center gap-3 w-full"):
            ui.label(f"Pair {task.number} of {task.of}").classes("panel-title").props("role=status")
            bar = ui.linear_progress((task.number - 1) / task.of, show_value=False, size="8px")
            bar.classes("stretch").props('aria-label="Progress"')
        with ui.column().classes("gap-0"):
            ui.label(display_text(task.community, 120)).classes("thread-title").props("dir=auto")
            if task.goal:
                note(task.goal, 400).props("dir=auto")
        with ui.element("div").classes("pair"):
            for number, text in enumerate((task.first, task.second), 1):
                with test_id(ui.column().classes("panel conversation"), f"conversation-{number}"):
                    heading(f"Conversation {number}")
                    _show_conversation(text)
        with ui.element("div").classes("answers"):
            action("1 is real", partial(self._answer, "first"), "first", look="unelevated icon=west")
            action("2 is real", partial(self._answer, "second"), "second", look="unelevated icon-right=east")
            note("Keys: 1 or ←, 2 or →. To stop, close the page; every answer is saved at once.")

    @notify_errors
    def _answer(self, position: Position) -> None:
        if self.session is not None and self.session.task() is not None:
            self.session.answer(position)
            self._draw(self.session)

    def _on_key(self, event: events.KeyEventArguments) -> None:
        position = _KEYS.get(str(event.key))
        if position is not None and event.action.keydown and not event.action.repeat:
            self._answer(position)


def _show_conversation(text: str) -> None:
    """A conversation line by line, with replies indented."""
    for number, line in enumerate(text.split("\n")):
        words = line.lstrip(" ")
        depth = min((len(line) - len(words)) // 2, _MAX_DEPTH)
        title = number == 0 and not _AUTHOR.match(line)
        label = ui.label(display_text(words, 4_000)).classes("foreign line" + (" thread-title" if title else ""))
        label.style(f"padding-left: {14 * depth}px").props("dir=auto")


def _show_results(session: DiscernSession) -> None:
    own = session.own_error()
    with section("Done"):
        ui.label(
            f"{display_text(session.rater, 60)} rated all {own.pairs} pairs and took "
            f"{count_text(own.wrong, 'generated conversation')} for real: {own.text}."
        )
        note(f"The pairs and all answers are kept in {session.study.folder}.")
    result = session.results()
    table = rates_table(result)
    with section("Error rates so far, of all raters", note="50 % is chance"):
        plain_table(table, _COLUMNS, "results").props("hide-pagination")
        note(f"Published: Park and others, UIST 2022; 50 raters in each arm. {PUBLISHED_TEST}")
        for text in result.notes:
            note(text)
    with ui.column().classes("panel"):
        shares = table.select("arm", "low", "high", here="error_share", published="published_share")
        bar_chart("Taken for real though generated", shares, "arm", ["here", "published"], unit="share", name="discern")
