"""The members of a forum: a short list, and the profile of one."""

from __future__ import annotations

from nicegui import ui

from populace.studio.pages.forum.data import ForumView
from populace.studio.pages.forum.post import Reader, face, post_card, tag
from populace.studio.shell.frame import figure, run_address, section, test_id
from populace.studio.shell.text import display_text, prose

_SHOWN = 12
_POSTS = 30
_OTHERS = 1_000


def members_panel(view: ForumView, reader: Reader) -> None:
    """Those who wrote most, with a field to find some of the others."""
    members = view.members()
    with section("Members", note=f"{members.height}"):
        for row in members.head(_SHOWN).iter_rows(named=True):
            with ui.row().classes("items-center gap-2 no-wrap w-full min-w-0"):
                face(row["id"], row["name"])
                link = (
                    ui.link(display_text(row["name"], 60), reader.address(member=row["id"]))
                    .classes("who")
                    .props("dir=auto")
                )
                test_id(link, f"member-{row['id']}")
                ui.label(f"{row['posts']} posts").classes("soft small")
                if row["role"] and row["role"] != "member":
                    tag(row["role"])
        if members.height > _SHOWN:
            left = members.slice(_SHOWN, _OTHERS)
            options = dict(zip(left["id"].cast(str).to_list(), left["name"].to_list(), strict=True))
            pick = ui.select(
                {key: display_text(name, 60) for key, name in options.items()}, with_input=True, label="Others"
            )
            pick.props("dense outlined").classes("w-full")
            pick.on_value_change(lambda e: ui.navigate.to(reader.address(member=e.value)) if e.value else None)


def member_panel(view: ForumView, reader: Reader, who: str) -> None:
    """The profile of somebody: who they are, what they wrote and how it was taken."""
    found = view.member(who)
    with ui.column().classes("panel"):
        with ui.row().classes("items-center gap-3"):
            face(found.id, found.name)
            ui.label(display_text(found.name, 120)).classes("page-title").props("role=heading aria-level=2 dir=auto")
            if found.role and found.role != "member":
                tag(found.role)
            if found.standing and found.standing != "ok":
                tag(found.standing, "warn")
        if found.persona:
            prose(found.persona)
        with ui.row().classes("gap-6"):
            figure(str(found.posts), "posts")
            figure(f"{found.votes:+d}", "votes received, for minus against")
            figure(str(found.cast), "votes cast")
            figure(str(found.removed), "posts removed")
        target = run_address(view.run.name, "person", found.id, step=view.community.at)
        test_id(ui.link("Everything about this person: memory, plans, decisions", target).classes("plain"), "person")
    with section("What they wrote", note="the latest first"):
        if not found.wrote.height:
            ui.label("Nothing so far.").classes("soft")
        latest = found.wrote.head(_POSTS)
        titles = dict(view.threads("new").select("thread", "heading").iter_rows())
        threads = dict(latest.select("post", "thread").iter_rows())
        for said in reversed(view.said(latest["post"].to_list())):
            ui.link(f"in “{display_text(titles[threads[said.post]], 80)}”", reader.address(thread=said.post)).classes(
                "plain small"
            )
            post_card(said, reader, nested=False)
        if found.wrote.height > _POSTS:
            ui.label(f"{found.wrote.height - _POSTS} earlier ones are not shown.").classes("soft small")
