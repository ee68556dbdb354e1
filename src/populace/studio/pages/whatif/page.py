"""Threads side by side: an utterance as it was answered, and as it could have been."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import polars as pl
from nicegui import ui

from populace.base.errors import PopulaceError, UsageError
from populace.engine.run import Run
from populace.studio.jobs import CommandJob, command
from populace.studio.pages.forum.data import ForumView
from populace.studio.pages.forum.page import whole
from populace.studio.pages.forum.post import STYLE, Reader, forum_address, post_card, start_time
from populace.studio.pages.whatif.data import (
    Continuation,
    Side,
    comparison,
    continuations,
    fork_manifests,
    parted,
    side,
)
from populace.studio.pages.whatif.dialog import BEFORE, Turning
from populace.studio.shell.frame import (
    Page,
    after_load,
    chip,
    empty_state,
    error_card,
    frame,
    page_at,
    run_address,
    run_link,
    section,
    test_id,
)
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio
from populace.studio.widgets.redraw import Redrawer

_GOING = ("starting", "running")
_UNITS = {
    "utterances": "utterances",
    "people": "people",
    "length": "length (characters)",
    "inequality": "inequality (Gini)",
    "vocabulary": "vocabulary (distinct in 100)",
    "tone": "tone (friendly minus hostile in 100)",
    "topics_apart": "topics apart (0 to 1)",
    "removed": "removed",
    "violations": "violations (share)",
}


class Beside:
    """The thread of an utterance in a run and in forks of it.

    Args:
        studio: The Studio.
        page: The page it is shown on.
        name: The run.
        post: The utterance.
        names: The forks to show; None for all that continue the utterance and fit `draws`.
        draws: Whether forks of a multiverse are shown, or those of what-ifs.
        job: The command that still makes some of them.
    """

    def __init__(
        self,
        studio: Studio,
        page: Page,
        name: str,
        post: int,
        *,
        names: list[str] | None = None,
        draws: bool = False,
        job: CommandJob | None = None,
    ) -> None:
        self.studio, self.page, self.name, self.post = studio, page, name, post
        self.names, self.draws, self.job = names, draws, job
        self.followed: set[str] = set()

    async def build(self) -> None:
        """Draw all, and again whenever a fork goes on."""
        run = self.studio.library.run(self.name)
        self.reader = Reader(self.name, start_time(run))
        self.original = await asyncio.to_thread(lambda: ForumView(run).loaded())
        self.turning = Turning(self.studio, self.name, lambda: self.original)
        self.place = ui.column().classes("w-full gap-4")
        self.refresh = Redrawer(self._draw)
        self.studio.changes.listen("", self.refresh)
        await self.refresh.first()
        if self.job is not None and self.job.state in _GOING:
            after_load(self._to_the_end)

    async def _to_the_end(self) -> None:
        """Draw once more when the command is over, which no folder tells of."""
        while self.job is not None and self.job.state in _GOING:
            await asyncio.sleep(0.2)
        await self.refresh()

    def _chosen(self) -> list[Continuation]:
        found = continuations(fork_manifests(self.studio.library, self.name), self.original, self.post)
        if self.names is not None:
            by_name = {each.run: each for each in found}
            lost = [name for name in self.names if name not in by_name]
            if lost:
                raise UsageError(
                    f"{lost[0]} does not continue post {self.post} of {self.name}.", "It may have been deleted."
                )
            return [by_name[name] for name in self.names]
        before = BEFORE.get(self.job, frozenset()) if self.job is not None else frozenset()
        return [each for each in found if (each.draw > 0) == self.draws and each.run not in before]

    def _sides(self, chosen: list[Continuation]) -> tuple[list[Side], list[Run], pl.DataFrame | None]:
        library = self.studio.library
        runs = [library.run(each.run) for each in chosen]
        views = [ForumView(run, viewing=self.original.viewing) for run in runs]
        alone = side(self.original, self.original, self.post)
        others = [side(view, self.original, self.post, each.told) for view, each in zip(views, chosen, strict=True)]
        table = comparison(library.run(self.name), runs, self.post) if runs else None
        return [alone, *others], runs, table

    async def _draw(self) -> None:
        try:
            chosen = await asyncio.to_thread(self._chosen)
            if self.refresh.gone:
                return
            for name in {each.run for each in chosen} - self.followed:
                self.followed.add(name)
                self.studio.changes.listen(name, self.refresh)
            sides, runs, table = await asyncio.to_thread(self._sides, chosen)
        except PopulaceError as error:
            self.place.clear()
            with self.place:
                error_card(error)
            return
        if self.refresh.gone:
            return
        if self.job is not None and sides[1:]:
            self.page.update_address(runs=",".join(each.run for each in sides[1:]))
        self.place.clear()
        with self.place:
            self._head(sides)
            if not sides[1:]:
                self._nothing()
                return
            with ui.element("div").classes("sides").props('tabindex=0 aria-label="Threads side by side"'):
                for each in sides:
                    self._side(each, sides)
            if table is not None:
                _compared(table, runs)

    def _head(self, sides: Sequence[Side]) -> None:
        said = next(each for each in sides[0].said if each.post == self.post)
        with ui.row().classes("items-center gap-3 w-full"):
            ui.link("← The thread", forum_address(self.name, thread=self.post)).classes("plain")
            again = ui.button("What if…", on_click=lambda: self.turning.ask(said, False))
            test_id(again, "whatif-again").props("outline dense no-caps icon=call_split")
            more = ui.button("Multiverse", on_click=lambda: self.turning.ask(said, True))
            test_id(more, "multiverse-again").props("outline dense no-caps icon=account_tree")
        if self.job is None:
            return
        if self.job.state == "failed":
            with ui.column().classes("panel error").props("role=alert"):
                prose(self.job.error)
        elif self.job.state != "ended":
            with test_id(ui.row().classes("items-center gap-2"), "progress"):
                ui.spinner(size="sm")
                made = sum(each.state == "complete" for each in sides[1:])
                ui.label(
                    f"{made} done, {len(sides) - 1 - made} under way: {display_text(command(*self.job.arguments), 300)}"
                )

    def _nothing(self) -> None:
        if self.job is not None and self.job.state in _GOING:
            empty_state("The first continuation is being started.")
        else:
            empty_state("Nobody has asked what else could have followed this utterance. The buttons above do.")

    def _side(self, each: Side, sides: Sequence[Side]) -> None:
        own = each.run == self.name
        differs = parted(each, sides[1:]) if own else each.differs
        reader = self.reader if own else Reader(each.run, self.reader.start, {}, self.reader.revealed)
        with test_id(ui.column().classes("panel side gap-2"), f"side-{each.run}"):
            with ui.row().classes("items-center gap-2"):
                ui.label("What happened" if own else "What if").classes("panel-title").props(
                    "role=heading aria-level=2"
                )
                chip(each.state)
            with ui.row().classes("items-center gap-2 small"):
                run_link(each.run)
                ui.link("its forum", forum_address(each.run, thread=self.post)).classes("plain")
            if each.told:
                ui.label(display_text(each.told, 200)).classes("foreign soft small").props("dir=auto")
            before = [said for said in each.said[:differs] if said.post != self.post]
            if before:
                with (
                    ui.expansion(f"{len(before)} earlier {'post' if len(before) == 1 else 'posts'}, the same")
                    .classes("w-full soft")
                    .props("dense")
                ):
                    for said in before:
                        post_card(said, reader, kind="shared", nested=False)
            for said in each.said[:differs]:
                if said.post == self.post:
                    post_card(said, reader, focus=True, kind="shared", nested=False)
            ui.label("from here on").classes("parts")
            for said in each.said[differs:]:
                post_card(said, reader, kind="new", nested=False)
            if not each.said[differs:]:
                going = each.state == "running"
                ui.label("Nobody has answered yet." if going else "Nobody answered any more.").classes("soft small")


def _compared(table: pl.DataFrame, runs: Sequence[Run]) -> None:
    with section("What differs", note="in this thread, after the utterance; the original first"):
        columns = [{"name": "run", "label": "run", "field": "run", "align": "left"}]
        columns += [{"name": name, "label": label, "field": name, "align": "right"} for name, label in _UNITS.items()]
        rows = [
            {name: display_text(value, 80) if name == "run" else _figure(name, value) for name, value in row.items()}
            for row in table.to_dicts()
        ]
        made = ui.table(columns=columns, rows=rows, row_key="run").props("flat dense hide-pagination wrap-cells=false")
        test_id(made, "compared").classes("w-full")
        if not any(run.manifest.status.state == "running" for run in runs) and table["violations"].null_count():
            ui.label("Violations are known where every run was judged: populace judge RUN --model MODEL.").classes(
                "soft small"
            )
        ui.label("One run is one draw: differences between single runs may be chance.").classes("soft small")


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if name == "violations":
        return f"{100 * value:.0f} %"
    return str(value) if isinstance(value, int) else f"{value:.2f}"


def register(studio: Studio) -> None:
    """What-ifs and multiverses of a forum."""

    @page_at("/forum/{name}/whatif")
    async def whatif(name: str) -> None:
        ui.add_head_html(STYLE)
        query = dict(ui.context.client.request.query_params)
        fork = query.get("with", "")
        shows = command("show", fork or name, "--thread", query.get("post", ""))
        crumbs = [(name, run_address(name)), ("Forum", forum_address(name))]
        with frame(f"What if, after post {query.get('post', '')}", command=shows, crumbs=crumbs) as page:
            await Beside(studio, page, name, _post(query), names=[fork] if fork else None).build()

    @page_at("/forum/{name}/multiverse")
    async def multiverse(name: str) -> None:
        ui.add_head_html(STYLE)
        query = dict(ui.context.client.request.query_params)
        crumbs = [(name, run_address(name)), ("Forum", forum_address(name))]
        shows = command("multiverse", name, "--post", query.get("post", ""))
        with frame(f"Multiverse, after post {query.get('post', '')}", command=shows, crumbs=crumbs) as page:
            job = _job(studio, name, query)
            if job is not None:
                page.show_command(command(*job.arguments))
            names = None if job is not None else [each for each in query.get("runs", "").split(",") if each] or None
            await Beside(studio, page, name, _post(query), names=names, draws=True, job=job).build()


def _post(query: dict[str, str]) -> int:
    found = whole(query, "post")
    if found is None:
        raise UsageError("the address names no utterance.", "Open a thread of the forum, and press What if… there.")
    return found


def _job(studio: Studio, name: str, query: dict[str, str]) -> CommandJob | None:
    """The command that makes the forks, if it was started by this Studio and not by one before it."""
    number, started = whole(query, "job"), studio.jobs.started
    if number is None or not 0 <= number < len(started) or started[number].arguments[:2] != ("multiverse", name):
        return None
    return started[number]
