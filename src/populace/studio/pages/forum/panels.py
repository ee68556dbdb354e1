"""The panels of a forum: its name and goal, rules and figures, judges, members, and the profile of a member."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from populace.community.page import hue
from populace.runs.caveats import script_caveat
from populace.runs.settings_text import decider_text
from populace.studio.jobs import command
from populace.studio.pages.forum.data import ForumView
from populace.studio.pages.forum.post import PostContext, face, post_card, tag
from populace.studio.shell.addresses import run_address
from populace.studio.shell.frame import figure, section, test_id
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio
from populace.studio.widgets.elements import action, count_text, disable_during, heading, note, outline

_RULE_KINDS = {"prescriptive": "wanted", "restrictive": "not wanted"}
_FIRST_MEMBERS = 12
_MAX_POSTS = 30
_MAX_MEMBERS = 1_000


def show_masthead(view: ForumView) -> None:
    """The name of the community, its goal, and that it is simulated."""
    design = view.community.design
    with ui.column().classes("panel masthead").style(f"--hue:{hue(design.name)}"):
        heading(design.name, 120, classes="page-title")
        if design.goal:
            prose(design.goal, 600)
        writer = view.community.writer
        note(f"A simulation: the people do not exist, and {writer} wrote every post that is not marked otherwise.")


def show_rules(view: ForumView) -> None:
    """The rules, with how many posts break each."""
    with section("Rules"):
        rules = view.rules()
        if not rules.height:
            ui.label("There are none.").classes("soft")
        for number, kind, text, broken in rules.iter_rows():
            with ui.element("div").classes("rule"):
                ui.label(f"{number}.").classes("soft")
                with ui.column().classes("gap-0 min-w-0"):
                    note(_RULE_KINDS.get(kind, kind))
                    prose(text, 400)
                    if broken:
                        ui.label(f"broken by {count_text(broken, 'post')}").classes("found")


def figures(view: ForumView) -> dict[str, object]:
    """The size of the community, its model and its seed."""
    regime, posts = view.run.manifest.regime, view.posts
    return {
        "people": len(view.community.people),
        "threads": posts["thread"].n_unique(),
        "posts": posts.height,
        "removed": posts["removed"].sum(),
        "votes": view.community.votes.height,
        "model": decider_text(regime.decider, regime.model),
        "seed": regime.seed,
    }


def show_figures(view: ForumView) -> None:
    """The size of the community, its model and its seed, as a panel."""
    with section("Figures"), ui.element("div").classes("facts"):
        for name, value in figures(view).items():
            ui.label(name).classes("soft")
            ui.label(display_text(value, 120))


class JudgePanel:
    """The judges of a run, and a button that starts one.

    Args:
        studio: The Studio.
        view: The community.
        on_done: Called when a judge is done.
    """

    def __init__(self, studio: Studio, view: ForumView, on_done: Callable[[], Awaitable[None]]) -> None:
        self._studio, self._run, self._on_done = studio, view.run.name, on_done
        self._default = view.run.manifest.regime.model
        with section("Judges"):
            self._judges = ui.label().classes("foreign")
            self._model = outline(ui.input("Model that judges", value=self._default), "judge-model")
            self._model.on_value_change(self._show_command)
            self._command = ui.label().classes("commandline wrapped w-full")
            with ui.row().classes("items-center gap-2"):
                self._button = action("Judge every post", self._judge, "judge")
                self._spinner = ui.spinner(size="sm")
            self._spinner.set_visibility(False)
        self._show_command()

    def show(self, view: ForumView) -> None:
        """Show the judges so far."""
        count = view.posts.filter(view.posts["flags"] > 0).height
        flags = f"{count_text(count, 'post is', 'posts are')} flagged"
        judges = f"{flags} by {display_text(', '.join(view.judges), 300)}. A judge may err."
        if script := script_caveat(view.judges):
            judges += f" {display_text(script, 300)}"
        nobody = "Nobody has judged this run. A model can: it is asked about every post."
        self._judges.set_text(judges if view.judges else nobody)

    def _arguments(self) -> tuple[str, ...]:
        return ("judge", self._run, "--model", (self._model.value or "").strip() or self._default)

    def _show_command(self) -> None:
        self._command.set_text(display_text(command(*self._arguments())))

    async def _judge(self) -> None:
        with disable_during(self._button, self._spinner):
            await self._studio.jobs.start(*self._arguments()).wait_for_result()
        await self._on_done()


def show_members(view: ForumView, context: PostContext) -> None:
    """The members who wrote most, and a field to find others."""
    members = view.members()
    with section("Members", note=f"{members.height}"):
        for row in members.head(_FIRST_MEMBERS).iter_rows(named=True):
            with ui.row().classes("items-center gap-2 no-wrap w-full min-w-0"):
                face(row["id"], row["name"])
                test_id(context.author_link(row["id"], row["name"]), f"member-{row['id']}")
                note(count_text(row["posts"], "post"))
                if row["role"] and row["role"] != "member":
                    tag(row["role"])
        if members.height > _FIRST_MEMBERS:
            others = members.slice(_FIRST_MEMBERS, _MAX_MEMBERS).select("id", "name")
            names = {str(who): display_text(name, 60) for who, name in others.iter_rows()}
            select = outline(ui.select(names, with_input=True, label="Others"))
            select.on_value_change(lambda e: ui.navigate.to(context.address(member=e.value)) if e.value else None)


def show_member(view: ForumView, context: PostContext, who: str) -> None:
    """The profile of a member: persona, figures and posts."""
    member = view.member(who)
    with ui.column().classes("panel"):
        with ui.row().classes("items-center gap-3"):
            face(member.id, member.name)
            heading(member.name, 120, classes="page-title")
            if member.role and member.role != "member":
                tag(member.role)
            if member.standing and member.standing != "ok":
                tag(member.standing, "warn")
        if member.persona:
            prose(member.persona)
        with ui.row().classes("gap-6"):
            figure(str(member.posts), "posts")
            figure(f"{member.votes:+d}", "votes received, for minus against")
            figure(str(member.cast), "votes cast")
            figure(str(member.removed), "posts removed")
        target = run_address(view.run.name, "person", member.id, step=view.community.at)
        test_id(ui.link("Everything about this person: memory, plans, decisions", target).classes("plain"), "person")
    with section("Posts", note="the latest first"):
        if not member.wrote.height:
            ui.label("None so far.").classes("soft")
        latest = member.wrote.head(_MAX_POSTS)
        headings = dict(view.threads("new").select("thread", "heading").iter_rows())
        threads = dict(latest.select("post", "thread").iter_rows())
        for post in reversed(view.some_posts(latest["post"].to_list())):
            title = display_text(headings[threads[post.post]], 80)
            ui.link(f"in “{title}”", context.address(thread=post.post)).classes("plain small")
            post_card(post, context, nested=False)
        if member.wrote.height > _MAX_POSTS:
            note(f"{member.wrote.height - _MAX_POSTS} earlier ones are not shown.")
