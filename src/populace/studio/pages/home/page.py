"""The home page: every run and experiment of the workspace, the newest first."""

import tempfile
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial

from nicegui import ui

from populace.broker import cost_text
from populace.engine.run import Run
from populace.engine.workspace import Workspace
from populace.runs.overview import RunOverview
from populace.studio.library import ExperimentCard, RunCard
from populace.studio.pages.home import example
from populace.studio.shell.frame import chip, empty_state, frame, notify_errors, page_at, run_link, section, test_id
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.charts import line_chart, sparkline_chart
from populace.studio.widgets.elements import action, note, outline, refill
from populace.studio.widgets.redraw import Redrawer
from populace.studio.widgets.start_dialog import show_start

PAGE_SIZE = 20
Refresh = Callable[[], Awaitable[None]]
"""Draws the list again."""


def register(studio: Studio) -> None:
    """Register `/`."""

    @page_at("/")
    async def home(search: str = "", page: int = 1) -> None:
        with frame("Runs", command="populace list") as here:
            field = ui.input(placeholder="Search name, scenario, model, author, state or tag", value=search)
            outline(field, "search").props('clearable debounce=200 aria-label="Search runs"')
            listing = ui.column().classes("w-full gap-3")
            state = {"page": max(page, 1)}

            async def fill() -> None:
                words = (field.value or "").strip()
                names = await load(studio.library.matching, words)
                pages = max(1, -(-len(names) // PAGE_SIZE))
                state["page"] = min(state["page"], pages)
                on_page = names[(state["page"] - 1) * PAGE_SIZE : state["page"] * PAGE_SIZE]
                cards = await load(lambda: [studio.library.card(name) for name in on_page])
                experiments = await load(studio.library.experiments)
                with refill(listing):
                    if not names and not words:
                        _welcome(studio)
                    elif not names:
                        text = f"No run matches “{display_text(words, 80)}”."
                        empty_state(text, "Show all runs", lambda: field.set_value(""))
                    for card in cards:
                        _row(studio, card, fill)
                    if pages > 1:
                        pager = ui.pagination(1, pages, direction_links=True, value=state["page"])
                        pager.on_value_change(lambda event: go_to(int(event.value or 1)))
                    if experiments and not words:
                        _experiments(experiments)
                    _removed(studio, fill)
                here.update_address(search=words, page=state["page"] if state["page"] > 1 else None)

            async def go_to(number: int) -> None:
                state["page"] = number
                await fill()

            field.on_value_change(lambda: go_to(1))
            redraw = Redrawer(fill)
            studio.changes.listen("", redraw)
            await redraw.first()


def _row(studio: Studio, card: RunCard, refresh: Refresh) -> None:
    facts = card.overview
    with test_id(ui.column().classes("panel"), f"run-{card.name}"):
        with ui.row().classes("w-full items-center gap-3"):
            with ui.column().classes("gap-0 min-w-0").style("flex: 1 1 240px"):
                with ui.row().classes("items-center gap-2"):
                    run_link(card.name).style("font-weight: 600")
                    chip(card.state)
                    _menu(studio, card, refresh)
                if facts is None:
                    note(card.problem, 400, classes="small foreign", colour="bad")
                else:
                    fork = f" · fork of {facts.parent.run}" if facts.parent else ""
                    scenario = facts.scenario.rpartition("/")[2]
                    summary = f"{scenario} · {facts.decided_by} · seed {facts.regime.seed}{fork}"
                    note(f"{summary} · {facts.author}, {_date(facts.created)}", 300)
            if card.trend:
                with ui.column().classes("gap-0 items-center"):
                    sparkline_chart(card.trend)
                    last = card.trend[-1]
                    value = "–" if last is None else f"{last:.3g}"
                    note(f"{display_text(card.metric.replace('_', ' '), 40)}: {value}")
            if facts is not None:
                _numbers(facts)
        if card.tags:
            with ui.row().classes("gap-1"):
                for tag in card.tags:
                    ui.label(display_text(tag, 60)).classes("chip soft")


def _date(iso: str) -> str:
    try:
        time = datetime.fromisoformat(iso).astimezone()
    except ValueError:
        return "at an unknown time"
    return f"{time.day} {time:%b %Y, %H:%M}"


def _numbers(facts: RunOverview) -> None:
    with ui.column().classes("gap-0 small").style("width: 270px; max-width: 100%"):
        planned = f" of {facts.planned}" if facts.planned is not None else ""
        ui.label(f"{facts.steps}{planned} steps")
        if facts.state in ("running", "pausing", "paused") and facts.planned:
            ui.linear_progress(facts.steps / facts.planned, show_value=False).props("rounded").classes("w-full")
        cost = f", {cost_text(facts.usage.cost, facts.price)}" if facts.usage.calls else ""
        ui.label(f"{facts.usage.calls:,} calls{cost}").classes("soft")
        if facts.invalid is not None:
            share = facts.invalid
            bounds = f" ({100 * share.low:.1f}–{100 * share.high:.1f} %)" if share.value else ""
            ui.label(f"{100 * share.value:.1f} % of {facts.answers:,} answers invalid{bounds}").classes("soft")


def _menu(studio: Studio, card: RunCard, refresh: Refresh) -> None:
    @notify_errors
    async def delete() -> None:
        studio.library.remove(card.name)
        ui.notify(f"{display_text(card.name, 80)} is deleted. It can be restored at the end of the list.")
        await refresh()

    def edit_tags() -> None:
        async def save() -> None:
            studio.library.tag(card.name, (field.value or "").split(","))
            dialog.close()
            await refresh()

        with ui.dialog(value=True) as dialog, ui.card().classes("w-full max-w-md"):
            ui.label(f"Tags of {display_text(card.name, 80)}").classes("panel-title")
            field = test_id(ui.input("Tags, separated by commas", value=", ".join(card.tags)), "tags").classes("w-full")
            with ui.row().classes("w-full justify-end"):
                action("Cancel", dialog.close, look="flat")
                action("Save", save, "keep-tags", look="")

    button = ui.button().props("flat round dense icon=more_vert")
    button.props["aria-label"] = f"More about {display_text(card.name, 80)}"
    with test_id(button, f"menu-{card.name}"), ui.menu():
        if not card.problem:
            ui.menu_item("Compare with…", lambda: ui.navigate.to(f"/compare?runs={card.name}"))
            ui.menu_item("Tags…", edit_tags)
        test_id(ui.menu_item("Delete", delete), f"delete-{card.name}")


def _experiments(cards: list[ExperimentCard]) -> None:
    with section("Experiments"):
        for card in cards:
            with ui.row().classes("w-full items-center gap-3"):
                link = ui.link(display_text(card.name, 80), f"/experiment/{card.name}").classes("plain")
                link.style("font-weight: 600")
                if card.problem:
                    note(card.problem, 300, classes="small foreign", colour="bad")
                    continue
                chip(card.state)
                failed = f", {card.failed} failed" if card.failed else ""
                note(f"{card.arms} arms, {card.done:,} of {card.planned:,} runs{failed}")


def _removed(studio: Studio, refresh: Refresh) -> None:
    names = studio.workspace.removed_names()
    if not names:
        return

    async def undo(name: str) -> None:
        studio.workspace.restore(name)
        await refresh()

    with ui.expansion(f"Deleted: {len(names)}", icon="delete").classes("w-full soft") as expansion:
        test_id(expansion, "removed")
        for name in names:
            with ui.row().classes("items-center gap-2"):
                ui.label(display_text(name, 80)).classes("foreign")
                action("Undo", partial(undo, name), f"undo-{name}", look="flat dense")


def _welcome(studio: Studio) -> None:
    """What an empty workspace shows: a finished example, and a button that starts a run."""

    def open_example() -> None:
        ui.navigate.to(f"/run/{example.install_example(studio.workspace)}")

    async def start() -> None:
        await show_start(studio.jobs.start("run", "norms", "--seed", "1"))

    with section("There are no runs yet"):
        note(
            "Twenty people go to work for a week. Each morning they choose between a blue and a green shirt, "
            "knowing what they saw the day before. Does a norm arise?",
            classes="foreign",
        )
        with tempfile.TemporaryDirectory() as folder:
            workspace = Workspace(folder)
            metrics = Run(workspace.open(example.install_example(workspace))).metrics
        title = "A finished example: share in blue, by day (norms, embedded 135M model, seed 1)"
        line_chart(title, metrics, "step", ["share_blue"], unit="share", name="example")
        with ui.row().classes("gap-2"):
            action("Run norms", start, "run-norms", look="unelevated")
            action("Open the example", open_example, "open-example")
        note("The embedded model is small and weak: it shows how Populace works, not how people behave.")
