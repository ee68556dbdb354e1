"""What stands beside a forum: its name, goal and rules, figures about it, and who judged it."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable

from nicegui import ui

from populace.studio.frame import section, tested, told
from populace.studio.jobs import command
from populace.studio.studio import Studio
from populace.studio.text import prose, shown
from populace.studio.views.forum import ForumView

_KINDS = {"prescriptive": "wanted", "restrictive": "not wanted"}


def masthead(view: ForumView) -> None:
    """The name of the community, what it is for, and that it is none."""
    design = view.community.design
    with ui.column().classes("panel masthead").style(f"--hue:{zlib.crc32(design.name.encode()) % 360}"):
        ui.label(shown(design.name, 120)).classes("page-title").props("role=heading aria-level=2 dir=auto")
        if design.goal:
            prose(design.goal, 600)
        ui.label("A simulation: the people do not exist, and a model wrote what does not say otherwise.").classes(
            "soft small"
        )


def about(studio: Studio, view: ForumView, again: Callable[[], Awaitable[None]]) -> None:
    """Rules, figures and judges.

    Args:
        studio: The Studio.
        view: The community.
        again: Draws the page again, once a judge is done.
    """
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
    _judges(studio, view, again)


def _figures(view: ForumView) -> None:
    regime = view.run.manifest.regime
    posts = view.posts
    rows = [
        ("people", str(len(view.community.people))),
        ("threads", str(posts["thread"].n_unique())),
        ("posts", str(posts.height)),
        ("removed", str(int(posts["removed"].sum()))),
        ("votes", str(view.community.votes.height)),
        ("model", regime.model if regime.decider == "model" else regime.decider),
        ("seed", str(regime.seed)),
    ]
    with section("Figures"), ui.element("div").classes("facts"):
        for name, value in rows:
            ui.label(name).classes("soft")
            ui.label(shown(value, 120))


def _judges(studio: Studio, view: ForumView, again: Callable[[], Awaitable[None]]) -> None:
    with section("Judges"):
        if view.judges:
            count = view.posts.filter(view.posts["flags"] > 0).height
            posts = f"{count} {'post is' if count == 1 else 'posts are'} flagged"
            ui.label(f"{posts} by {shown(', '.join(view.judges), 300)}. A judge may err.").classes("foreign")
        else:
            ui.label("Nobody has judged this run. A model can: it is asked of every post.").classes("soft")
        regime = view.run.manifest.regime
        model = tested(ui.input("Model that judges", value=regime.model), "judge-model")
        model.props("dense outlined").classes("w-full")
        line = ui.label().classes("commandline wrapped w-full")

        def arguments() -> tuple[str, ...]:
            return ("judge", view.run.name, "--model", (model.value or "").strip() or regime.model)

        def show_command() -> None:
            line.set_text(shown(command(*arguments())))

        @told
        async def judge() -> None:
            button.disable()
            waiting.set_visibility(True)
            try:
                await studio.jobs.start(*arguments()).ended()
            finally:
                if not button.is_deleted:
                    button.enable()
                    waiting.set_visibility(False)
            await again()

        model.on_value_change(show_command)
        show_command()
        with ui.row().classes("items-center gap-2"):
            button = tested(ui.button("Judge every post", on_click=judge).props("outline no-caps"), "judge")
            waiting = ui.spinner(size="sm")
            waiting.set_visibility(False)
