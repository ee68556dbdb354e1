"""One post of a forum as a card: author, time, the words or why they are hidden, verdicts and actions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from nicegui import ui

from populace.base.errors import JournalError
from populace.community.page import hue
from populace.runs.clock import time_text
from populace.runs.reader import RunReader
from populace.studio.pages.forum.data import ForumPost, ModerationMark
from populace.studio.shell.addresses import page_address, run_address
from populace.studio.shell.frame import test_id
from populace.studio.shell.text import display_text, prose
from populace.studio.widgets.elements import action, count_text, note, refill

_PLACES = {"whatif": "what-if", "multiverse": "universe"}
STYLE = '<link rel="stylesheet" href="/studio-static/forum/forum.css">'


@dataclass
class PostContext:
    """What the cards of posts need to know of their page.

    Attributes:
        run: The name of the run.
        start: When the community opened, in its own time.
        query: What every link within the forum keeps, such as the step and the filter.
        revealed: Hidden posts that the user has revealed.
        continue_post: Opens the dialog for a what-if, or with True for a multiverse.
        continuations: How many what-ifs, and how many forks of a multiverse, there are of a post.
    """

    run: str
    start: datetime
    query: dict[str, str] = field(default_factory=dict)
    revealed: set[int] = field(default_factory=set)
    continue_post: Callable[[ForumPost, bool], None] | None = None
    continuations: dict[int, tuple[int, int]] = field(default_factory=dict)

    def time_text(self, seconds: int) -> str:
        """A time of the community as text."""
        return time_text((self.start + timedelta(seconds=int(seconds))).isoformat())

    def address(self, **parts: object) -> str:
        """The address of a place in this forum."""
        return forum_address(self.run, **{**self.query, **parts})

    def author_link(self, author: object, name: str) -> ui.link:
        """A link to the profile of a member."""
        link = ui.link(display_text(name, 60), self.address(member=author))
        return link.classes("who").props("dir=auto")


def start_time(run: RunReader) -> datetime:
    """When a run began, by its own clock."""
    if not run.steps:
        raise JournalError(f"{run.name} has no committed step yet.")
    return datetime.fromisoformat(run.record.facts(0)["now"])


def forum_address(run: str, *more: str, **query: object) -> str:
    """The address of a forum, or of a place in it."""
    return page_address("forum", run, *more, **query)


def face(author: object, name: str) -> None:
    """A circle with the first letter of a person, of the same colour on every page."""
    letter = name[:1] if name[:1].isalnum() else "•"
    colour = hue(author if isinstance(author, int) else str(author))
    ui.label(letter).classes("face").style(f"--hue:{colour}").props("aria-hidden=true")


def tag(text: str, kind: str = "") -> ui.label:
    """A small mark."""
    return ui.label(display_text(text, 80)).classes(f"tag {kind}")


def votes(score: int, detail: str = "") -> None:
    """A score whose sign is visible without colours."""
    kind = "up" if score > 0 else "down" if score < 0 else ""
    label = ui.label(f"{'▼' if score < 0 else '▲'} {score}").classes(f"votes {kind}")
    with label.props(f'aria-label="{count_text(score, "vote")}"'):
        if detail:
            ui.tooltip(detail)


def post_card(
    post: ForumPost, context: PostContext, *, focus: bool = False, kind: str = "", nested: bool = True
) -> None:
    """A post as a card.

    Args:
        post: The post.
        context: What the card needs to know of the page.
        focus: Whether it is the post of the address.
        kind: `new` or `shared` where threads are side by side.
        nested: Whether it is indented below the post that it answers; otherwise it names that post.
    """
    classes = ["post", kind, "focus" if focus else "", "flagged" if post.flags else ""]
    classes += ["opening" if post.parent is None and not kind else ""]
    with ui.column().classes(" ".join(classes)).style(f"--depth:{post.depth if nested else 0}") as card:
        test_id(card.props(f"id=post-{post.post}"), f"post-{post.post}")
        with ui.element("div").classes("post-head"):
            face(post.author, post.name)
            context.author_link(post.author, post.name)
            answers = f" · answers #{post.parent}" if not nested and post.parent is not None else ""
            note(f"#{post.post} · {context.time_text(post.time)}{answers}")
            votes(post.score, f"{post.ups} for, {post.downs} against")
            if post.origin == "hand":
                tag("written by hand", "good")
            if post.removed:
                tag("removed", "bad")
            for text in dict.fromkeys(flag.text for flag in post.flags):
                tag(text, "bad")
        _show_words(post, context, bool(kind) or not nested)
        for act in post.marks:
            ui.label(_act_text(act)).classes("act foreign").props("dir=auto")
        if post.flags:
            _show_flags(post)
        _show_actions(post, context)


def _show_words(post: ForumPost, context: PostContext, with_title: bool) -> None:
    """Title and text, or a button in their place; hidden words are not sent to the browser before a click."""

    def show(title: bool) -> None:
        if post.title and title:
            ui.label(display_text(post.title, 300)).classes("thread-title").props("dir=auto")
        prose(post.text)

    def reveal() -> None:
        context.revealed.add(post.post)
        with refill(place):
            show(True)

    with ui.column().classes("w-full gap-1 min-w-0") as place:
        if not post.covered or post.post in context.revealed:
            show(post.covered or with_title)
        else:
            reason = "Removed by a moderator." if post.removed else "Hidden by the filter."
            look = "outline dense icon=visibility_off"
            action(f"{reason} Show it", reveal, f"reveal-{post.post}", look=look)


def _act_text(act: ModerationMark) -> str:
    rule = f", rule {act.rule}" if act.rule is not None else ""
    wording = f" (“{display_text(act.rule_text, 300)}”)" if act.rule_text else ""
    reason = f": {display_text(act.reason, 500)}" if act.reason and act.reason != act.rule_text else ""
    power, moderator = display_text(act.power, 40), display_text(act.moderator, 60)
    return f"⚑ {power} by {moderator} in step {act.step}{rule}{wording}{reason}"


def _show_flags(post: ForumPost) -> None:
    expansion = ui.expansion("Why it is flagged").classes("w-full found").props("dense header-class=q-pa-none")
    with test_id(expansion, f"why-{post.post}"):
        for flag in post.flags:
            chance = f" ({100 * flag.chance:.0f} %)" if flag.chance is not None else ""
            answer = f"{display_text(flag.judge, 80)} says {display_text(flag.answer, 20)}{chance}"
            text = f"{flag.text}: {answer} to “{display_text(flag.wording, 600)}”"
            ui.label(text).classes("foreign small").props("dir=auto")
        note("A judge may err.")


def continue_buttons(open_dialog: Callable[[bool], None], names: tuple[str, str], look: str) -> None:
    """The buttons that open the dialog for a what-if and for a multiverse."""
    action("What if…", lambda: open_dialog(False), names[0], look=f"{look} icon=call_split")
    action("Multiverse", lambda: open_dialog(True), names[1], look=f"{look} icon=account_tree")


def _show_actions(post: ForumPost, context: PostContext) -> None:
    dialog = context.continue_post
    with ui.row().classes("items-center gap-x-3 gap-y-1 w-full"):
        if dialog is not None:
            names = (f"whatif-{post.post}", f"multiverse-{post.post}")
            continue_buttons(lambda several: dialog(post, several), names, "flat dense")
        for count, (place, name) in zip(context.continuations.get(post.post, ()), _PLACES.items(), strict=False):
            if count:
                target = forum_address(context.run, place, post=post.post)
                test_id(ui.link(count_text(count, name), target).classes("plain small"), f"{place}s-{post.post}")
        if post.origin != "hand":
            target = run_address(context.run, "decision", step=post.step, person=post.author, path=post.path or None)
            test_id(ui.link("decision", target).classes("plain small"), f"decision-{post.post}")
