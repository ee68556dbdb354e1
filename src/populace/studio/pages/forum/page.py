"""A forum as its members see it, with what a researcher needs: acts of moderators, verdicts, decisions, what-ifs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from nicegui import ui

from populace.base.errors import UsageError
from populace.community.community import Sorting
from populace.community.word_filter import WordFilter
from populace.runs.clock import step_time
from populace.studio.jobs import command
from populace.studio.pages.forum.data import ForumView, thread_facts
from populace.studio.pages.forum.panels import (
    JudgePanel,
    figures,
    show_figures,
    show_masthead,
    show_member,
    show_members,
    show_rules,
)
from populace.studio.pages.forum.post import STYLE, PostContext, post_card, start_time, tag, votes
from populace.studio.pages.whatif.data import continuation_counts, continuations, fork_manifests
from populace.studio.pages.whatif.dialog import ContinuationDialog
from populace.studio.shell.addresses import parse_number, run_address
from populace.studio.shell.frame import Page, empty_state, frame, page_at, test_id
from populace.studio.shell.loading import load
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.elements import action, count_text, heading, note, outline, set_spoken_value
from populace.studio.widgets.redraw import ChangingParts, Redrawer
from populace.studio.widgets.run_content import RunContent

_SORTINGS = {"new": "New", "top": "Top", "hot": "Hot"}
_THREADS = 30
_POSTS = 100


@dataclass
class ForumQuery:
    """What the address of a forum selects."""

    thread: int | None = None
    sort: Sorting | None = None
    member: str = ""
    at: int | None = None
    search: str = ""
    filtered: bool = True
    flagged: bool = False

    @classmethod
    def read(cls, query: dict[str, str]) -> ForumQuery:
        """The selection in the query of an address."""
        sort = query.get("sort") or None
        if sort is not None and sort not in get_args(Sorting):
            raise UsageError(f"threads are sorted by {', '.join(get_args(Sorting))}, not by {sort!r}.")
        return cls(
            thread=parse_number(query.get("thread", ""), "thread"),
            sort=sort,  # type: ignore[arg-type]
            member=query.get("member", ""),
            at=parse_number(query.get("at", ""), "step"),
            search=query.get("q", ""),
            filtered=query.get("filter") != "off",
            flagged=query.get("flagged") == "yes",
        )

    def lasting(self) -> dict[str, str]:
        """The parts that links within the forum keep."""
        step = {} if self.at is None else {"at": str(self.at)}
        return step if self.filtered else step | {"filter": "off"}


def register(studio: Studio) -> None:
    """Add the page `/forum/NAME`."""

    @page_at("/forum/{name}")
    async def forum(name: str) -> None:
        ui.add_head_html(STYLE)
        with frame(f"Forum of {name}", command=command("show", name), crumbs=[(name, run_address(name))]) as page:
            query = ForumQuery.read(dict(ui.context.client.request.query_params))
            await _ForumPage(studio, page, name, query).build()


class _ForumPage:
    """The parts of the page, and how they follow the run and the controls."""

    def __init__(self, studio: Studio, page: Page, name: str, query: ForumQuery) -> None:
        self.studio, self.page, self.name, self.query = studio, page, name, query
        self.context = PostContext(name, start_time(studio.library.run(name)), query.lasting())
        self.view: ForumView
        self.last_step: list[int] | None = None
        self.thread_count, self.post_count = _THREADS, _POSTS
        self.parts = ChangingParts()

    async def build(self) -> None:
        self.refresh = Redrawer(self._redraw)
        await self._read()
        self.context.continue_post = ContinuationDialog(self.studio, self.name, lambda: self.view).open
        self.content = RunContent(self.studio.library, self.name)
        with self.content.element:
            show_masthead(self.view)
            self._show_controls()
            with ui.element("div").classes("forum"):
                self.main = ui.column().classes("w-full gap-4")
                with ui.column().classes("w-full gap-4"):
                    self.facts = ui.column().classes("w-full gap-4")
                    self.judges = JudgePanel(self.studio, self.view, self.refresh)
                    self.people = ui.column().classes("w-full gap-4")
        self.studio.changes.listen(self.name, self.refresh)
        await self.refresh.first()

    async def _read(self) -> None:
        library = self.studio.library

        def read() -> ForumView:
            word_filter = None if self.query.filtered else WordFilter([])
            run = library.run(self.name)
            # Noted before anything is read: a step that comes meanwhile is read next time.
            last_step = run.steps[-1:]
            like = self.view if self.last_step == last_step and self.view.run is run else None
            view = ForumView(run, self.query.at, word_filter, like=like).load()
            self.last_step = last_step
            self.context.continuations = continuation_counts(continuations(fork_manifests(library, self.name), view))
            return view

        self.view = await load(read)

    @property
    def _last(self) -> int:
        return self.last_step[-1] if self.last_step else 0

    def _show_controls(self) -> None:
        query, last = self.query, self._last
        with ui.column().classes("panel gap-2"):
            with ui.element("div").classes("bar"):
                sorting = ui.toggle(_SORTINGS, value=query.sort or self.view.community.design.sorting)
                test_id(sorting, "sort").props("no-caps unelevated padding='4px 12px'")
                sorting.on_value_change(lambda e: self._set(sort=e.value))
                words = ui.input(placeholder="Search posts and people", value=query.search).style("min-width: 180px")
                outline(words, "search", "grow").props('debounce=300 clearable type=search aria-label="Search"')
                words.on_value_change(lambda e: self._search(e.value or ""))
                hide = test_id(ui.switch("Hide offensive words", value=query.filtered), "filter")
                hide.on_value_change(lambda e: self._set_filter(e.value))
                flagged = test_id(ui.switch("Only flagged", value=query.flagged), "flagged")
                flagged.on_value_change(lambda e: self._set(flagged=e.value))
            with ui.row().classes("items-center w-full gap-3"):
                self.clock = note("").style("min-width: 210px")
                self.slider = ui.slider(min=0, max=max(last, 1), value=last if query.at is None else query.at)
                test_id(self.slider, "as-of").classes("stretch").props('aria-label="As of which step"')
                self.slider.on("change", lambda e: self._set_step(int(e.args)))

    def draw(self) -> None:
        query = self.query
        at = query.at if query.at is not None else self._last
        self.clock.set_text(f"As of {step_time(self.view.run, at)}")
        set_spoken_value(self.slider, step_time(self.view.run, at))
        arguments: tuple[str, ...] = ()
        if query.member:
            arguments = ("--step", str(at), "--person", query.member)
        elif query.thread is not None:
            arguments = ("--thread", str(query.thread))
        self.page.show_command(command("show", self.name, *arguments))
        view, context = self.view, self.context
        self.parts.show(self.main, self._main_content(), self._show_main)
        self.parts.show(self.facts, (view.rules().rows(), figures(view)), self._show_facts)
        self.judges.show(view)
        members = view.members().rows()
        self.parts.show(self.people, (members, dict(context.query)), lambda: show_members(view, context))

    def _main_content(self) -> object:
        """What the main part shows: where it is the same, the part is not drawn again."""
        query, view = self.query, self.view
        address = (query.member, query.thread, query.sort, query.search, query.flagged, dict(self.context.query))
        extent = (self.thread_count, self.post_count, dict(self.context.continuations))
        if query.member:
            return address, extent, view.member(query.member).wrote.rows()
        if query.thread is not None:
            return address, extent, view.thread(query.thread)
        state = view.run.manifest.status.state
        return address, extent, state, view.threads(query.sort, search=query.search, flagged=query.flagged).rows()

    def _show_main(self) -> None:
        if self.query.member:
            self._show_back_link()
            show_member(self.view, self.context, self.query.member)
        elif self.query.thread is not None:
            self._show_thread(self.query.thread)
        else:
            self._show_list()

    def _show_facts(self) -> None:
        show_rules(self.view)
        show_figures(self.view)

    def _show_back_link(self) -> None:
        flagged = "yes" if self.query.flagged else ""
        target = self.context.address(sort=self.query.sort, q=self.query.search, flagged=flagged)
        test_id(ui.link("← All threads", target).classes("plain"), "all-threads")

    def _show_list(self) -> None:
        threads = self.view.threads(self.query.sort, search=self.query.search, flagged=self.query.flagged)
        with ui.column().classes("panel gap-0"):
            if not threads.height:
                self._show_empty_state()
            for row in threads.head(self.thread_count).iter_rows(named=True):
                self._show_row(row)
            rest = threads.height - self.thread_count
            if rest > 0:
                action(f"Show more ({rest})", self._show_more, look="flat")

    def _show_empty_state(self) -> None:
        if self.query.search or self.query.flagged:
            empty_state("No thread fits.", "Show all threads", self.context.address())
        elif self.view.run.manifest.status.state == "running":
            empty_state("Nobody has written yet. Posts appear here as the run goes on.")
        else:
            empty_state("Nobody had written by then. Move the slider to a later step.")

    def _show_row(self, row: dict[str, Any]) -> None:
        target = self.context.address(thread=row["thread"], sort=self.query.sort, q=self.query.search)
        with ui.element("div").classes("thread-row"):
            votes(row["score"])
            with ui.column().classes("gap-1 min-w-0"):
                link = ui.link(display_text(row["heading"], 160), target).classes("plain thread-title")
                test_id(link.props("dir=auto"), f"thread-{row['thread']}")
                with ui.row().classes("items-center gap-2 small soft"):
                    ui.label("by")
                    self.context.author_link(row["author"], row["name"])
                    ui.label(count_text(row["posts"] - 1, "reply", "replies"))
                    ui.label(count_text(row["participants"], "person", "people"))
                    ui.label(f"last {self.context.time_text(row['last'])}")
                    if row["status"] != "visible":
                        tag(row["status"], "warn" if row["status"] == "locked" else "bad")
                    if row["flags"]:
                        tag(f"{row['flags']} flagged", "bad")
                    if self.query.search:
                        tag(f"found in {len(row['found'])}")

    def _show_thread(self, post: int) -> None:
        thread = self.view.thread(post)
        first, facts = thread[0], thread_facts(thread)
        self._show_back_link()
        with ui.column().classes("panel gap-1"):
            if first.title and not first.covered:
                heading(first.title, classes="page-title")
            with ui.row().classes("items-center gap-2 small soft"):
                replies = count_text(facts["replies"], "reply", "replies")
                ui.label(f"{replies} · {count_text(facts['people'], 'person', 'people')}")
                if any(act.power == "lock" for each in thread for act in each.marks):
                    tag("locked", "warn")
                for name in ("removed", "flagged"):
                    if facts[name]:
                        tag(f"{facts[name]} {name}", "bad")
            for each in thread[: self.post_count]:
                post_card(each, self.context, focus=each.post == post and post != first.post)
            if len(thread) > self.post_count:
                action(f"Show {len(thread) - self.post_count} more", self._show_more, look="flat")

    def _show_more(self) -> None:
        self.thread_count += _THREADS
        self.post_count += _POSTS
        self.draw()

    async def _redraw(self) -> None:
        await self.content.draw(self._follow)

    async def _follow(self) -> None:
        """Read and draw again, as when the run went on."""
        await self._read()
        if self.refresh.gone:
            return
        last = self._last
        # Only where the run went on: what is sent to a slider that is being moved would move it back.
        if self.slider.props["max"] < last:
            self.slider.props["max"] = last
            if self.query.at is None:
                self.slider.set_value(last)
            self.slider.update()
        self.draw()

    def _set(self, *, sort: Sorting | None = None, flagged: bool | None = None) -> None:
        self.query.sort = sort or self.query.sort
        self.query.flagged = self.query.flagged if flagged is None else flagged
        self.page.update_address(sort=self.query.sort, flagged="yes" if self.query.flagged else None)
        self.draw()

    def _search(self, words: str) -> None:
        self.query.search, self.query.thread, self.query.member = words, None, ""
        self.page.update_address(q=words, thread=None, member=None)
        self.draw()

    async def _set_filter(self, on: bool) -> None:
        self.query.filtered = on
        self.page.update_address(filter=None if on else "off")
        await self._reload()

    async def _set_step(self, step: int) -> None:
        self.query.at = None if step >= self._last else step
        self.page.update_address(at=self.query.at)
        await self._reload()

    async def _reload(self) -> None:
        self.context.query = self.query.lasting()
        await self.refresh()
