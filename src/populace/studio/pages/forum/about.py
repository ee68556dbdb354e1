"""What stands beside a forum: its name, goal and rules, figures about it, and who judged it."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable

from nicegui import ui

from populace.runs.settings_text import decider_text
from populace.studio.jobs import command
from populace.studio.pages.forum.data import ForumView
from populace.studio.shell.frame import notify_errors, section, test_id
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio

_KINDS = {"prescriptive": "wanted", "restrictive": "not wanted"}


def masthead(view: ForumView) -> None:
    """The name of the community, what it is for, and that it is none."""
    design = view.community.design
    with ui.column().classes("panel masthead").style(f"--hue:{zlib.crc32(design.name.encode()) % 360}"):
        ui.label(display_text(design.name, 120)).classes("page-title").props("role=heading aria-level=2 dir=auto")
        if design.goal:
            prose(design.goal, 600)
        ui.label("A simulation: the people do not exist, and a model wrote what does not say otherwise.").classes(
            "soft small"
        )


def about(view: ForumView) -> None:
    """Rules and figures."""
    with section("Rules"):
        rules = view.rules()
        if not rules.height:
            ui.label("There are none.").classes("soft")
        for number, kind, text, broken in rules.iter_rows():
            with ui.element("div").classes("rule"):
                ui.label(f"{number}.").classes("soft")
                with ui.column().classes("gap-0 min-w-0"):
                    ui.label(_KINDS.get(kind, kind)).classes("soft small")
                    prose(text, 400)
                    if broken:
                        ui.label(f"broken by {broken} {'post' if broken == 1 else 'posts'}").classes("found")
    _figures(view)


def _figures(view: ForumView) -> None:
    regime = view.run.manifest.regime
    posts = view.posts
    rows = [
        ("people", str(len(view.community.people))),
        ("threads", str(posts["thread"].n_unique())),
        ("posts", str(posts.height)),
        ("removed", str(int(posts["removed"].sum()))),
        ("votes", str(view.community.votes.height)),
        ("model", decider_text(regime.decider, regime.model)),
        ("seed", str(regime.seed)),
    ]
    with section("Figures"), ui.element("div").classes("facts"):
        for name, value in rows:
            ui.label(name).classes("soft")
            ui.label(display_text(value, 120))


class Judging:
    """Who judged a run, and a button that has it judged.

    Args:
        studio: The Studio.
        view: The community.

    Attributes:
        done: Called when a judge is done.
    """

    def __init__(self, studio: Studio, view: ForumView) -> None:
        self.studio, self.run, self.regime = studio, view.run.name, view.run.manifest.regime
        self.done: Callable[[], Awaitable[None]] | None = None
        with section("Judges"):
            self.told = ui.label().classes("foreign")
            self.model = test_id(ui.input("Model that judges", value=self.regime.model), "judge-model")
            self.model.props("dense outlined").classes("w-full").on_value_change(self._follow)
            self.line = ui.label().classes("commandline wrapped w-full")
            with ui.row().classes("items-center gap-2"):
                self.button = ui.button("Judge every post", on_click=notify_errors(self._judge)).props(
                    "outline no-caps"
                )
                test_id(self.button, "judge")
                self.waiting = ui.spinner(size="sm")
            self.waiting.set_visibility(False)
        self._follow()

    def show(self, view: ForumView) -> None:
        """Say who judged so far."""
        count = view.posts.filter(view.posts["flags"] > 0).height
        posts = f"{count} {'post is' if count == 1 else 'posts are'} flagged"
        judges = f"{posts} by {display_text(', '.join(view.judges), 300)}. A judge may err."
        nobody = "Nobody has judged this run. A model can: it is asked about every post."
        self.told.set_text(judges if view.judges else nobody)

    def _arguments(self) -> tuple[str, ...]:
        return ("judge", self.run, "--model", (self.model.value or "").strip() or self.regime.model)

    def _follow(self) -> None:
        self.line.set_text(display_text(command(*self._arguments())))

    async def _judge(self) -> None:
        self.button.disable()
        self.waiting.set_visibility(True)
        try:
            await self.studio.jobs.start(*self._arguments()).wait_for_result()
        finally:
            self.button.enable()
            self.waiting.set_visibility(False)
        if self.done is not None:
            await self.done()
