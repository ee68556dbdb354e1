"""A forum as its members would see it, with what a researcher sees beside: marks, verdicts, decisions, what-ifs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, get_args

from nicegui import ui

from populace.base.errors import UsageError
from populace.community.community import Sorting
from populace.community.word_filter import WordFilter
from populace.runs.clock import step_time
from populace.studio.jobs import command
from populace.studio.pages.forum.about import Judging, about, masthead
from populace.studio.pages.forum.data import ForumView, thread_facts
from populace.studio.pages.forum.member import member_panel, members_panel
from populace.studio.pages.forum.post import STYLE, Reader, post_card, start_time, tag, votes
from populace.studio.pages.whatif.data import continuations, counted, fork_manifests
from populace.studio.pages.whatif.dialog import Turning
from populace.studio.shell.frame import Page, empty_state, frame, page_at, run_address, test_id
from populace.studio.shell.text import display_text
from populace.studio.studio import Studio
from populace.studio.widgets.redraw import Redrawer

SORTINGS = {"new": "New", "top": "Top", "hot": "Hot"}
_LISTED = 30
_READ = 100


@dataclass
class Wanted:
    """What the address of a forum asks for."""

    thread: int | None = None
    sort: Sorting | None = None
    member: str = ""
    at: int | None = None
    search: str = ""
    filtered: bool = True
    flagged: bool = False
    listed: int = _LISTED
    read: int = _READ

    @classmethod
    def read_from(cls, query: dict[str, str]) -> Wanted:
        """From the parts of an address; a part that cannot be read is an error in words."""
        sort = query.get("sort") or None
        if sort is not None and sort not in get_args(Sorting):
            raise UsageError(f"threads are sorted by {', '.join(get_args(Sorting))}, not by {sort!r}.")
        return cls(
            thread=whole(query, "thread"),
            sort=sort,  # type: ignore[arg-type]
            member=query.get("member", ""),
            at=whole(query, "at"),
            search=query.get("q", ""),
            filtered=query.get("filter") != "off",
            flagged=query.get("flagged") == "yes",
        )

    def kept(self) -> dict[str, str]:
        """What links within the forum keep."""
        kept = {"at": "" if self.at is None else str(self.at), "filter": "" if self.filtered else "off"}
        return {name: value for name, value in kept.items() if value}


def whole(query: dict[str, str], name: str) -> int | None:
    """A whole number from an address."""
    given = query.get(name, "")
    if not given:
        return None
    try:
        return int(given)
    except ValueError:
        raise UsageError(f"{name}={given[:40]!r} is no number.") from None


class ForumPage:
    """One open forum.

    Args:
        studio: The Studio.
        page: The page it is shown on.
        name: The run.
        wanted: What the address asks for.
    """

    def __init__(self, studio: Studio, page: Page, name: str, wanted: Wanted) -> None:
        self.studio, self.page, self.name, self.wanted = studio, page, name, wanted
        self.reader = Reader(name, start_time(studio.library.run(name)), wanted.kept())
        self.view: ForumView
        self.read_at: list[int] | None = None

    async def build(self) -> None:
        """Read the community and draw everything."""
        self.refresh = Redrawer(self._again)
        await self._read()
        turning = Turning(self.studio, self.name, lambda: self.view)
        self.reader.turn = turning.ask
        masthead(self.view)
        self._controls()
        with ui.element("div").classes("forum"):
            self.main = ui.column().classes("w-full gap-4")
            with ui.column().classes("w-full gap-4"):
                self.side = ui.column().classes("w-full gap-4")
                self.judging = Judging(self.studio, self.view)
                self.people = ui.column().classes("w-full gap-4")
        self.judging.done = self.refresh
        self.studio.changes.listen(self.name, self.refresh)
        await self.refresh.first()

    async def _read(self) -> None:
        library = self.studio.library

        def read() -> ForumView:
            viewing = None if self.wanted.filtered else WordFilter([])
            run = library.run(self.name)
            # Noted before anything is read: a step that comes meanwhile is read next time.
            last = run.steps[-1:]
            like = self.view if self.read_at == last and self.view.run is run else None
            view = ForumView(run, self.wanted.at, viewing, like=like).loaded()
            self.read_at = last
            self.reader.continued = counted(continuations(fork_manifests(library, self.name), view))
            return view

        self.view = await asyncio.to_thread(read)

    @property
    def _last(self) -> int:
        """The last step that was read."""
        return self.read_at[-1] if self.read_at else 0

    def _controls(self) -> None:
        last = self._last
        with ui.column().classes("panel gap-2"):
            with ui.element("div").classes("bar"):
                way = ui.toggle(SORTINGS, value=self.wanted.sort or self.view.community.design.sorting)
                test_id(way, "sort").props("no-caps unelevated padding='4px 12px'").on_value_change(
                    lambda e: self._sort(e.value)
                )
                words = ui.input(placeholder="Search posts and people", value=self.wanted.search)
                test_id(words, "search").props('dense outlined debounce=300 clearable type=search aria-label="Search"')
                words.classes("grow").style("min-width: 180px").on_value_change(lambda e: self._search(e.value or ""))
                hide = ui.switch("Hide offensive words", value=self.wanted.filtered)
                test_id(hide, "filter").on_value_change(lambda e: self._filter(e.value))
                only = ui.switch("Only flagged", value=self.wanted.flagged)
                test_id(only, "flagged").on_value_change(lambda e: self._flagged(e.value))
            with ui.row().classes("items-center w-full gap-3"):
                self.clock = ui.label("").classes("small soft").style("min-width: 210px")
                self.slider = ui.slider(
                    min=0, max=max(last, 1), value=last if self.wanted.at is None else self.wanted.at
                )
                test_id(self.slider, "as-of").classes("stretch").props('aria-label="As of which step"')
                self.slider.on("change", lambda e: self._as_of(int(e.args)))

    def draw(self) -> None:
        """Draw what is seen, from what was read."""
        run = self.view.run
        at = self.wanted.at if self.wanted.at is not None else self._last
        self.clock.set_text(f"As of {step_time(run, at)}")
        self.main.clear()
        with self.main:
            if self.wanted.member:
                self.page.show_command(command("show", self.name, "--step", str(at), "--person", self.wanted.member))
                self._back()
                member_panel(self.view, self.reader, self.wanted.member)
            elif self.wanted.thread is not None:
                self.page.show_command(command("show", self.name, "--thread", str(self.wanted.thread)))
                self._thread(self.wanted.thread)
            else:
                self.page.show_command(command("show", self.name))
                self._list()
        self.side.clear()
        with self.side:
            about(self.view)
        self.judging.show(self.view)
        self.people.clear()
        with self.people:
            members_panel(self.view, self.reader)

    def _back(self) -> None:
        back = self.reader.address(
            sort=self.wanted.sort, q=self.wanted.search, flagged="yes" if self.wanted.flagged else ""
        )
        test_id(ui.link("← All threads", back).classes("plain"), "all-threads")

    def _list(self) -> None:
        threads = self.view.threads(self.wanted.sort, search=self.wanted.search, flagged=self.wanted.flagged)
        with ui.column().classes("panel gap-0"):
            if not threads.height:
                self._nothing()
            for row in threads.head(self.wanted.listed).iter_rows(named=True):
                self._row(row)
            left = threads.height - self.wanted.listed
            if left > 0:
                ui.button(f"Show more ({left})", on_click=self._more).props("flat no-caps")

    def _nothing(self) -> None:
        if self.wanted.search or self.wanted.flagged:
            empty_state("No thread fits.", "Show all threads", self.reader.address())
        elif self.view.run.manifest.status.state == "running":
            empty_state("Nobody has written yet. Posts appear here as the run goes on.")
        else:
            empty_state("Nobody had written by then. Move the slider to a later step.")

    def _row(self, row: dict[str, Any]) -> None:
        with ui.element("div").classes("thread-row"):
            votes(row["score"])
            with ui.column().classes("gap-1 min-w-0"):
                target = self.reader.address(thread=row["thread"], sort=self.wanted.sort, q=self.wanted.search)
                link = (
                    ui.link(display_text(row["heading"], 160), target).classes("plain thread-title").props("dir=auto")
                )
                test_id(link, f"thread-{row['thread']}")
                replies, people = row["posts"] - 1, row["participants"]
                with ui.row().classes("items-center gap-2 small soft"):
                    ui.label("by")
                    ui.link(display_text(row["name"], 60), self.reader.address(member=row["author"])).classes("who")
                    ui.label(f"{replies} {'reply' if replies == 1 else 'replies'}")
                    ui.label(f"{people} {'person' if people == 1 else 'people'}")
                    ui.label(f"last {self.reader.time_text(row['last'])}")
                    if row["status"] == "locked":
                        tag("locked", "warn")
                    if row["status"] == "removed":
                        tag("removed", "bad")
                    if row["flags"]:
                        tag(f"{row['flags']} flagged", "bad")
                    if self.wanted.search:
                        tag(f"found in {len(row['found'])}")

    def _thread(self, post: int) -> None:
        said = self.view.thread(post)
        first, facts = said[0], thread_facts(said)
        self._back()
        locked = any(mark.power == "lock" for each in said for mark in each.marks)
        with ui.column().classes("panel gap-1"):
            if first.title and not (first.hidden or first.removed):
                ui.label(display_text(first.title, 300)).classes("page-title").props(
                    "role=heading aria-level=2 dir=auto"
                )
            with ui.row().classes("items-center gap-2 small soft"):
                ui.label(f"{facts['replies']} replies · {facts['people']} people")
                if locked:
                    tag("locked", "warn")
                if facts["removed"]:
                    tag(f"{facts['removed']} removed", "bad")
                if facts["flagged"]:
                    tag(f"{facts['flagged']} flagged", "bad")
            for each in said[: self.wanted.read]:
                post_card(each, self.reader, focus=each.post == post and post != first.post)
            if len(said) > self.wanted.read:
                ui.button(f"Show {len(said) - self.wanted.read} more", on_click=self._more).props("flat no-caps")

    def _more(self) -> None:
        self.wanted.listed += _LISTED
        self.wanted.read += _READ
        self.draw()

    async def _again(self) -> None:
        """Read again and draw again, as when the run went on."""
        await self._read()
        if self.refresh.gone:
            return
        last = self._last
        # Only where the run went on: what is sent to a slider that is being moved would move it back.
        if self.slider.props["max"] < last:
            self.slider.props["max"] = last
            if self.wanted.at is None:
                self.slider.set_value(last)
            self.slider.update()
        self.draw()

    def _sort(self, way: Sorting) -> None:
        self.wanted.sort = way
        self.page.update_address(sort=way)
        self.draw()

    def _search(self, words: str) -> None:
        self.wanted.search, self.wanted.thread, self.wanted.member = words, None, ""
        self.page.update_address(q=words, thread=None, member=None)
        self.draw()

    async def _filter(self, on: bool) -> None:
        self.wanted.filtered = on
        self.reader.query = self.wanted.kept()
        self.page.update_address(filter=None if on else "off")
        await self.refresh()

    def _flagged(self, on: bool) -> None:
        self.wanted.flagged = on
        self.page.update_address(flagged="yes" if on else None)
        self.draw()

    async def _as_of(self, step: int) -> None:
        self.wanted.at = None if step >= self._last else step
        self.reader.query = self.wanted.kept()
        self.page.update_address(at=self.wanted.at)
        await self.refresh()


def register(studio: Studio) -> None:
    """The forum of a run."""

    @page_at("/forum/{name}")
    async def forum(name: str) -> None:
        ui.add_head_html(STYLE)
        with frame(f"Forum of {name}", command=command("show", name), crumbs=[(name, run_address(name))]) as page:
            wanted = Wanted.read_from(dict(ui.context.client.request.query_params))
            await ForumPage(studio, page, name, wanted).build()
