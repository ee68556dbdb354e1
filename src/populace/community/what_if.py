"""What if somebody had answered here: a fork in which a chosen responder does."""

from __future__ import annotations

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
    """A fork in which somebody answers an utterance, and its thread goes on from there.

    Everything up to the utterance is shared and asked no more; other threads go on as they did, and
    what they ask is in the call store already. Without a responder somebody of the community answers,
    by another draw.

    Args:
        run: A run of a forum.
        post: The number of the utterance.
        as_: The responder in words, such as "a troll" or "a moderator".
        person: The responder by name or id.
        line: What the responder says; the model writes it where there is none.
        draw: Which of several ways to go on; 0 keeps the random numbers of the run.
        **options: As for `Run.fork`: model, seed, temperature, budget, concurrency, timeout_s, watch.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.forum import Forum
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> run = simulate(Forum(expand=False), model="scripted:uniform", workspace=folder)
        >>> turned = what_if(run, 3, as_="a moderator", line="Let us stay with the clock.")
        >>> answer = turned.history("posts").filter(origin="hand").row(0, named=True)
        >>> answer["parent"], answer["text"]
        (3, 'Let us stay with the clock.')
    """
    if as_ is not None and person is not None:
        raise UsageError(f"the responder is both {as_!r} and the person {person!r}.", "Give one of them.")
    found = find_post(run, post)
    who = None if person is None else run.people(found["step"]).person(person).id
    if who is not None and who == found["author"]:
        raise UsageError(f"utterance {post} is by {person}, who cannot answer themselves.", "Name somebody else.")
    turned = WhatIf(post=post, as_=as_, person=who, line=line, draw=draw)
    return run.fork(found["step"] + 1, parameters={"whatif": turned.model_dump(mode="json")}, **options)


def find_post(run: RunReader, post: int) -> dict[str, Any]:
    """One post of a run, with the step in which it was written, or the error that says which there are."""
    posts = run.history("posts")
    if "post" not in posts.columns:
        raise UsageError(f"{run.name} is no run of a forum, so there is nothing to answer.")
    found = posts.filter(pl.col("post") == post)
    if not found.height:
        raise UsageError(
            f"{run.name} has no utterance {post}.",
            f"It has 1 to {posts.height}." if posts.height else "Nothing was written in it.",
        )
    return found.row(0, named=True)
