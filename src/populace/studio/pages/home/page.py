"""The home page: every run and experiment of the workspace, the newest first."""

import tempfile
from collections.abc import Awaitable, Callable

from nicegui import ui

from populace.base.formatting import plural
from populace.broker import cost_text
from populace.engine.run import Run
from populace.engine.workspace import Workspace
from populace.runs.overview import RunOverview
from populace.studio.library import ExperimentCard, RunCard
from populace.studio.pages.home import example
from populace.studio.shell.addresses import page_address, parse_number
from populace.studio.shell.frame import (
    Page,
    chip,
    empty_state,
    frame,
    notify_errors,
    page_at,
    run_link,
    section,
    test_id,
)
from populace.studio.shell.loading import load
from populace.studio.shell.text import date_text, display_text
from populace.studio.studio import Studio
from populace.studio.widgets.charts import line_chart, sparkline_chart
from populace.studio.widgets.elements import action, count_text, heading, note, outline, refill
from populace.studio.widgets.keyed_rows import KeyedRows
from populace.studio.widgets.redraw import Redrawer
from populace.studio.widgets.start_dialog import show_start

PAGE_SIZE = 20
_PLACEHOLDER = "Search name, scenario, model, author, state or tag"
Refresh = Callable[[], Awaitable[None]]
"""Draws the list again."""


def register(studio: Studio) -> None:
    """Register `/`."""

    @page_at("/")
    async def home(search: str = "", page: str = "") -> None:
        with frame("Runs", command="populace list") as here:
            await _Home(studio, here, search, max(parse_number(page, "page") or 1, 1)).build()


class _Home:
    """The parts of the page. What did not change is not drawn again: runs that go on change it all the time."""

    def __init__(self, studio: Studio, page: Page, search: str, number: int) -> None:
        self.studio, self.page, self.number = studio, page, number
        self._search = outline(ui.input(placeholder=_PLACEHOLDER, value=search), "search")
        self._search.props('clearable debounce=200 aria-label="Search runs"')
        self._search.on_value_change(lambda: self._go_to(1))
        self._refresh = Redrawer(self._draw)
        self._welcome = self._part()
        self._nothing = self._part()
        self._words: str | None = None
        self._rows: dict[str, _RunRow] = {}
        self._list = ui.column().classes("w-full gap-3")
        self._pager = ui.pagination(1, 1, direction_links=True, value=number)
        self._pager.on_value_change(lambda event: self._go_to(int(event.value or 1)))
        self._experiments = KeyedRows(_show_experiments)
        self._removed = _RemovedRuns(studio, self._refresh)

    def _part(self) -> ui.column:
        part = ui.column().classes("w-full")
        part.set_visibility(False)
        return part

    async def build(self) -> None:
        self.studio.changes.listen("", self._refresh)
        await self._refresh.first()

    async def _go_to(self, number: int) -> None:
        if number != self.number or self._search.value != self._words:
            self.number = number
            await self._refresh()

    async def _draw(self) -> None:
        library, words = self.studio.library, (self._search.value or "").strip()
        self._words = self._search.value
        names = await load(library.matching, words)
        pages = max(1, -(-len(names) // PAGE_SIZE))
        self.number = min(self.number, pages)
        page_names = names[(self.number - 1) * PAGE_SIZE : self.number * PAGE_SIZE]
        cards = await load(lambda: [library.card(name) for name in page_names])
        experiments = await load(library.experiments)
        self._show_nothing(words, bool(names))
        self._show_cards(cards)
        self._pager.max = pages
        self._pager.set_value(self.number)
        self._pager.set_visibility(pages > 1)
        self._experiments.show({"all": experiments} if experiments and not words else {})
        self._removed.show()
        self.page.update_address(search=words, page=self.number if self.number > 1 else None)

    def _show_nothing(self, words: str, some: bool) -> None:
        self._welcome.set_visibility(not some and not words)
        if self._welcome.visible and not self._welcome.default_slot.children:
            with self._welcome:
                _show_welcome(self.studio)
        self._nothing.set_visibility(not some and bool(words))
        with refill(self._nothing):
            text = f"No run matches “{display_text(words, 80)}”."
            empty_state(text, "Show all runs", lambda: self._search.set_value(""))

    def _show_cards(self, cards: list[RunCard]) -> None:
        names = [card.name for card in cards]
        for name in [name for name in self._rows if name not in names]:
            self._rows.pop(name).element.delete()
        for place, card in enumerate(cards):
            if card.name not in self._rows:
                with self._list:
                    self._rows[card.name] = _RunRow(self.studio, card.name, self._refresh)
            row = self._rows[card.name]
            row.show(card)
            if self._list.default_slot.children[place] is not row.element:
                row.element.move(target_index=place)


class _RunRow:
    """One run of the list. Its link and its menu stay; its numbers are drawn again when they change."""

    def __init__(self, studio: Studio, name: str, refresh: Refresh) -> None:
        self._studio, self._name, self._refresh = studio, name, refresh
        self._card: RunCard | None = None
        with test_id(ui.column().classes("panel"), f"run-{name}") as self.element:
            with ui.row().classes("w-full items-center gap-3"):
                with ui.column().classes("gap-0 min-w-0").style("flex: 1 1 240px"):
                    with ui.row().classes("items-center gap-2"):
                        with ui.row().props("role=heading aria-level=2"):
                            run_link(name).style("font-weight: 600")
                        self._state = ui.row().classes("items-center gap-2")
                        self._menu()
                    self._summary = ui.column().classes("gap-0 min-w-0")
                self._trend = ui.column().classes("gap-0 items-center")
                self._numbers = ui.column().classes("gap-0 small").style("width: 270px; max-width: 100%")
            self._tags = ui.row().classes("gap-1")

    def show(self, card: RunCard) -> None:
        """Show the run as it is now."""
        if card == self._card:
            return
        self._card, facts = card, card.overview
        with refill(self._state):
            chip(card.state)
        with refill(self._summary):
            if facts is None:
                note(card.problem, 400, classes="small foreign", colour="bad")
            else:
                fork = f" · fork of {facts.parent.run}" if facts.parent else ""
                scenario = facts.scenario.rpartition("/")[2]
                summary = f"{scenario} · {facts.decided_by} · seed {facts.regime.seed}{fork}"
                note(f"{summary} · {facts.author}, {date_text(facts.created)}", 300)
        with refill(self._trend):
            if card.trend:
                sparkline_chart(card.trend)
                last = card.trend[-1]
                value = "–" if last is None else f"{last:.3g}"
                note(f"{display_text(card.metric.replace('_', ' '), 40)}: {value}")
        with refill(self._numbers):
            if facts is not None:
                _show_numbers(facts)
        with refill(self._tags):
            for tag in card.tags:
                ui.label(display_text(tag, 60)).classes("chip soft")
        self._for_readable.set_visibility(not card.problem)

    def _menu(self) -> None:
        name = display_text(self._name, 80)
        button = ui.button().props("flat round dense icon=more_vert")
        button.props["aria-label"] = f"More about {name}"
        with test_id(button, f"menu-{self._name}"), ui.menu():
            with ui.element("div") as self._for_readable:
                target = page_address("compare", runs=self._name)
                ui.menu_item("Compare with…", lambda: ui.navigate.to(target))
                ui.menu_item("Tags…", self._edit_tags)
            test_id(ui.menu_item("Delete", notify_errors(self._delete)), f"delete-{self._name}")

    async def _delete(self) -> None:
        self._studio.library.remove(self._name)
        ui.notify(f"{display_text(self._name, 80)} is deleted. It can be restored at the end of the list.")
        await self._refresh()

    def _edit_tags(self) -> None:
        async def save() -> None:
            self._studio.library.tag(self._name, (field.value or "").split(","))
            dialog.close()
            await self._refresh()

        tags = self._card.tags if self._card else ()
        with ui.dialog(value=True) as dialog, ui.card().classes("w-full max-w-md"):
            heading(f"Tags of {display_text(self._name, 80)}")
            field = test_id(ui.input("Tags, separated by commas", value=", ".join(tags)), "tags").classes("w-full")
            with ui.row().classes("w-full justify-end"):
                action("Cancel", dialog.close, look="flat")
                action("Save", save, "keep-tags", look="")


def _show_numbers(facts: RunOverview) -> None:
    # A run may be complete before the most steps that it could take.
    total = facts.steps if facts.state == "complete" else facts.planned
    ui.label(f"{facts.steps} of {count_text(total, 'step')}" if total is not None else count_text(facts.steps, "step"))
    if facts.state in ("running", "pausing", "paused") and facts.planned:
        bar = ui.linear_progress(facts.steps / facts.planned, show_value=False).classes("w-full")
        bar.props('rounded instant-feedback aria-label="Progress"')
    cost = f", {cost_text(facts.usage.cost, facts.price)}" if facts.usage.calls else ""
    ui.label(f"{plural(facts.usage.calls, 'call')}{cost}").classes("soft")
    if facts.invalid is not None:
        share = facts.invalid
        bounds = f" ({100 * share.low:.1f}–{100 * share.high:.1f} %)" if share.value else ""
        ui.label(f"{100 * share.value:.1f} % of {facts.answers:,} answers invalid{bounds}").classes("soft")


def _show_experiments(cards: list[ExperimentCard]) -> None:
    with section("Experiments"):
        for card in cards:
            with ui.row().classes("w-full items-center gap-3"):
                link = ui.link(display_text(card.name, 80), page_address("experiment", card.name)).classes("plain")
                link.style("font-weight: 600")
                if card.problem:
                    note(card.problem, 300, classes="small foreign", colour="bad")
                    continue
                chip(card.state)
                failed = f", {card.failed} failed" if card.failed else ""
                note(f"{card.arms} arms, {card.done:,} of {card.planned:,} runs{failed}")


class _RemovedRuns:
    """The deleted runs, each with a button that brings it back."""

    def __init__(self, studio: Studio, refresh: Refresh) -> None:
        self._studio, self._refresh = studio, refresh
        with ui.expansion("Deleted", icon="delete").classes("w-full soft") as self._expansion:
            self._rows = KeyedRows(self._show_row, "w-full gap-1")
        test_id(self._expansion, "removed").set_visibility(False)

    def show(self) -> None:
        """Show those that are deleted now."""
        names = self._studio.workspace.removed_names()
        self._expansion.set_text(f"Deleted: {len(names)}")
        self._expansion.set_visibility(bool(names))
        self._rows.show({name: name for name in names})

    def _show_row(self, name: str) -> None:
        async def undo() -> None:
            self._studio.workspace.restore(name)
            await self._refresh()

        with ui.row().classes("items-center gap-2"):
            ui.label(display_text(name, 80)).classes("foreign")
            action("Undo", undo, f"undo-{name}", look="flat dense")


def _show_welcome(studio: Studio) -> None:
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
