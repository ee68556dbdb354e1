"""What if somebody had replied here: a fork of a run in which a chosen person replies to a post."""

from typing import Any

import polars as pl

from populace.base.errors import UsageError
from populace.engine.run import Run
from populace.people import Id
from populace.runs.reader import RunReader
from populace.scenarios.forum import WhatIf


def what_if(
    run: Run,
    post: int,
    *,
    as_: str | None = None,
    person: Id | None = None,
    line: str | None = None,
    draw: int = 0,
    **options: Any,
) -> Run:
    """Fork a run so that somebody replies to a post, and its thread continues from there.

    The fork shares all steps up to the post with the run. Other threads continue as they did, with replies from
    the call store. Without a responder, a member of the community replies, by another random draw.

    Args:
        run: A run of a forum.
        post: The number of the post.
        as_: The responder in words, such as "a troll" or "a moderator".
        person: The responder by name or id.
        line: The text of the reply; the model writes it by default.
        draw: The number of the random continuation; 0 uses the random numbers of the run.
        **options: As for `Run.fork`: model, seed, temperature, budget, concurrency, timeout_s, observer.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.forum import Forum
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> run = simulate(Forum(expand=False), model="scripted:uniform", workspace=folder)
        >>> fork = what_if(run, 3, as_="a moderator", line="Let us stay with the clock.")
        >>> reply = fork.history("posts").filter(origin="hand").row(0, named=True)
        >>> reply["parent"], reply["text"]
        (3, 'Let us stay with the clock.')
    """
    if as_ is not None and person is not None:
        raise UsageError(f"the responder is both {as_!r} and the person {person!r}.", "Give only one of them.")
    row = find_post(run, post)
    responder = None if person is None else run.people(row["step"]).person(person).id
    if responder is not None and responder == row["author"]:
        raise UsageError(f"post {post} is by {person}, who cannot reply to themselves.", "Name another person.")
    if as_ is not None and as_ in run.people(row["step"])["name"].to_list():
        raise UsageError(
            f"{as_} is somebody of the community, and a description makes a new person.",
            f"Name the person: --person {as_} on the command line, person={as_!r} in Python.",
        )
    change = WhatIf(post=post, as_=as_, person=responder, line=line, draw=draw)
    return run.fork(row["step"] + 1, parameters={"whatif": change.model_dump(mode="json")}, **options)


def find_post(run: RunReader, post: int) -> dict[str, Any]:
    """One post of a run, with the step in which it was written; an error where there is no such post."""
    posts = run.history("posts")
    if "post" not in posts.columns:
        raise UsageError(f"{run.name} is not a run of a forum, so it has no posts.")
    match = posts.filter(pl.col("post") == post)
    if not match.height:
        raise UsageError(
            f"{run.name} has no post {post}.",
            f"Its posts are numbered 1 to {posts.height}." if posts.height else "Nothing was written in it.",
        )
    return match.row(0, named=True)
