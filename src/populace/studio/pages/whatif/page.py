"""Threads side by side: a post as it was answered, and as it could have been."""

import asyncio
from collections.abc import Sequence
from functools import partial

import polars as pl
from nicegui import ui

from populace.base.errors import PopulaceError, UsageError
from populace.engine.run import Run
from populace.studio.jobs import CommandJob, command
from populace.studio.pages.forum.data import ForumView
from populace.studio.pages.forum.post import (
    STYLE,
    PostContext,
    continue_buttons,
    forum_address,
    post_card,
    start_time,
)
from populace.studio.pages.whatif.data import (
    Continuation,
    ThreadSide,
    comparison,
    continuations,
    fork_manifests,
    thread_side,
)
from populace.studio.pages.whatif.dialog import EARLIER_FORKS, ContinuationDialog
from populace.studio.shell.addresses import parse_number, run_address
from populace.studio.shell.frame import (
    Page,
    after_load,
    chip,
    empty_state,
    error_card,
    frame,
    page_at,
    run_link,
    section,
    test_id,
)
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio
from populace.studio.widgets.elements import count_text, heading, note, plain_table
from populace.studio.widgets.redraw import ChangingParts, Redrawer

_ACTIVE = ("starting", "running")
_COLUMNS = {
    "run": "run",
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


def register(studio: Studio) -> None:
    """Add the pages `/forum/NAME/whatif` and `/forum/NAME/multiverse`."""

    @page_at("/forum/{name}/whatif")
    async def whatif(name: str) -> None:
        query = dict(ui.context.client.request.query_params)
        fork = query.get("with", "")
        line = command("show", fork or name, "--thread", query.get("post", ""))
        await _show(studio, name, query, "What if", line, names=[fork] if fork else None)

    @page_at("/forum/{name}/multiverse")
    async def multiverse(name: str) -> None:
        query = dict(ui.context.client.request.query_params)
        job = _job(studio, name, query)
        arguments = job.arguments if job else ("multiverse", name, "--post", query.get("post", ""))
        names = None if job else [each for each in query.get("runs", "").split(",") if each] or None
        await _show(studio, name, query, "Multiverse", command(*arguments), names=names, draws=True, job=job)


async def _show(
    studio: Studio,
    name: str,
    query: dict[str, str],
    title: str,
    line: str,
    *,
    names: list[str] | None,
    draws: bool = False,
    job: CommandJob | None = None,
) -> None:
    ui.add_head_html(STYLE)
    crumbs = [(name, run_address(name)), ("Forum", forum_address(name))]
    with frame(f"{title}, after post {query.get('post', '')}", command=line, crumbs=crumbs) as page:
        post = parse_number(query.get("post", ""), "post")
        if post is None:
            raise UsageError("this address has no post.", "Open a thread of the forum, and press What if… there.")
        await _ThreadComparison(studio, page, name, post, names, draws, job).build()


def _job(studio: Studio, name: str, query: dict[str, str]) -> CommandJob | None:
    """The command that makes the forks, if this Studio started it and not one before it."""
    number, started = query.get("job", ""), studio.jobs.started
    if not (number.isascii() and number.isdecimal() and len(number) < 9) or int(number) >= len(started):
        return None
    job = started[int(number)]
    return job if job.arguments[:2] == ("multiverse", name) else None


class _ThreadComparison:
    """The thread of a post in a run and in forks of it.

    Args:
        names: The forks to show; None for all that continue the post and fit `draws`.
        draws: Whether forks of a multiverse are shown, or those of what-ifs.
        job: The command that still makes some of them.
    """

    def __init__(
        self,
        studio: Studio,
        page: Page,
        name: str,
        post: int,
        names: list[str] | None,
        draws: bool,
        job: CommandJob | None,
    ) -> None:
        self.studio, self.page, self.name, self.post = studio, page, name, post
        self.names, self.draws, self.job = names, draws, job
        self.watch_list: set[str] = set()
        self.parts = ChangingParts()

    async def build(self) -> None:
        """Draw everything, and again whenever a fork goes on."""
        run = self.studio.library.run(self.name)
        self.context = PostContext(self.name, start_time(run))
        self.original = await load(lambda: ForumView(run).load())
        self.dialog = ContinuationDialog(self.studio, self.name, lambda: self.original)
        self.place = ui.column().classes("w-full gap-4")
        self.refresh = Redrawer(self._draw)
        self.studio.changes.listen("", self.refresh)
        await self.refresh.first()
        if self._active:
            after_load(self._redraw_at_end)

    @property
    def _active(self) -> bool:
        return self.job is not None and self.job.state in _ACTIVE

    async def _redraw_at_end(self) -> None:
        """Draw once more when the command has ended, which changes no folder."""
        while self._active:
            await asyncio.sleep(0.2)
        await self.refresh()

    def _continuations(self) -> list[Continuation]:
        forks = continuations(fork_manifests(self.studio.library, self.name), self.original, self.post)
        if self.names is not None:
            by_name = {each.run: each for each in forks}
            missing = [name for name in self.names if name not in by_name]
            if missing:
                raise UsageError(
                    f"{missing[0]} does not continue post {self.post} of {self.name}.", "It may have been deleted."
                )
            return [by_name[name] for name in self.names]
        earlier = EARLIER_FORKS.get(self.job, frozenset()) if self.job is not None else frozenset()
        return [each for each in forks if (each.draw > 0) == self.draws and each.run not in earlier]

    def _sides(self, forks: list[Continuation]) -> tuple[list[ThreadSide], list[Run], pl.DataFrame | None]:
        library = self.studio.library
        runs = [library.run(each.run) for each in forks]
        sides = [thread_side(self.original, self.original, self.post)]
        for run, fork in zip(runs, forks, strict=True):
            view = ForumView(run, word_filter=self.original.word_filter)
            sides.append(thread_side(view, self.original, self.post, fork.text))
        return sides, runs, comparison(library.run(self.name), runs, self.post) if runs else None

    async def _draw(self) -> None:
        try:
            forks = await load(self._continuations)
            if self.refresh.gone:
                return
            for name in {each.run for each in forks} - self.watch_list:
                self.watch_list.add(name)
                self.studio.changes.listen(name, self.refresh)
            sides, runs, table = await load(self._sides, forks)
        except PopulaceError as error:
            self.parts.show(self.place, str(error), partial(error_card, error))
            return
        if self.refresh.gone:
            return
        if self.job is not None and sides[1:]:
            self.page.update_address(runs=",".join(each.run for each in sides[1:]))
        job = self.job.state if self.job is not None else ""
        content = (job, sides, None if table is None else table.rows())
        self.parts.show(self.place, content, lambda: self._show(sides, runs, table))

    def _show(self, sides: list[ThreadSide], runs: list[Run], table: pl.DataFrame | None) -> None:
        self._show_head(sides)
        if table is None:
            others = "There is no other continuation of this post yet. The buttons above make one."
            empty_state("The first continuation is being started." if self._active else others)
            return
        with ui.element("div").classes("sides").props('tabindex=0 role=group aria-label="Threads side by side"'):
            for each in sides:
                self._show_side(each, sides)
        _show_comparison(table, runs)

    def _show_head(self, sides: Sequence[ThreadSide]) -> None:
        post = next(each for each in sides[0].posts if each.post == self.post)
        with ui.row().classes("items-center gap-3 w-full"):
            ui.link("← The thread", forum_address(self.name, thread=self.post)).classes("plain")
            names = ("whatif-again", "multiverse-again")
            continue_buttons(lambda several: self.dialog.open(post, several), names, "outline dense")
        if self.job is None:
            return
        if self.job.state == "failed":
            with ui.column().classes("panel error").props("role=alert"):
                prose(self.job.error)
        elif self.job.state != "ended":
            with test_id(ui.row().classes("items-center gap-2"), "progress"):
                ui.spinner(size="sm")
                done = sum(each.state == "complete" for each in sides[1:])
                line = display_text(command(*self.job.arguments), 300)
                ui.label(f"{done} done, {len(sides) - 1 - done} in progress: {line}")

    def _show_side(self, side: ThreadSide, sides: Sequence[ThreadSide]) -> None:
        original = side.run == self.name
        # Of the original, all posts up to the first fork are shared by all.
        shared = min(each.shared for each in sides[1:]) if original else side.shared
        context = self.context if original else PostContext(side.run, self.context.start, {}, self.context.revealed)
        with test_id(ui.column().classes("panel side gap-2"), f"side-{side.run}"):
            with ui.row().classes("items-center gap-2"):
                heading("What happened" if original else "What if")
                chip(side.state)
            with ui.row().classes("items-center gap-2 small"):
                run_link(side.run)
                ui.link("its forum", forum_address(side.run, thread=self.post)).classes("plain")
            if side.text:
                note(side.text, 200).props("dir=auto")
            earlier = [post for post in side.posts[:shared] if post.post != self.post]
            if earlier:
                title = f"{count_text(len(earlier), 'earlier post')}, the same"
                with ui.expansion(title).classes("w-full soft").props("dense"):
                    for post in earlier:
                        post_card(post, context, kind="shared", nested=False)
            for post in side.posts[:shared]:
                if post.post == self.post:
                    post_card(post, context, focus=True, kind="shared", nested=False)
            ui.label("from here on").classes("parts")
            for post in side.posts[shared:]:
                post_card(post, context, kind="new", nested=False)
            if not side.posts[shared:]:
                note("Nobody has answered yet." if side.state == "running" else "Nobody answered any more.")


def _show_comparison(table: pl.DataFrame, runs: Sequence[Run]) -> None:
    with section("What differs", note="in this thread, after the post; the original first"):
        plain_table(table, _COLUMNS, "compared").props("hide-pagination")
        if not any(run.manifest.status.state == "running" for run in runs) and table["violations"].null_count():
            note("Violations are known where every run was judged: populace judge RUN --model MODEL.")
        note("One run is one draw: differences between single runs may be chance.")
