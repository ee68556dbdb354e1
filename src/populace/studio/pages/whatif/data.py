"""What else could have followed an utterance: the forks that continue it, and where each parts from the original."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.base.errors import PopulaceError, RunNotFoundError
from populace.community.multiverse import Multiverse
from populace.community.what_if import find_post
from populace.engine.run import Run
from populace.journal import Manifest
from populace.studio.library import Library
from populace.studio.pages.forum.data import ForumPost, ForumView


@dataclass(frozen=True)
class Continuation:
    """A fork that continues an utterance in another way.

    Attributes:
        run: Its name.
        post: The utterance.
        told: What was asked for, in words.
        draw: Which of several ways to go on; 0 for a what-if.
    """

    run: str
    post: int
    told: str
    draw: int


@dataclass(frozen=True)
class Side:
    """One thread beside others.

    Attributes:
        run: Of which run.
        told: What was asked for; empty for the original.
        state: How it stands with the run.
        said: The thread in the order of writing.
        differs: The place in it from which it is not the original's any more; its length where it never parts.
    """

    run: str
    told: str
    state: str
    said: list[ForumPost]
    differs: int


def continuation(manifest: Manifest, parent: str, names: dict[Any, str] | None = None) -> Continuation | None:
    """What a fork of a run continues, or None where it is no what-if of it.

    Args:
        manifest: Of the fork.
        parent: The run.
        names: The names of people, by id.
    """
    if manifest.parent is None or manifest.parent.run != parent:
        return None
    asked = manifest.regimes[-1].parameters.get("whatif")
    if not isinstance(asked, dict) or "post" not in asked:
        return None
    who = asked.get("as_") or (names or {}).get(asked.get("person")) or asked.get("person")
    line = asked.get("line")
    told = "" if who is None else str(who)
    if line:
        told = f"{told or 'the designer'}: “{line}”"
    return Continuation(manifest.run, int(asked["post"]), told or "by another draw", int(asked.get("draw") or 0))


def fork_manifests(library: Library, name: str) -> list[Manifest]:
    """The manifests of all forks of a run."""
    found = []
    for fork in library.forks(name):
        try:
            found.append(library.run(fork).manifest)
        except RunNotFoundError:
            continue  # Deleted in this moment.
    return found


def continuations(manifests: Iterable[Manifest], view: ForumView, post: int | None = None) -> list[Continuation]:
    """The forks that continue an utterance of a run, or any utterance, by their draws and names.

    Args:
        manifests: Of the forks to look through.
        view: The forum of the run.
        post: The utterance.
    """
    people = view.community.people.frame
    names = dict(people.select("id", "name").iter_rows()) if "name" in people.columns else {}
    found = (continuation(manifest, view.run.name, names) for manifest in manifests)
    wanted = [each for each in found if each is not None and post in (None, each.post)]
    return sorted(wanted, key=lambda each: (each.draw, each.run))


def counted(found: Iterable[Continuation]) -> dict[int, tuple[int, int]]:
    """How many what-ifs, and how many forks of a multiverse, there are of each utterance."""
    counts: dict[int, tuple[int, int]] = {}
    for each in found:
        asked, drawn = counts.get(each.post, (0, 0))
        counts[each.post] = (asked + (each.draw == 0), drawn + (each.draw > 0))
    return counts


def side(view: ForumView, original: ForumView, post: int, told: str = "") -> Side:
    """The thread of an utterance in a fork, beside the original's; the original beside itself never parts."""
    said = sorted(view.thread(post), key=lambda each: each.post)
    before = sorted(original.thread(post), key=lambda each: each.post)
    same = [_words(one) == _words(other) for one, other in zip(said, before, strict=False)]
    differs = len(said) if view.run.name == original.run.name else (same.index(False) if False in same else len(same))
    return Side(view.run.name, told, view.run.manifest.status.state, said, differs)


def parted(original: Side, others: Sequence[Side]) -> int:
    """The place from which the original is not shared by all others any more."""
    return min([each.differs for each in others] or [len(original.said)])


def comparison(original: Run, others: Sequence[Run], post: int | None) -> pl.DataFrame:
    """What differs between runs, as `Multiverse.compare` tells it, without forks that have no such utterance yet.

    Args:
        original: The run that they grew from.
        others: The forks.
        post: The utterance that they continue.
    """
    ready = [run for run in others if post is None or _has(run, post)]
    return Multiverse(original, ready, post).compare()


def arguments(
    run: str,
    post: int,
    *,
    who: str = "",
    person: str = "",
    line: str = "",
    count: int = 0,
    model: str = "",
    judge: str = "",
) -> tuple[str, ...]:
    """The command that makes one continuation, or several where there is a count.

    Args:
        run: The run.
        post: The utterance.
        who: The responder in words.
        person: The responder by id.
        line: What is said.
        count: How many continuations; 0 for a what-if.
        model: Another model than the run's.
        judge: A model that judges all continuations.

    Example:
        >>> arguments("forum-1", 3, who="a troll")
        ('whatif', 'forum-1', '--post', '3', '--as', 'a troll')
    """
    made = ["multiverse", run, "--n", str(count)] if count else ["whatif", run]
    made += ["--post", str(post)]
    # Joined by =, so that words that begin with a dash stay words.
    for option, value in (
        ("--as", who.strip()),
        ("--person", person),
        ("--say", line.strip()),
        ("--model", model.strip()),
    ):
        if value:
            made += [f"{option}={value}"] if value.startswith("-") else [option, value]
    return tuple(made)


def _has(run: Run, post: int) -> bool:
    try:
        find_post(run, post)
    except PopulaceError:
        return False
    return True


def _words(said: ForumPost) -> tuple[Any, ...]:
    return said.author, said.title, said.text, said.origin
