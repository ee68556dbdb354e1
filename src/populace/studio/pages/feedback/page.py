"""Feedback: make a queue of answers, judge them blind, see how far raters agree."""

import json
from urllib.parse import unquote

from nicegui import context, ui

from populace.base.errors import PopulaceError, UsageError
from populace.experiments.folder import experiment_names
from populace.feedback import FeedbackStore, Queue
from populace.feedback.feedback import check_rater
from populace.feedback.items import KINDS, ItemKind, purposes
from populace.feedback.sources import read_sources
from populace.studio.jobs import command
from populace.studio.pages.feedback.rating import RatingPanel
from populace.studio.pages.feedback.rating_session import RatingSession
from populace.studio.shell.addresses import page_address, parse_number
from populace.studio.shell.frame import Page, empty_state, frame, notify_errors, page_at, section, test_id
from populace.studio.shell.loading import load
from populace.studio.studio import Studio
from populace.studio.widgets.elements import action, note, outline, plain_table

_RATER_COOKIE = "populace-rater"
_MAX_OFFERED = 1_000
_COLUMNS = {
    "rater": "rater",
    "scored": "scored",
    "rewritten": "rewritten",
    "skipped": "skipped",
    "mean_score": "mean score",
    "last": "last, by the wall clock",
}


def register(studio: Studio) -> None:
    """Add the page `/feedback`."""

    @page_at("/feedback")
    async def feedback(
        queue: str = "", seed: str = "", rater: str = "", n: str = "", run: str = "", kind: str = "decision"
    ) -> None:
        with frame("Feedback", command="populace feedback") as page:
            draw, place = parse_number(seed, "seed") or 0, parse_number(n, "number")
            if queue and rater:
                name = check_rater(rater)
                session = await load(RatingSession.begin, studio.workspace, queue, draw, name)
                if place is not None:
                    session.go_to(place - 1)
                RatingPanel(page, session).build()
            elif queue:
                _show_rater_form(queue, draw)
            else:
                names = [name for name in run.split(",") if name]
                _QueueForm(studio, page, names, kind if kind in KINDS else "decision", draw)
                await _show_counts(studio)


def _rater_field() -> ui.input:
    name = unquote(context.client.request.cookies.get(_RATER_COOKIE, ""))
    return outline(ui.input("Your name", value=name), "rater", "w-full max-w-xs").props("maxlength=64")


def _open_queue(queue: str, seed: int, rater: str) -> None:
    """Open the queue for a rater, whose name the browser keeps."""
    name = check_rater(rater)
    ui.run_javascript(f'populaceKeep("{_RATER_COOKIE}", {json.dumps(name)})')
    ui.navigate.to(page_address("feedback", queue=queue, seed=seed, rater=name))


def _show_rater_form(queue: str, seed: int) -> None:
    with section("Who judges?"):
        ui.label("Your judgements are kept under this name, apart from those of others.").classes("soft")
        field = _rater_field()
        begin = notify_errors(lambda: _open_queue(queue, seed, field.value or ""))
        field.on("keydown.enter", begin)
        action("Begin", begin, "begin", look="unelevated")


class _QueueForm:
    def __init__(self, studio: Studio, page: Page, names: list[str], kind: str, seed: int) -> None:
        self.studio, self.page = studio, page
        offers = [*studio.library.names()[:_MAX_OFFERED], *experiment_names(studio.workspace)]
        with section("Judge answers", note="blind: neither run, arm nor model is shown while judging"):
            if not offers:
                empty_state("There are no runs whose answers could be judged.", "New run", "/new")
                return
            unknown = [name for name in names if name not in offers]
            if unknown:
                note(f"Not here any more: {', '.join(unknown)}.", 400, classes="", colour="bad")
            label, selection = "Runs, and experiments that keep their runs", [name for name in names if name in offers]
            self.runs = ui.select(offers, label=label, multiple=True, with_input=True, value=selection)
            outline(self.runs, "runs").props("use-chips")
            with ui.row().classes("w-full items-center gap-4"):
                self.kind = ui.toggle({"decision": "Decisions", "utterance": "Utterances"}, value=kind)
                test_id(self.kind.props("no-caps"), "kind")
                self.size = outline(ui.number("How many", value=20, min=1, max=2000, precision=0), "size", "w-28")
                self.seed = outline(ui.number("Seed", value=seed, precision=0), "seed", "w-28")
                self.purpose = outline(ui.select(["any"], label="Purpose", value="any"), "purpose", "w-48")
            self.rater = _rater_field()
            action("Begin", self._begin, "begin", look="unelevated")
            note(
                "Answers are drawn by the seed, evenly over the runs. Send the address of the next page to others "
                "without your name in it, and they judge the same answers."
            )
        for element in (self.runs, self.kind):
            element.on_value_change(self._update_purposes)
        for field in (self.size, self.seed, self.purpose):
            field.on_value_change(self._update_command)
        if self.runs.value:
            ui.timer(0, self._update_purposes, once=True)

    def _purpose(self) -> str:
        return "" if self.purpose.value in (None, "any") else str(self.purpose.value)

    def _update_command(self) -> None:
        names, seed = list(self.runs.value or []), f"{self.seed.value or 0:.0f}"
        options = ["--kind", str(self.kind.value), "--size", f"{self.size.value or 0:.0f}", "--seed", seed]
        options += ["--purpose", self._purpose()] if self._purpose() else []
        self.page.show_command(command("feedback", *names, *(options if names else [])))
        self.page.update_address(run=",".join(names), kind=self.kind.value, seed=seed)

    async def _update_purposes(self) -> None:
        names = await load(_purposes, self.studio, list(self.runs.value or []), str(self.kind.value))
        self.purpose.set_options(["any", *names], value=self.purpose.value if self.purpose.value in names else "any")
        self._update_command()

    async def _begin(self) -> None:
        rater = check_rater(self.rater.value or "")
        workspace, seed = self.studio.workspace, int(self.seed.value or 0)
        settings = (list(self.runs.value or []), str(self.kind.value), int(self.size.value or 0), self._purpose())
        queue = await load(Queue.of, workspace, *settings)
        draw = await load(queue.draw, workspace, seed)
        if not draw.items:
            raise UsageError(
                f"these runs hold no {queue.kind} that a model gave.", "Choose other runs, or the other kind."
            )
        queue.save(workspace)
        _open_queue(queue.name, seed, rater)


def _purposes(studio: Studio, runs: list[str], kind: str) -> list[str]:
    """The purposes of the questions of the first chosen run; none where it cannot be read."""
    item_kind: ItemKind = "utterance" if kind == "utterance" else "decision"
    try:
        first = read_sources(studio.workspace, runs[:1])[0]
        return purposes(first.open(studio.workspace), item_kind)
    except PopulaceError:
        return []  # the button says what is wrong with it


async def _show_counts(studio: Studio) -> None:
    """How much every rater judged, and how far they agree."""
    feedback = FeedbackStore(studio.workspace)
    counts = await load(feedback.counts)
    agreement = await load(feedback.agreement)
    problems = await load(feedback.problems)
    with section("Judged so far"):
        for problem in problems:
            note(problem)
        if not counts.height:
            empty_state("Nobody has judged anything yet.")
            return
        rows = [
            row | {"mean_score": None if row["mean_score"] is None else f"{row['mean_score']:.2f} of 5"}
            for row in counts.iter_rows(named=True)
        ]
        plain_table(rows, _COLUMNS, "raters")
        result = agreement.measures
        if result is not None and result.alpha.value == result.alpha.value:
            text = f"Agreement: Krippendorff's alpha for ordered scores {result.alpha} answers, 95 % interval."
            test_id(note(text, classes=""), "agreement")
            text = f"Equal scores: {result.share} answers. 1 is full agreement, 0 is the agreement of chance."
            ui.label(text).classes("small")
        note(agreement.note, 300)
