"""One utterance of a forum on a page: who, when, the words or why they are hidden, and what can be done from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import quote, urlencode

from nicegui import ui

from populace.community.page import hue
from populace.runs.clock import time_text
from populace.runs.reader import RunReader
from populace.studio.pages.forum.data import ForumPost, Mark
from populace.studio.shell.frame import run_address, test_id
from populace.studio.shell.text import display_text, prose

_PLACES = {"whatif": "what-if", "multiverse": "universe"}
STYLE = '<link rel="stylesheet" href="/studio-static/forum/forum.css">'


@dataclass
class Reader:
    """Who looks at a forum, and what they asked to see.

    Attributes:
        run: The name of the run.
        start: When the community opened, in its own time.
        query: What every link within the forum keeps, such as the step and the filter.
        revealed: The posts that were asked for though they are hidden.
        turn: Opens the dialog for a what-if, and for a multiverse.
        continued: How many what-ifs, and how many forks of a multiverse, there are of a post.
    """

    run: str
    start: datetime
    query: dict[str, str] = field(default_factory=dict)
    revealed: set[int] = field(default_factory=set)
    turn: Callable[[ForumPost, bool], None] | None = None
    continued: dict[int, tuple[int, int]] = field(default_factory=dict)

    def time_text(self, seconds: int | None) -> str:
        """A time of the community in words."""
        return "" if seconds is None else time_text((self.start + timedelta(seconds=int(seconds))).isoformat())

    def address(self, **parts: object) -> str:
        """A place in this forum, with what is kept."""
        return forum_address(self.run, **{**self.query, **parts})


def start_time(run: RunReader) -> datetime:
    """When a run began, by its own clock."""
    return datetime.fromisoformat(run.record.facts(0)["now"])


def forum_address(run: str, *more: str, **query: object) -> str:
    """The address of a forum, or of a place in it."""
    kept = {name: str(value) for name, value in query.items() if value not in (None, "")}
    path = "/".join(["/forum", quote(run, safe=""), *more])
    return f"{path}?{urlencode(kept)}" if kept else path


def face(author: object, name: str) -> None:
    """The circle that stands for somebody, of the same colour on every page."""
    letter = name[:1] if name[:1].isalnum() else "•"
    who = author if isinstance(author, int) else str(author)
    ui.label(letter).classes("face").style(f"--hue:{hue(who)}").props("aria-hidden=true")


def tag(text: str, kind: str = "") -> ui.label:
    """A small mark."""
    return ui.label(display_text(text, 80)).classes(f"tag {kind}")


def votes(score: int, detail: str = "") -> None:
    """A score that says its sign by more than colour."""
    kind = "up" if score > 0 else "down" if score < 0 else ""
    mark = "▼" if score < 0 else "▲"
    made = ui.label(f"{mark} {score}").classes(f"votes {kind}").props(f'aria-label="{score} votes"')
    if detail:
        with made:
            ui.tooltip(detail)


def post_card(
    said: ForumPost, reader: Reader, *, focus: bool = False, kind: str = "", nested: bool = True
) -> ui.column:
    """An utterance as a card.

    Args:
        said: The utterance.
        reader: Who looks.
        focus: Whether it is the one that was asked for.
        kind: `new` or `shared` where threads stand side by side.
        nested: Whether it is set in under what it answers; otherwise it says what it answers.
    """
    classes = ["post", kind, "focus" if focus else "", "flagged" if said.flags else ""]
    classes += ["opening" if said.parent is None and not kind else ""]
    with ui.column().classes(" ".join(classes)).style(f"--depth:{said.depth if nested else 0}") as card:
        test_id(card.props(f"id=post-{said.post}"), f"post-{said.post}")
        with ui.element("div").classes("post-head"):
            face(said.author, said.name)
            ui.link(display_text(said.name, 60), reader.address(member=said.author, thread=None)).classes("who").props(
                "dir=auto"
            )
            answers = f" · answers #{said.parent}" if not nested and said.parent is not None else ""
            ui.label(f"#{said.post} · {reader.time_text(said.time)}{answers}").classes("soft small")
            votes(said.score, f"{said.ups} for, {said.downs} against")
            if said.origin == "hand":
                tag("written by hand", "good")
            if said.removed:
                tag("removed", "bad")
            for text in dict.fromkeys(flag.text for flag in said.flags):
                tag(text, "bad")
        if said.title and (kind or not nested) and not (said.hidden or said.removed):
            ui.label(display_text(said.title, 300)).classes("thread-title").props("dir=auto")
        _words(said, reader)
        for mark in said.marks:
            ui.label(_told(mark)).classes("act foreign").props("dir=auto")
        _found(said)
        _actions(said, reader)
    return card


def _words(said: ForumPost, reader: Reader) -> None:
    """The words, or a button in their place; hidden words are not sent before they are asked for."""
    with ui.column().classes("w-full gap-1 min-w-0") as place:
        if not (said.hidden or said.removed) or said.post in reader.revealed:
            _plainly(said)
            return
        why = "Removed by a moderator." if said.removed else "Hidden by the filter."

        def reveal() -> None:
            reader.revealed.add(said.post)
            place.clear()
            with place:
                _plainly(said)

        test_id(ui.button(f"{why} Show it", on_click=reveal), f"reveal-{said.post}").props(
            "outline dense no-caps icon=visibility_off"
        )


def _plainly(said: ForumPost) -> None:
    if said.title and (said.hidden or said.removed):
        ui.label(display_text(said.title, 300)).classes("thread-title").props("dir=auto")
    prose(said.text)


def _told(mark: Mark) -> str:
    rule = f", rule {mark.rule}" if mark.rule is not None else ""
    wording = f" (“{display_text(mark.rule_text, 300)}”)" if mark.rule_text else ""
    reason = f": {display_text(mark.reason, 500)}" if mark.reason and mark.reason != mark.rule_text else ""
    power, moderator = display_text(mark.power, 40), display_text(mark.moderator, 60)
    return f"⚑ {power} by {moderator} in step {mark.step}{rule}{wording}{reason}"


def _found(said: ForumPost) -> None:
    if not said.flags:
        return
    with ui.expansion("Why it is flagged").classes("w-full found").props("dense header-class=q-pa-none") as opened_up:
        test_id(opened_up, f"why-{said.post}")
        for flag in said.flags:
            sure = f" ({100 * flag.chance:.0f} %)" if flag.chance is not None else ""
            asked = display_text(flag.wording, 600)
            told = (
                f"{flag.text}: {display_text(flag.judge, 80)} says {display_text(flag.answer, 20)}{sure} to “{asked}”"
            )
            ui.label(told).classes("foreign small").props("dir=auto")
        ui.label("A judge may err.").classes("soft small")


def _actions(said: ForumPost, reader: Reader) -> None:
    turn = reader.turn
    with ui.row().classes("items-center gap-x-3 gap-y-1 w-full"):
        if turn is not None:
            first = ui.button("What if…", on_click=lambda: turn(said, False))
            test_id(first, f"whatif-{said.post}").props("flat dense no-caps icon=call_split")
            second = ui.button("Multiverse", on_click=lambda: turn(said, True))
            test_id(second, f"multiverse-{said.post}").props("flat dense no-caps icon=account_tree")
        for count, (place, name) in zip(reader.continued.get(said.post, ()), _PLACES.items(), strict=False):
            if count:
                text = f"{count} {name}{'' if count == 1 else 's'}"
                link = ui.link(text, forum_address(reader.run, place, post=said.post)).classes("plain small")
                test_id(link, f"{place}s-{said.post}")
        if said.origin != "hand":
            target = run_address(reader.run, "decision", step=said.step, person=said.author, path=said.path or None)
            test_id(ui.link("decision", target).classes("plain small"), f"decision-{said.post}")
