"""Forums as JSON: the list of threads, and one thread."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from populace.base.errors import UsageError
from populace.community.community import Sorting
from populace.studio.pages.forum.data import ForumView, thread_facts
from populace.studio.studio import Studio

_MOST = 1_000


def get_threads(
    studio: Studio,
    name: str,
    sort: Sorting | None = None,
    at: int | None = None,
    q: str = "",
    flagged: bool = False,
    offset: int = 0,
    limit: int = 100,
) -> dict[str, Any]:
    """A page of the threads of a forum, with its name, goal and rules."""
    if offset < 0 or not 0 < limit <= _MOST:
        raise UsageError(f"a page has 1 to {_MOST} threads, from 0 on.")
    found = ForumView(studio.library.run(name), at)
    listed = found.threads(sort, search=q, flagged=flagged)
    return {
        "run": name,
        "name": found.community.design.name,
        "goal": found.community.design.goal,
        "rules": found.rules().to_dicts(),
        "judges": found.judges,
        "total": listed.height,
        "threads": listed.slice(offset, limit).drop("opening", "title").to_dicts(),
    }


def get_thread(studio: Studio, name: str, post: int, at: int | None = None) -> dict[str, Any]:
    """One thread with all its posts."""
    found = ForumView(studio.library.run(name), at)
    said = found.thread(post)
    posts = [asdict(each) | {"score": each.score} for each in said]
    return {"run": name, "thread": said[0].post, **thread_facts(said), "posts": posts}


def get_member(studio: Studio, name: str, who: str, at: int | None = None) -> dict[str, Any]:
    """One member with the numbers of their posts."""
    found = ForumView(studio.library.run(name), at).member(who)
    told = {key: value for key, value in found.__dict__.items() if key != "wrote"}
    return {"run": name, **told, "wrote": found.wrote["post"].to_list()}


ROUTES = {
    "/runs/{name}/forum": get_threads,
    "/runs/{name}/forum/threads/{post}": get_thread,
    "/runs/{name}/forum/members/{who}": get_member,
}
"""The functions behind the paths below `/api`."""
