"""Forums as JSON: the list of threads, one thread, one member."""

from dataclasses import asdict
from typing import Any

from populace.base.errors import UsageError
from populace.community.community import Sorting
from populace.studio.pages.forum.data import ForumView, thread_facts
from populace.studio.shell.parameters import Count, PostNumber, StepNumber
from populace.studio.studio import Studio

_MAX_THREADS = 1_000


def get_threads(
    studio: Studio,
    name: str,
    sort: Sorting | None = None,
    at: StepNumber = None,
    q: str = "",
    flagged: bool = False,
    offset: Count = 0,
    limit: Count = 100,
) -> dict[str, Any]:
    """A page of the threads of a forum, with its name, goal and rules."""
    if offset < 0 or not 0 < limit <= _MAX_THREADS:
        raise UsageError(f"a page has 1 to {_MAX_THREADS} threads, from 0 on.")
    view = ForumView(studio.library.run(name), at)
    threads = view.threads(sort, search=q, flagged=flagged)
    return {
        "run": name,
        "name": view.community.design.name,
        "goal": view.community.design.goal,
        "rules": view.rules().to_dicts(),
        "judges": view.judges,
        "total": threads.height,
        "threads": threads.slice(offset, limit).drop("opening", "title").to_dicts(),
    }


def get_thread(studio: Studio, name: str, post: PostNumber, at: StepNumber = None) -> dict[str, Any]:
    """One thread with all its posts."""
    thread = ForumView(studio.library.run(name), at).thread(post)
    posts = [asdict(each) | {"score": each.score} for each in thread]
    return {"run": name, "thread": thread[0].post, **thread_facts(thread), "posts": posts}


def get_member(studio: Studio, name: str, who: str, at: StepNumber = None) -> dict[str, Any]:
    """One member with the numbers of their posts."""
    member = ForumView(studio.library.run(name), at).member(who)
    return {"run": name, **vars(member), "wrote": member.wrote["post"].to_list()}


ROUTES = {
    "/runs/{name}/forum": get_threads,
    "/runs/{name}/forum/threads/{post}": get_thread,
    "/runs/{name}/forum/members/{who}": get_member,
}
