"""Feedback: make a queue of answers, judge them blind, see how far raters agree."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import unquote, urlencode

from nicegui import context, ui

from populace.base.errors import PopulaceError, UsageError
from populace.experiments.folder import experiment_names as experiments
from populace.feedback import Feedback, Queue
from populace.feedback.feedback import check_rater
from populace.feedback.items import KINDS, ItemKind, purposes
from populace.feedback.sources import read_sources
from populace.studio.jobs import command
from populace.studio.pages.feedback.rating import RatingPanel
from populace.studio.pages.feedback.rating_session import RatingSession
from populace.studio.shell.frame import Page, empty_state, frame, notify_errors, page_at, section, test_id
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio

_RATER = "populace-rater"
_MOST_OFFERED = 1_000


def register(studio: Studio) -> None:
    """Make the page known."""

    @page_at("/feedback")
    async def feedback(
        queue: str = "", seed: int = 0, rater: str = "", n: int | None = None, run: str = "", kind: str = "decision"
    ) -> None:
        with frame("Feedback", command="populace feedback") as page:
            if queue and rater:
                name = check_rater(rater)
                sitting = await asyncio.to_thread(RatingSession.begin, studio.workspace, queue, seed, name)
                if n is not None:
                    sitting.go_to(n - 1)
                RatingPanel(page, sitting).build()
            elif queue:
                _who(queue, seed)
            else:
                chosen = [name for name in run.split(",") if name]
                _prepare(studio, page, chosen, kind if kind in KINDS else "decision", seed)
                await _so_far(studio)


def _rater_field() -> ui.input:
    known = unquote(context.client.request.cookies.get(_RATER, ""))
    field = ui.input("Your name", value=known).props("dense outlined maxlength=64").classes("w-full max-w-xs")
    return test_id(field, "rater")


def _go(queue: str, seed: int, rater: str) -> None:
    """Open the queue for a rater, whose name the browser keeps."""
    name = check_rater(rater)
    ui.run_javascript(f'populaceKeep("{_RATER}", {json.dumps(name)})')
    ui.navigate.to(f"/feedback?{urlencode({'queue': queue, 'seed': seed, 'rater': name})}")


def _who(queue: str, seed: int) -> None:
    with section("Who judges?"):
        ui.label("What you say is kept under this name, apart from what others say.").classes("soft")
        field = _rater_field()

        @notify_errors
        def begin() -> None:
            _go(queue, seed, field.value or "")

        field.on("keydown.enter", begin)
        test_id(ui.button("Begin", on_click=begin).props("no-caps unelevated"), "begin")


def _prepare(studio: Studio, page: Page, chosen: list[str], kind: str, seed: int) -> None:
    offered = [*studio.library.names()[:_MOST_OFFERED], *experiments(studio.workspace)]
    with section("Judge answers", note="blind: neither run, arm nor model is shown while judging"):
        if not offered:
            empty_state("There are no runs whose answers could be judged.", "New run", "/new")
            return
        unknown = [name for name in chosen if name not in offered]
        if unknown:
            ui.label(display_text(f"Not here any more: {', '.join(unknown)}.", 400)).style("color: var(--bad)")
        runs = ui.select(
            offered,
            label="Runs, and experiments that keep their runs",
            multiple=True,
            with_input=True,
            value=[name for name in chosen if name in offered],
        )
        test_id(runs.props("dense outlined use-chips").classes("w-full"), "runs")
        with ui.row().classes("w-full items-center gap-4"):
            what = test_id(ui.toggle({"decision": "Decisions", "utterance": "Utterances"}, value=kind), "kind")
            what.props("no-caps")
            size = ui.number("How many", value=20, min=1, max=2000, precision=0).props("dense outlined")
            test_id(size.classes("w-28"), "size")
            which = ui.number("Seed", value=seed, precision=0).props("dense outlined")
            test_id(which.classes("w-28"), "seed")
            purpose = ui.select(["any"], label="Asked for", value="any").props("dense outlined").classes("w-48")
            test_id(purpose, "purpose")
        field = _rater_field()
        _follow(studio, page, runs, what, size, which, purpose)

        @notify_errors
        async def begin() -> None:
            name = check_rater(field.value or "")
            place, seed_now = studio.workspace, int(which.value or 0)
            wanted = "" if purpose.value in (None, "any") else str(purpose.value)
            asked = (place, list(runs.value or []), str(what.value), int(size.value or 0), wanted)
            queue = await asyncio.to_thread(Queue.of, *asked)
            drawn = await asyncio.to_thread(queue.draw, place, seed_now)
            if not drawn.items:
                raise UsageError(
                    f"these runs hold no {queue.kind} that a model gave.", "Choose other runs, or the other kind."
                )
            queue.save(place)
            _go(queue.name, seed_now, name)

        test_id(ui.button("Begin", on_click=begin).props("no-caps unelevated"), "begin")
        ui.label(
            "Answers are drawn by the seed, evenly over the runs. Send the address of the next page to others without "
            "your name in it, and they judge the same answers."
        ).classes("soft small")


def _follow(
    studio: Studio,
    page: Page,
    runs: ui.select,
    what: ui.toggle,
    size: ui.number,
    which: ui.number,
    purpose: ui.select,
) -> None:
    """Keep command, address and the purposes that can be chosen in step with the form."""

    def spell() -> None:
        arguments = [*(runs.value or [])]
        if arguments:
            arguments += [
                "--kind",
                str(what.value),
                "--size",
                f"{size.value or 0:.0f}",
                "--seed",
                f"{which.value or 0:.0f}",
            ]
            arguments += ["--purpose", str(purpose.value)] if purpose.value not in (None, "any") else []
        page.show_command(command("feedback", *arguments))
        page.update_address(run=",".join(runs.value or []), kind=what.value, seed=f"{which.value or 0:.0f}")

    async def look() -> None:
        found = await asyncio.to_thread(_purposes, studio, list(runs.value or []), str(what.value))
        purpose.set_options(["any", *found], value=purpose.value if purpose.value in found else "any")
        spell()

    runs.on_value_change(look)
    what.on_value_change(look)
    for element in (size, which, purpose):
        element.on_value_change(spell)
    if runs.value:
        ui.timer(0, look, once=True)


def _purposes(studio: Studio, runs: list[str], kind: str) -> list[str]:
    """What the questions of the first chosen run were counted under; none where it cannot be read."""
    wanted: ItemKind = "utterance" if kind == "utterance" else "decision"
    try:
        first = read_sources(studio.workspace, runs[:1])[0]
        return purposes(first.open(studio.workspace), wanted)
    except PopulaceError:
        return []  # the button says what is wrong with it


async def _so_far(studio: Studio) -> None:
    """How much every rater judged, and how far they agree."""
    feedback = Feedback(studio.workspace)
    counts = await asyncio.to_thread(feedback.counts)
    accord = await asyncio.to_thread(feedback.agreement)
    with section("Judged so far"):
        if not counts.height:
            empty_state("Nobody judged anything yet.")
            return
        headings = {"rater": "rater", "scored": "scored", "rewritten": "rewritten", "skipped": "skipped"}
        headings |= {"mean_score": "mean score", "last": "last, by the wall clock"}
        columns = [{"name": n, "label": h, "field": n, "align": "left"} for n, h in headings.items()]
        rows = [
            row | {"rater": display_text(row["rater"], 80), "mean_score": _score(row["mean_score"])}
            for row in counts.iter_rows(named=True)
        ]
        made = ui.table(columns=columns, rows=rows, row_key="rater").props("flat dense wrap-cells").classes("w-full")
        test_id(made, "raters")
        found = accord.measures
        if found is not None and found.alpha.value == found.alpha.value:
            said = f"Agreement: Krippendorff's alpha for ordered scores {found.alpha} answers, 95 % interval."
            test_id(ui.label(display_text(said, 300)), "agreement")
            equal = found.share
            ui.label(f"Equal scores: {equal} answers. 1 is full agreement, 0 what chance would give.").classes("small")
        ui.label(display_text(accord.note, 300)).classes("soft small")


def _score(mean: float | None) -> str:
    return "–" if mean is None else f"{mean:.2f} of 5"
