"""Forums as JSON: the list of threads, and one thread."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter

from populace.base.errors import UsageError
from populace.community.community import Sorting
from populace.community.word_filter import WordFilter
from populace.studio.pages.forum.data import ForumView, thread_facts
from populace.studio.studio import Studio

_MOST = 1_000


def router(studio: Studio) -> APIRouter:
    """The routes of forums."""
    made = APIRouter()

    def view(name: str, at: int | None, hide: bool = True) -> ForumView:
        return ForumView(studio.library.run(name), at, None if hide else WordFilter([]))

    @made.get("/runs/{name}/forum")
    def threads(
        name: str,
        sort: Sorting | None = None,
        at: int | None = None,
        q: str = "",
        flagged: bool = False,
        offset: int = 0,
        limit: int = 100,
    ) -> dict[str, Any]:
        if offset < 0 or not 0 < limit <= _MOST:
            raise UsageError(f"a page has 1 to {_MOST} threads, from 0 on.")
        found = view(name, at)
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

    @made.get("/runs/{name}/forum/threads/{post}")
    def thread(name: str, post: int, at: int | None = None) -> dict[str, Any]:
        found = view(name, at)
        said = found.thread(post)
        posts = [asdict(each) | {"score": each.score} for each in said]
        return {"run": name, "thread": said[0].post, **thread_facts(said), "posts": posts}

    @made.get("/runs/{name}/forum/members/{who}")
    def member(name: str, who: str, at: int | None = None) -> dict[str, Any]:
        found = view(name, at).member(who)
        told = {key: value for key, value in found.__dict__.items() if key != "wrote"}
        return {"run": name, **told, "wrote": found.wrote["post"].to_list()}

    return made
